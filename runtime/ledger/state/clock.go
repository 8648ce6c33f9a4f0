package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bailiff/runtime/ledger"
)

// How long what is usable once may be good: an attestation, and a trusted shim's activation.
const (
	attestationLife = int64(60e9)
	activationLife  = int64(300e9)
)

// Latest returns the latest time of any key, or of a halt of the service.
func (s *State) Latest() (latest int64) {
	latest = s.halt.Last
	for _, k := range s.keys {
		latest = max(latest, k.now)
	}
	return latest
}

// Reached returns the latest time of all that a clock that is set brings back.
func (s *State) Reached() int64 {
	return max(s.Latest(), s.usedUp, s.tokens.forgotten-attestationLife, s.activations.forgotten-activationLife)
}

// SetClock fills in the record that time goes back to at; r.Kind is NoRecord where no key is later.
func (s *State) SetClock(at int64, r *Record) error {
	r.reset()
	switch {
	case at < 0 || at > ledger.MaxTime:
		return fmt.Errorf("%w: a clock that is set to %d: use Unix nanoseconds", ledger.ErrInvalid, at)
	case s.Latest() > at:
		r.Kind, r.Now = ledger.ClockSet, at
	}
	return nil
}

// applyClock brings every key whose time is later back, with all that would end later than its length from then (decisions,
// section 7): so a jump that is undone is undone. Where the record is of a slot, so are the keys, and what all keys have in common stays.
func (s *State) applyClock(_ *keyState, lsn uint64, r *Record) error {
	for _, k := range s.inOrder() {
		if k.now <= r.Now || r.Slots != 0 && ledger.SlotOf(k.key.Hash, r.Slots+1) != r.Slot {
			continue
		}
		bringHalt(&k.key.Halt, r.Now)
		k.counters.bring(k.now, r.Now)
		s.bringHolds(k, r.Now)
		k.bringUsage(monthOf(r.Now))
		k.hooks.bring(r.Now)
		k.now, k.lsn = r.Now, lsn
	}
	if r.Slots != 0 {
		return nil
	}
	bringHalt(&s.halt, r.Now)
	s.usedUp = min(s.usedUp, r.Now)
	s.tokens.forgotten = min(s.tokens.forgotten, r.Now+attestationLife)
	s.activations.forgotten = min(s.activations.forgotten, r.Now+activationLife)
	return nil
}

// bringHalt moves a halt back, so that attestations issued from then on are good once it is over.
func bringHalt(h *ledger.HaltState, to int64) {
	h.Since, h.Last = min(h.Since, to), min(h.Last, to)
}

// bring moves the time of a table back: what was left of a window then is left of it now, and that is no more than its length.
func (t *counterTable) bring(from, to int64) {
	for id, c := range t.live {
		if c.dies > from {
			c.dies -= from - to
			t.live[id] = c
		}
		t.nextDeath = min(t.nextDeath, c.dies)
	}
	t.scratch = nil
}

// bringHolds gives the holds of a key that were opened later than a time their whole life from then.
func (s *State) bringHolds(k *keyState, to int64) {
	t := &k.holds
	ids := slices.SortedFunc(maps.Keys(t.byID), func(a, b ledger.ID) int { return cmp.Compare(t.byID[a].lsn, t.byID[b].lsn) })
	for _, id := range ids {
		h := t.byID[id]
		if h.created <= to {
			continue
		}
		h.expires -= h.created - to
		h.created, h.resolved = to, min(h.resolved, to)
		t.byID[id] = h
		t.nextExpiry = min(t.nextExpiry, h.expires)
		if ref := (holdRef{k.key.ID, id}); h.state == ledger.HoldPending && h.version >= ledger.IntentHashVersion {
			if _, pending := s.expiring.pending[ref]; pending {
				s.expiring.add(ref, h.expires)
			}
		}
	}
}

// bringUsage counts what was used in later months in a month.
func (k *keyState) bringUsage(month uint32) {
	at := ledger.Usage{Month: month}
	kept := k.usage[:0]
	for _, u := range k.usage {
		if u.Month < month {
			kept = append(kept, u)
		} else {
			at.Count += u.Count
		}
	}
	if k.usage = kept; at.Count > 0 {
		k.usage = append(k.usage, at)
	}
}

// bring has what is due later than a time fall due then.
func (t *hookTable) bring(to int64) {
	if t == nil {
		return
	}
	for _, h := range t.list {
		for lsn, d := range h.queue {
			d.next = min(d.next, to)
			h.queue[lsn] = d
		}
	}
}
