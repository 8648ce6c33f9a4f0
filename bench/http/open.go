package main

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// An open loop says when requests are made, whatever their answers: a server that falls behind is not given time to
// recover, as it is by clients that wait for their answers. A request that no connection is free for waits for one, and
// its time runs.

// openLoop drives the first connections of t at a rate, for a length. The server's processor time is not measured.
func (t *target) openLoop(connections int, rate float64, length time.Duration) (sample, error) {
	clients := t.clients[:connections]
	requests := max(1, int(rate*length.Seconds()))
	due := make(chan time.Time, requests) // room for all of them, so that the pace is kept
	faults := make([]error, len(clients))
	var all sync.WaitGroup
	for i, one := range clients {
		all.Go(func() { faults[i] = one.answerTo(due, time.Now().Add(length)) })
	}
	pace(due, requests, time.Duration(float64(time.Second)/rate))
	close(due)
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return summarize(clients, length), nil
}

// pace makes requests due, one every interval. A request counts from when it was made due: the machine's timers are
// not the server's.
func pace(due chan<- time.Time, requests int, interval time.Duration) {
	start := time.Now()
	for made := 0; made < requests; {
		now := time.Now()
		for ; made < requests && start.Add(time.Duration(made)*interval).Before(now); made++ {
			due <- now
		}
		rest(time.Until(start.Add(time.Duration(made) * interval)))
	}
}

// answerTo sends a request for each that is due, and records how long that took. It ends with due, or at the first
// answer that is not the expected one.
func (c *client) answerTo(due <-chan time.Time, end time.Time) error {
	c.latency.Reset()
	if err := c.connection.SetDeadline(end.Add(stopTimeout)); err != nil {
		return err
	}
	for made := range due {
		if err := c.exchange(); err != nil {
			return err
		}
		if err := c.latency.RecordValue(time.Since(made).Microseconds()); err != nil {
			return err
		}
	}
	return nil
}
