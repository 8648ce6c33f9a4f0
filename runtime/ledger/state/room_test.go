package state

import (
	"fmt"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A crowd is a state with a key that may have few groups.
type crowd struct {
	testing.TB
	s   *State
	lsn uint64
	now int64
}

func newCrowd(t testing.TB, groups int) *crowd {
	c := &crowd{TB: t, s: New(Secret{1, 2}), now: 100 * day}
	c.s.SetMaxGroups(groups)
	c.apply(Record{Kind: ledger.KeyCreated, Key: ledger.ID{1}, Created: ledger.Key{ID: ledger.ID{1}, Epoch: 1}})
	return c
}

// apply applies what is read of a record that was written.
func (c *crowd) apply(r Record) {
	c.Helper()
	var read Record
	if err := read.Decode(string(r.Append(nil))); err != nil {
		c.Fatal(err)
	}
	c.lsn++
	if err := c.s.Apply(c.lsn, &read); err != nil {
		c.Fatal(err)
	}
}

func (c *crowd) plan(groups ...string) *ledger.Plan {
	p := &ledger.Plan{Key: ledger.ID{1}, Epoch: 1, At: c.now, Pass: ledger.Ending{Decision: ledger.Allowed}, TooManyGroups: "full"}
	for _, group := range groups {
		p.Reservations = append(p.Reservations, ledger.Reservation{
			Counter: ledger.Counter{Limit: "n", Window: ledger.Task, Group: group}, Op: ledger.Count, Limit: amount.FromUint64(1 << 40),
		})
	}
	return p
}

// decide decides a plan and applies its record.
func (c *crowd) decide(p *ledger.Plan) ledger.Result {
	c.Helper()
	var r Record
	out, err := c.s.Decide(p, &r)
	if err != nil {
		c.Fatal(err)
	}
	c.lsn++
	if err := c.s.Apply(c.lsn, &r); err != nil {
		c.Fatal(err)
	}
	return out.Result
}

// TestGroupsOfOldRecords: of a group that a record of before advanced it is not known whether it is used up, so it makes no
// room until it advances again.
func TestGroupsOfOldRecords(t *testing.T) {
	c := newCrowd(t, 2)
	for _, group := range []string{"a", "b"} {
		counter := ledger.Counter{Limit: "n", Window: ledger.Task, Group: group}
		c.apply(Record{
			Kind: ledger.Decided, Key: ledger.ID{1}, Now: c.now, Result: ledger.Passed, Ending: ledger.Ending{Decision: ledger.Allowed},
			Counters: []CounterEffect{{Counter: counter, Value: amount.FromUint64(3)}},
		})
	}
	c.now += 2 * day
	if got := c.decide(c.plan("c")); got != ledger.RefusedGroups {
		t.Errorf("a group of before makes room: %s", got)
	}
	if got := c.decide(c.plan("a")); got != ledger.Passed {
		t.Errorf("a group of before: %s", got)
	}
	c.now += 2 * day
	if got := c.decide(c.plan("c")); got != ledger.Passed {
		t.Errorf("a group that has advanced makes no room: %s", got)
	}
}

// TestRoomAfterClock: a clock that is put right brings deaths to any time of an hour, and what was found before is not used.
func TestRoomAfterClock(t *testing.T) {
	c := newCrowd(t, 2)
	c.decide(c.plan("a"))
	c.now += 2 * day
	c.decide(c.plan("b"))
	if got := c.decide(c.plan("a", "c")); got != ledger.RefusedGroups { // looks through the table
		t.Fatal(got)
	}
	c.now -= hour / 3
	c.apply(Record{Kind: ledger.ClockSet, Now: c.now})
	for _, want := range []struct {
		after  int64
		result ledger.Result
	}{{0, ledger.Passed}, {day - hour/2, ledger.RefusedGroups}, {hour/2 - 1, ledger.RefusedGroups}, {hour, ledger.Passed}} {
		c.now += want.after
		if got := c.decide(c.plan(fmt.Sprint(c.now))); got != want.result {
			t.Errorf("%d later: %s, want %s", want.after, got, want.result)
		}
	}
}

// TestForgetsNothing: a record that has groups make room, where none is idle, cannot follow.
func TestForgetsNothing(t *testing.T) {
	c := newCrowd(t, 2)
	c.decide(c.plan("a"))
	var r Record
	if _, err := c.s.Decide(c.plan("b"), &r); err != nil {
		t.Fatal(err)
	}
	r.Forgets = c.lsn
	if err := c.s.Apply(c.lsn+1, &r); err == nil {
		t.Error("a young group was forgotten")
	}
}

// TestRoomOfManyGroups: more groups become idle at once than are remembered, and all of them make room, in order.
func TestRoomOfManyGroups(t *testing.T) {
	const groups = 3 * maxIdle
	c := newCrowd(t, groups)
	for i := range groups {
		c.decide(c.plan(fmt.Sprint(i)))
	}
	c.now += 2 * day
	for i := range groups {
		if got := c.decide(c.plan(fmt.Sprint("fresh ", i))); got != ledger.Passed {
			t.Fatalf("group %d: %s", i, got)
		}
		gone := c.s.Counter(ledger.ID{1}, c.plan(fmt.Sprint(i)).Reservations[0].Counter, c.now)
		next := c.s.Counter(ledger.ID{1}, c.plan(fmt.Sprint(i + 1)).Reservations[0].Counter, c.now)
		if !gone.IsZero() || next.IsZero() && i+1 < groups {
			t.Fatalf("group %d has made room: %t, the next one: %t", i, gone.IsZero(), next.IsZero())
		}
	}
	if got := c.decide(c.plan("one more")); got != ledger.RefusedGroups {
		t.Errorf("a young group makes room: %s", got)
	}
}

// TestDeadMakeRoomFirst: while a dead counter leaves its place, no idle group makes room.
func TestDeadMakeRoomFirst(t *testing.T) {
	c := newCrowd(t, 3)
	c.decide(c.plan("a"))
	c.decide(c.plan("b"))
	c.now += 2 * day
	hourly := c.plan("of an hour")
	hourly.Reservations[0].Counter.Window = ledger.Hour
	c.decide(hourly)
	c.now += 2 * hour
	if got := c.decide(c.plan("c")); got != ledger.Passed {
		t.Fatal(got)
	}
	for _, group := range []string{"a", "b", "c"} {
		if c.s.Counter(busyKey, c.plan(group).Reservations[0].Counter, c.now).IsZero() {
			t.Errorf("group %s is forgotten", group)
		}
	}
}

// BenchmarkFullKey measures decisions of a key that has all its groups: of one that is refused for it, and of one for which
// another makes room. Neither may look through all groups.
func BenchmarkFullKey(b *testing.B) {
	full := func(b *testing.B) *crowd {
		c := newCrowd(b, ledger.MaxGroups)
		for i := range ledger.MaxGroups {
			c.decide(c.plan(fmt.Sprint(i)))
		}
		return c
	}
	b.Run("refused", func(b *testing.B) {
		c := full(b)
		for b.Loop() {
			if got := c.decide(c.plan("fresh")); got != ledger.RefusedGroups {
				b.Fatal(got)
			}
		}
	})
	b.Run("making-room", func(b *testing.B) {
		c := full(b)
		for i := 0; b.Loop(); i++ {
			if i%ledger.MaxGroups == 0 {
				c.now += 2 * day
			}
			if got := c.decide(c.plan(fmt.Sprint("fresh ", i))); got != ledger.Passed {
				b.Fatal(got)
			}
		}
	})
}
