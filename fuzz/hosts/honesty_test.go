//go:build unix

package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bailiff/fuzz/kit/page"
	"bailiff/fuzz/kit/testbin"
	"bailiff/fuzz/kit/testbin/service"
)

// program is the command under test, and what it is run with.
type program struct {
	Stage
	path string
	env  []string
}

// shared is the command, built once for all tests that run it.
var shared struct {
	once sync.Once
	dir  string
	program
	err error
}

// TestMain removes what tests have built.
func TestMain(m *testing.M) {
	result := m.Run()
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(result)
}

// build returns the command, built from what is there.
func build(t *testing.T) program {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the command")
	}
	shared.once.Do(func() {
		testbin.Track(t)
		if shared.dir, shared.err = os.MkdirTemp("", "bailiff-hosts-"); shared.err != nil {
			return
		}
		p := program{
			path: filepath.Join(shared.dir, "bailiff"),
			env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + shared.dir, "GOTRACEBACK=single"},
		}
		p.Program, p.KeyFile, p.Env = p.path, filepath.Join(shared.dir, "key"), p.env
		shared.program = p
		shared.err = errors.Join(
			testbin.Command(p.path, "-pgo=off"), os.WriteFile(p.KeyFile, []byte("sk_svc_test_"+strings.Repeat("a", 32)+"\n"), 0o600))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.program
}

// playAll plays cases at the same time, because most of their time is waiting, and returns the outcomes in order.
func playAll(t *testing.T, p program, cases []Case) []Outcome {
	t.Helper()
	const atOnce = 16
	outcomes, slots, dir := make([]Outcome, len(cases)), make(chan struct{}, atOnce), t.TempDir()
	var all sync.WaitGroup
	for i, c := range cases {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			witness := filepath.Join(dir, fmt.Sprintf("witness-%d", i))
			stage := p.Stage
			stage.LogFile = filepath.Join(dir, fmt.Sprintf("log-%d", i))
			outcome, err := c.Play(stage, witness)
			if err != nil {
				t.Errorf("%s, %s: %v", c.Host.Title, c.Failure.Name, err)
			}
			if ran(t, witness) != outcome.Ran {
				t.Errorf("%s, %s: the call ran: %v, and its witness is there: %v", c.Host.Title, c.Failure.Name, outcome.Ran, ran(t, witness))
			}
			outcomes[i] = outcome
		})
	}
	all.Wait()
	return outcomes
}

// cases are all failures on all hosts.
func cases(closed bool) (all []Case) {
	for _, failure := range Failures {
		for _, h := range Columns {
			all = append(all, Case{Host: h, Failure: failure, Closed: closed})
		}
	}
	return all
}

