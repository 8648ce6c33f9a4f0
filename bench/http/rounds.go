package main

import (
	"context"
	"fmt"
	"io"

	"bailiff/bench/figures"
	"bailiff/bench/player"
)

// ratios are one round's: rates of the service, each by the rate of its floor in the same round, the p99 of ALLOWED by
// that of its floor, and the p99 by the p50 at half of the rate. That of kept is a denial's by the least that is durable.
type ratios struct {
	testRun, denied, allowed, tail, kept float64
	half                                 halves
}

// halves are p99 by p50 of the service's targets and of their floors, each at half of the rate that it had in the round.
type halves struct{ decode, testRun, denied, sign, allowed float64 }

// measureRounds measures the six targets one after the other, round after round, so that a machine whose speed
// drifts drifts for all of them.
func measureRounds(ctx context.Context, o *options, p *players, out io.Writer) ([]ratios, error) {
	var rounds []ratios
	for number := range o.rounds {
		fmt.Fprintf(out, "round %d %21s %14s %9s %9s %9s %8s\n", number+1, "", "requests/s", "p50 ms", "p99 ms", "cpu µs", "ratio")
		decode, err := phase(ctx, o, p.decode, out, nil)
		if err != nil {
			return nil, err
		}
		testRun, err := phase(ctx, o, p.testRun, out, &decode)
		if err != nil {
			return nil, err
		}
		keep, err := phase(ctx, o, p.keep, out, &decode)
		if err != nil {
			return nil, err
		}
		denied, err := phase(ctx, o, p.denied, out, &decode)
		if err != nil {
			return nil, err
		}
		sign, err := phase(ctx, o, p.sign, out, nil)
		if err != nil {
			return nil, err
		}
		allowed, err := phase(ctx, o, p.allowed, out, &sign)
		if err != nil {
			return nil, err
		}
		half, err := measureHalves(ctx, o, p, out, &rates{decode.Rate, testRun.Rate, denied.Rate, sign.Rate, allowed.Rate})
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(out)
		rounds = append(rounds, ratios{
			testRun.Rate / decode.Rate, denied.Rate / decode.Rate, allowed.Rate / sign.Rate,
			allowed.P99.Seconds() / sign.P99.Seconds(), denied.Rate / keep.Rate, half,
		})
	}
	return rounds, nil
}

// rates are a round's, of closed loops.
type rates struct{ decode, testRun, denied, sign, allowed float64 }

// measureHalves drives every target at half of its rate, in an open loop of a fourth of a phase each.
func measureHalves(ctx context.Context, o *options, p *players, out io.Writer, peak *rates) (h halves, err error) {
	for _, row := range []struct {
		to   *player.Target
		rate float64
		over *float64
	}{
		{p.decode, peak.decode, &h.decode}, {p.testRun, peak.testRun, &h.testRun}, {p.denied, peak.denied, &h.denied},
		{p.sign, peak.sign, &h.sign}, {p.allowed, peak.allowed, &h.allowed},
	} {
		if err := ctx.Err(); err != nil {
			return h, fmt.Errorf("interrupted: %w", err)
		}
		s, err := row.to.OpenLoop(o.connections, row.rate/2, o.measure/4)
		if err != nil {
			return h, err
		}
		*row.over = s.P99.Seconds() / s.P50.Seconds()
		fmt.Fprintf(out, "  %-35s %6.0f %9.2f %9.2f %9s %8s   p99 %.1f times p50\n",
			row.to.Name+", half the rate", s.Rate, figures.Milliseconds(s.P50), figures.Milliseconds(s.P99), "", "", *row.over)
	}
	return h, nil
}

// measureOnly measures one target of the service, so that the process can be examined meanwhile.
func measureOnly(ctx context.Context, o *options, p *players, out io.Writer) error {
	fmt.Fprintf(out, "the service is process %d\n", p.service.PID())
	for _, t := range []*player.Target{p.testRun, p.denied, p.allowed} {
		for range o.rounds {
			if t.Name != o.only {
				break
			}
			if _, err := phase(ctx, o, t, out, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// phase measures one target and prints a line, with the ratio to its floor where it has one.
func phase(ctx context.Context, o *options, t *player.Target, out io.Writer, floor *player.Sample) (player.Sample, error) {
	if err := ctx.Err(); err != nil {
		return player.Sample{}, fmt.Errorf("interrupted: %w", err)
	}
	s, err := t.Measure(o.connections, o.warmUp, o.measure)
	if err != nil {
		return player.Sample{}, err
	}
	fmt.Fprintf(out, "  %-27s %14.0f %9.2f %9.2f %9.1f", t.Name, s.Rate, figures.Milliseconds(s.P50), figures.Milliseconds(s.P99), s.CPU.Seconds()*1e6)
	if floor != nil {
		fmt.Fprintf(out, " %8.2f", s.Rate/floor.Rate)
	}
	fmt.Fprintln(out)
	return s, nil
}
