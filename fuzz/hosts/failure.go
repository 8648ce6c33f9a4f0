//go:build unix

package hosts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"time"

	"bailiff/runtime/hook/setup"
)

// A Failure is one way in which a hook, or what it needs, fails.
type Failure struct {
	Name    string
	Service Mode
	// Signal is sent to the hook once its request has arrived; 0 for none.
	Signal syscall.Signal
	// Event changes the host's event; nil leaves it.
	Event func(event []byte) []byte
	// HostTimeout is what the hook is told of the host's patience.
	HostTimeout time.Duration
	// Patience is the host's patience.
	Patience time.Duration
}

// Times, scaled down: what takes a host a minute takes a second here. A hook that is to answer gets far longer than it needs.
const (
	briefly = time.Second
	long    = 2 * time.Minute
)

// Failures are the failures of the honesty table. Where the service answers, it denies: a call that runs is one that was
// never allowed.
var Failures = []Failure{
	{Name: "the service is down", Service: Down},
	{Name: "the service is slow", Service: Slow, HostTimeout: 4 * briefly},
	{Name: "the service answers garbage", Service: Garbage},
	{Name: "the service answers 429", Service: Busy},
	{Name: "the service answers 503", Service: Failing},
	{Name: "the hook crashes", Service: Slow, Signal: syscall.SIGABRT},
	{Name: "the hook hangs", Service: Slow, Signal: syscall.SIGSTOP, Patience: 2 * briefly},
	{Name: "the hook is killed", Service: Slow, Signal: syscall.SIGKILL},
	{Name: "the event has 10 MiB", Service: Denying, Event: func(event []byte) []byte {
		return bytes.Replace(event, []byte(Command), bytes.Repeat([]byte("x"), 10<<20), 1)
	}},
	{Name: "the event is not UTF-8", Service: Denying, Event: func(event []byte) []byte {
		return bytes.Replace(event, []byte(Command), []byte("rm \xff\xfe"), 1)
	}},
	{Name: "the event has a byte-order mark", Service: Denying, Event: func(event []byte) []byte {
		return append([]byte("\xef\xbb\xbf"), event...)
	}},
	{Name: "two events come at once", Service: Denying, Event: func(event []byte) []byte {
		return append(append(bytes.Clone(event), '\n'), event...)
	}},
}

// Command is the command that the hosts ask about.
const Command = "rm -rf /srv/data"

// harmless is a command that the policy of the built service allows.
const harmless = "ls"

// A Case is one failure on one host.
type Case struct {
	Host    Host
	Failure Failure
	Closed  bool // the hook's failMode, and with it the host's fail-closed setting where it has one
}

// A Stage is what failures are played with.
type Stage struct {
	Program, KeyFile, LogFile string // the hook's
	Env                       []string
	Address, Key              string // of the built service, whose policy denies Command
}

// Play lets the failure happen to a hook, and returns what became of the call.
func (c Case) Play(stage Stage, witness string) (Outcome, error) {
	if c.Host.HTTP {
		return c.playHTTP(stage.Address, stage.Key, witness)
	}
	service, err := NewService(c.Failure.Service)
	if err != nil {
		return Outcome{}, err
	}
	defer service.Close()
	mode := "open"
	if c.Closed {
		mode = "closed"
	}
	installed, err := c.install([]string{
		stage.Program, "hook", "--adapter", c.Host.Name, "--url", service.URL, "--api-key-file", stage.KeyFile, "--fail-mode", mode,
		"--host-timeout", or(c.Failure.HostTimeout, long).String(), "--log", stage.LogFile,
	})
	if err != nil {
		return Outcome{}, err
	}
	installed.Env, installed.Timeout = stage.Env, or(c.Failure.Patience, long)
	if c.Failure.Signal != 0 {
		installed.Started = func(process int) {
			go func() {
				<-service.Asked()
				_ = syscall.Kill(hookIn(process), c.Failure.Signal)
			}()
		}
	}
	event := c.Host.Event(Command)
	if c.Failure.Event != nil {
		event = c.Failure.Event(event)
	}
	return installed.Call(event, witness)
}

// install writes the hook into the host's settings as bailiff hook install does, and reads them as the host does.
func (c Case) install(command []string) (Setup, error) {
	place := setup.Find(c.Host.Name)
	settings, err := place.Install(nil, setup.Options{Command: command, Timeout: long, Closed: c.Closed})
	if err != nil {
		return Setup{}, err
	}
	return c.read(settings)
}

// read reads the settings as the host does.
func (c Case) read(settings []byte) (Setup, error) {
	hooks, err := setup.Find(c.Host.Name).Hooks(settings)
	if err != nil {
		return Setup{}, err
	}
	if len(hooks) == 0 {
		return Setup{}, errors.New("there is no hook: " + string(settings))
	}
	var entry map[string]any
	if err := json.Unmarshal([]byte(hooks[0].Text), &entry); err != nil {
		return Setup{}, err
	}
	if inner, grouped := entry["hooks"].([]any); grouped {
		entry, _ = inner[0].(map[string]any)
	}
	// A switch such as onFailure: "block" is in the entry by its name and its value.
	name, value, _ := strings.Cut(c.Host.Switch, ": ")
	is, err := json.Marshal(entry[name])
	if err != nil {
		return Setup{}, err
	}
	s := Setup{Host: c.Host, Closed: c.Host.Switch != "" && string(is) == value}
	s.Line = cmp.Or(text(entry, "command"), text(entry, "bash"))
	if args, direct := entry["args"].([]any); direct {
		s.Command, s.Line = []string{s.Line}, ""
		for _, arg := range args {
			word, _ := arg.(string)
			s.Command = append(s.Command, word)
		}
	}
	return s, nil
}

// or is the first of two times that is set.
func or(a, b time.Duration) time.Duration {
	if a != 0 {
		return a
	}
	return b
}
