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
