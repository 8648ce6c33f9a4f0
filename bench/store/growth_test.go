package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	points, err := g.simulated()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range g.curves() {
		holdPoints(t, c.costs, func(int) int { return 1 }, points[i])
	}
	page.Hold(t, filepath.Join("..", "RESULTS.md"), "growth", rewrite, g.page(points))
	pictures, err := g.plots(points)
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range pictures {
		page.Whole(t, filepath.Join("plots", name), rewrite, string(svg))
	}
}

// A point is an outcome, and what it is of.
type point struct {
	costs            *costs
	instances, slots int
	outcome
}

// holdPoints finds no point of a curve that cannot be.
func holdPoints(t *testing.T, c *costs, slots func(instances int) int, line []outcome) {
	t.Helper()
	for i, n := range sizes {
		for _, fault := range (&point{c, n, slots(n), line[i]}).faults() {
			t.Errorf("%d instances: %s", n, fault)
		}
	}
}

// faults says what no clients, processors, ledgers and database with these costs can come to.
func (p *point) faults() (found []string) {
	c, clients := p.costs, float64(p.instances*assumedClients)
	if by := p.rate / 1e6 * p.mean * 1e3 / clients; math.Abs(by-1) > 0.03 { // Little's law: each client waits all the time
		found = append(found, fmt.Sprintf("%.0f a second that wait %.1f ms are %.2f of all clients", p.rate, p.mean, by))
	}
	owner, others := c.Direct*p.own+c.Passed*(1-p.own), (c.Pass+c.Tell)*(1-p.own)
	owners, rest := 1, p.instances-1
	if p.slots > 1 {
		owner, others, owners, rest = owner+others, 0, p.instances, 0
	}
	for _, of := range []struct {
		what string
		each float64 // µs
		n    int
	}{
		{"the owners' processors", owner, owners * assumedCores},
		{"the others' processors", others, rest * assumedCores},
		{"the ledgers", c.Serial, p.slots},
		{"the database's processors", c.Group/p.group + c.Record, assumedCores},
		{"a transaction at a time", (c.Group+c.Commit)/p.group + c.Record, owners},
	} {
		if used := p.rate / 1e6 * of.each; used > 1.02*float64(of.n) { // times are by chance
			found = append(found, fmt.Sprintf("%.0f a second need %.1f of %s, and there are %d", p.rate, used, of.what, of.n))
		}
	}
	return found
}

// TestPoints plants points that cannot be: those that costs below zero and too short a simulation have come to, and one of each bound.
func TestPoints(t *testing.T) {
	g := committed(t)
	slots, owner := g.withDatabase(denied), g.one.ownerSigns()
	point64 := func(rate, wait float64) *point {
		return &point{owner, 64, 1, outcome{rate: rate, mean: wait, own: 1.0 / 64, group: 14}}
	}
	s := begin(owner, 64, 1, 64*assumedClients, assumedCores, 64)
	s.run(50_000)
	for _, row := range []struct {
		what  string
		point *point
		says  string
	}{
		{"costs below zero", &point{slots, 1, 16, outcome{390_000, 256 / 390.0, 1, 1, 1, 1000}}, "the owners' processors"},
		{"costs below zero", &point{slots, 64, 128, outcome{4_100_000, 16384 / 4100.0, 1, 1, 1.0 / 64, 1000}}, "the owners' processors"},
		{"too short", &point{owner, 64, 1, s.run(200_000)}, "of all clients"},
		{"none", point64(33_000, 16384/33.0), ""},
		{"too many", point64(37_000, 16384/37.0), "the owners' processors"},
		{"too soon", point64(33_000, 0.9*16384/33.0), "of all clients"},
		{"too many", &point{&costs{Tell: 100}, 2, 1, outcome{rate: 170_000, mean: 512 / 170.0, own: 0.5, group: 1}}, "the others' processors"},
		{"too many", &point{&costs{Serial: 7}, 2, 1, outcome{rate: 150_000, mean: 512 / 150.0, group: 1}}, "the ledgers"},
		{"too many", &point{&costs{Record: 10}, 2, 2, outcome{rate: 820_000, mean: 512 / 820.0, group: 1}}, "the database's processors"},
		{"too many", &point{&costs{Commit: 1000}, 2, 2, outcome{rate: 230_000, mean: 512 / 230.0, group: 100}}, "a transaction at a time"},
	} {
		found := strings.Join(row.point.faults(), "; ")
		if (found == "") != (row.says == "") || !strings.Contains(found, row.says) {
			t.Errorf("%s: %q, and not %q", row.what, found, row.says)
		}
	}
}

// TestNegativeCosts plants the costs that a fit without bounds returned: no simulation starts with them, and none plans an event in the past.
func TestNegativeCosts(t *testing.T) {
	c := costs{Direct: 43, Passed: 76, Pass: 32, Tell: 65, Group: 1283, Commit: 400, Serial: 7, Network: 50}
	if err := c.check(); err != nil {
		t.Error(err)
	}
	for _, record := range []float64{-11.6, math.NaN()} {
		c.Record = record
		if err := c.check(); err == nil || !strings.Contains(err.Error(), "a record takes") {
			t.Errorf("%.1f µs for a record: %v", record, err)
		}
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, "from now") {
					t.Errorf("%.1f µs for a record: it ends with %q", record, said)
				}
			}()
			simulate(&c, 1, 16, assumedClients, assumedCores, simulatedLength, 1)
		}()
	}
	g := committed(t)
	for i := range g.Readings {
		g.Readings[i].Database = 1 // less than the records in it take
	}
	if _, err := g.simulated(); err == nil || !strings.Contains(err.Error(), "a group takes") {
		t.Errorf("readings that leave nothing for a transaction: %v", err)
	}
	for i := range g.one.Readings {
		g.one.Readings[i].Database = 400/g.one.Readings[i].Group - 2
	}
	if _, err := g.one.simulated(); err == nil || !strings.Contains(err.Error(), "a record takes -2.0") {
		t.Errorf("readings in which a record makes a group cheaper: %v", err)
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
	const length = 1_000_000
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
