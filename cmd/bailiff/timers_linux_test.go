package main

import (
	"bailiff/cmd/bailiff/serve"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// timers is what a process says of itself after RelaxTimers.
type timers struct {
	Process   int
	Arguments []string
	Slacks    [2]int // of the first thread, and of one made later
	Marker    string
	Files     uint64 // how many it may open
}

func init() { commands["timers"] = printTimers }

// printTimers is a program of its own. With --refuse it first makes its file not executable.
func printTimers() {
	if self, err := os.Executable(); err == nil && slices.Contains(os.Args, "--refuse") {
		os.Chmod(self, 0o600)
	}
	serve.RelaxTimers()
	of := timers{Process: os.Getpid(), Arguments: os.Args[1:], Marker: os.Getenv(serve.TimersRelaxed)}
	for i := range of.Slacks {
		made := make(chan struct{})
		go func() {
			runtime.LockOSThread() // for good: the next one needs another thread
			of.Slacks[i], _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			close(made)
			select {}
		}()
		<-made
	}
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	of.Files = files.Cur
	_ = json.NewEncoder(os.Stdout).Encode(of)
}

// said runs a command that ends in printTimers, with that marker.
func said(t *testing.T, command *exec.Cmd, marker string) (got timers) {
	t.Helper()
	command.Env = append(os.Environ(), serve.TimersRelaxed+"="+marker)
	printed, err := command.CombinedOutput()
	if err != nil || json.Unmarshal(printed, &got) != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	return got
}

// TestRelaxTimers: the process stays the same one, with the same arguments, and all of its threads have the slack. One
// that has been started anew before, as the marker says, keeps what it has.
func TestRelaxTimers(t *testing.T) {
	inherited, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for marker, slack := range map[string]int{"": max(inherited, serve.TimerSlack), "1": inherited} {
		command := exec.Command("timers", "serve", "two words", "")
		got := said(t, command, marker)
		want := timers{Process: command.Process.Pid, Arguments: command.Args[1:], Slacks: [2]int{slack, slack}}
		want.Files = got.Files // another test's matter
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with the marker %q: got %+v, want %+v", marker, got, want)
		}
	}
}

// TestOfLoader: a program that the dynamic loader was told to run goes on as it is: it is the loader's process.
func TestOfLoader(t *testing.T) {
	path, err := exec.LookPath("timers")
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	section := program.Section(".interp")
	if section == nil {
		return // what is linked statically has no loader
	}
	loader, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(strings.TrimRight(string(loader), "\x00"), path, "serve")
	if got := said(t, command, ""); !slices.Equal(got.Arguments, []string{"serve"}) {
		t.Errorf("%+v", got)
	}
}

// TestNotRelaxed: where the process can't be executed again, it goes on and may open as many files as Go lets every
// process open, not only as many as it was started with.
func TestNotRelaxed(t *testing.T) {
	path, err := exec.LookPath("timers")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const soft = 256
	alone := filepath.Join(t.TempDir(), "timers")
	if err := os.WriteFile(alone, program, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -Sn %d && exec "$0" --refuse`, soft), alone)
	if got := said(t, command, ""); got.Files <= soft {
		t.Errorf("it may open %d files, as many as it was started with", got.Files)
	}
}
