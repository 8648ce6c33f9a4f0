package ledgertest

import (
	"slices"
	"time"

	"bailiff/runtime/ledger"
)

// A naiveGroup is a live counter, and what advanced it last.
type naiveGroup struct {
	counter ledger.Counter
	last    int // index of the entry
	roomy   bool
}

// live returns the live counters of key, those that have been idle longest first.
func (n *naive) live(key ledger.ID, now int64) (groups []naiveGroup) {
	for i, e := range n.log {
		if e.key != key {
			continue
		}
		for _, a := range slices.Concat(e.seen, e.adds) {
			if before := (&naive{log: n.log[:i]}).counter(key, a.counter, e.now); a.to(before).Cmp(before) == 0 {
				continue
			}
			groups = slices.DeleteFunc(groups, func(g naiveGroup) bool { return g.counter == a.counter })
			groups = append(groups, naiveGroup{a.counter, i, e.roomy[a.counter]})
		}
	}
	return slices.DeleteFunc(groups, func(g naiveGroup) bool { return n.counter(key, g.counter, now).Sign() == 0 })
}

// idle reports whether a live group may make room: a task's, not used up, that has not advanced for a day. The day ends
// with an hour.
func (n *naive) idle(g naiveGroup, now int64) bool {
	since := time.Unix(0, n.log[g.last].now).UTC().Add(24 * time.Hour)
	if whole := since.Truncate(time.Hour); whole != since {
		since = whole.Add(time.Hour)
	}
	return g.counter.Window == ledger.Task && g.roomy && !time.Unix(0, now).Before(since)
}

// created returns the counters that an entry begins.
func (n *naive) created(e *entry) (counters []ledger.Counter) {
	for _, a := range slices.Concat(e.seen, e.adds) {
		if n.counter(e.key, a.counter, e.now).Sign() == 0 && n.after(e.key, a.counter, e).Sign() > 0 && !slices.Contains(counters, a.counter) {
			counters = append(counters, a.counter)
		}
	}
	return counters
}

// fits reports whether the key has room for what an addition begins, besides what an entry begins already. The counters
// that the plan names do not make room for each other.
func (n *naive) fits(p *ledger.Plan, e *entry, a addition) bool {
	with := *e
	with.adds = append(slices.Clone(e.adds), a)
	created := len(n.created(&with))
	if created == len(n.created(e)) {
		return true
	}
	room := n.groups
	for _, g := range n.live(e.key, e.now) {
		named := slices.ContainsFunc(p.Seen, func(s ledger.Sighting) bool { return s.Counter == g.counter }) ||
			slices.ContainsFunc(p.Reservations, func(r ledger.Reservation) bool { return r.Counter == g.counter })
		if named || !n.idle(g, e.now) {
			room--
		}
	}
	return created <= room
}

// makeRoom has an entry forget as many idle groups as its counters need, the idlest first. Those that one entry advanced
// last go together.
func (n *naive) makeRoom(e *entry) {
	live := n.live(e.key, e.now)
	over := len(live) + len(n.created(e)) - n.groups
	upTo := -1
	var idle []naiveGroup
	for _, g := range live {
		if advances := n.after(e.key, g.counter, e).Cmp(n.counter(e.key, g.counter, e.now)) != 0; advances || !n.idle(g, e.now) {
			continue
		}
		idle = append(idle, g)
		if len(idle) == over {
			upTo = g.last
		}
	}
	for _, g := range idle {
		if g.last <= upTo {
			e.forgot = append(e.forgot, g.counter)
		}
	}
}
