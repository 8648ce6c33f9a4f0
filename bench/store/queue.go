package main

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A simulation is a discrete-event simulation of instances, each of which decides for its share of the slots, in a closed loop. With one slot
// the first instance decides for all. Times are in microseconds.
type simulation struct {
	costs
	random *rand.Rand
	now    float64
	events events

	instances []*instance
	entries   []*station // of the slots: the part of a decision that the ledger does for one request at a time
	servers   *station   // of the database

	waited       []float64 // for answers, since counting began anew
	own          int       // of those, answers by the instance that was asked
	transactions int
	records      int // in them
}

// An instance is one of them: a station with its processors.
type instance struct {
	*station
	waiting []func() // decisions for the next transaction
	writing bool
}

// An event is something that happens at a time.
type event struct {
	at float64
	n  int // those at one time happen in the order in which they were planned
	do func()
}

type events struct {
	list    []event
	planned int
}

func (e *events) Len() int { return len(e.list) }
func (e *events) Less(i, j int) bool {
	a, b := &e.list[i], &e.list[j]
	return a.at < b.at || a.at == b.at && a.n < b.n
}
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return last
}

// after plans an event. None is planned in the past: what takes less than no time makes up for what others took, and every rate is wrong then.
func (s *simulation) after(wait float64, do func()) {
	if !(wait >= 0) { // nor may it be no number
		panic(fmt.Sprintf("an event is planned for %g µs from now", wait))
	}
	s.events.planned++
	heap.Push(&s.events, event{s.now + wait, s.events.planned, do})
}

// A station has servers, and a queue in the order of arrival.
type station struct {
	free  int
	queue []func()
}

// serve occupies one server of a station for the time that the work takes, and then calls then.
func (s *simulation) serve(at *station, work float64, then func()) {
	begin := func() {
		s.after(work, func() {
			if len(at.queue) > 0 {
				next := at.queue[0]
				at.queue = at.queue[1:]
				next()
			} else {
				at.free++
			}
			then()
		})
	}
	if at.free > 0 {
		at.free--
		begin()
		return
	}
	at.queue = append(at.queue, begin)
}

// draw returns a time of work with a mean.
func (s *simulation) draw(mean float64) float64 { return s.random.ExpFloat64() * mean }

// ask sends the requests of one client, all with a key of one slot, to an instance, one after the other.
func (s *simulation) ask(at *instance, slot int) {
	asked, owner := s.now, s.instances[slot%len(s.instances)]
	answered := func() {
		s.waited = append(s.waited, s.now-asked)
		if at == owner {
			s.own++
		}
		s.ask(at, slot)
	}
	if at == owner {
		s.serve(at.station, s.draw(s.Direct), func() { s.record(owner, slot, answered) })
		return
	}
	s.serve(at.station, s.draw(s.Pass), func() {
		s.after(s.Network, func() {
			s.serve(owner.station, s.draw(s.Passed), func() {
				s.record(owner, slot, func() {
					s.after(s.Network, func() { s.serve(at.station, s.draw(s.Tell), answered) })
				})
			})
		})
	})
}

// record takes a decision through the ledger of its slot, and calls then when its group has been written.
func (s *simulation) record(owner *instance, slot int, then func()) {
	s.serve(s.entries[slot], s.draw(s.Serial), func() {
		owner.waiting = append(owner.waiting, then)
		s.write(owner)
	})
}

// write writes all waiting decisions of an instance, of all of its slots, in one transaction. An instance has one transaction at a time.
func (s *simulation) write(owner *instance) {
	if owner.writing || len(owner.waiting) == 0 {
		return
	}
	group := owner.waiting
	owner.waiting, owner.writing = nil, true
	s.transactions++
	s.records += len(group)
	s.serve(s.servers, s.Group+s.Record*float64(len(group)), func() {
		s.after(s.Commit, func() {
			owner.writing = false
			for _, then := range group {
				then()
			}
			s.write(owner)
		})
	})
}

// An outcome is the result of a simulation: the rate in decisions per second, and the waiting time in milliseconds.
type outcome struct {
	rate, mean, p50, p99 float64
	own                  float64 // the part of the decisions that the instance made which was asked
	group                float64 // records in a transaction, the mean
}

// leastWaits is how many times the p99 of the waiting time is simulated at least, after a warm-up of half as many. A shorter run has only the answers that
// came soon.
const leastWaits = 10

// begin has all clients ask. Each of them has an instance and, of several slots, one by chance.
func begin(c *costs, instances, slots, clients, cores int, seed uint64) *simulation {
	s := &simulation{costs: *c, random: rand.New(rand.NewPCG(seed, 1)), servers: &station{free: cores}} //nolint:gosec // a simulation's
	for range instances {
		s.instances = append(s.instances, &instance{station: &station{free: cores}})
	}
	for range slots {
		s.entries = append(s.entries, &station{free: 1})
	}
	for n := range clients {
		slot := 0
		if slots > 1 {
			slot = s.random.IntN(slots)
		}
		s.ask(s.instances[n%instances], slot)
	}
	return s
}

// simulate runs clients for length and then, without a break, for twice that and so on, until the last stretch is long enough. Those before it are
// its warm-up.
func simulate(c *costs, instances, slots, clients, cores int, length float64, seed uint64) outcome {
	s := begin(c, instances, slots, clients, cores, seed)
	s.run(length)
	for {
		length *= 2
		if o := s.run(length); o.rate > 0 && o.p99*1e3*leastWaits <= length {
			return o
		}
	}
}

// run continues the simulation for length, and sums up what happened in that time.
func (s *simulation) run(length float64) (o outcome) {
	s.waited, s.own, s.transactions, s.records = s.waited[:0], 0, 0, 0
	for end := s.now + length; s.now < end; {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		next.do()
	}
	n := len(s.waited)
	if n == 0 {
		return o
	}
	slices.Sort(s.waited)
	for _, wait := range s.waited {
		o.mean += wait / 1e3 / float64(n)
	}
	o.rate, o.p50, o.p99 = float64(n)/length*1e6, s.waited[n/2]/1e3, s.waited[n*99/100]/1e3
	o.own, o.group = float64(s.own)/float64(n), float64(s.records)/float64(max(1, s.transactions))
	return o
}
