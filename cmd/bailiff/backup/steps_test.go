package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"

	"crypto/rand"
)

// The environment of the process that a test starts: what it does, and the step at which it is killed or fails.
const (
	doVariable   = "BAILIFF_TEST_DO"
	killVariable = "BAILIFF_TEST_KILL"
	failVariable = "BAILIFF_TEST_FAIL"
)

// TestMain is the command in a process that a test has started.
func TestMain(m *testing.M) {
	do := os.Getenv(doVariable)
	if do == "" {
		os.Exit(m.Run())
	}
	reached = func(at step) error {
		switch string(at) {
		case os.Getenv(killVariable):
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case os.Getenv(failVariable):
			return errPlanted
		}
		return nil
	}
	if err := perform(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, do); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

var errPlanted = errors.New("a planted fault")

// perform does what a test has asked a process of its own for.
func perform(std cli.Streams, do string) error {
	verb, name, _ := strings.Cut(do, " ")
	switch verb {
	case "make": // data with some keys
		if _, err := attest.LoadOrCreate(os.Getenv("SVC_KEY_DIR"), rand.Reader); err != nil {
			return err
		}
		return withAdmin(std, func(ctx context.Context, a client.Admin) error {
			for range keysMade {
				if _, err := a.CreateKey(ctx, accounts.NewKey{Email: "a@example.com"}); err != nil {
					return err
				}
			}
			return nil
		})
	case "count": // the keys, all of which have to be there, of a frozen service
		return client.WithAdmin(std, client.MustExist, func(ctx context.Context, a client.Admin) error {
			keys, err := a.Keys(ctx)
			if err != nil {
				return err
			}
			if frozen, err := a.HaltOf(ctx, ""); err != nil || len(keys) != keysMade || !frozen.Halted {
				return cli.Fail("there are %d keys, frozen %v, %v", len(keys), frozen.Halted, err)
			}
			return nil
		})
	case "backup":
		return (&backupCommand{Dir: name}).Run(std)
	case "check":
		return (&restoreCommand{Dir: name, Check: true}).Run(std)
	}
	return (&restoreCommand{Dir: name}).Run(std)
}

const keysMade = 40

// withAdmin is client.WithAdmin where there may be no data yet.
func withAdmin(std cli.Streams, use func(context.Context, client.Admin) error) error {
	return client.WithAdmin(std, true, use)
}

// A place is a data folder, and the signing keys that go with it.
type place struct {
	*testing.T
	data, keys string
}

// run does something in a process of its own, and returns what it says and whether it succeeded.
func (p place) run(do string, environ ...string) (said string, ok bool) {
	p.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append([]string{doVariable + "=" + do, "SVC_DATA_DIR=" + p.data, "SVC_KEY_DIR=" + p.keys, "PATH=" + os.Getenv("PATH")}, environ...)
	command.Dir = filepath.Dir(p.data)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err == nil
}

func (p place) must(do string) {
	p.Helper()
	if said, ok := p.run(do); !ok {
		p.Fatalf("%s: %s", do, said)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestFaultsAtEachStep has a backup and a restoration fail, and killed, at each step: it leaves a whole one or none with the name, serves nothing
// otherwise, and does not keep the command from being run again.
func TestFaultsAtEachStep(t *testing.T) {
	dir := t.TempDir()
	p := place{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys")}
	p.must("make")
	whole := filepath.Join(dir, "whole")
	p.must("backup " + whole)
	for n, at := range steps {
		for _, how := range []string{killVariable, failVariable} {
			t.Run(how+" "+string(at), func(t *testing.T) {
				verb, _, _ := strings.Cut(string(at), ":")
				name := filepath.Join(dir, string(rune('a'+n))+how)
				if verb == "backup" {
					place{t, p.data, p.keys}.faultyBackup(name, how+"="+string(at))
					return
				}
				place{t, name, p.keys}.faultyRestore(whole, how+"="+string(at))
			})
		}
	}
}

func (p place) faultyBackup(name, fault string) {
	p.Helper()
	if said, ok := p.run("backup "+name, fault); ok {
		p.Fatalf("the fault is not seen: %s", said)
	}
	if !exists(name) {
		p.must("backup " + name)
	}
	p.must("check " + name)
}

func (p place) faultyRestore(from, fault string) {
	p.Helper()
	if said, ok := p.run("restore "+from, fault); ok {
		p.Fatalf("the fault is not seen: %s", said)
	}
	if !exists(filepath.Join(p.data, "ledger")) {
		if said, ok := p.run("count"); ok || !strings.Contains(said, "there is no data in") {
			p.Fatalf("half a restoration serves: %s", said)
		}
		p.must("restore " + from)
	}
	p.must("count")
}

// TestFaultsAreSeen is the canary: a backup without a part of its record is whole by its name, and refused by what it contains.
func TestFaultsAreSeen(t *testing.T) {
	dir := t.TempDir()
	p := place{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys")}
	p.must("make")
	half := filepath.Join(dir, "half")
	p.must("backup " + half)
	log, err := os.ReadFile(filepath.Join(half, logFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, logFile), log[:len(log)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, do := range []string{"check ", "restore "} {
		other := place{t, filepath.Join(dir, "other"), p.keys}
		if said, ok := other.run(do + half); ok || !strings.Contains(said, "take another backup") || exists(filepath.Join(other.data, "ledger")) {
			t.Errorf("%s: %v %s", do, ok, said)
		}
	}
}
