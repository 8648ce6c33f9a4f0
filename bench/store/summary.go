package main

import (
	"fmt"
	"io"
	"time"

	"bailiff/bench/figures"
	"bailiff/bench/player"
)

// The targets.
const (
	leastDenied  = 0.5 // of the rate with a data folder
	leastAllowed = 0.8
	mostCost     = 0.1 // of an open transaction
)

// A cycle is one open transaction: pairs before and after it, and while it was open, with it here and without it beside.
type cycle struct{ without, open []pair }

// stretches is how many parts the time of an open transaction is reported in.
const stretches = 4

// cost is by what part the transaction slows its service down in a stretch of its time, or in all of it: neighbours' ratio then, by
// their ratio without it.
func (c cycle) cost(o *options, from, to int) float64 {
	var within []pair
	for _, p := range c.open {
		if at := int(stretches * p.age / o.open); at >= from && at < to {
			within = append(within, p)
		}
	}
	return 1 - figures.Of(within, pair.rates).Median/figures.Of(c.without, pair.rates).Median
}

func printRates(out io.Writer, q question, clients int, pairs []pair) {
	fmt.Fprintf(out, "\n%s, %d clients, %d pairs of windows: medians and quartiles\n", q.name, clients, len(pairs))
	line := func(name string, of func(pair) player.Sample) {
		at := func(figure func(player.Sample) float64) figures.Spread {
			return figures.Of(pairs, func(p pair) float64 { return figure(of(p)) })
		}
		rate := at(func(s player.Sample) float64 { return s.Rate })
		fmt.Fprintf(out, "  %-12s %7.0f/s (%.0f – %.0f), p50 %s ms, p99 %s ms, processor µs: instance %.1f, database %.1f\n", name, rate.Median, rate.Low, rate.High,
			at(func(s player.Sample) float64 { return figures.Milliseconds(s.P50) }), at(func(s player.Sample) float64 { return figures.Milliseconds(s.P99) }),
			at(instanceMicros).Median, at(databaseMicros).Median)
	}
	line("PostgreSQL", func(p pair) player.Sample { return p.here })
	line("data folder", func(p pair) player.Sample { return p.beside })
	ratio := figures.Of(pairs, pair.rates)
	least := leastDenied
	if q.name == allowed.name {
		least = leastAllowed
	}
	if clients == oneClient {
		fmt.Fprintf(out, "  ratio of p50 %s\n", figures.Of(pairs, pair.waits))
		return
	}
	fmt.Fprintf(out, "  ratio of rates %s, target %.1f or more: %s\n", ratio, least, figures.Verdict(ratio.Median >= least))
}

func instanceMicros(s player.Sample) float64 { return s.CPU.Seconds() * 1e6 }
func databaseMicros(s player.Sample) float64 { return s.Beside.Seconds() * 1e6 }

// printProcessor prints processor times by the number of clients. The database's have to fall with it.
func printProcessor(out io.Writer, q question, samples map[int][]player.Sample) {
	fmt.Fprintf(out, "\n%s, processor time a decision by the number of clients: medians and quartiles of %d windows\n", q.name, len(samples[loads[0]]))
	falls, before := true, 0.0
	for i, clients := range loads {
		list := samples[clients]
		database := figures.Of(list, databaseMicros)
		falls = falls && (i == 0 || database.Median < before)
		before = database.Median
		fmt.Fprintf(out, "  %3d clients %7.0f/s, instance %s µs, both servers of the database %s µs\n", clients,
			figures.Of(list, func(s player.Sample) float64 { return s.Rate }).Median, figures.Of(list, instanceMicros), database)
	}
	fmt.Fprintf(out, "  the database's falls with load: %s\n", figures.Verdict(falls))
}

func printOpen(out io.Writer, o *options, cycles []cycle) {
	fmt.Fprintf(out, "\na transaction open for %s, %d clients, denied: by what part it slows its service down\n", o.open, o.clients)
	for n, c := range cycles {
		rate := func(pairs []pair) float64 {
			return figures.Of(pairs, func(p pair) float64 { return p.here.Rate }).Median
		}
		fmt.Fprintf(out, "  transaction %d: %.0f/s without it, %.0f/s with it, ratios of neighbours %s and %s\n", n+1,
			rate(c.without), rate(c.open), figures.Of(c.without, pair.rates), figures.Of(c.open, pair.rates))
	}
	step := o.open / stretches
	for i := range stretches {
		fmt.Fprintf(out, "  %5s to %5s open %5.1f %%\n", time.Duration(i)*step, time.Duration(i+1)*step, 100*costOf(cycles, o, i, i+1))
	}
	whole, end := costOf(cycles, o, 0, stretches), costOf(cycles, o, stretches-1, stretches)
	fmt.Fprintf(out, "  all the time         %5.1f %%, target below %.0f %%, also at its end: %s\n", 100*whole, 100*mostCost, figures.Verdict(max(whole, end) < mostCost))
}

// costOf is the mean of the transactions' costs: what differs between the two databases cancels out.
func costOf(cycles []cycle, o *options, from, to int) (mean float64) {
	for _, c := range cycles {
		mean += c.cost(o, from, to) / float64(len(cycles))
	}
	return mean
}
