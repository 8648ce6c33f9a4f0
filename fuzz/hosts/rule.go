package hosts

// An Effect is what a host does with a call after a rule matched.
type Effect uint8

// The effects of rules.
const (
	Runs  Effect = iota // the host runs the call
	Stops               // the host does not run the call
	Fails               // the hook counts as failed: the host's fail-closed switch stops the call, without it the call runs
)

// A Source is the place where a rule was read. The zero Source marks a rule without evidence.
type Source struct {
	Package, Version string
	File             string // path in the installed package; after "!" the path in an archive inside of it
	Key              string // text that the file contains, by which the place is found
}

// A Rule is one thing that a host makes of a hook's result.
type Rule struct {
	Name   string // what was found, for people
	When   func(Result) bool
	Then   Effect
	Source Source
}

// Proved reports whether the rule was read in the host's own package.
func (r Rule) Proved() bool { return r.Source != Source{} }

// A Result is what a host sees of a hook that it started.
type Result struct {
	Stdout, Stderr []byte
	Exit           int  // exit code; -1 without one, because a signal ended the process
	TimedOut       bool // the host gave up waiting
	NotStarted     bool // the program could not be started
	Unread         bool // it ended before it had read the whole event
	Status         int  // of the answer, where the hook is an HTTP request; Stdout is its body, NotStarted that there is none
}

// A Host is one host's way of running hooks and of reading their answers.
type Host struct {
	Name   string // as bailiff hook --adapter has it
	Title  string
	Switch string // the host's fail-closed setting; empty where it has none
	HTTP   bool   // the host sends the event as an HTTP request, and runs no program
	Waits  Source // where its deadline was read that holds where its settings have none; the zero Source where it was not
	Rules  []Rule // in order of precedence; the last matches everything
	Facts  []Fact // what else was read of the host
}

// A Fact is what a host does that is no rule about a hook's end, and where that was read.
type Fact struct {
	Text   string
	Source Source
}

// Judge returns the rule that decides a result, and whether the call then runs; closed is whether the host's fail-closed
// setting is on.
func (h Host) Judge(r Result, closed bool) (rule Rule, runs bool) {
	for _, rule = range h.Rules {
		if rule.When(r) {
			break
		}
	}
	return rule, rule.Then == Runs || rule.Then == Fails && (!closed || h.Switch == "")
}
