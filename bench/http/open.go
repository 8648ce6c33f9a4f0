package main

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// An open loop says when requests are made, whatever their answers: a server that falls behind is not given time to
// recover, as it is by clients that wait for their answers. A request that no connection is free for waits for one, and
// its time runs.

// errOpenLoop says that this system has no way to keep a pace of some ten microseconds.
var errOpenLoop = errors.New("the open loop needs Linux 5.11 or later")

// openLoop drives the first connections of t at a rate, for a length. The server's processor time is not measured.
func (t *target) openLoop(connections int, rate float64, length time.Duration) (sample, error) {
	clients := t.clients[:connections]
	for _, one := range clients {
		one.latency.Reset()
	}
	p := pace{requests: max(1, int(rate*length.Seconds())), interval: time.Duration(float64(time.Second) / rate)}
	if err := p.drive(clients, length+stopTimeout); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return summarize(clients, length), nil
}

// A pace is which requests are due when.
type pace struct {
	requests int
	interval time.Duration
	start    time.Time
	sent     int
}

// due returns when request n is.
func (p *pace) due(n int) time.Time { return p.start.Add(time.Duration(n) * p.interval) }

// waiting returns for how long nothing is due: zero or less where a request is, for ever where none is left.
func (p *pace) waiting() time.Duration {
	if p.sent == p.requests {
		return math.MaxInt64
	}
	return time.Until(p.due(p.sent))
}
