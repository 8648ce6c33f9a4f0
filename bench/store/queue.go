package main

import (
	"container/heap"
	"math/rand/v2"
)

// A simulation is a discrete-event simulation of instances, of which one decides, in a closed loop. Times are in microseconds.
type simulation struct {
	costs
	random *rand.Rand
	now    float64
	events events

	owner   *station
	others  []*station
	entry   *station // the part of a decision that the ledger does for one request at a time
	servers *station // of the database
	waiting []func() // decisions for the next group
	writing bool

	count  bool // answers are counted: the warm-up is over
	waited []float64
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

func (s *simulation) after(wait float64, do func()) {
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

// ask sends the requests of one client to an instance, one after the other.
func (s *simulation) ask(instance int) {
	asked := s.now
	answered := func() {
		if s.count {
			s.waited = append(s.waited, s.now-asked)
		}
		s.ask(instance)
	}
	if instance == 0 {
		s.serve(s.owner, s.draw(s.Direct), func() { s.record(answered) })
		return
	}
	at := s.others[instance-1]
	s.serve(at, s.draw(s.Pass), func() {
		s.after(s.Network, func() {
			s.serve(s.owner, s.draw(s.Passed), func() {
				s.record(func() {
					s.after(s.Network, func() { s.serve(at, s.draw(s.Tell), answered) })
				})
			})
		})
	})
}

// record takes a decision through the ledger, and calls then when its group has been written.
func (s *simulation) record(then func()) {
	s.serve(s.entry, s.draw(s.Serial), func() {
		s.waiting = append(s.waiting, then)
		s.write()
	})
}

// write writes all waiting decisions as one group. Only one group is written at a time.
func (s *simulation) write() {
	if s.writing || len(s.waiting) == 0 {
		return
	}
	group := s.waiting
	s.waiting, s.writing = nil, true
	s.serve(s.servers, s.Group+s.Record*float64(len(group)), func() {
		s.after(s.Commit, func() {
			s.writing = false
			for _, then := range group {
				then()
			}
			s.write()
		})
	})
}

// An outcome is the result of a simulation: the rate in decisions per second, and the quantiles of the waiting time in milliseconds.
type outcome struct{ rate, p50, p99 float64 }

// simulate runs the clients for length, after a warm-up of a quarter of it.
func simulate(c *costs, instances, clients, cores int, length float64, seed uint64) outcome {
	s := &simulation{costs: *c, random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a simulation's
	s.owner, s.entry, s.servers = &station{free: cores}, &station{free: 1}, &station{free: cores}
	for range instances - 1 {
		s.others = append(s.others, &station{free: cores})
	}
	for n := range clients {
		s.ask(n % instances)
	}
	for s.now < length*5/4 {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		s.count = s.now >= length/4
		next.do()
	}
	return s.outcome(length)
}
