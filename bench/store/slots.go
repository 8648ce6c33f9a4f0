package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/bench/figures"
	"bailiff/bench/player"
	"bailiff/bench/processor"
	"bailiff/fuzz/kit/port"
)

const (
	// slotsPart is measured alone, as machinesPart is.
	slotsPart = "slots"
	// slotsOfStore is how many slots the store of that part has.
	slotsOfStore = 16
	// sharePatience is how long instances may take to have their shares of the slots.
	sharePatience = 30 * time.Second
)

// A cluster is instances over a store of several slots, each of which decides for its share of the keys.
type cluster struct {
	*machines
	settings [][]string
}

// withSlots starts the first instance.
func (p *players) withSlots(ctx context.Context, most int) (*cluster, error) {
	c := &cluster{machines: &machines{site: &site{name: "instances", slots: slotsOfStore}}}
	var err error
	if c.settings, err = p.over(ctx, c.site, most); err != nil {
		return nil, err
	}
	_, err = p.start(ctx, c.site, c.settings[0]...)
	return c, err
}

// grow starts instances until there are so many, and waits until each has its share.
func (c *cluster) grow(ctx context.Context, p *players, instances int) error {
	for len(c.others)+1 < instances {
		address, err := port.FreeAddress()
		if err != nil {
			return err
		}
		other := &player.Process{Name: "an instance", Address: address, Command: exec.Command(p.service, "serve")}
		other.Command.Env = append(slices.Clone(c.Command.Env), append(c.settings[len(c.others)+1], "SVC_LISTEN="+address)...)
		if err := other.Start(); err != nil {
			return err
		}
		p.stops = append(p.stops, other.Stop)
		c.others = append(c.others, other)
		if err := other.Await(ctx, "/readyz"); err != nil {
			return err
		}
	}
	connection, err := pgx.Connect(ctx, c.primary.URL())
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	for deadline := time.Now().Add(sharePatience); ; time.Sleep(50 * time.Millisecond) {
		var owners, owned, most int
		err := connection.QueryRow(ctx, "SELECT count(*), COALESCE(sum(n), 0), COALESCE(max(n), 0) FROM (SELECT count(*) AS n FROM bailiff.slots WHERE owner IS NOT NULL GROUP BY owner_name) AS s").Scan(&owners, &owned, &most)
		if err != nil {
			return err
		}
		if owners == instances && owned == slotsOfStore+1 && most <= (slotsOfStore+instances)/instances {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d instances have %d of %d slots, one of them %d", owners, owned, slotsOfStore+1, most)
		}
	}
}

// transactions returns how many transactions have written the groups that the primary has.
func (c *cluster) transactions(ctx context.Context) (n int64, err error) {
	connection, err := pgx.Connect(ctx, c.primary.URL())
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	err = connection.QueryRow(ctx, "SELECT count(DISTINCT xmin::text) FROM bailiff.groups").Scan(&n)
	return n, err
}

// read measures one window.
func (c *cluster) read(ctx context.Context, o *options, q question, clients int) (r reading, given int64, err error) {
	target, err := c.ask(q, len(c.others)+1, clients)
	if err != nil {
		return r, 0, err
	}
	given = answers(target)
	spent := func() (sum time.Duration) {
		for _, one := range append([]*player.Process{c.Process}, c.others...) {
			sum += processor.Time(one.PID())
		}
		return sum
	}
	before, err := c.transactions(ctx)
	if err != nil {
		return r, 0, err
	}
	first, instances, database := given, spent(), c.databaseTime()
	sample, err := target.Measure(len(target.Clients), o.warmUp, o.window)
	if err != nil {
		return r, 0, err
	}
	given = answers(target)
	each := func(before, after time.Duration) float64 {
		return float64(after-before) / float64(time.Microsecond) / float64(given-first)
	}
	r = reading{Question: q.name, Instances: len(c.others) + 1, Clients: clients, Rate: sample.Rate, P50: figures.Milliseconds(sample.P50)}
	r.Owner, r.Database = each(instances, spent()), each(database, c.databaseTime())
	after, err := c.transactions(ctx)
	if err != nil {
		return r, 0, err
	}
	r.Group = float64(given-first) / float64(max(1, after-before))
	return r, given, target.Close()
}

// slotsFile has the figures of the part "slots".
const slotsFile = "slots.json"

// measureSlots measures the processor time of a decision by the number of instances that decide.
func measureSlots(ctx context.Context, p *players, out io.Writer) error {
	c, err := p.withSlots(ctx, slices.Max(counts))
	if err != nil {
		return err
	}
	had, err := c.records(ctx)
	if err != nil {
		return err
	}
	g, all := &shared{growth: growth{Go: runtime.Version(), Cores: runtime.NumCPU()}}, int64(0)
	for _, n := range counts {
		if err := c.grow(ctx, p, n); err != nil {
			return err
		}
		connecting := *p.options
		connecting.warmUp = time.Duration(n) * p.window // instances connect to each other
		_, given, err := c.read(ctx, &connecting, denied, n*max(2, p.clients/2))
		if err != nil {
			return err
		}
		all += given
		for range max(1, p.rounds/2) {
			for _, q := range []question{denied, allowed} {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("interrupted: %w", err)
				}
				one, given, err := c.read(ctx, p.options, q, n*max(2, p.clients/2))
				if err != nil {
					return err
				}
				all += given
				g.Readings = append(g.Readings, one)
			}
		}
	}
	if err := c.durable(ctx, had, all, standbyPatience); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s", g.measured())
	return g.write(p.write, slotsFile)
}

