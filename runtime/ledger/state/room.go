package state

import (
	"cmp"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/heap"
)

// A key has at most MaxGroups live groups. Beyond that, a new one takes the place of those that have been idle longest, a
// day at least (decisions, section 2, "Limits"). Hour and day windows end within a day, so these are groups of tasks. A
// group whose limit is used up never makes room, and neither does one of which it is not known whether it is.
//
// Which groups make room is in the record (Record.Forgets), as the LSN of the last advance of the latest of them: groups
// have no names in memory, and LSNs order them by idleness without ambiguity. Groups that one record advanced last make
// room together.

// idleBefore is how long before its death a task's group has been idle for a day, rounded up to the hour as its death is.
const idleBefore = int64(ledger.TaskIdle) - day

// An idleGroup is a counter that can make room.
type idleGroup struct {
	order uint64 // of the counter, when it was found
	id    [2]uint64
}

// Before orders a heap: the head of a heap is the group that has been idle for the shortest time.
func (g idleGroup) Before(other idleGroup) bool { return g.order > other.order }

// maxIdle is how many idle groups are remembered: more than the counters of two plans, so that a plan finds enough, and so
// many that looking through a full table is rare.
const maxIdle = 4096

// A roomScratch is what was found by looking through a counterTable, so that a full table is looked through about once an
// hour, when groups die or become idle, and once for some thousand groups that advance or make room, but not for every plan.
// It is not part of the meaning.
type roomScratch struct {
	from, until int64       // it holds for these times, the first one included
	dead        int         // how many counters are dead
	idle        []idleGroup // the idlest groups in order, of which some may have advanced or been forgotten since
	more        bool        // there were more than maxIdle
}

// look returns the scratch for a time.
func (t *counterTable) look(now int64) *roomScratch {
	if t.scratch == nil || now < t.scratch.from || now >= t.scratch.until {
		t.lookThrough(now)
	}
	return t.scratch
}

// lookThrough looks for the counters that are dead at now, and for the groups that are idlest.
func (t *counterTable) lookThrough(now int64) {
	x := &roomScratch{until: never}
	var idlest heap.Heap[idleGroup]
	for id, c := range t.live {
		idle := c.order != 0 && x.reached(c.dies-idleBefore, now)
		switch {
		case x.reached(c.dies, now):
			x.dead++
			continue
		case !idle:
			continue
		case idlest.Len() == maxIdle:
			x.more = true
			if c.order > idlest.Min().order {
				continue
			}
			idlest.Pop()
		}
		idlest.Push(idleGroup{c.order, id})
	}
	x.idle = idlest.Items()
	slices.SortFunc(x.idle, func(a, b idleGroup) int { return cmp.Compare(a.order, b.order) })
	t.scratch = x
}

// reached reports whether a time has come, and has the scratch hold for no times before and after it.
func (x *roomScratch) reached(at, now int64) bool {
	if now < at {
		x.until = min(x.until, at)
		return false
	}
	x.from = max(x.from, at)
	return true
}

// advanced notes that the counters of a record have advanced, and that no dead ones are left.
func (t *counterTable) advanced(now int64, effects []CounterEffect) {
	x := t.scratch
	if x == nil || now < x.from || now >= x.until {
		t.scratch = nil
		return
	}
	x.from, x.dead = now, 0
	for i := range effects {
		c := t.live[effects[i].id.hash]
		x.until = min(x.until, c.dies)
		if c.order != 0 {
			x.until = min(x.until, c.dies-idleBefore)
		}
	}
}

// deadCount returns how many counters of the table are dead at now.
func (t *counterTable) deadCount(now int64) int {
	if now < t.nextDeath {
		return 0
	}
	return t.look(now).dead
}

// idlest returns up to n of the live groups that can make room at now, the idlest first; n is at most maxIdle. The slice is
// valid until the next call.
func (t *counterTable) idlest(n int, now int64) []idleGroup {
	more := t.look(now).more
	found := t.firstIdle(n)
	if len(found) < n && more {
		t.lookThrough(now)
		found = t.firstIdle(n)
	}
	return found
}

// firstIdle returns up to n of the groups in the scratch that can still make room. It drops those that cannot any more, so
// that no call looks at them again.
func (t *counterTable) firstIdle(n int) []idleGroup {
	idle, kept, looked := t.scratch.idle, 0, 0
	for ; looked < len(idle) && kept < n; looked++ {
		if c, ok := t.live[idle[looked].id]; ok && c.order == idle[looked].order {
			idle[kept] = idle[looked]
			kept++
		}
	}
	copy(idle[looked-kept:looked], idle[:kept])
	t.scratch.idle = idle[looked-kept:]
	return t.scratch.idle[:kept]
}

// forget removes the idle groups whose last advance was at the record upTo or before it, and returns how many.
func (t *counterTable) forget(upTo uint64, now int64) (n int) {
	for {
		first := t.idlest(1, now)
		if len(first) == 0 || first[0].order > upTo {
			return n
		}
		delete(t.live, first[0].id)
		n++
	}
}

// takeRoom reports whether the key may have one more counter, besides those that this plan took room for before.
func (s *State) takeRoom(k *keyState, p *ledger.Plan, now int64) bool {
	if s.groups-len(k.counters.live) >= len(p.Seen)+len(p.Reservations) {
		return true
	}
	if !s.roomKnown {
		s.room, s.roomKnown = s.roomFor(k, p, now), true
	}
	s.room--
	return s.room >= 0
}

// roomFor returns how many counters the key may have besides those that live: at least as many as p could need, or all.
func (s *State) roomFor(k *keyState, p *ledger.Plan, now int64) int {
	most := len(p.Seen) + len(p.Reservations)
	room := s.groups - len(k.counters.live) + k.counters.deadCount(now)
	if room >= most {
		return room
	}
	named := make(map[[2]uint64]bool, most) // these do not make room for each other
	for i := range p.Seen {
		named[s.identify(p.Seen[i].Counter.Bounded()).hash] = true
	}
	for i := range p.Reservations {
		named[s.identify(p.Reservations[i].Counter.Bounded()).hash] = true
	}
	for _, g := range k.counters.idlest(most+len(named), now) {
		if !named[g.id] {
			room++
		}
	}
	return room
}

// makeRoom has r forget as many groups as its counters need room for.
func (s *State) makeRoom(k *keyState, r *Record) {
	if !s.roomKnown { // there was enough
		return
	}
	over := len(k.counters.live) - k.counters.deadCount(r.Now) - s.groups
	for i := range r.Counters {
		if !k.counters.has(r.Counters[i].id, r.Now) {
			over++
		}
	}
	if over <= 0 {
		return
	}
	for _, g := range k.counters.idlest(over+len(r.Counters), r.Now) {
		if r.effectOn(counterID{hash: g.id, known: true}) != nil {
			continue
		}
		if over--; over == 0 {
			r.Forgets = g.order
			return
		}
	}
}
