// Package player starts the servers that a benchmark compares, each as a process of its own, and drives each over connections of
// its own. Package load sends the requests of a connection.
package player

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// StopTimeout is how long a process may take to end after SIGTERM before it is killed.
const StopTimeout = 20 * time.Second

// A Process is a child that serves.
type Process struct {
	Name    string
	Address string
	TLS     *tls.Config // nil: the process does not speak TLS
	Command *exec.Cmd
	input   io.Closer
	log     tail // of its standard error
}

// tailBytes is how much of what a process says is kept: the end.
const tailBytes = 16 << 10

// A tail keeps the end of a text that is written to it, for a reader at any time.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(b), nil
}

// Bytes returns the kept text.
func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.text)
}

// Start starts the command; its standard input ends with this process.
func (p *Process) Start() (err error) {
	p.Command.Stderr = &p.log
	p.Command.WaitDelay = StopTimeout
	if p.input, err = p.Command.StdinPipe(); err != nil {
		return err
	}
	if err := p.Command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	return nil
}

// PID is the id of a process that runs.
func (p *Process) PID() int { return p.Command.Process.Pid }

// Stop ends the process with SIGTERM and waits for it. An end of its own accord, or with another exit code than
// 0, is an error that shows what the process had to say.
func (p *Process) Stop() error {
	signalled := p.Command.Process.Signal(syscall.SIGTERM)
	p.input.Close()
	killer := time.AfterFunc(StopTimeout, func() { _ = p.Command.Process.Kill() })
	defer killer.Stop()
	if err := errors.Join(signalled, p.Command.Wait()); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.Name, err, p.log.Bytes())
	}
	return nil
}

// Environment is this process's environment without what would set up a service, and with GOMAXPROCS; with 0 processors each
// program chooses that itself.
func Environment(processors int, more ...string) []string {
	var environment []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "SVC_") && !strings.HasPrefix(entry, "WARRANTY_PATH=") && !strings.HasPrefix(entry, "GOMAXPROCS=") {
			environment = append(environment, entry)
		}
	}
	if processors > 0 {
		environment = append(environment, fmt.Sprintf("GOMAXPROCS=%d", processors))
	}
	return append(environment, more...)
}

// Output runs a command to its end and returns what it printed.
func Output(ctx context.Context, environment []string, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = environment
	var complaint bytes.Buffer
	command.Stderr = &complaint
	printed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, complaint.Bytes())
	}
	return printed, nil
}