// shared has the readings of instances each of which decides for its share. Their Owner is the time of all instances.
type shared struct {
	growth
	one *growth // those over one slot, for what a record costs the database
}

// costsOf takes costs of instances from the readings of one instance, whose requests are its own, and of the most, where one in so many is. Of what
// a request costs besides where it was passed on, a quarter is the owner's, a quarter the other's before it passes it on, and half after that.
func (g *shared) costsOf(q question) *costs {
	c, most := &costs{Serial: assumedSerial, Network: assumedNetwork}, counts[len(counts)-1]
	c.Direct = g.of(q, 1, false, ownerOf).Median
	passed := (g.of(q, most, false, ownerOf).Median - c.Direct/float64(most)) / (float64(most-1) / float64(most))
	more, unsigned := passed-c.Direct, g.of(denied, 1, false, ownerOf).Median
	c.Passed, c.Pass, c.Tell = unsigned+more/4, more/4, c.Direct-unsigned+more/2
	c.Commit = assumedCommit
	c.Direct, c.Passed = c.Direct-c.Serial, c.Passed-c.Serial
	return c
}

// withDatabase are the costs of instances and database. The sizes of these readings' transactions are too much alike to tell what a record costs: that
// is taken from readings over one slot, and the rest is a transaction's, by least squares over all readings, each of which counts by its own size.
func (g *shared) withDatabase(q question) *costs {
	c := g.costsOf(q)
	_, c.Record = g.one.database()
	var xx, xy float64
	for _, r := range g.Readings {
		share := 1 / (r.Group * r.Database) // of a transaction, by the reading's size
		xx, xy = xx+share*share, xy+share*(1-c.Record/r.Database)
	}
	c.Group = xy / xx
	return c
}

// assumedCommit is how long the database takes for a group beside its processor time.
const assumedCommit = 400

// predicted is the processor time of all instances for a decision.
func (g *shared) predicted(q question, instances int) float64 {
	c, own := g.costsOf(q), 1/float64(instances)
	return c.Serial + c.Direct*own + (c.Passed+c.Pass+c.Tell)*(1-own)
}

// measured is the table of processor times.
func (g *shared) measured() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| instances | answer | all instances, µs a decision | model | both servers of the database, µs | records in a transaction |\n|---|---|---|---|---|---|\n")
	for _, q := range []question{denied, allowed} {
		for _, n := range counts {
			fmt.Fprintf(&b, "| %d | %s | %s | %.0f | %s | %.1f |\n", n, q.name, whole(g.of(q, n, false, ownerOf)), g.predicted(q, n),
				whole(g.of(q, n, false, databaseOf)), g.of(q, n, false, groupOf).Median)
		}
	}
	return b.String()
}

// missed says how far the model is from the measurement.
func (g *shared) missed() string {
	var instances misses
	for _, q := range []question{denied, allowed} {
		for _, n := range between() {
			instances.add(g.predicted(q, n), g.of(q, n, false, ownerOf))
		}
	}
	c := g.withDatabase(denied)
	return fmt.Sprintf("Where it was not taken from, with %d and %d instances, the model is %s the medians of the instances. "+
		"Its database takes %.0f µs for a transaction and, as over one slot, %.1f for each record, which %s.\n",
		between()[0], between()[1], instances, c.Group, c.Record, g.databaseMissed(c))
}

// slotsOf is how many slots a store of so many instances has in the simulation.
func slotsOf(instances int) int { return max(slotsOfStore, 2*instances) }

// simulated is what the simulation gives, by question and size.
func (g *shared) simulated() (points [][]outcome, err error) {
	for _, q := range []question{denied, allowed} {
		c := g.withDatabase(q)
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		var line []outcome
		for _, n := range sizes {
			line = append(line, simulate(c, n, slotsOf(n), n*assumedClients, assumedCores, simulatedLength/2, uint64(n))) //nolint:gosec // small
		}
		points = append(points, line)
	}
	return points, nil
}

// page is the part of the page of results.
func (g *shared) page(points [][]outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %d cores, %s, %d slots and %d keys, medians and quartiles of %d windows, %d clients for each instance:\n\n%s",
		g.Cores, g.Go, slotsOfStore, keysOf(slotsOfStore), len(g.Readings)/(2*len(counts)), g.Readings[0].Clients, g.measured())
	fmt.Fprintf(&b, "\n%s", g.missed())
	fmt.Fprintf(&b, "\nSimulated, not measured: machines of %d cores, %d clients for each, %d slots or two for each instance, decisions a second and p99 in milliseconds:\n\n| instances | denied | p99 | ALLOWED | p99 |\n|---|---|---|---|---|\n", assumedCores, assumedClients, slotsOfStore)
	for i, n := range sizes {
		fmt.Fprintf(&b, "| %d | %s | %.1f | %s | %.1f |\n", n, rounded(points[0][i].rate), points[0][i].p99, rounded(points[1][i].rate), points[1][i].p99)
	}
	return b.String()
}
