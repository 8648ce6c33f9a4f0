package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/bench/processor"
)

// expectation is what every answer of a target has to be.
type expectation struct {
	status string
	body   func([]byte) error
}

// target is one thing to measure: the connections to it, each with the same request.
type target struct {
	name    string
	server  *process
	clients []*load.Client
}

// sample is what one phase gave.
type sample struct {
	rate     float64 // answers per second
	p50, p99 time.Duration
	cpu      time.Duration // that the server took for one answer; 0 where the system does not tell
}

func newTarget(name string, server *process, request []byte, expect expectation, connections int) (*target, error) {
	t := &target{name: name, server: server}
	for range connections {
		one, err := load.Dial(server.address, &load.Shot{Request: request, Status: expect.status, Body: expect.body, Latency: load.NewHistogram()})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), t.close())
		}
		t.clients = append(t.clients, one)
		if err := one.Exchange(); err != nil { // a connection that waits long for its first request is closed
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), t.close())
		}
	}
	return t, nil
}

func (t *target) close() error {
	var faults []error
	for _, one := range t.clients {
		faults = append(faults, one.Close())
	}
	return errors.Join(faults...)
}

// longest is how far measure stretches a phase in which nothing was answered: on a machine that others keep busy a
// short phase may be over before the server got a turn.
const longest = 10 * time.Second

// openLoop drives the first connections of t at a rate, for a length. The server's processor time is not measured.
func (t *target) openLoop(connections int, rate float64, length time.Duration) (sample, error) {
	clients := t.clients[:connections]
	for _, one := range clients {
		one.Latency.Reset()
	}
	if err := load.NewPace(rate, length).Drive(clients, length+stopTimeout); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return summarize(clients, length), nil
}

// measure drives the first connections of t in a closed loop: a warm-up, then the time that counts. A phase without a
// single answer says nothing about the server, and is measured again, each time four times as long.
func (t *target) measure(connections int, warmUp, length time.Duration) (sample, error) {
	for {
		s, err := t.phase(connections, warmUp, length)
		if err != nil || s.rate > 0 {
			return s, err
		}
		if length >= longest {
			return sample{}, fmt.Errorf("%s: no answer within %s", t.name, length)
		}
		length *= 4
	}
}

// phase is one such phase; its rate is 0 where nothing was answered.
func (t *target) phase(connections int, warmUp, length time.Duration) (sample, error) {
	clients := t.clients[:connections]
	taken, given := t.spent()
	start := time.Now().Add(warmUp)
	end := start.Add(length)
	faults := make([]error, len(clients))
	var all sync.WaitGroup
	for i, one := range clients {
		all.Go(func() { faults[i] = one.Loop(start, end, stopTimeout) })
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	takenLater, givenLater := t.spent()
	s := summarize(clients, length)
	if s.rate > 0 {
		s.cpu = (takenLater - taken) / time.Duration(givenLater-given)
	}
	return s, nil
}

// summarize puts together what the clients recorded of a phase; the rate is 0 where that is nothing.
func summarize(clients []*load.Client, length time.Duration) sample {
	merged := load.NewHistogram()
	for _, one := range clients {
		merged.Merge(one.Latency)
	}
	at := func(quantile float64) time.Duration {
		return time.Duration(merged.ValueAtQuantile(quantile)) * time.Microsecond
	}
	return sample{rate: float64(merged.TotalCount()) / length.Seconds(), p50: at(50), p99: at(99)}
}

// spent returns the processor time that the server has taken and the number of answers that it has given here.
func (t *target) spent() (taken time.Duration, given int64) {
	for _, one := range t.clients {
		given += one.Count()
	}
	return processor.Time(t.server.pid()), given
}

// answer is what the checks look at in a body.
type answer struct {
	Status      string  `json:"status"`
	Attestation *string `json:"intent_attestation"`
	PolicyHash  string  `json:"policyHash"`
	Code        string  `json:"error_code"`
	TestRun     bool    `json:"test_run"`
}

// expectAnswer returns a check for bodies that are answers.
func expectAnswer(status string, fits func(*answer) bool) expectation {
	return expectation{status: status, body: func(body []byte) error {
		var a answer
		if err := json.Unmarshal(body, &a); err != nil {
			return fmt.Errorf("the answer is no JSON: %w", err)
		}
		if !fits(&a) {
			return errors.New("the answer is not the expected one")
		}
		return nil
	}}
}

// The expectations of floors and service.
var (
	expectTestRun = expectAnswer("200", func(a *answer) bool {
		return a.Status == "ALLOWED" && a.TestRun && a.Attestation == nil && len(a.PolicyHash) == 64
	})
	expectDenied = expectAnswer("403", func(a *answer) bool {
		return a.Status == "DENIED" && a.Code == bench.DeniedCode && a.Attestation == nil && !a.TestRun
	})
	expectSigned = expectAnswer("200", func(a *answer) bool {
		return a.Status == "ALLOWED" && a.Attestation != nil && len(*a.Attestation) > 6000 && !a.TestRun
	})
	expectEcho = expectation{"200", func(body []byte) error {
		if !bytes.Equal(body, []byte(bench.AllowedIntent)) {
			return errors.New("the echo is another")
		}
		return nil
	}}
)
