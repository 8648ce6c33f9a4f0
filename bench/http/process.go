package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to end after SIGTERM before it is killed.
const stopTimeout = 20 * time.Second

// process is a child that serves.
type process struct {
	name    string
	address string
	command *exec.Cmd
	input   io.Closer
	log     bytes.Buffer // its standard error
}

// start starts the command; its standard input ends with this process.
func (p *process) start() (err error) {
	p.command.Stderr = &p.log
	p.command.WaitDelay = stopTimeout
	if p.input, err = p.command.StdinPipe(); err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	return nil
}

// pid is the id of a process that runs.
func (p *process) pid() int { return p.command.Process.Pid }

// stop ends the process with SIGTERM and waits for it. An end of its own accord, or with another exit code than
// 0, is an error that shows what the process had to say.
func (p *process) stop() error {
	signalled := p.command.Process.Signal(syscall.SIGTERM)
	p.input.Close()
	killer := time.AfterFunc(stopTimeout, func() { _ = p.command.Process.Kill() })
	defer killer.Stop()
	if err := errors.Join(signalled, p.command.Wait()); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.log.Bytes())
	}
	return nil
}

// startFloor runs this program again as a floor, with a folder for its files. It says on its output where it listens.
func startFloor(kind string, processors int, folder string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: "floor " + kind, command: exec.Command(self, "-floor", kind)}
	p.command.Env = childEnvironment(processors, "TMPDIR="+folder)
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not say where it listens: %w", p.name, err), p.stop())
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// childEnvironment is this process's environment without what would set up a service, and with GOMAXPROCS.
func childEnvironment(processors int, more ...string) []string {
	var environment []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "SVC_") && !strings.HasPrefix(entry, "WARRANTY_PATH=") && !strings.HasPrefix(entry, "GOMAXPROCS=") {
			environment = append(environment, entry)
		}
	}
	return append(append(environment, fmt.Sprintf("GOMAXPROCS=%d", processors)), more...)
}

// output runs a command to its end and returns what it printed.
func output(ctx context.Context, environment []string, name string, arguments ...string) ([]byte, error) {
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
