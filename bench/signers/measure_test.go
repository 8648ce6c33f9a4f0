package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestMeasure runs every body for a few turns, by a clock of steps, and holds the report to the figures.
func TestMeasure(t *testing.T) {
	list, done, err := newBodies(examplePolicy, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer done.Close()
	var now, step time.Duration
	clock := func() time.Duration {
		step += perTurn * time.Microsecond // the n-th reading is n turns later than the one before
		now += step
		return now
	}
	if err := measure(clock, list, 1); err != nil {
		t.Fatal(err)
	}
	for i, b := range list {
		if want := float64(2 * (i + 1)); b.took[0] != want {
			t.Errorf("%s took %v, not %v", b.name, b.took, want)
		}
	}
	for i, took := range []float64{100, 40, 60, 20, 200, 240, 150} {
		list[i].took = []float64{took}
	}
	var text strings.Builder
	reportMeasured(&text, list)
	for _, want := range []string{
		"| sign by gmsm, verify by circl | 60 | 0.60 (0.60 – 0.60) |",
		"| issue an attestation | 200 | 160 | 1.25 |",
		"| decide an ALLOWED, without HTTP and disk | 240 | 200 | 1.20 |",
		"| 64 | 26 | 0.17 (0.17 – 0.17) | 192 |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %s:\n%s", want, text.String())
		}
	}
	planted := errors.New("planted")
	list[signGmsm].step = func([]byte) error { return planted }
	if err := measure(clock, list, 1); !errors.Is(err, planted) {
		t.Errorf("a body that fails: %v", err)
	}
}
