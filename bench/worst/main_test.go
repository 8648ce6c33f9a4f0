package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/kit/testbin"
)

// grouped skips a test where no control group can be made.
func grouped(t *testing.T) {
	t.Helper()
	g, err := newGroup(1 << 30)
	if err != nil {
		t.Skipf("no memory control group can be made: %v", err)
	}
	g.remove()
}

// A fault is planted in a file of the service: a text that is in it exactly once becomes another one.
type fault struct{ path, text, becomes string }

// build builds the service with faults.
func build(t *testing.T, folder string, faults ...fault) (binary string) {
	t.Helper()
	testbin.Track(t)
	overlay, binary := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "bailiff")
	list, err := json.Marshal(map[string]map[string]string{"Replace": plant(t, folder, faults...)})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	if err == nil {
		err = testbin.Command(binary, "-overlay", overlay)
	}
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// plant writes the files that have faults, and returns which files they mean.
func plant(t *testing.T, folder string, faults ...fault) map[string]string {
	t.Helper()
	replace := map[string]string{}
	for i, f := range faults {
		absolute, err := filepath.Abs("../../" + f.path)
		if err != nil {
			t.Fatal(err)
		}
		from := absolute
		if replace[absolute] != "" {
			from = replace[absolute]
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), f.text) != 1 {
			t.Fatalf("%q is not once in %s", f.text, f.path)
		}
		replace[absolute] = filepath.Join(folder, fmt.Sprintf("fault%d.go", i))
		if err := os.WriteFile(replace[absolute], []byte(strings.Replace(string(text), f.text, f.becomes, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return replace
}

// TestRun goes through a short run of some of the rows, which the service survives. All of them are run by make bench-worst.
func TestRun(t *testing.T) {
	grouped(t)
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(uint64(seed.Value(t)), 1)) //nolint:gosec // a test's
	var names []string
	for _, n := range random.Perm(len(attacks))[:3] {
		names = append(names, attacks[n].name)
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{service: build(t, folder), dir: folder, each: time.Second, only: strings.Join(names, ","), memory: 1 << 30}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, name := range names {
		line := regexp.MustCompile(`(?m)^` + name + ` +up +customers [1-9]\d* test-runs, p50 [\d.]+ ms, p99 [\d.]+ ms(?: \(.+\))?; attack \d+ begun; stored \d+ MiB; [1-9]\d* goroutines, then [1-9]\d*; heap \d+ MiB, then \d+; resident \d+ MiB at most, then \d+, of 1024$`)
		if !line.Match(out.Bytes()) {
			t.Errorf("there is no good line of %s:\n%s", name, &out)
		}
	}
}

// TestUnbounded is the canary: without the bounds of its budgets the service does not survive what they are for. It may use less memory than
// in other tests: what a busy machine attacks more slowly would otherwise be at the edge of it. With its bounds it survives that, too.
func TestUnbounded(t *testing.T) {
	grouped(t)
	const budget = "runtime/budget/budget.go"
	unbounded := build(t, t.TempDir(),
		fault{budget, "if b.held+bytes > most {", "if false {"},
		fault{budget, "if b.Share > 0 &&", "if false &&"},
		fault{"runtime/policies/lingering.go", "MaxLingering = 64 << 20", "MaxLingering = 64 << 30"})
	bounded := build(t, t.TempDir())
	for _, row := range []string{"answers", "bodies", "programs"} {
		for binary, each := range map[string]time.Duration{unbounded: 2 * time.Minute, bounded: 5 * time.Second} {
			var out bytes.Buffer
			err := run(t.Context(), options{service: binary, dir: t.TempDir(), each: each, only: row, memory: 384 << 20}, &out)
			if down := strings.Contains(out.String(), "DOWN"); down != (err != nil) || down != (binary == unbounded) {
				t.Errorf("%s: the service without bounds: %t, is down: %t, %v\n%s", row, binary == unbounded, down, err, &out)
			}
		}
	}
}

// TestFloors has every row prepared and begun against the floor as well, which has to answer what each looks for.
func TestFloors(t *testing.T) {
	grouped(t)
	g, err := newGroup(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	defer g.remove()
	self := filepath.Join(t.TempDir(), "worst")
	if output, err := exec.Command("go", "build", "-o", self, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	o := options{each: 500 * time.Millisecond}
	for _, row := range attacks {
		f, err := o.floorBy(t.Context(), self, g, row, 10)
		for range 4 { // a busy machine answers some customers too late, but hardly all of them five times
			if err == nil && f.failed < f.asked {
				break
			}
			f, err = o.floorBy(t.Context(), self, g, row, 10)
		}
		if err != nil || f.failed >= f.asked {
			t.Errorf("%s: %+v, %v", row.name, f, err)
		}
	}
}

// TestStopFault holds that a service which was told to stop may be late, and may neither crash nor be killed.
func TestStopFault(t *testing.T) {
	for script, want := range map[string]bool{
		"exit 0": false, "echo what clients asked for " + tooSlow + " >&2; exit 1": false,
		"echo the ledger is damaged >&2; exit 1": true, "echo " + tooSlow + " >&2; exit 2": true, "kill -KILL $$": true,
	} {
		command := exec.Command("sh", "-c", script)
		output, err := command.StderrPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &service{command: command, ended: make(chan struct{})}
		s.follow(output, make(chan string, 1))
		if fault := s.stopFault(); (fault != nil) != want {
			t.Errorf("%s: %v", script, fault)
		}
	}
}

// TestLockedOut holds that customers of whom some are refused are not locked out, and that those are of whom most are.
func TestLockedOut(t *testing.T) {
	for failed, want := range map[int]bool{0: false, 1: false, 5: false, 6: true, 10: true} {
		if got := (figures{asked: 10, failed: failed}).lockedOut(); got != want {
			t.Errorf("%d of 10 failed: %v, want %v", failed, got, want)
		}
	}
}

// TestNoGroupToJoin holds that a folder in which no process can be put is no control group.
func TestNoGroupToJoin(t *testing.T) {
	g := &group{filepath.Join(t.TempDir(), "group")}
	if err := g.joinable(); err == nil {
		t.Error("a process has joined a group that is not there")
	}
	grouped(t)
	g, err := newGroup(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	defer g.remove()
	if err := g.joinable(); err != nil {
		t.Error(err)
	}
}

// A run of a row that does not exist is no success.
func TestNoRow(t *testing.T) {
	grouped(t)
	if err := run(t.Context(), options{only: "none", memory: 1 << 30}, new(bytes.Buffer)); err == nil {
		t.Error("nothing was run, and that is a success")
	}
}