// TestHonesty plays every failure on every host, and holds docs/hooks.md to what became of the calls. In closed no call runs,
// except by a rule of a host that has no fail-closed setting for it.
func TestHonesty(t *testing.T) {
	p := build(t)
	served, err := service.Start(p.path, t.TempDir(), policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	p.Address, p.Key = served.Address, served.Key
	t.Run("canary", func(t *testing.T) { playDecisions(t, p) })
	open, closed := cases(false), cases(true)
	outcomes := playAll(t, p, append(append([]Case(nil), open...), closed...))
	for i, c := range closed {
		outcome := outcomes[len(open)+i]
		if outcome.Ran && !cannotClose[c.Host.Name+", "+c.Failure.Name] {
			t.Errorf("%s, %s: the call runs in closed, by the rule %q; the hook left %s", c.Host.Title, c.Failure.Name, outcome.Rule.Name, left(outcome.Result))
		}
		if !outcome.Ran && cannotClose[c.Host.Name+", "+c.Failure.Name] {
			t.Errorf("%s, %s: the call does not run in closed, though that is said to be impossible", c.Host.Name, c.Failure.Name)
		}
		// Without onFailure the host itself lets a call pass whose HTTP hook fails: failMode does not exist there.
		if !c.Host.HTTP && outcomes[i].Ran && !unreachable(c.Failure) && !outcome.Ran && c.Failure.Signal == 0 {
			t.Errorf("%s, %s: the call runs in open, though the service could be reached; the hook left %s", c.Host.Name, c.Failure.Name, left(outcomes[i].Result))
		}
	}
	holdPage(t, "honesty", honestyTables(open, closed, outcomes))
}

// TestEvidenceTable holds docs/hooks.md to the rules, and to where each was read.
func TestEvidenceTable(t *testing.T) { holdPage(t, "evidence", evidenceTable()) }

// policy denies Command, and allows what is harmless.
const policy = "version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.blocked_commands: rm -rf\n"

// cannotClose are the failures by which a call runs in closed too, because the host has no setting for them.
var cannotClose = map[string]bool{
	"codex, the hook hangs": true, "gemini, the hook hangs": true, "copilot, the hook hangs": true, "windsurf, the hook hangs": true,
}

// unreachable reports whether a failure counts as a service that cannot be reached, by which open lets calls run.
func unreachable(f Failure) bool {
	return f.Event == nil && f.Service != Denying && f.Service != Busy
}

// left is what a hook left behind, for a message.
func left(r Result) string {
	return fmt.Sprintf("exit code %d, %.300q and %.300q", r.Exit, r.Stdout, r.Stderr)
}

// honestyTables are the tables of the page: what becomes of the call, in closed and in open, and the rows that are open in closed.
func honestyTables(open, closed []Case, outcomes []Outcome) string {
	var b strings.Builder
	b.WriteString(outcomeTable("closed", closed, outcomes[len(open):]))
	b.WriteString("\nWhere a call runs in `closed`:\n\n")
	for i, c := range closed {
		if outcome := outcomes[len(open)+i]; outcome.Ran {
			fmt.Fprintf(&b, "- %s, %s: the host's rule is \"%s: the call runs\"%s, and the host has no fail-closed setting.\n",
				c.Host.Title, c.Failure.Name, outcome.Rule.Name, unprovedMark(outcome.Rule))
		}
	}
	b.WriteString("\n" + outcomeTable("open", open, outcomes[:len(open)]))
	return b.String()
}

func unprovedMark(r Rule) string {
	if r.Proved() {
		return ""
	}
	return " (*unproved*)"
}

// outcomeTable is one table of outcomes: a row a failure, a column a host.
func outcomeTable(mode string, cases []Case, outcomes []Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| `failMode` %s |", mode)
	for _, h := range Columns {
		fmt.Fprintf(&b, " %s |", h.Title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Columns)))
	for i, c := range cases {
		if i%len(Columns) == 0 {
			fmt.Fprintf(&b, "\n| %s |", c.Failure.Name)
		}
		word := "stopped"
		if outcomes[i].Ran {
			word = "**runs**"
		}
		if !outcomes[i].Rule.Proved() {
			word += " *"
		}
		b.WriteString(" " + word + " |")
	}
	return b.String() + "\n"
}

// evidenceTable is the table of the hosts' rules, and where each was read.
func evidenceTable() string {
	words := map[Effect]string{Runs: "runs", Stops: "stopped", Fails: "failed hook"}
	var b strings.Builder
	b.WriteString("| host | the hook ends with | the call | read in |\n|---|---|---|---|\n")
	for _, h := range slices.Concat(Columns, Plugins) {
		for _, rule := range h.Rules {
			place := "*unproved*"
			if rule.Proved() {
				place = fmt.Sprintf("`%s` %s, `%s`", rule.Source.Package, rule.Source.Version, rule.Source.File)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", h.Title, rule.Name, words[rule.Then], place)
		}
	}
	b.WriteString("\n")
	for _, h := range slices.Concat(Columns, Plugins) {
		for _, fact := range h.Facts {
			fmt.Fprintf(&b, "- %s: %s (`%s` %s)\n", h.Title, fact.Text, fact.Source.Package, fact.Source.Version)
		}
	}
	return b.String()
}

// holdPage holds a part of docs/hooks.md to text; with -rewrite it writes it.
func holdPage(t *testing.T, name, text string) {
	t.Helper()
	page.Hold(t, "../../docs/hooks.md", name, "go test ./fuzz/hosts -rewrite", text)
}

// playDecisions is the canary of the honesty table: a call that the service allows runs and leaves its witness, in closed, and
// one that it denies does not run, in open.
func playDecisions(t *testing.T, p program) {
	t.Helper()
	var allowed []Case
	for _, h := range Columns {
		allowed = append(allowed, Case{Host: h, Failure: Failure{Name: "no failure", Service: Allowing}, Closed: true})
	}
	for i, outcome := range playAll(t, p, allowed) {
		if !outcome.Ran {
			t.Errorf("%s: a call that the service allows does not run, by the rule %q; the hook left %s", allowed[i].Host.Name, outcome.Rule.Name, left(outcome.Result))
		}
	}
	var denied []Case
	for _, h := range Columns {
		denied = append(denied, Case{Host: h, Failure: Failure{Name: "a denial", Service: Denying}})
	}
	for i, outcome := range playAll(t, p, denied) {
		if outcome.Ran {
			t.Errorf("%s: a call that the service denies runs, by the rule %q", denied[i].Host.Name, outcome.Rule.Name)
		}
	}
}
