package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/retention"
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
			os.Stderr.WriteString(hit + string(at) + "\n")
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

// hit is how a process that is killed says at which step.
const hit = "killed after "

// kills is how often a command is killed at each step.
var kills = flag.Int("kills", 1, "how often a backup and a restoration are killed at each step")

// perform does what a test has asked a process of its own for.
func perform(std cli.Streams, do string) error {
	verb, name, _ := strings.Cut(do, " ")
	switch verb {
	case "make": // data with some keys, and where a name is given with the records of half of them dropped
		signer, err := attest.LoadOrCreate(os.Getenv("SVC_KEY_DIR"), rand.Reader)
		if err == nil {
			err = makeKeys(std)
		}
		if err == nil && name != "" {
			err = drop(signer, filepath.Join(os.Getenv("SVC_DATA_DIR"), "ledger"), name)
		}
		if err != nil {
			return err
		}
		return makeKeys(std)
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

// makeKeys makes half of the keys.
func makeKeys(std cli.Streams) error {
	return withAdmin(std, func(ctx context.Context, a client.Admin) error {
		for range keysMade / 2 {
			if _, err := a.CreateKey(ctx, accounts.NewKey{Email: "a@example.com"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// drop has retention drop all that a log has.
func drop(signer *attest.Signer, log, exports string) error {
	l, err := pebbleledger.Open(log, pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		return err
	}
	drops, err := retention.Drop(context.Background(), retention.Config{Ledger: l, Signer: signer, Clock: time.Now, Age: time.Nanosecond, Folder: exports})
	if err == nil && len(drops) == 0 {
		err = errors.New("nothing was dropped")
	}
	return errors.Join(err, l.Close())
}

// withAdmin is client.WithAdmin where there may be no data yet.
func withAdmin(std cli.Streams, use func(context.Context, client.Admin) error) error {
	return client.WithAdmin(std, client.MayCreate, use)
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

// verify verifies the log of a place, and what it begins with.
func (p place) verify() (chain commit.Verified) {
	p.Helper()
	signer, err := attest.LoadOrCreate(p.keys, rand.Reader)
	if err == nil {
		chain, err = pebbleledger.VerifyChain(filepath.Join(p.data, "ledger"), pebbleledger.Options{}, 0)
	}
	if err == nil {
		_, err = retention.VerifyBeginning(chain.Begins, signer.CheckpointVerifier())
	}
	if err != nil || chain.IndexChanged || chain.SnapshotChanged {
		p.Fatalf("the record: %v %+v", err, chain)
	}
	return chain
}

// TestFaultsAtEachStep has a backup and a restoration fail, and killed, at each step: it leaves a whole one or none with the name, serves nothing
// otherwise, and does not keep the command from being run again. The killed commands work on a log whose older records retention has dropped.
func TestFaultsAtEachStep(t *testing.T) {
	for how, times := range map[string]int{killVariable: *kills, failVariable: 1} {
		dir := t.TempDir()
		p := place{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys")}
		if how == killVariable {
			p.must("make " + filepath.Join(dir, "exported"))
		} else {
			p.must("make")
		}
		if dropped := p.verify().Begins.After.LSN > 0; dropped != (how == killVariable) {
			t.Fatalf("%s: records were dropped: %v", how, dropped)
		}
		whole := filepath.Join(dir, "whole")
		p.must("backup " + whole)
		for n, at := range steps {
			t.Run(how+" "+string(at), func(t *testing.T) {
				verb, _, _ := strings.Cut(string(at), ":")
				for again := range times {
					name := filepath.Join(dir, fmt.Sprintf("%c%d", 'a'+n, again))
					if verb == "backup" {
						place{t, p.data, p.keys}.faultyBackup(name, how, at)
					} else {
						place{t, name, p.keys}.faultyRestore(whole, how, at)
					}
				}
				t.Logf("%d times", times)
			})
		}
	}
}

// faulty runs a command that is killed, or fails, at a step.
func (p place) faulty(do, how string, at step) {
	p.Helper()
	says := map[string]string{killVariable: hit + string(at), failVariable: errPlanted.Error()}[how]
	if said, ok := p.run(do, how+"="+string(at)); ok || !strings.Contains(said, says) {
		p.Fatalf("the fault is not seen: %s", said)
	}
}

func (p place) faultyBackup(name, how string, at step) {
	p.Helper()
	p.faulty("backup "+name, how, at)
	if !exists(name) {
		p.must("backup " + name)
	}
	p.must("check " + name)
}

func (p place) faultyRestore(from, how string, at step) {
	p.Helper()
	p.faulty("restore "+from, how, at)
	if !exists(filepath.Join(p.data, "ledger")) {
		if said, ok := p.run("count"); ok || !strings.Contains(said, "there is no data in") {
			p.Fatalf("half a restoration serves: %s", said)
		}
		p.must("restore " + from)
	}
	p.must("count")
	p.verify()
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

// TestRestoreMoved: nothing is restored into a folder whose record continues in a database, or is being exported from one.
func TestRestoreMoved(t *testing.T) {
	dir := t.TempDir()
	p := place{t, filepath.Join(dir, "data"), filepath.Join(dir, "keys")}
	p.must("make")
	whole := filepath.Join(dir, "whole")
	p.must("backup " + whole)
	for name, say := range map[string]string{"ledger.imported": "was imported into a database", "ledger.exporting": "was interrupted"} {
		other := place{t, filepath.Join(dir, name), p.keys}
		aside := filepath.Join(other.data, name)
		if err := os.MkdirAll(aside, 0o700); err != nil {
			t.Fatal(err)
		}
		if said, ok := other.run("restore " + whole); ok || !strings.Contains(said, say) || exists(filepath.Join(other.data, "ledger")) {
			t.Errorf("%s: %v %s", name, ok, said)
		}
		if err := os.Remove(aside); err != nil {
			t.Fatal(err)
		}
		other.must("restore " + whole)
	}
}
