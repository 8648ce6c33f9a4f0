package main

import (
	"fmt"
	"io"
	"time"
)

// The targets.
const (
	leastTestRun = 0.75
	leastDenied  = 0.55
	leastAllowed = 0.90
	mostHalf     = 4 // p99 by p50, at half of the rate
)

// printSummary prints the medians, what they say of the targets and, as the last line, the ratios.
func printSummary(out io.Writer, rounds []ratios, turns []single) {
	testRun := median(rounds, func(r ratios) float64 { return r.testRun })
	denied := median(rounds, func(r ratios) float64 { return r.denied })
	allowed := median(rounds, func(r ratios) float64 { return r.allowed })
	tail := median(rounds, func(r ratios) float64 { return r.tail })
	printSingle(out, turns)
	fmt.Fprintf(out, "\ntest-run, of floor 1's rate    %5.2f   target %.2f or more   %s\n", testRun, leastTestRun, verdict(testRun >= leastTestRun))
	fmt.Fprintf(out, "denied, of floor 1's rate      %5.2f   target %.2f or more   %s\n", denied, leastDenied, verdict(denied >= leastDenied))
	kept := median(rounds, func(r ratios) float64 { return r.kept })
	fmt.Fprintf(out, "denied, of bare Pebble's rate  %5.2f\n", kept)
	fmt.Fprintf(out, "allowed, of floor 2's rate     %5.2f   target %.2f or more   %s\n", allowed, leastAllowed, verdict(allowed >= leastAllowed))
	fmt.Fprintf(out, "allowed, p99 of floor 2's p99  %5.2f   target below 1.00     %s\n", tail, verdict(tail < 1))
	decode := median(rounds, func(r ratios) float64 { return r.half.decode })
	printHalf(out, "test-run", median(rounds, func(r ratios) float64 { return r.half.testRun }), decode)
	printHalf(out, "denied", median(rounds, func(r ratios) float64 { return r.half.denied }), decode)
	sign := median(rounds, func(r ratios) float64 { return r.half.sign })
	printHalf(out, "allowed", median(rounds, func(r ratios) float64 { return r.half.allowed }), sign)
	over := median(turns, single.over)
	fmt.Fprintf(out, "single client, of the least    %5.2f   target 1.00 or less   %s\n\n", over, verdict(over <= 1))
	fmt.Fprintf(out, "ratios: test-run %.2f denied %.2f allowed %.2f\n", testRun, denied, allowed)
}

// printHalf says the same of the floor: a machine on which the floor misses the target has no service that meets it.
func printHalf(out io.Writer, name string, over, floor float64) {
	fmt.Fprintf(out, "%-30s %5.2f   target below %d.00     %s, the floor's: %.2f\n",
		name+" at half rate, p99 of p50", over, mostHalf, verdict(over < mostHalf), floor)
}

// over is what one client waits for an ALLOWED, by echo, sync and signing time together.
func (s single) over() float64 { return s.allowed.Seconds() / s.least().Seconds() }

func printSingle(out io.Writer, turns []single) {
	at := func(of func(single) time.Duration) float64 {
		return median(turns, func(s single) float64 { return float64(of(s).Microseconds()) })
	}
	fmt.Fprintf(out, "single client: allowed p50 %.0f µs, echo p50 %.0f µs, sync %.0f µs, sign %.0f µs, over (echo+sync+sign) %.2f\n",
		at(func(s single) time.Duration { return s.allowed }), at(func(s single) time.Duration { return s.echo }),
		at(func(s single) time.Duration { return s.sync }), at(func(s single) time.Duration { return s.sign }),
		median(turns, single.over))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
