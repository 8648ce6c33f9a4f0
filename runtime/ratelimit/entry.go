package ratelimit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// add makes an entry with the request of this moment, in no queue yet.
func (s *shard) add(name string) (int32, error) {
	if len(s.index) >= s.max {
		return none, fmt.Errorf("%w: %d in a part of the store", ErrFull, len(s.index))
	}
	i := s.free
	if i == none {
		s.entries = append(s.entries, entry{next: none})
		i = int32(len(s.entries) - 1)
		s.free = i
	}
	e := &s.entries[i]
	if !e.ring.push(s.now, s.stamps) {
		return none, fmt.Errorf("%w: no room for the time of another request", ErrFull)
	}
	s.free = e.next
	e.name = strings.Clone(name) // a caller may use the bytes of name again
	s.index[e.name] = i
	return i, nil
}

// giveBack frees the entries whose latest request has left its window.
func (s *shard) giveBack() {
	for q := range s.queues {
		for i := s.queues[q].first; i != none && s.entries[i].ring.newest() <= s.now-s.queues[q].per; i = s.queues[q].first {
			s.remove(i)
		}
	}
}

func (s *shard) remove(i int32) {
	s.dequeue(i)
	e := &s.entries[i]
	delete(s.index, e.name)
	e.name = ""
	e.ring.empty(s.stamps)
	e.next, s.free = s.free, i
}

// requeue puts an entry that was just allowed something at the end of the queue of its window.
func (s *shard) requeue(i int32, w Window) {
	s.dequeue(i)
	s.entries[i].queue = s.queueOf(w)
	s.enqueue(i)
}

// queueOf returns the place of the queue of a window, which is made where there is none. Windows come from the
// service's settings, so there are few.
func (s *shard) queueOf(w Window) int {
	for q := range s.queues {
		if s.queues[q].per == int64(w.Per) {
			return q
		}
	}
	s.queues = append(s.queues, queue{per: int64(w.Per), first: none, last: none})
	return len(s.queues) - 1
}

func (s *shard) enqueue(i int32) {
	e := &s.entries[i]
	q := &s.queues[e.queue]
	e.prev, e.next = q.last, none
	if q.last == none {
		q.first = i
	} else {
		s.entries[q.last].next = i
	}
	q.last = i
}

func (s *shard) dequeue(i int32) {
	e := &s.entries[i]
	q := &s.queues[e.queue]
	if e.prev == none {
		q.first = e.next
	} else {
		s.entries[e.prev].next = e.next
	}
	if e.next == none {
		q.last = e.prev
	} else {
		s.entries[e.next].prev = e.prev
	}
}

// A ring is the times of requests, oldest first. Its room is a power of two, and grows with what is in it.
type ring struct {
	times   []int64
	head, n int
}

// ringRoom is the room of a new ring, and what an unused one keeps.
const ringRoom = 4

// at returns the time number i, from the oldest.
func (r *ring) at(i int) int64 { return r.times[(r.head+i)&(len(r.times)-1)] }

func (r *ring) newest() int64 { return r.at(r.n - 1) }

// dropUntil forgets what is not later than a time.
func (r *ring) dropUntil(start int64) {
	for r.n > 0 && r.at(0) <= start {
		r.head = (r.head + 1) & (len(r.times) - 1)
		r.n--
	}
}

// push adds a time that is not before the others. It reports false where there is no room left in the store.
func (r *ring) push(at int64, room *atomic.Int64) bool {
	if r.n == len(r.times) && !r.grow(room) {
		return false
	}
	r.n++
	r.times[(r.head+r.n-1)&(len(r.times)-1)] = at
	return true
}

func (r *ring) grow(room *atomic.Int64) bool {
	size := max(2*len(r.times), ringRoom)
	if size > math.MaxInt32 || !allot(room, size-len(r.times)) {
		return false
	}
	times := make([]int64, size)
	n := copy(times, r.times[r.head:])
	copy(times[n:], r.times[:r.head])
	r.times, r.head = times, 0
	return true
}

// empty forgets all times, and gives a large room back.
func (r *ring) empty(room *atomic.Int64) {
	r.head, r.n = 0, 0
	if len(r.times) > ringRoom {
		room.Add(int64(len(r.times) - ringRoom))
		r.times = slices.Clone(r.times[:ringRoom])
	}
}

// allot takes n of a room, and reports false where it has less.
func allot(room *atomic.Int64, n int) bool {
	for {
		left := room.Load()
		if left < int64(n) {
			return false
		}
		if room.CompareAndSwap(left, left-int64(n)) {
			return true
		}
	}
}
