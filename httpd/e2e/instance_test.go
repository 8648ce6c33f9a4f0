package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bailiff/fuzz/kit/wire"
)

// An instance is started again whenever it ends.
type instance struct {
	f     *failover
	name  string
	env   []string
	log   lockedBuffer
	ended chan struct{}
	held  atomic.Bool // it is not started again

	mu      sync.Mutex
	program string // path of the command
	process *exec.Cmd
	base    string // "" where it does not listen yet
	waits   bool   // for the other one, and has not decided since it was started
	exits   []int

	toStore []*wire.Wire // primary and standby
	toIt    *wire.Wire   // from other instances; nil where they pass nothing on
}

func (i *instance) address() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.base
}

func (i *instance) isWaiting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.waits
}

func (i *instance) signal(s syscall.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.process != nil {
		_ = i.process.Process.Signal(s) // it may have ended
	}
}

// supervise starts the instance, again and again.
func (i *instance) supervise() {
	defer close(i.ended)
	for !i.f.ending.Load() {
		i.mu.Lock()
		command := exec.Command(i.program, "serve")
		command.Env, command.Dir = i.env, i.f.dir
		i.mu.Unlock()
		log, err := command.StderrPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			i.f.t.Errorf("starting %s: %v", i.name, err)
			return
		}
		i.mu.Lock()
		i.process = command
		i.mu.Unlock()
		lines := bufio.NewScanner(log)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fmt.Fprintln(&i.log, lines.Text())
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				i.mu.Lock()
				i.base, i.waits = "http://"+found[1], strings.Contains(lines.Text(), "waiting")
				i.mu.Unlock()
			}
		}
		_ = command.Wait() // its exit code is noted
		i.mu.Lock()
		i.base, i.waits, i.process = "", false, nil
		i.exits = append(i.exits, command.ProcessState.ExitCode())
		i.mu.Unlock()
		for time.Sleep(50 * time.Millisecond); i.held.Load() && !i.f.ending.Load(); {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// becomes ends the instance, which is started again with another command.
func (i *instance) becomes(program string) {
	i.f.t.Helper()
	i.mu.Lock()
	i.program = program
	ends := len(i.exits)
	i.mu.Unlock()
	i.signal(syscall.SIGTERM)
	i.f.await("an instance starts with another command", func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return len(i.exits) > ends && i.base != ""
	})
}
