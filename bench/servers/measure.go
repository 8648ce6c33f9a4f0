package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"bailiff/bench/player"
	"bailiff/bench/processor"
)

// measure lets everybody have a turn in each round.
func (f *field) measure(ctx context.Context, o *options, r *results, out io.Writer) error {
	for _, m := range f.modes {
		for _, e := range m.entries {
			r.Rows = append(r.Rows, e.row)
		}
	}
	for round := range o.rounds {
		for _, m := range f.modes {
			if err := m.round(ctx, o, round, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// round measures every entry in a closed loop, and then in open ones: all at half of the slowest one's rate, and at half of the
// fastest peer's those that keep up with it.
func (m *mode) round(ctx context.Context, o *options, round int, out io.Writer) error {
	slowest, fastest := math.Inf(1), 0.0
	for _, e := range m.entries {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted: %w", err)
		}
		s, err := e.Measure(o.connections, o.warmUp, o.measure)
		if err != nil {
			return err
		}
		resident, err := processor.Resident(e.Server.PID())
		if err != nil {
			return err
		}
		e.row.Rounds = append(e.row.Rounds, turn{
			Closed: loopOf(s), CPU: s.CPU.Seconds() * 1e6, Resident: float64(resident) / (1 << 20),
		})
		slowest = min(slowest, s.Rate)
		if e.row.peer() {
			fastest = max(fastest, s.Rate)
		}
	}
	for _, e := range m.entries {
		t := &e.row.Rounds[round]
		for _, load := range []struct {
			rate float64
			into **loop
		}{{slowest / 2, &t.Low}, {fastest / 2, &t.High}} {
			if load.rate > keepsUp*t.Closed.Rate {
				continue
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("interrupted: %w", err)
			}
			s, err := e.OpenLoop(o.connections, load.rate, o.measure)
			if err != nil {
				return err
			}
			f := loopOf(s)
			*load.into = &f
		}
		fmt.Fprintf(out, "round %d tls %-5t %-18s %8.0f/s p99 %7.2f ms, cpu %6.1f µs, %5.0f MiB, open %v %v\n",
			round+1, m.tls, e.Name, t.Closed.Rate, t.Closed.P99, t.CPU, t.Resident, t.Low, t.High)
	}
	return nil
}

// keepsUp is the most of its own rate that a server is asked for in an open loop.
const keepsUp = 0.8

func loopOf(s player.Sample) loop {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return loop{Rate: s.Rate, P50: ms(s.P50), P99: ms(s.P99)}
}
