package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bailiff/bench/figures"
)

// growthFile has the figures of the part "machines". The page and the plots are made of it, and of a simulation with them.
const growthFile = "growth.json"

// growth has the readings of the part "machines".
type growth struct {
	Go       string    `json:"go"`
	Cores    int       `json:"cores"`
	Readings []reading `json:"readings"`
}

// write writes the figures into a folder, where one is named.
func (g *growth) write(folder, file string) error {
	if folder == "" {
		return nil
	}
	text, err := json.MarshalIndent(g, "", "\t")
	if err != nil {
		panic(err) // texts and finite numbers can always be written
	}
	return os.WriteFile(filepath.Join(folder, file), append(text, '\n'), 0o644) //nolint:gosec // for all to read
}

// of is the spread of what of takes from the readings of a question with a number of instances, with one client or with more.
func (g *growth) of(q question, instances int, one bool, of func(reading) float64) figures.Spread {
	var found []reading
	for _, r := range g.Readings {
		if r.Question == q.name && r.Instances == instances && (r.Clients == oneClient) == one {
			found = append(found, r)
		}
	}
	return figures.Of(found, of)
}

func ownerOf(r reading) float64    { return r.Owner }
func othersOf(r reading) float64   { return r.Others }
func databaseOf(r reading) float64 { return r.Database }
func waitOf(r reading) float64     { return r.P50 }
func groupOf(r reading) float64    { return r.Group }

// costs are what a decision takes, in microseconds: measured ones of processors, and the assumptions of the simulation.
type costs struct {
	Direct float64 // of the owner, for a client of its own
	Passed float64 // of the owner, for a request that was passed on
	Pass   float64 // of the other instance, before it passes a request on
	Tell   float64 // and after the answer has come
	Group  float64 // of the database, for a group of records
	Record float64 // and for each record in it

	Commit  float64 // until a group is kept, without the processor time
	Serial  float64 // of the owner's, for the part of a decision that is done one after the other
	Network float64 // of a message between machines
}

// check refuses costs below zero, which come of readings with too much noise, or of a model that does not fit them.
func (c *costs) check() error {
	for _, one := range []struct {
		name string
		cost float64
	}{
		{"a request of the owner's own", c.Direct}, {"a request that was passed on", c.Passed}, {"passing it on", c.Pass}, {"its answer", c.Tell},
		{"a group", c.Group}, {"a record", c.Record}, {"a commit", c.Commit}, {"the ledger", c.Serial}, {"a message", c.Network},
	} {
		if !(one.cost >= 0) { // nor may it be no number
			return fmt.Errorf("by the readings %s takes %.1f µs; measure for longer, or change the model", one.name, one.cost)
		}
	}
	return nil
}

// The assumptions.
const (
	assumedCores   = 8
	assumedClients = 256 // of each instance
	assumedNetwork = 50
	// assumedSerial is the whole of a decision's way through the ledger, of which a part is done by several at a time.
	assumedSerial = 7
)

// costsOf takes costs from readings: all requests of one instance are its own, and of several only one in so many.
func (g *growth) costsOf(q question) *costs {
	most := counts[len(counts)-1]
	passed := float64(most-1) / float64(most)
	c := &costs{Serial: assumedSerial, Network: assumedNetwork}
	c.Direct = g.of(q, 1, false, ownerOf).Median
	c.Passed = (g.of(q, most, false, ownerOf).Median - c.Direct/float64(most)) / passed
	pass := g.of(denied, most, false, othersOf).Median / passed
	c.Pass, c.Tell = pass/2, g.of(q, most, false, othersOf).Median/passed-pass/2
	c.Group, c.Record = g.database()
	c.Commit = g.of(denied, 1, true, waitOf).Median*1e3 - g.of(denied, 1, true, ownerOf).Median - c.Group - c.Record
	c.Direct, c.Passed = c.Direct-c.Serial, c.Passed-c.Serial
	return c
}

// database splits the database's time into that of a group and that of a record, by least squares over all readings, each of which counts
// by its own size.
func (g *growth) database() (group, record float64) {
	var n, x, y, xx, xy float64
	for _, r := range g.Readings {
		weight := 1 / (r.Database * r.Database)
		share := 1 / r.Group // of a group
		n, x, y, xx, xy = n+weight, x+weight*share, y+weight*r.Database, xx+weight*share*share, xy+weight*share*r.Database
	}
	group = (n*xy - x*y) / (n*xx - x*x)
	return group, (y - group*x) / n
}

// ownerSigns are the costs where the instance that decides signed for all: the signing of the others is on it.
func (g *growth) ownerSigns() *costs {
	c, plain := g.costsOf(allowed), g.costsOf(denied)
	signing := c.Tell - plain.Tell
	c.Tell, c.Passed = plain.Tell, c.Passed+signing
	return c
}

// predicted is the processor time of the owner and of the others for a decision, where clients ask so many instances.
func (c *costs) predicted(instances int) (owner, others float64) {
	own := 1 / float64(instances)
	return c.Serial + c.Direct*own + c.Passed*(1-own), (c.Pass + c.Tell) * (1 - own)
}

