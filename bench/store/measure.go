package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bailiff/bench/player"
)

// oneClient is who waits for each answer alone.
const oneClient = 1

// standbyPatience is how long a standby may take to show all that it has confirmed.
const standbyPatience = 20 * time.Second

// loads are the numbers of clients of the second part.
var loads = []int{1, 8, 64, 256}

// A pair is two windows next to each other: one of the service in question, and one of that beside it.
type pair struct {
	here, beside player.Sample
	age          time.Duration // of the open transaction when the pair began; negative without one
}

func (p pair) rates() float64 { return p.here.Rate / p.beside.Rate }
func (p pair) waits() float64 { return p.here.P50.Seconds() / p.beside.P50.Seconds() }

// measure measures the parts that were asked for.
func measure(ctx context.Context, p *players, out io.Writer) error {
	switch p.parts {
	case machinesPart:
		return measureMachines(ctx, p, out)
	case slotsPart:
		return measureSlots(ctx, p, out)
	}
	database, err := p.withDatabase(ctx, "PostgreSQL")
	if err != nil {
		return err
	}
	had, err := database.records(ctx)
	if err != nil {
		return err
	}
	var all int64
	for _, part := range []struct {
		name    string
		measure func(context.Context, *players, *site, io.Writer) (int64, error)
	}{{"rates", measureRates}, {"processor", measureProcessor}, {"open", measureOpen}} {
		if !slices.Contains(strings.Split(p.parts, ","), part.name) {
			continue
		}
		given, err := part.measure(ctx, p, database, out)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		all += given
	}
	if err := database.durable(ctx, had, all, standbyPatience); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe standby has the records of all %d answers.\n", all)
	return nil
}

// A duel is the targets of two services for the same question.
type duel struct{ here, beside *player.Target }

// ask connects clients to both.
func ask(here, beside *site, q question, clients int) (d duel, err error) {
	if d.here, err = here.ask(q, clients); err != nil {
		return d, err
	}
	d.beside, err = beside.ask(q, clients)
	return d, err
}

func (d duel) close() error { return errors.Join(d.here.Close(), d.beside.Close()) }

// windows measures both services, the one in question first or last.
func (d duel) windows(ctx context.Context, o *options, clients int, first bool) (p pair, err error) {
	if err := ctx.Err(); err != nil {
		return p, fmt.Errorf("interrupted: %w", err)
	}
	if !first {
		if p.beside, err = d.beside.Measure(clients, o.warmUp, o.window); err != nil {
			return p, err
		}
	}
	if p.here, err = d.here.Measure(clients, o.warmUp, o.window); err != nil || !first {
		return p, err
	}
	p.beside, err = d.beside.Measure(clients, o.warmUp, o.window)
	return p, err
}

// measureRates measures rates, and what one client waits, beside the service with a data folder.
func measureRates(ctx context.Context, p *players, database *site, out io.Writer) (given int64, err error) {
	folder, err := p.withFolder(ctx)
	if err != nil {
		return 0, err
	}
	for _, clients := range []int{p.clients, oneClient} {
		for _, q := range []question{denied, allowed} {
			d, err := ask(database, folder, q, clients)
			if err != nil {
				return 0, err
			}
			var pairs []pair
			for round := range p.rounds {
				one, err := d.windows(ctx, p.options, clients, round%2 == 0)
				if err != nil {
					return 0, err
				}
				pairs = append(pairs, one)
			}
			given += answers(d.here)
			if err := d.close(); err != nil {
				return 0, err
			}
			printRates(out, q, clients, pairs)
		}
	}
	return given, nil
}

// measureProcessor measures the processor time of a decision by the number of clients, round after round.
func measureProcessor(ctx context.Context, p *players, database *site, out io.Writer) (given int64, err error) {
	most := slices.Max(loads)
	for _, q := range []question{denied, allowed} {
		samples := map[int][]player.Sample{}
		for round := range max(1, p.rounds/4) {
			target, err := database.ask(q, most) // anew in each round: connections that wait long are closed
			if err != nil {
				return 0, err
			}
			for i := range loads {
				clients := loads[(i+round)%len(loads)]
				if err := ctx.Err(); err != nil {
					return 0, fmt.Errorf("interrupted: %w", err)
				}
				one, err := target.Measure(clients, p.warmUp, 2*p.window)
				if err != nil {
					return 0, err
				}
				samples[clients] = append(samples[clients], one)
			}
			given += answers(target)
			if err := target.Close(); err != nil {
				return 0, err
			}
		}
		printProcessor(out, q, samples)
	}
	return given, nil
}

// answers is how many answers came over a target's connections.
func answers(t *player.Target) (given int64) {
	for _, one := range t.Clients {
		given += one.Count()
	}
	return given
}

// measureOpen holds a transaction open, by turns in this database and in another one, and compares the services over them.
func measureOpen(ctx context.Context, p *players, database *site, out io.Writer) (given int64, err error) {
	other, err := p.withDatabase(ctx, "another PostgreSQL")
	if err != nil {
		return 0, err
	}
	var cycles []cycle
	for n := range p.cycles {
		here, beside := database, other
		if n%2 == 1 {
			here, beside = other, database
		}
		d, err := ask(here, beside, denied, p.clients)
		if err != nil {
			return 0, err
		}
		c, err := holdOpen(ctx, p.options, here, d)
		if err != nil {
			return 0, err
		}
		if here == database {
			given += answers(d.here)
		} else {
			given += answers(d.beside)
		}
		if err := d.close(); err != nil {
			return 0, err
		}
		cycles = append(cycles, c)
	}
	printOpen(out, p.options, cycles)
	return given, nil
}

// holdOpen measures before a transaction, while it is open, and after it.
func holdOpen(ctx context.Context, o *options, here *site, d duel) (c cycle, err error) {
	pairs := func(length time.Duration, open bool) error {
		begun := time.Now()
		for first := true; time.Since(begun) < length; first = !first {
			age := time.Since(begun)
			one, err := d.windows(ctx, o, len(d.here.Clients), first)
			if err != nil {
				return err
			}
			if one.age = age; open {
				c.open = append(c.open, one)
			} else {
				c.without = append(c.without, one)
			}
		}
		return nil
	}
	if err := pairs(o.around, false); err != nil {
		return c, err
	}
	x, err := here.begin(ctx)
	if err != nil {
		return c, err
	}
	if err := errors.Join(pairs(o.open, true), x.end(ctx)); err != nil {
		return c, err
	}
	return c, pairs(o.around, false)
}
