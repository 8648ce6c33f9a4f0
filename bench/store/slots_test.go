package main

import (
	"math"
	"path/filepath"
	"testing"

	"bailiff/fuzz/kit/page"
)

// committed has the figures of the last run.
func committed(t *testing.T) *shared {
	t.Helper()
	g := &shared{one: new(growth)}
	figuresOf(t, slotsFile, g)
	figuresOf(t, growthFile, g.one)
	return g
}

// TestSlotsPage holds the page of results to the figures of the last run, and to a simulation with them.
func TestSlotsPage(t *testing.T) {
	g := committed(t)
	const rewrite = "go test ./bench/store -run Page -rewrite"
	points, err := g.simulated()
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range []question{denied, allowed} {
		holdPoints(t, g.withDatabase(q), slotsOf, points[i])
	}
	page.Hold(t, filepath.Join("..", "RESULTS.md"), "slots", rewrite, g.page(points))
	picture, err := g.plot(points)
	if err != nil {
		t.Fatal(err)
	}
	page.Whole(t, filepath.Join("plots", "slots.svg"), rewrite, string(picture))
}

// TestSimulateSlots holds the simulation of several slots to its bounds.
func TestSimulateSlots(t *testing.T) {
	const length = 500_000
	near := func(a, b float64) bool { return math.Abs(a/b-1) < 0.04 }
	c := &costs{Direct: 40, Serial: 10, Passed: 30, Pass: 20, Tell: 100, Network: 50, Group: 20, Record: 2, Commit: 100}
	for name, bound := range map[string]struct{ got, want float64 }{
		"all processors":            {simulate(&costs{Direct: 40, Passed: 20, Pass: 10, Tell: 10}, 4, 16, 800, 2, length, 7).rate, 4 * 2e6 / 40},
		"the ledgers of slots":      {simulate(&costs{Direct: 1, Passed: 1, Serial: 20}, 2, 4, 800, 8, length, 7).rate, 4 * 1e6 / 20},
		"the database's processors": {simulate(&costs{Record: 10}, 8, 16, 1600, 2, length, 7).rate, 2e6 / 10},
		"a transaction at a time":   {simulate(&costs{Group: 1000}, 1, 4, 100, 8, length, 7).rate, 50 * 1e6 / 1000}, // half of the clients wait while the others' groups are written
	} {
		if !near(bound.got, bound.want) {
			t.Errorf("%s: %.0f a second, and %.0f are to be", name, bound.got, bound.want)
		}
	}
	if a, b := simulate(c, 3, 16, 30, 2, length/10, 7), simulate(c, 3, 16, 30, 2, length/10, 7); a != b {
		t.Errorf("one seed gives %v and %v", a, b)
	}
}

// TestSlotsPart holds figures of several instances that decide to be there.
func TestSlotsPart(t *testing.T) {
	g := new(shared)
	measureShortly(t, slotsPart, slotsFile, g)
	var instances, database float64 // a single window may be shorter than the system counts
	for _, r := range g.Readings {
		instances, database = instances+r.Owner, database+r.Database
	}
	if instances == 0 || database == 0 {
		t.Errorf("the instances take %.0f µs, and the database %.0f", instances, database)
	}
}
