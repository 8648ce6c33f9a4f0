package retention_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// kills is how often each step is hit.
var kills = flag.Int("kills", 2, "how often a pass is killed at each step")

// The environment of the process that a test starts.
const (
	dirVariable   = "BAILIFF_TEST_DIR"
	storeVariable = "BAILIFF_TEST_STORE"
	atVariable    = "BAILIFF_TEST_AT"
	killVariable  = "BAILIFF_TEST_KILL"
)

// TestMain is, in a process that a test has started, a service that decides and drops what is old.
func TestMain(m *testing.M) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		flag.Parse()
		os.Exit(m.Run())
	}
	if err := run(dir, os.Getenv(atVariable), os.Getenv(killVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run decides for an hour and a half, says what was acknowledged, and drops what is older than an hour, to be killed at a step.
func run(dir, at, kill string) error {
	w, err := newWorld(dir)
	if err != nil {
		return err
	}
	w.store = os.Getenv(storeVariable)
	if w.at, err = strconv.ParseInt(at, 10, 64); err != nil {
		return err
	}
	w.reached = func(step ledger.RetentionStep) error {
		if string(step) == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	l, err := w.open()
	if err != nil {
		return err
	}
	if _, known := l.LookupKeyID(ledgertest.ID('k', 1)); !known {
		if err := l.CreateKey(contextOf(), ledgertest.NewKey(1)); err != nil {
			return err
		}
	}
	key, _ := l.LookupKeyID(ledgertest.ID('k', 1))
	if err := w.decide(l, key, 1200); err != nil {
		return err
	}
	head, err := l.Head(contextOf())
	if err != nil {
		return err
	}
	fmt.Printf("acknowledged %d at %d\n", head.LSN, w.at)
	if _, err := w.drop(l); err != nil {
		return err
	}
	return l.Close()
}

// TestKills kills a service at every step of dropping old events. The log opens and verifies each time, and every record that was
// acknowledged is in it or in the exported files.
func TestKills(t *testing.T) { over(t, killed) }

func killed(t *testing.T, w *world) {
	hit := map[string]int{}
	dir, at, acknowledged := strings.TrimSuffix(w.ledger, "/ledger"), w.at, uint64(0)
	start := func(kill string) (said string, err error) {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), dirVariable+"="+dir, storeVariable+"="+w.store, atVariable+"="+strconv.FormatInt(at, 10), killVariable+"="+kill)
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		err = command.Run()
		_, _ = fmt.Sscanf(out.String(), "acknowledged %d at %d", &acknowledged, &at)
		return out.String(), err
	}
	for range 4 { // after which every start has something to drop
		if said, err := start(""); err != nil {
			t.Fatal(err, said)
		}
	}
	for range *kills {
		for _, step := range ledger.RetentionSteps {
			said, err := start(string(step))
			if err == nil || !strings.Contains(said, "acknowledged") || strings.Count(said, "\n") != 1 {
				t.Fatalf("%s: it was not killed there: %v %s", step, err, said)
			}
			f, err := w.check()
			switch {
			case err != nil:
				t.Fatalf("killed when %s: %v", step, err)
			case f.chain.Head.LSN < acknowledged || f.records != f.chain.Head.LSN:
				t.Fatalf("killed when %s: the log ends with %d and %d records are there, of %d acknowledged", step, f.chain.Head.LSN, f.records, acknowledged)
			}
			hit[string(step)]++
		}
	}
	if said, err := start(""); err != nil {
		t.Fatal(err, said)
	}
	f, err := w.check()
	must(t, err)
	t.Logf("killed %d times at each of %d steps: %v; %d files of %d records were exported, the log has %d", *kills, len(hit), hit, f.exported, f.chain.Begins.After.LSN, f.chain.Records)
	if f.chain.Records > 3700+1300*4 {
		t.Errorf("the log has %d records, and what is older than an hour is to be dropped", f.chain.Records)
	}
}
