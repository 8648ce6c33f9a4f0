package state

import (
	"fmt"
	"maps"
	"slices"

	"bailiff/runtime/ledger"
)

// Divide fills in the record after which the keys are in so many slots. Each has a log of its own, which begins with the state of its keys, and
// the log of this record has no keys any more.
func (s *State) Divide(slots int, at int64, r *Record) error {
	r.reset()
	if slots < 2 || slots > ledger.MaxSlots || at < 1 || at > ledger.MaxTime {
		return fmt.Errorf("%w: keys in %d slots, at %d", ledger.ErrInvalid, slots, at)
	}
	r.Kind, r.Now, r.Slots = ledger.StoreDivided, max(at, s.Latest()), slots
	return nil
}

func (s *State) applyDivided(*keyState, uint64, *Record) error {
	s.Keep(func(*ledger.Key) bool { return false }, s.followed)
	return nil
}

// Keep forgets the keys that are not wanted, and all that the state has of them alone. What can be used once stays used. Followed is the LSN
// up to which the state has the records of another log.
func (s *State) Keep(wanted func(*ledger.Key) bool, followed uint64) {
	s.followed = followed
	for id, k := range s.keys {
		if wanted(&k.key) {
			continue
		}
		delete(s.keys, id)
		delete(s.byHash, k.key.Hash)
		delete(s.crowded, id)
		if k.hooks != nil {
			s.wait(k, -k.hooks.waiting)
		}
	}
	maps.DeleteFunc(s.expiring.pending, func(hold holdRef, _ int64) bool { return s.keys[hold.key] == nil })
	s.expiring.order.Keep(func(e expiry) bool { return s.keys[e.hold.key] != nil })
	s.expiring.clean()
	maps.DeleteFunc(s.replays.by, func(ref replayRef, _ replay) bool { return s.keys[ref.key] == nil })
	s.replays.order = slices.DeleteFunc(s.replays.order[s.replays.head:], func(due replayDue) bool { return s.keys[due.ref.key] == nil })
	s.replays.head = 0
}
