package state

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestScratch: what a table remembers of its dead and idle counters is what looking through all of them finds.
func TestScratch(t *testing.T) {
	g := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0))
	for range 60 {
		table, now, lsn := counterTable{}, 100*day, uint64(0)
		for range 120 {
			lsn++
			switch g.IntN(8) {
			case 0:
				now += []int64{1, hour / 2, hour, day - hour, day, 29 * day}[g.IntN(6)]
			case 1:
				upTo, before := 1+g.Uint64N(lsn), len(table.live)
				if n := table.forget(upTo, now); n != before-len(table.live) {
					t.Fatalf("%d are forgotten, %d of them are said", before-len(table.live), n)
				}
			default:
				r := Record{Now: now}
				for range 1 + g.IntN(2) {
					id := counterID{hash: [2]uint64{g.Uint64N(12), 0}, known: true}
					if r.effectOn(id) == nil {
						window := ledger.Hour + ledger.Window(g.IntN(3))
						r.Counters = append(r.Counters, CounterEffect{
							Counter: ledger.Counter{Window: window}, Value: amount.FromUint64(lsn), Room: window == ledger.Task && g.IntN(4) > 0, id: id,
						})
					}
				}
				if err := table.advance(lsn, &r); err != nil {
					t.Fatal(err)
				}
			}
			fresh := counterTable{live: maps.Clone(table.live), nextDeath: table.nextDeath}
			wanted := 1 + g.IntN(4)
			got, want := table.idlest(wanted, now), fresh.idlest(wanted, now)
			if dead := table.deadCount(now); !equalOrders(got, want) || dead != fresh.deadCount(now) {
				t.Fatalf("after record %d: %v are idle, want %v; %d are dead, want %d", lsn, got, want, dead, fresh.deadCount(now))
			}
		}
	}
}

// equalOrders compares idle groups; those of one record may come in any order.
func equalOrders(a, b []idleGroup) bool {
	return slices.EqualFunc(a, b, func(a, b idleGroup) bool { return a.order == b.order })
}

// TestSightingsMakeNoRoom: a group that a plan reports figures of does not make room for another of the plan.
func TestSightingsMakeNoRoom(t *testing.T) {
	for reserved, want := range map[string]ledger.Result{"new": ledger.Passed, "b new": ledger.RefusedGroups} {
		c := newCrowd(t, 2)
		c.decide(c.plan("a"))
		c.decide(c.plan("b"))
		c.now += 2 * day
		plan := c.plan(strings.Fields(reserved)...)
		plan.Seen = []ledger.Sighting{{Counter: c.plan("a").Reservations[0].Counter, Value: amount.FromUint64(1)}}
		if got := c.decide(plan); got != want {
			t.Errorf("beside a report of a, %s: %s, want %s", reserved, got, want)
		}
	}
}

// tableOf is a table with groups that are idle from a time on, advanced by the records 1 to n.
func tableOf(n int, idleFrom int64) *counterTable {
	t := &counterTable{live: map[[2]uint64]counter{}, nextDeath: idleFrom + idleBefore}
	for order := range uint64(n) {
		t.live[[2]uint64{order, 0}] = counter{dies: idleFrom + idleBefore, order: order + 1}
	}
	return t
}

// counted advances the counter n of a table by a record.
func counted(t *testing.T, table *counterTable, now int64, lsn, n uint64, window ledger.Window, room bool) {
	t.Helper()
	e := CounterEffect{Counter: ledger.Counter{Window: window}, Value: amount.FromUint64(lsn), Room: room, id: counterID{hash: [2]uint64{n, 0}, known: true}}
	if err := table.advance(lsn, &Record{Now: now, Counters: []CounterEffect{e}}); err != nil {
		t.Fatal(err)
	}
}

// TestScratchBounds: so many idle groups are remembered and no more, so many are found as are asked for, and the others once those are gone.
func TestScratchBounds(t *testing.T) {
	const now = 100 * day
	for _, more := range []int{0, 2} {
		x := tableOf(maxIdle+more, now).look(now)
		if len(x.idle) != maxIdle || x.more != (more > 0) || x.idle[maxIdle-1].order != maxIdle {
			t.Errorf("of %d idle groups, %d are remembered; that there are more: %t", maxIdle+more, len(x.idle), x.more)
		}
	}
	table := tableOf(maxIdle+2, now)
	if found := table.idlest(2, now); !equalOrders(found, []idleGroup{{order: 1}, {order: 2}}) {
		t.Errorf("the two idlest groups are %v", found)
	}
	if n := table.forget(maxIdle-1, now); n != maxIdle-1 {
		t.Errorf("%d groups are forgotten, want %d", n, maxIdle-1)
	}
	if found := table.idlest(3, now); !equalOrders(found, []idleGroup{{order: maxIdle}, {order: maxIdle + 1}, {order: maxIdle + 2}}) {
		t.Errorf("the last three groups are %v", found)
	}
}

// TestScratchHolds: a table is looked through again when a group that advanced becomes idle, and not before, and not for one that never makes room.
func TestScratchHolds(t *testing.T) {
	const now = 100 * day
	table := &counterTable{}
	counted(t, table, now, 1, 1, ledger.Task, false)
	x := table.look(now)
	counted(t, table, now, 2, 2, ledger.Hour, false)
	if table.look(now) != x {
		t.Error("the table is looked through again for the counter of an hour")
	}
	counted(t, table, now, 1, 3, ledger.Task, true)
	if table.look(now+hour-1) != x {
		t.Error("the table is looked through again before the hour ends")
	}
	table = &counterTable{}
	x = table.look(now)
	counted(t, table, now, 1, 3, ledger.Task, true)
	if table.look(now+day-1) != x || table.look(now+day) == x {
		t.Error("the table is not looked through again just when the group becomes idle")
	}
}

// TestScratchBefore: a group that was found idle is not at a time before it was.
func TestScratchBefore(t *testing.T) {
	const now = 100 * day
	table := tableOf(1, now)
	if found := table.idlest(1, now); len(found) != 1 {
		t.Fatalf("%v are idle", found)
	}
	if found := table.idlest(1, now-1); len(found) != 0 {
		t.Errorf("%v were idle before", found)
	}
}

// TestDeadOfScratch: counters that have advanced are not dead, whatever was found at a later time before, and whenever one would have died.
func TestDeadOfScratch(t *testing.T) {
	const now = 100 * day
	dies := windowEnd(ledger.Task, now)
	table := &counterTable{}
	counted(t, table, now, 1, 1, ledger.Task, false)
	if dead := table.deadCount(dies); dead != 1 {
		t.Errorf("%d counters are dead, want 1", dead)
	}
	counted(t, table, now+hour, 2, 1, ledger.Task, false) // before the time that was asked for
	if dead := table.deadCount(dies); dead != 0 {
		t.Errorf("%d counters are dead when one has advanced", dead)
	}
	table.look(dies - hour)
	counted(t, table, dies-hour, 3, 2, ledger.Task, false) // its scratch holds beyond the first death of before
	if dead := table.deadCount(dies); dead != 0 {
		t.Errorf("%d counters are dead when a second one has advanced", dead)
	}
}
