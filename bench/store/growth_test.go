package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

// figuresOf reads the figures of a run.
func figuresOf(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is no %s; run: make bench-growth", file)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// measureShortly measures one part too shortly to tell anything, and reads the figures that it writes, from which the page can be made.
func measureShortly(t *testing.T, part, file string, into any) {
	t.Helper()
	o := shortRun(t)
	o.parts, o.write, o.clients = part, t.TempDir(), 8
	var out bytes.Buffer
	if err := run(t.Context(), t, o, &out); err != nil || !strings.Contains(out.String(), "| 8 | allowed |") {
		t.Fatalf("%v\n%s", err, &out)
	}
	figuresOf(t, filepath.Join(o.write, file), into)
	nothingLeft(t, o)
}

// TestGrowthPage holds the page of results and the plots to the figures of the last run, and to a simulation with them.
func TestGrowthPage(t *testing.T) {
	g := new(growth)
	figuresOf(t, growthFile, g)
	const rewrite = "go test ./bench/store -run TestGrowthPage -rewrite"
	points := g.simulated()
	page.Hold(t, filepath.Join("..", "RESULTS.md"), "growth", rewrite, g.page(points))
	pictures, err := g.plots(points)
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range pictures {
		page.Whole(t, filepath.Join("plots", name), rewrite, string(svg))
	}
}

// meanValues is the exact rate, a second, of clients that go round some stations with one server each, by mean value analysis. Times are
// in microseconds, and exponential; delay is a time without a queue.
func meanValues(clients int, delay float64, stations ...float64) (rate float64) {
	waiting := make([]float64, len(stations))
	for n := 1; n <= clients; n++ {
		round, spent := delay, make([]float64, len(stations))
		for i, work := range stations {
			spent[i] = work * (1 + waiting[i])
			round += spent[i]
		}
		rate = float64(n) / round
		for i := range stations {
			waiting[i] = rate * spent[i]
		}
	}
	return rate * 1e6
}

// TestSimulate holds the simulation to figures that are known exactly, and to its bounds. The canaries are such figures of other costs.
func TestSimulate(t *testing.T) {
	const length = 2_000_000
	near := func(a, b float64) bool { return math.Abs(a/b-1) < 0.03 }
	c := &costs{Direct: 40, Serial: 10, Passed: 30, Pass: 20, Tell: 100, Network: 50}
	for _, clients := range []int{1, 4, 16} {
		got := simulate(c, 1, 1, clients, 1, length, 7).rate
		if want := meanValues(clients, 0, 40, 10); !near(got, want) {
			t.Errorf("%d clients of one instance: %.0f a second, exactly %.0f", clients, got, want)
		}
		if other := meanValues(clients, 0, 44, 10); near(got, other) {
			t.Errorf("%d clients: costs that are a tenth higher are not told from these", clients)
		}
	}
	for name, bound := range map[string]struct {
		got, want float64
	}{
		"the owner's processors":    {simulate(&costs{Direct: 40, Passed: 40, Serial: 1}, 4, 1, 400, 2, length, 7).rate, 2e6 / 40},
		"one after the other":       {simulate(&costs{Direct: 1, Passed: 1, Serial: 5}, 4, 1, 400, 2, length, 7).rate, 1e6 / 5},
		"the database's processors": {simulate(&costs{Record: 10}, 1, 1, 400, 2, length, 7).rate, 1e6 / 10},          // a group comes after the other
		"groups of all that waits":  {simulate(&costs{Commit: 1000}, 1, 1, 100, 2, length, 7).rate, 50 * 1e6 / 1000}, // half of them wait while the group of the others is written
	} {
		if !near(bound.got, bound.want) {
			t.Errorf("%s: %.0f a second, and %.0f are to be", name, bound.got, bound.want)
		}
	}
	if a, b := simulate(c, 3, 1, 30, 2, length/10, 7), simulate(c, 3, 1, 30, 2, length/10, 7); a != b {
		t.Errorf("one seed gives %v and %v", a, b)
	}
}

// TestCosts takes costs out of readings that were made of them.
func TestCosts(t *testing.T) {
	g := new(growth)
	made := map[string]costs{denied.name: {Direct: 20, Passed: 30, Pass: 15, Tell: 15}, allowed.name: {Direct: 150, Passed: 35, Pass: 15, Tell: 145}}
	for _, q := range []question{denied, allowed} {
		c := made[q.name]
		for _, n := range counts {
			owner, others := c.predicted(n)
			g.Readings = append(g.Readings, reading{Question: q.name, Instances: n, Clients: 64, Owner: owner + assumedSerial, Others: others, Database: 10 + 100/float64(8*n), Group: float64(8 * n)})
		}
		g.Readings = append(g.Readings, reading{Question: q.name, Instances: 1, Clients: 1, Owner: c.Direct, Database: 110, Group: 1, P50: 0.7})
		got, want := g.costsOf(q), c
		want.Serial, want.Network, want.Group, want.Record = assumedSerial, assumedNetwork, 100, 10
		want.Commit = 700 - made[denied.name].Direct - 110
		for name, pair := range map[string][2]float64{
			"direct": {got.Direct, want.Direct}, "passed": {got.Passed, want.Passed}, "pass and tell": {got.Pass + got.Tell, want.Pass + want.Tell},
			"group": {got.Group, want.Group}, "record": {got.Record, want.Record}, "commit": {got.Commit, want.Commit},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s, %s: %.3f, made with %.3f", q.name, name, pair[0], pair[1])
			}
		}
	}
	if owner := g.ownerSigns(); math.Abs(owner.Passed-(35+130)) > 1e-9 || math.Abs(owner.Tell-15) > 1e-9 {
		t.Errorf("signed by the owner: %+v", owner)
	}
}

// TestMachines holds figures of several instances, of which one decides, to be there.
func TestMachines(t *testing.T) {
	g := new(growth)
	measureShortly(t, machinesPart, growthFile, g)
	var owner, database, alone, passed float64 // a single window may be shorter than the system counts
	for _, r := range g.Readings {
		owner, database = owner+r.Owner, database+r.Database
		if r.Instances == 1 {
			alone += r.Others
		} else {
			passed += r.Others
		}
	}
	if owner == 0 || database == 0 || passed <= alone {
		t.Errorf("the owner takes %.0f µs, the database %.0f, the others %.0f, and %.0f where they are not asked", owner, database, passed, alone)
	}
}