// measured is the table of processor times.
func (g *growth) measured() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| instances asked | answer | owner, µs a decision | model | all others, µs | model | both servers of the database, µs |\n|---|---|---|---|---|---|---|\n")
	for _, q := range []question{denied, allowed} {
		c := g.costsOf(q)
		for _, n := range counts {
			owner, others := c.predicted(n)
			fmt.Fprintf(&b, "| %d | %s | %s | %.0f | %s | %.0f | %s |\n", n, q.name, whole(g.of(q, n, false, ownerOf)), owner,
				whole(g.of(q, n, false, othersOf)), others, whole(g.of(q, n, false, databaseOf)))
		}
	}
	return b.String()
}

// between are the numbers of instances whose processor times the model is not taken from.
func between() []int { return counts[1 : len(counts)-1] }

// misses are how far a model is from medians, as parts of those.
type misses []float64

func (m *misses) add(model float64, measured figures.Spread) {
	*m = append(*m, model/measured.Median-1)
}

// String implements fmt.Stringer.
func (m misses) String() string {
	side := func(part float64) string {
		if part < 0 {
			return fmt.Sprintf("%.0f %% below", -100*part)
		}
		return fmt.Sprintf("%.0f %% above", 100*part)
	}
	return "from " + side(slices.Min(m)) + " to " + side(slices.Max(m))
}

// missed says how far the model is from the measurement.
func (g *growth) missed() string {
	var owners, others misses
	for _, q := range []question{denied, allowed} {
		for _, n := range between() {
			owner, other := g.costsOf(q).predicted(n)
			owners.add(owner, g.of(q, n, false, ownerOf))
			others.add(other, g.of(q, n, false, othersOf))
		}
	}
	c := g.costsOf(denied)
	return fmt.Sprintf("Where it was not taken from, with %d and %d instances, the model is %s the medians of the owner, and %s those of all others. "+
		"Its database takes %.0f µs for a group and %.1f for each record, which %s; a group then waits %.0f µs more until it is kept.\n",
		between()[0], between()[1], owners, others, c.Group, c.Record, g.databaseMissed(c), c.Commit)
}

// databaseMissed says how far the database's costs are from the medians of each number of instances.
func (g *growth) databaseMissed(c *costs) string {
	var found [2]misses
	for i, q := range []question{denied, allowed} {
		for _, n := range counts {
			found[i].add(c.Group/g.of(q, n, false, groupOf).Median+c.Record, g.of(q, n, false, databaseOf))
		}
	}
	return fmt.Sprintf("is %s the medians of all four rows for a denial, and %s for an ALLOWED", found[0], found[1])
}

func whole(s figures.Spread) string {
	return fmt.Sprintf("%.0f (%.0f – %.0f)", s.Median, s.Low, s.High)
}

// A curve is one way to decide on many machines.
type curve struct {
	name  string
	costs *costs
}

func (g *growth) curves() []curve {
	return []curve{
		{"denied", g.costsOf(denied)}, {"ALLOWED, signed where it came to", g.costsOf(allowed)}, {"ALLOWED, signed by the owner", g.ownerSigns()},
	}
}

// sizes are the numbers of instances that are simulated.
var sizes = []int{1, 2, 4, 8, 16, 32, 64}

// simulatedLength is how long the first stretch of each point is, in microseconds.
const simulatedLength = 160_000

// simulated is what the simulation gives, by curve and size.
func (g *growth) simulated() (points [][]outcome, err error) {
	for _, c := range g.curves() {
		if err := c.costs.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		var line []outcome
		for _, n := range sizes {
			line = append(line, simulate(c.costs, n, 1, n*assumedClients, assumedCores, simulatedLength, uint64(n))) //nolint:gosec // small
		}
		points = append(points, line)
	}
	return points, nil
}

// page is the part of the page of results.
func (g *growth) page(points [][]outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %d cores, %s, medians and quartiles of %d windows, %d clients for each instance that is asked:\n\n%s", g.Cores, g.Go, len(g.Readings)/(2*(len(counts)+1)), g.Readings[1].Clients, g.measured())
	fmt.Fprintf(&b, "\n%s", g.missed())
	fmt.Fprintf(&b, "\nSimulated, not measured: machines of %d cores, %d clients for each, decisions a second and p99 in milliseconds:\n\n| instances |", assumedCores, assumedClients)
	for _, c := range g.curves() {
		fmt.Fprintf(&b, " %s | p99 |", c.name)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", 2*len(points)))
	for i, n := range sizes {
		fmt.Fprintf(&b, "| %d |", n)
		for _, line := range points {
			fmt.Fprintf(&b, " %s | %.1f |", rounded(line[i].rate), line[i].p99)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// rounded is a rate in two digits and thousands.
func rounded(rate float64) string {
	step := 1.0
	for rate/step >= 100 {
		step *= 10
	}
	return fmt.Sprintf("%.0f", float64(int(rate/step+0.5))*step)
}
