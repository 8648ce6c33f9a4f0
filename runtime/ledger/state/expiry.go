package state

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/heap"
)

// An expiryTable has all pending holds whose expiry is not recorded, so that finding none due costs nothing. It keeps
// a hold that its key has forgotten since.
type expiryTable struct {
	pending map[holdRef]int64 // when each expires
	order   heap.Heap[expiry] // of these, and of others that were resolved or recorded since
}

// A holdRef names a hold; ids are unique within a key only.
type holdRef struct{ key, id ledger.ID }

type expiry struct {
	at   int64
	hold holdRef
}

// Before orders a heap.
func (e expiry) Before(other expiry) bool {
	if e.at != other.at {
		return e.at < other.at
	}
	if c := bytes.Compare(e.hold.key[:], other.hold.key[:]); c != 0 {
		return c < 0
	}
	return bytes.Compare(e.hold.id[:], other.hold.id[:]) < 0
}

func (t *expiryTable) add(hold holdRef, at int64) {
	if t.pending == nil {
		t.pending = map[holdRef]int64{}
	}
	t.pending[hold] = at
	t.order.Push(expiry{at, hold})
	t.clean() // the id may be one that was used before
}

// remove forgets a hold that is not pending any more.
func (t *expiryTable) remove(hold holdRef) {
	delete(t.pending, hold)
	t.clean()
}

// clean drops resolved entries from the head of the queue.
func (t *expiryTable) clean() {
	for t.order.Len() > 0 {
		first := t.order.Min()
		if at, pending := t.pending[first.hold]; pending && at == first.at {
			return
		}
		t.order.Pop()
	}
}

// ExpireHold fills in the record of a hold's expiry at a time; r.Kind is NoRecord where none is due.
func (s *State) ExpireHold(at int64, r *Record) {
	r.reset()
	if s.expiring.order.Len() == 0 || s.expiring.order.Min().at > at {
		return
	}
	first := s.expiring.order.Min()
	k := s.keys[first.hold.key]
	r.Kind, r.Key, r.Now = ledger.HoldExpired, first.hold.key, max(k.now, at)
	r.Hold.ID = first.hold.id
	k.tell(r)
}

// OutdatedHolds returns how many holds are pending under an older version of the intent hash. They are due.
func (s *State) OutdatedHolds() (n int) {
	for ref := range s.expiring.pending {
		if k := s.keys[ref.key]; k != nil && k.holds.byID[ref.id].version < ledger.IntentHashVersion {
			n++
		}
	}
	return n
}

// PendingHolds returns how many holds are pending, and when the one was opened that expires first, 0 where none is pending.
func (s *State) PendingHolds() (number int, oldest int64) {
	number = len(s.expiring.pending)
	if number == 0 {
		return 0, 0
	}
	first := s.expiring.order.Min()
	if k := s.keys[first.hold.key]; k != nil {
		if h, known := k.holds.byID[first.hold.id]; known {
			return number, h.created
		}
	}
	return number, first.at - int64(ledger.HoldLifetime) // its key has forgotten it since
}

func (s *State) applyExpired(k *keyState, _ uint64, r *Record) error {
	ref := holdRef{r.Key, r.Hold.ID}
	at, pending := s.expiring.pending[ref]
	if !pending || r.Now < at {
		return fmt.Errorf("hold %s has not expired while pending", r.Hold.ID)
	}
	s.expiring.remove(ref)
	if h, ok := k.holds.byID[r.Hold.ID]; ok {
		k.holds.forget(r.Hold.ID, h)
	}
	return nil
}

// endPending has the expiry of every pending hold be due at a time.
func (s *State) endPending(at int64) {
	refs := slices.SortedFunc(maps.Keys(s.expiring.pending), func(a, b holdRef) int {
		return cmp.Or(bytes.Compare(a.key[:], b.key[:]), bytes.Compare(a.id[:], b.id[:]))
	})
	for _, ref := range refs {
		if s.expiring.pending[ref] > at {
			s.expiring.add(ref, at)
		}
	}
}
