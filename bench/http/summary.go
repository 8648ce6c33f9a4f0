package main

import (
	"fmt"
	"io"
	"time"

	"bailiff/bench/figures"
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
	testRun := figures.Of(rounds, func(r ratios) float64 { return r.testRun }).Median
	denied := figures.Of(rounds, func(r ratios) float64 { return r.denied }).Median
	allowed := figures.Of(rounds, func(r ratios) float64 { return r.allowed }).Median
	tail := figures.Of(rounds, func(r ratios) float64 { return r.tail }).Median
	printSingle(out, turns)
	fmt.Fprintf(out, "\ntest-run, of floor 1's rate    %5.2f   target %.2f or more   %s\n", testRun, leastTestRun, figures.Verdict(testRun >= leastTestRun))
	fmt.Fprintf(out, "denied, of floor 1's rate      %5.2f   target %.2f or more   %s\n", denied, leastDenied, figures.Verdict(denied >= leastDenied))
	kept := figures.Of(rounds, func(r ratios) float64 { return r.kept }).Median
	fmt.Fprintf(out, "denied, of bare Pebble's rate  %5.2f\n", kept)
	fmt.Fprintf(out, "allowed, of floor 2's rate     %5.2f   target %.2f or more   %s\n", allowed, leastAllowed, figures.Verdict(allowed >= leastAllowed))
	fmt.Fprintf(out, "allowed, p99 of floor 2's p99  %5.2f   target below 1.00     %s\n", tail, figures.Verdict(tail < 1))
	decode := figures.Of(rounds, func(r ratios) float64 { return r.half.decode }).Median
	printHalf(out, "test-run", figures.Of(rounds, func(r ratios) float64 { return r.half.testRun }).Median, decode)
	printHalf(out, "denied", figures.Of(rounds, func(r ratios) float64 { return r.half.denied }).Median, decode)
	sign := figures.Of(rounds, func(r ratios) float64 { return r.half.sign }).Median
	printHalf(out, "allowed", figures.Of(rounds, func(r ratios) float64 { return r.half.allowed }).Median, sign)
	over := figures.Of(turns, single.over).Median
	fmt.Fprintf(out, "single client, of the least    %5.2f   target 1.00 or less   %s\n\n", over, figures.Verdict(over <= 1))
	fmt.Fprintf(out, "ratios: test-run %.2f denied %.2f allowed %.2f\n", testRun, denied, allowed)
}

// printHalf says the same of the floor: a machine on which the floor misses the target has no service that meets it.
func printHalf(out io.Writer, name string, over, floor float64) {
	fmt.Fprintf(out, "%-30s %5.2f   target below %d.00     %s, the floor's: %.2f\n",
		name+" at half rate, p99 of p50", over, mostHalf, figures.Verdict(over < mostHalf), floor)
}

// over is what one client waits for an ALLOWED, by echo, sync and signing time together.
func (s single) over() float64 { return s.allowed.Seconds() / s.least().Seconds() }

func printSingle(out io.Writer, turns []single) {
	at := func(of func(single) time.Duration) float64 {
		return figures.Of(turns, func(s single) float64 { return float64(of(s).Microseconds()) }).Median
	}
	fmt.Fprintf(out, "single client: allowed p50 %.0f µs, echo p50 %.0f µs, sync %.0f µs, sign %.0f µs, over (echo+sync+sign) %.2f\n",
		at(func(s single) time.Duration { return s.allowed }), at(func(s single) time.Duration { return s.echo }),
		at(func(s single) time.Duration { return s.sync }), at(func(s single) time.Duration { return s.sign }),
		figures.Of(turns, single.over).Median)
}
