package player

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/bench/load"
	"bailiff/bench/processor"
)

// An Expectation is what every answer of a target has to be.
type Expectation struct {
	Status string
	Body   func([]byte) error
}

// A Target is one thing to measure: the connections to it, each with the same request.
type Target struct {
	Name    string
	Server  *Process
	Clients []*load.Client
	Beside  func() time.Duration // the processor time that others have taken so far to serve it; nil: there are none
}

// A Sample is what one phase gave.
type Sample struct {
	Rate     float64 // answers per second
	P50, P99 time.Duration
	CPU      time.Duration // that the server took for one answer; 0 where the system does not tell
	Beside   time.Duration // that the others took for one answer
}

// NewTarget connects to a server.
func NewTarget(name string, server *Process, request []byte, expect Expectation, connections int) (*Target, error) {
	t := &Target{Name: name, Server: server}
	for range connections {
		one, err := load.Dial(server.Address, server.TLS, &load.Shot{Request: request, Status: expect.Status, Body: expect.Body, Latency: load.NewHistogram()})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), t.Close())
		}
		t.Clients = append(t.Clients, one)
		if err := one.Exchange(); err != nil { // a connection that waits long for its first request is closed
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), t.Close())
		}
	}
	return t, nil
}

// Close closes the connections.
func (t *Target) Close() error {
	var faults []error
	for _, one := range t.Clients {
		faults = append(faults, one.Close())
	}
	return errors.Join(faults...)
}

// longest is how far Measure stretches a phase in which nothing was answered: on a machine that others keep busy a
// short phase may be over before the server got a turn.
const longest = 10 * time.Second

// OpenLoop drives the first connections of t at a rate, for a length. The server's processor time is not measured.
func (t *Target) OpenLoop(connections int, rate float64, length time.Duration) (Sample, error) {
	clients := t.Clients[:connections]
	for _, one := range clients {
		one.Latency.Reset()
	}
	if err := load.NewPace(rate, length).Drive(clients, length+StopTimeout); err != nil {
		return Sample{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	return summarize(clients, length), nil
}

// Measure drives the first connections of t in a closed loop: a warm-up, then the time that counts. A phase without a
// single answer says nothing about the server, and is measured again, each time four times as long.
func (t *Target) Measure(connections int, warmUp, length time.Duration) (Sample, error) {
	for {
		s, err := t.phase(connections, warmUp, length)
		if err != nil || s.Rate > 0 {
			return s, err
		}
		if length >= longest {
			return Sample{}, fmt.Errorf("%s: no answer within %s", t.Name, length)
		}
		length *= 4
	}
}

// phase is one such phase; its rate is 0 where nothing was answered.
func (t *Target) phase(connections int, warmUp, length time.Duration) (Sample, error) {
	clients := t.Clients[:connections]
	before := t.spent()
	start := time.Now().Add(warmUp)
	end := start.Add(length)
	faults := make([]error, len(clients))
	var all sync.WaitGroup
	for i, one := range clients {
		all.Go(func() { faults[i] = one.Loop(start, end, StopTimeout) })
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return Sample{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	after := t.spent()
	s := summarize(clients, length)
	if s.Rate > 0 {
		given := time.Duration(after.given - before.given)
		s.CPU, s.Beside = (after.server-before.server)/given, (after.beside-before.beside)/given
	}
	return s, nil
}

// summarize puts together what the clients recorded of a phase; the rate is 0 where that is nothing.
func summarize(clients []*load.Client, length time.Duration) Sample {
	merged := load.NewHistogram()
	for _, one := range clients {
		merged.Merge(one.Latency)
	}
	at := func(quantile float64) time.Duration {
		return time.Duration(merged.ValueAtQuantile(quantile)) * time.Microsecond
	}
	return Sample{Rate: float64(merged.TotalCount()) / length.Seconds(), P50: at(50), P99: at(99)}
}

// spent is the processor time that the server and the others have taken, and the number of answers that they have given here.
type spent struct {
	server, beside time.Duration
	given          int64
}

func (t *Target) spent() (s spent) {
	for _, one := range t.Clients {
		s.given += one.Count()
	}
	s.server = processor.Time(t.Server.PID())
	if t.Beside != nil {
		s.beside = t.Beside()
	}
	return s
}
