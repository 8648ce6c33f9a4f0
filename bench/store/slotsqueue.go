package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// A decider is an instance of several that decide, in a simulation.
type decider struct {
	*station
	waiting []func() // decisions for the next groups
	writing bool
}

// A sharing is a simulation of instances each of which decides for its share of the slots.
type sharing struct {
	simulation
	deciders []*decider
	ledgers  []*station // of the slots: each lets one request through at a time
}

// ask sends the requests of one client, all with a key of one slot, to an instance, one after the other.
func (s *sharing) ask(instance, slot int) {
	asked, at, owner := s.now, s.deciders[instance], s.deciders[slot%len(s.deciders)]
	answered := func() {
		if s.count {
			s.waited = append(s.waited, s.now-asked)
		}
		s.ask(instance, slot)
	}
	if at == owner {
		s.serve(at.station, s.draw(s.Direct), func() { s.decide(owner, slot, answered) })
		return
	}
	s.serve(at.station, s.draw(s.Pass), func() {
		s.after(s.Network, func() {
			s.serve(owner.station, s.draw(s.Passed), func() {
				s.decide(owner, slot, func() {
					s.after(s.Network, func() { s.serve(at.station, s.draw(s.Tell), answered) })
				})
			})
		})
	})
}

// decide takes a decision through the ledger of its slot, and calls then when its group has been written.
func (s *sharing) decide(by *decider, slot int, then func()) {
	s.serve(s.ledgers[slot], s.draw(s.Serial), func() {
		by.waiting = append(by.waiting, then)
		s.keep(by)
	})
}

// keep writes all waiting decisions of an instance, of all of its slots, in one transaction.
func (s *sharing) keep(by *decider) {
	if by.writing || len(by.waiting) == 0 {
		return
	}
	kept := by.waiting
	by.waiting, by.writing = nil, true
	s.serve(s.servers, s.Group+s.Record*float64(len(kept)), func() {
		s.after(s.Commit, func() {
			by.writing = false
			for _, then := range kept {
				then()
			}
			s.keep(by)
		})
	})
}

// simulateSlots runs clients for length, after a warm-up of a quarter of it. Each client has an instance and a key.
func simulateSlots(c *costs, instances, slots, clients, cores int, length float64, seed uint64) outcome {
	s := &sharing{simulation: simulation{costs: *c, random: rand.New(rand.NewPCG(seed, 1)), servers: &station{free: cores}}} //nolint:gosec // a simulation's
	for range instances {
		s.deciders = append(s.deciders, &decider{station: &station{free: cores}})
	}
	for range slots {
		s.ledgers = append(s.ledgers, &station{free: 1})
	}
	for n := range clients {
		s.ask(n%instances, s.random.IntN(slots))
	}
	for s.now < length*5/4 {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		s.count = s.now >= length/4
		next.do()
	}
	return s.outcome(length)
}

// outcome returns the rate and the waits that were counted in a time.
func (s *simulation) outcome(length float64) outcome {
	slices.Sort(s.waited)
	n := len(s.waited)
	if n == 0 {
		return outcome{}
	}
	return outcome{float64(n) / length * 1e6, s.waited[n/2] / 1e3, s.waited[n*99/100] / 1e3}
}
