package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A figure is what one way to answer takes.
type figure struct {
	rounds      []float64 // nanoseconds, by round
	allocations float64   // the median over the rounds
}

// nanoseconds is the median over the rounds.
func (f figure) nanoseconds() float64 { return median(f.rounds) }

// micros is the same in microseconds.
func (f figure) micros() float64 { return f.nanoseconds() / float64(time.Microsecond) }

// A row is the figures of one engine.
type row struct {
	name                     string
	allowed, denied, compile figure
}

// A contest repeats measurements in rounds, in each of which everybody has one turn, so that a machine that is slower
// for a while is slower for all.
type contest struct {
	rounds int
	names  []string
	bodies []func() error
}

func (c *contest) add(name string, body func() error) {
	c.names, c.bodies = append(c.names, name), append(c.bodies, body)
}

// run returns a figure for each body.
func (c *contest) run() ([]figure, error) {
	figures, allocations := make([]figure, len(c.bodies)), make([][]float64, len(c.bodies))
	for range c.rounds {
		for i, body := range c.bodies {
			took, err := measure(body)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.names[i], err)
			}
			figures[i].rounds = append(figures[i].rounds, float64(took.T.Nanoseconds())/float64(took.N))
			allocations[i] = append(allocations[i], float64(took.AllocsPerOp()))
		}
	}
	for i := range figures {
		figures[i].allocations = median(allocations[i])
	}
	return figures, nil
}

// measure runs body for the time of the flag test.benchtime.
func measure(body func() error) (testing.BenchmarkResult, error) {
	var failed error
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := body(); err != nil {
				failed = err
				b.FailNow()
			}
		}
	})
	return result, failed
}

// median returns the middle value, the higher one of two.
func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// asking returns a body that asks a question and expects an answer.
func asking(ask question, want bool) func() error {
	return func() error {
		got, err := ask()
		if err == nil && got != want {
			err = fmt.Errorf("allowed is %v", got)
		}
		return err
	}
}

// contestants returns what is measured of each engine, three bodies an engine: allowed, denied, compile.
func contestants(rounds int) (*contest, error) {
	c := &contest{rounds: rounds}
	for _, e := range engines {
		judge, err := e.compile()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		for _, r := range []request{allowed(), lastDenied()} {
			ask, err := judge(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			c.add(e.name, asking(ask, r.rule == ""))
		}
		c.add(e.name, func() error {
			_, err := e.compile()
			return err
		})
	}
	return c, nil
}

// measureEngines returns a row for each engine.
func measureEngines(rounds int) ([]row, error) {
	c, err := contestants(rounds)
	if err != nil {
		return nil, err
	}
	figures, err := c.run()
	if err != nil {
		return nil, err
	}
	rows := make([]row, 0, len(engines))
	for i, e := range engines {
		rows = append(rows, row{name: e.name, allowed: figures[3*i], denied: figures[3*i+1], compile: figures[3*i+2]})
	}
	return rows, nil
}

// measureKinds returns a figure for each of kinds.
func measureKinds(rounds int) ([]figure, error) {
	questions, err := kindQuestions()
	if err != nil {
		return nil, err
	}
	c := &contest{rounds: rounds}
	for i, ask := range questions {
		c.add(kinds[i].name, asking(ask, kinds[i].env == "staging"))
	}
	return c.run()
}
