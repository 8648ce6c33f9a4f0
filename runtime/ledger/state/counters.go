package state

import (
	"encoding/binary"
	"fmt"

	"github.com/dchest/siphash"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A counterID means a counter's name in memory: its SipHash of 128 bits under the state's secret. Agents choose
// groups, so it must not be possible to find names that collide, and hashes are never shown; a collision within a key could only
// count too much.
type counterID struct {
	hash  [2]uint64
	known bool
}

// identify returns the id of a counter. Texts carry their length, so that no two names run together.
func (s *State) identify(c ledger.Counter) counterID {
	b := append(s.name[:0], byte(c.Window))
	b = binary.AppendUvarint(b, uint64(len(c.Limit)))
	b = append(b, c.Limit...)
	b = append(b, c.Group...)
	s.name = b
	high, low := siphash.Hash128(s.secret[0], s.secret[1], b)
	return counterID{hash: [2]uint64{high, low}, known: true}
}

// A counter is a value and the time from which it counts as zero again. There are no pointers in it, so that the
// collector need not look into a table of millions.
type counter struct {
	dies  int64
	order uint64 // the LSN of its last advance where it may make room for another (room.go), otherwise 0
	value amount.Amount
}

// A counterTable holds the counters of one key. Dead ones may stay in it until the next advance. All deaths are at
// full hours, so that a table is swept at most once an hour, however many groups an agent names.
type counterTable struct {
	live      map[[2]uint64]counter
	nextDeath int64        // no counter dies before; may be too early
	scratch   *roomScratch // nil while nothing was looked for
}

// value returns the value of a counter at now: zero where it is dead or unknown.
func (t *counterTable) value(id counterID, now int64) amount.Amount {
	if c, ok := t.live[id.hash]; ok && now < c.dies {
		return c.value
	}
	return amount.Amount{}
}

// has reports whether a counter is alive at now.
func (t *counterTable) has(id counterID, now int64) bool {
	c, ok := t.live[id.hash]
	return ok && now < c.dies
}

// advance forgets what a record forgets, and gives counters their new values at now.
func (t *counterTable) advance(lsn uint64, r *Record) error {
	t.sweep(r.Now)
	for i := range r.Counters {
		e := &r.Counters[i]
		if e.Value.Cmp(t.value(e.id, r.Now)) <= 0 {
			return fmt.Errorf("counter %.64q of group %.64q falls to %s", e.Counter.Limit, e.Counter.Group, e.Value)
		}
	}
	if r.Forgets != 0 && t.forget(r.Forgets, r.Now) == 0 {
		return fmt.Errorf("no group is idle that record %d or one before it advanced", r.Forgets)
	}
	for i := range r.Counters {
		e := &r.Counters[i]
		c := counter{dies: windowEnd(e.Counter.Window, r.Now), value: e.Value}
		if e.Room {
			c.order = lsn
		}
		t.live[e.id.hash] = c
		t.nextDeath = min(t.nextDeath, c.dies)
	}
	t.advanced(r.Now, r.Counters)
	if len(t.live) > ledger.MaxGroups {
		return fmt.Errorf("more than %d live counters", ledger.MaxGroups)
	}
	return nil
}

// sweep gives back the memory of dead counters.
func (t *counterTable) sweep(now int64) {
	if t.live != nil && now < t.nextDeath {
		return
	}
	live, nextDeath := map[[2]uint64]counter{}, int64(never)
	for id, c := range t.live {
		if now < c.dies {
			live[id] = c
			nextDeath = min(nextDeath, c.dies)
		}
	}
	t.live, t.nextDeath = live, nextDeath
}

const (
	hour = int64(3600e9)
	day  = 24 * hour
)

// windowEnd returns when the window that holds now ends. A task's window moves with every advance, and ends with the
// hour in which it has been idle for TaskIdle.
func windowEnd(w ledger.Window, now int64) int64 {
	switch w {
	case ledger.Hour:
		return (now/hour + 1) * hour
	case ledger.Day:
		return (now/day + 1) * day
	}
	return ((now+int64(ledger.TaskIdle)-1)/hour + 1) * hour
}

// useUp has every counter of a table be used up. None makes room for another.
func (t *counterTable) useUp() {
	for id, c := range t.live {
		c.value, c.order = ledger.UsedUp, 0
		t.live[id] = c
	}
	t.scratch = nil
}
