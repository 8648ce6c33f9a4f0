//go:build unix

package hosts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A Setup is one installation of a hook on a fake host.
type Setup struct {
	Host    Host
	Command []string // the hook's program and its arguments
	Line    string   // in place of Command, a line for a shell
	Env     []string
	Timeout time.Duration // after which the host gives up on the hook
	Closed  bool          // whether the host's fail-closed setting is on

	// Started is told the process of the hook, to kill it or to stop it. May be nil.
	Started func(process int)
}

// An Outcome is what became of one call of a tool.
type Outcome struct {
	Ran    bool
	Rule   Rule
	Result Result
}

// Call gives an event to the hook as the host does before a tool runs. Where the host's rules let the call run, it creates
// the file witness.
func (s Setup) Call(event []byte, witness string) (Outcome, error) {
	outcome := Outcome{Result: s.run(event)}
	outcome.Rule, outcome.Ran = s.Host.Judge(outcome.Result, s.Closed)
	if outcome.Ran {
		return outcome, os.WriteFile(witness, []byte("the call ran\n"), 0o600)
	}
	return outcome, nil
}

// drain is how long output is awaited of what a hook has left behind.
const drain = 5 * time.Second

// run runs the hook in a group of its own, which is killed when the time is over.
func (s Setup) run(event []byte) Result {
	limit, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	argv := s.Command
	switch {
	case strings.Contains(s.Line, "||"):
		argv = []string{"/bin/sh", "-c", s.Line}
	case s.Line != "":
		argv = []string{"/bin/sh", "-c", "exec " + s.Line} // as bash does with a single command
	}
	hook := exec.CommandContext(limit, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	hook.Env, hook.Stdout, hook.Stderr, hook.WaitDelay = s.Env, &stdout, &stderr, drain
	hook.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hook.Cancel = func() error { return syscall.Kill(-hook.Process.Pid, syscall.SIGKILL) }
	stdin, err := hook.StdinPipe()
	if err == nil {
		err = hook.Start()
	}
	if err != nil {
		return Result{Exit: -1, NotStarted: true, Stderr: []byte(err.Error())}
	}
	written := make(chan error, 1)
	go func() {
		_, err := stdin.Write(event)
		_ = stdin.Close() // the end of the hook may have closed it
		written <- err
	}()
	if s.Started != nil {
		s.Started(hook.Process.Pid)
	}
	err = hook.Wait()
	result := Result{Unread: <-written != nil, Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Exit: hook.ProcessState.ExitCode()}
	result.TimedOut = errors.Is(limit.Err(), context.DeadlineExceeded) && err != nil
	return result
}
