package suite

import (
	"fmt"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// step returns a reservation in a task's group, of nine at most.
func step(group string) ledger.Reservation { return count("steps", ledger.Task, group, 9) }

// fill has the key of f use up its groups but for some, with groups of a task each that are not used up.
func (f *fixture) fill(free int) {
	f.Helper()
	var last ledger.Ticket
	for i := 0; i < ledger.MaxGroups-free; i += 512 {
		p := f.plan()
		for j := range min(512, ledger.MaxGroups-free-i) {
			p.Reservations = append(p.Reservations, step(fmt.Sprint("filled ", i+j)))
		}
		last = f.l.Submit(p)
	}
	if err := last.Wait(f.Context()); err != nil || last.Outcome().Result != ledger.Passed {
		f.Fatalf("filling: %v, %+v", err, last.Outcome())
	}
}

// testGroupsMakeRoom fills a key with groups, of which some may make room a day later: the idlest first, none that is used
// up, and none that is younger.
func testGroupsMakeRoom(f *fixture) {
	once := count("once", ledger.Task, "t", 1)
	f.allow(f.plan(once))
	reported := f.denied()
	seen := ledger.Counter{Limit: "tokens", Window: ledger.Task, Group: "t"}
	reported.Seen = []ledger.Sighting{{Counter: seen, Value: once.Limit}}
	f.want(reported, ledger.Passed, ledger.Denied) // nobody knows the limit of what it reports
	for _, group := range []string{"a", "b", "c", "d"} {
		f.allow(f.plan(step(group)))
	}
	f.at += 2 * hour
	f.fill(6)
	fresh := func(group string) *ledger.Plan { return f.plan(step("fresh " + group)) }
	f.at = ledgertest.Start + day // the day of the idlest ends with the hour, at one
	got := f.want(fresh("too early"), ledger.RefusedGroups, ledger.Denied)
	if got.Code != "SVC_AGGREGATE_LIMIT_EXCEEDED" || got.Reservation != 0 {
		f.Fatalf("refusal: %+v", got)
	}
	f.at = ledgertest.Start + day + hour/2
	f.refuse(f.plan(step("fresh 1"), once)) // another limit refuses: nothing makes room
	f.wantCounter(step("a"), 1)
	if got := f.l.Peek(fresh("1")); got.Result != ledger.Passed {
		f.Fatalf("asked for the outcome: %+v", got)
	}
	f.wantCounter(step("a"), 1)
	f.allow(fresh("1"))
	f.wantCounter(step("a"), 0)
	f.wantCounter(step("b"), 1)
	f.allow(f.plan(step("fresh 2"), step("b"))) // what the plan names does not make room for it
	f.wantCounter(step("b"), 2)
	f.wantCounter(step("c"), 0)
	f.want(f.plan(step("fresh 3"), step("d")), ledger.RefusedGroups, ledger.Denied) // it names the only idle one
	f.wantCounter(step("d"), 1)
	f.allow(f.plan(step("a"))) // begins anew
	f.wantCounter(step("d"), 0)
	f.want(fresh("3"), ledger.RefusedGroups, ledger.Denied) // the others are younger
	f.at += 2 * hour
	f.wantCounter(step("filled 0"), 1)
	f.allow(fresh("3"))
	f.wantCounter(step("filled 0"), 0)
	f.wantCounter(once, 1)
	f.refuse(f.plan(once))
	f.wantCounter(ledger.Reservation{Counter: seen}, 1)
	f.wantCounter(step("b"), 2)
	f.wantCounter(step("a"), 1)
}

// testReopenGroups has groups make room before and after a start.
func testReopenGroups(f *fixture) {
	testGroupsMakeRoom(f)
	f.l = f.suite.Reopen(f.T, f.l)
	f.wantCounter(step("d"), 0)
	f.wantCounter(step("b"), 2)
	f.wantCounter(step("a"), 1)
	f.refuse(f.plan(count("once", ledger.Task, "t", 1)))
	f.wantCounter(step("filled 512"), 1) // of the second plan that filled the key
	f.allow(f.plan(step("fresh 4"), step("filled 512")))
	f.wantCounter(step("filled 512"), 2)
	f.wantCounter(step("fresh 1"), 1)
}

// testCrowdedKeys: a key is crowded from four fifths of its groups on, until they die.
func testCrowdedKeys(f *fixture) {
	crowded := func(want ...ledger.KeyGroups) {
		f.Helper()
		got, err := f.l.CrowdedKeys(f.at)
		if err != nil {
			f.Fatal(err)
		}
		f.equal("crowded keys", got, want)
	}
	f.fill(ledger.MaxGroups - ledger.CrowdedGroups + 1)
	crowded()
	f.allow(f.plan(step("one more")))
	crowded(ledger.KeyGroups{Key: f.key.ID, Groups: ledger.CrowdedGroups})
	f.at += int64(ledger.TaskIdle) + hour
	crowded()
	f.allow(f.plan(step("one more")))
	crowded()
}
