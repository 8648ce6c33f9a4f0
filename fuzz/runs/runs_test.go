package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/page"
)

// TestBoard holds docs/runs.md to the reports.
func TestBoard(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	all, err := read(filepath.Join(docs, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	page.Whole(t, filepath.Join(docs, "runs.md"), "go test ./fuzz/runs -run TestBoard -rewrite", board(all))
}

// TestTake reads what the targets print.
func TestTake(t *testing.T) {
	for _, row := range []struct {
		kind, output string
		ended        error
		counts       string
		failure      string
	}{
		{"simulate", "    seed: BAILIFF_SEED=-17\n    simulate_test.go:76: answers explained by 900 orders, 0 not found in time\n    simulate_test.go:77: 81234 steps in 500 worlds, 2 goroutines left; reached: map[]\n    simulate_test.go:99: 70 worlds twice, 2 of them\n", nil, "900 orders, 0 orders not found in time, 81234 steps, 500 worlds, 70 worlds twice", ""},
		{"owners", "    seed: BAILIFF_SEED=5\n    many_test.go:9: 40 worlds of 5 slots, 70 statements\n    worlds_test.go:9: 200 simulated worlds, 5000 statements, 9 records\n", nil, "5000 statements, 200 worlds, 40 worlds of several slots", ""},
		{"crash", "    seed: BAILIFF_SEED=5\n    kill_test.go:460: 3 kills, 90 events\n", nil, "3 kills", ""},
		{"differential", "    seed: BAILIFF_SEED=5\n    x_test.go:1: 100 of 900 pairs, 5 a second\n    x_test.go:2: 900 pairs: fine\n", nil, "900 pairs", ""},
		{
			"conform", "        Core   9 cases  conforms\n    Limits 8 cases  conforms\nHolds 7 cases  conforms\nAttestation 6 cases  conforms\nGateway 25 cases  conforms\n" +
				"Client 22 cases  conforms\n101050 cases in 600.0 s (168 a second), 0 divergences; --seed 5\n        20 of 20 mutants found; --seed 6\nrun it again: BAILIFF_SEED=5\n", nil,
			"6 at Attestation, 22 at Client, 9 at Core, 25 at Gateway, 7 at Holds, 8 at Limits, 101050 cases, 20 mutants", "",
		},
		{"fuzz", "fuzz: ./a FuzzA for 1s\nfuzz: 41 targets\n", nil, "41 targets", ""},
		{
			"rounds", "    seed: BAILIFF_SEED=5\n    slots_test.go:9: instance lost (instance c): at most 2s without an answer for a key, and 1s for all of them; 8 requests without one\n    slots_test.go:10: 30 decisions told, 40 events\n    failover_test.go:9: 12 decisions told, 50 events\n" +
				"    --- PASS: TestFailover/round_1 (9s)\n    --- PASS: TestSlotsFailover/round_1 (9s)\n    --- PASS: TestSlotsFailover/round_2 (9s)\n", nil,
			"42 decisions told, 1 faults, 1 rounds of two instances, 2 rounds over slots", "",
		},
		{"mutants", "--- PASS: TestMutants (3s)\n    --- PASS: TestMutants/one (1s)\n    --- PASS: TestMutants/two (1s)\n", nil, "2 faults found", ""},
		{"simulate", "seed: BAILIFF_SEED=4\nrun it again: make simulate SEED=7 STEPS=200\n--- FAIL: TestSimulate (0.3s)\n", errors.New("exit status 2"), "–", "--- FAIL: TestSimulate; make simulate SEED=7 STEPS=200"},
		{"crash", "no space left\n", errors.New("exit status 2"), "–", "exit status 2"},
	} {
		r := &report{Kind: row.kind}
		if err := r.take(kinds[row.kind], row.output, row.ended); err != nil || counts(r.Counts) != row.counts || r.Failure != row.failure {
			t.Errorf("%s: %+v, %v", row.kind, r, err)
		}
	}
	part := "    seed: BAILIFF_SEED=5\n    many_test.go:9: 40 worlds of 5 slots, 70 statements\n"
	for command, kept := range map[string]bool{"make owners": false, "make owners OWNERS=ManySlots": true} {
		r := &report{Kind: "owners", Command: command}
		if err := r.take(kinds["owners"], part, nil); (err == nil) != kept || counts(r.Counts) != "40 worlds of several slots" {
			t.Errorf("%s: %+v, %v", command, r, err)
		}
	}
	if err := (&report{Kind: "owners", Command: "make owners OWNERS=ManySlots"}).take(kinds["owners"], "    seed: BAILIFF_SEED=5\n", nil); err == nil {
		t.Error("a part of a run that says nothing is kept")
	}
	for name, k := range kinds {
		quiet := k
		if quiet.counts, quiet.sums, quiet.each = nil, nil, nil; k.seedless == "" {
			if err := (&report{Kind: name}).take(quiet, "ok  \tbailiff/fuzz\t0.1s\n", nil); err == nil || !strings.Contains(err.Error(), "seed") {
				t.Errorf("a run of %s without a seed is kept: %v", name, err)
			}
		}
		if err := (&report{Kind: name}).take(k, "ok  \tbailiff/fuzz\t0.1s\n", nil); err == nil {
			t.Errorf("a run of %s that says nothing is kept", name)
		}
	}
}

// TestSummary counts the runs after the last failure, and shows the failure.
func TestSummary(t *testing.T) {
	at := func(day int, failure string) *report {
		return &report{Kind: "crash", Commit: "abc", Began: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Minutes: 2, Counts: map[string]int64{"kills": 5}, Failure: failure}
	}
	all := []*report{at(4, ""), at(3, ""), at(2, "a | b"), at(1, "")}
	if row := summary("crash", all); row != "| `make crash` | 2 | 4.0 | 10 kills | 2026-01-02, abc: a / b |\n" {
		t.Error(row)
	}
	if text := board(all); strings.Count(text, "2026-01-0") != 5 || !strings.Contains(text, "](mutation.md)") || !strings.Contains(text, "Runs of `make fuzz` have no seed: ") {
		t.Error(text)
	}
}

// TestOlder: what older runs of the kit counted is not added to what runs at all levels do.
func TestOlder(t *testing.T) {
	now := &report{Kind: "conform", Commit: "b", Began: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Minutes: 1, Counts: map[string]int64{"cases": 5, "at Gateway": 1}}
	before := &report{Kind: "conform", Commit: "a", Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Minutes: 1, Counts: map[string]int64{"cases": 7}}
	text := board([]*report{now, before})
	for _, want := range []string{"| 1 at Gateway, 5 cases; in-process, four levels: 7 cases |", "| 7 cases (in-process, four levels) |", "| 1 at Gateway, 5 cases | 1.0 | clean |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
}

// TestRefused: a report that make record did not write is no row.
func TestRefused(t *testing.T) {
	for _, text := range []string{"{", "{}", `{"form":"bailiff-run-1","kind":"crash","commit":"abc","began":"2026-01-01T00:00:00Z","minutes":1}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(dir); err == nil {
			t.Errorf("%s is a report", text)
		}
	}
	if _, err := record(t.Context(), t.TempDir(), []string{"clean"}, os.Stderr); err == nil || !strings.Contains(err.Error(), "simulate") {
		t.Errorf("clean is recorded: %v", err)
	}
}
