package state

import (
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/heap"
)

// sweepStep bounds how many expired entries an insertion forgets: more than it adds, so that the table shrinks, and so
// few that no step takes long.
const sweepStep = 4

// keptExpired is how long something is remembered after it has expired: as far as a clock may be put back without anybody
// asking (decisions, section 7), so that nothing is good again then.
const keptExpired = int64(5 * 60e9)

// A onceTable remembers used ids until they expire. Keys have times of their own, so what has expired for one need
// not have for another: the table therefore refuses as expired whatever expires no later than something that it has
// forgotten. So nothing is used twice by any caller.
type onceTable[K comparable] struct {
	used      map[K]int64 // when each expires
	order     heap.Heap[onceEntry[K]]
	forgotten int64 // the latest expiry of all that was forgotten
}

type onceEntry[K comparable] struct {
	expires int64
	id      K
}

// Before orders a heap.
func (e onceEntry[K]) Before(other onceEntry[K]) bool { return e.expires < other.expires }

// check returns why id, which expires at a time, cannot be used at now.
func (t *onceTable[K]) check(id K, expires, now int64) error {
	if now >= expires || expires <= t.forgotten {
		return ledger.ErrExpired
	}
	if _, used := t.used[id]; used {
		return ledger.ErrUsed
	}
	return nil
}

// add remembers id, and forgets some of what has expired at now. What was forgotten is not held against id, so that a
// log can be read by a ledger that forgets sooner than the one that wrote it.
func (t *onceTable[K]) add(id K, expires, now int64) error {
	if _, used := t.used[id]; used || now >= expires {
		return fmt.Errorf("%v was used before, or had expired", id)
	}
	if t.used == nil {
		t.used = map[K]int64{}
	}
	t.used[id] = expires
	t.order.Push(onceEntry[K]{expires, id})
	for range sweepStep {
		oldest := t.order.Min()
		if now < oldest.expires+keptExpired {
			break
		}
		t.forgotten = max(t.forgotten, oldest.expires)
		delete(t.used, t.order.Pop().id)
	}
	return nil
}

func (s *State) applyUse(_ *keyState, _ uint64, r *Record) error {
	return s.tokens.add(r.Token, r.Expires, r.Now)
}

// UseOnce fills in the record that uses up an attestation, or returns why there is none. It is judged in the order:
// key, epoch, default policy, expiry, use.
func (s *State) UseOnce(u *ledger.Use, r *Record) error {
	r.reset()
	if err := u.Validate(); err != nil {
		return err
	}
	k := s.keys[u.Key]
	switch {
	case k == nil || k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, u.Key)
	case s.stops(k), s.voids(k, u.Issued):
		return fmt.Errorf("%w: the attestation %s of key %s", ledger.ErrHalted, u.Token, u.Key)
	case k.key.Epoch != u.Epoch:
		return fmt.Errorf("%w: from %d to %d", ledger.ErrStale, u.Epoch, k.key.Epoch)
	case s.replacedDefault(u.Default):
		return fmt.Errorf("%w: the default policy %x was replaced", ledger.ErrStale, u.Default)
	}
	now := max(k.now, u.At)
	if err := s.tokens.check(u.Token, u.Expires, now); err != nil {
		return fmt.Errorf("%w: attestation %s", err, u.Token)
	}
	r.Kind, r.Key, r.Now, r.Token, r.Expires, r.Event = ledger.AttestationUsed, u.Key, now, u.Token, u.Expires, u.Event
	r.Event.Value, r.Event.Detail = ledger.Clip(u.Event.Value), ledger.Clip(u.Event.Detail)
	return nil
}
