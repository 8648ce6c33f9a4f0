// Package state is the meaning of the ledger: what a plan comes to, and what a record changes. It is pure: no I/O,
// no clock, no goroutine, no randomness. Every ledger shares it, so that no two can differ in meaning.
//
// A step is Decide, which judges a plan against the state and fills in a [Record] of the effects, and then Apply,
// which makes them so. Decide changes nothing. The state is a function of the sequence of applied records alone, so
// replaying a log leads to the state that wrote it. What has expired counts as absent from that moment on; when its
// memory is given back is not part of the meaning.
package state

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A State is what the records applied so far add up to. It is not safe for concurrent use.
type State struct {
	keys   map[ledger.ID]*keyState
	byHash map[[32]byte]ledger.ID

	name      []byte // scratch of counter names
	room      int    // scratch of Decide: how many more groups the key may have
	roomKnown bool
}

// A keyState is all that the ledger knows about one key.
type keyState struct {
	key ledger.Key
	now int64  // the latest time of a step of this key
	lsn uint64 // of the last record that changed this key

	counters counterTable
	holds    holdTable
	usage    []ledger.Usage // by month, ascending
}

// New returns the state of an empty log.
func New() *State {
	return &State{keys: map[ledger.ID]*keyState{}, byHash: map[[32]byte]ledger.ID{}}
}

// LSN returns the LSN of the last record that changed the key, 0 where there is none.
func (s *State) LSN(key ledger.ID) uint64 {
	if k := s.keys[key]; k != nil {
		return k.lsn
	}
	return 0
}

// Key returns a key as it is now.
func (s *State) Key(id ledger.ID) (ledger.Key, bool) {
	if k := s.keys[id]; k != nil {
		return k.key, true
	}
	return ledger.Key{}, false
}

// Counter returns how far a counter of key has come at the time at, or at the key's now where that is later.
func (s *State) Counter(key ledger.ID, counter ledger.Counter, at int64) amount.Amount {
	k := s.keys[key]
	if k == nil {
		return amount.Amount{}
	}
	return k.counters.value(s.identify(counter.Bounded()), max(k.now, at))
}

// Usage returns the number of ALLOWED decisions of key per month, ascending.
func (s *State) Usage(key ledger.ID) []ledger.Usage {
	if k := s.keys[key]; k != nil {
		return append([]ledger.Usage(nil), k.usage...)
	}
	return nil
}

// CreateKey fills in the record that creates a key, or returns why there is none.
func (s *State) CreateKey(key *ledger.Key, r *Record) error {
	r.reset()
	if err := key.Validate(); err != nil {
		return err
	}
	if s.keys[key.ID] != nil {
		return fmt.Errorf("%w: id %s", ledger.ErrKeyExists, key.ID)
	}
	if _, taken := s.byHash[key.Hash]; taken {
		return fmt.Errorf("%w: hash %x", ledger.ErrKeyExists, key.Hash)
	}
	r.Kind, r.Key, r.Now, r.Created = KeyCreated, key.ID, key.Created, *key
	r.Created.Epoch = 1
	return nil
}

// RevokeKey fills in the record that revokes a key, or returns why there is none.
func (s *State) RevokeKey(id ledger.ID, at int64, r *Record) error {
	r.reset()
	k := s.keys[id]
	switch {
	case at < 0 || at > ledger.MaxTime:
		return fmt.Errorf("%w: revocation of the time %d: use Unix nanoseconds", ledger.ErrInvalid, at)
	case k == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, id)
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, id)
	}
	r.Kind, r.Key, r.Epoch = KeyRevoked, id, k.key.Epoch+1
	r.Now = max(k.now, at, 1) // a Revoked of 0 would say that the key is good
	return nil
}

// Apply makes the effects of r so. An error says that r cannot follow what was applied before: the log was not
// written by this ledger, or not in this order. The state must not be used afterwards.
func (s *State) Apply(lsn uint64, r *Record) error {
	if err := s.apply(lsn, r); err != nil {
		return fmt.Errorf("state: record %d of kind %d, key %s: %w", lsn, r.Kind, r.Key, err)
	}
	return nil
}

func (s *State) apply(lsn uint64, r *Record) error {
	if r.Kind == KeyCreated {
		return s.applyKeyCreated(lsn, r)
	}
	k := s.keys[r.Key]
	if k == nil {
		return fmt.Errorf("the key does not exist")
	}
	if r.Kind == TestRun {
		return nil
	}
	if r.Now < k.now {
		return fmt.Errorf("its time %d is before the key's, %d", r.Now, k.now)
	}
	k.now, k.lsn = r.Now, lsn
	switch r.Kind {
	case Decision:
		if k.key.Revoked != 0 {
			return fmt.Errorf("the key was revoked before")
		}
		return s.applyDecision(k, lsn, r)
	case KeyRevoked:
		return k.applyRevoked(r)
	case HoldResolved:
		return k.holds.resolve(r)
	}
	return fmt.Errorf("unknown kind")
}

func (s *State) applyKeyCreated(lsn uint64, r *Record) error {
	if s.keys[r.Key] != nil {
		return fmt.Errorf("the key exists already")
	}
	if _, taken := s.byHash[r.Created.Hash]; taken {
		return fmt.Errorf("another key has the hash %x", r.Created.Hash)
	}
	key := r.Created
	key.Email, key.Environment, key.Tier = strings.Clone(key.Email), strings.Clone(key.Environment), strings.Clone(key.Tier)
	s.keys[key.ID] = &keyState{key: key, now: r.Now, lsn: lsn}
	s.byHash[key.Hash] = key.ID
	return nil
}

func (k *keyState) applyRevoked(r *Record) error {
	if k.key.Revoked != 0 || r.Epoch != k.key.Epoch+1 {
		return fmt.Errorf("epoch %d cannot follow epoch %d, revoked at %d", r.Epoch, k.key.Epoch, k.key.Revoked)
	}
	k.key.Revoked, k.key.Epoch = r.Now, r.Epoch
	return nil
}

func (s *State) applyDecision(k *keyState, lsn uint64, r *Record) error {
	for i := range r.Counters {
		c := &r.Counters[i]
		if !c.id.known {
			c.id = s.identify(c.Counter)
		}
	}
	if err := k.counters.advance(r.Counters, r.Now); err != nil {
		return err
	}
	if err := k.holds.apply(lsn, r); err != nil {
		return err
	}
	return k.applyUsage(r.Usage)
}

// applyUsage records the new count of a month.
func (k *keyState) applyUsage(u ledger.Usage) error {
	if u.Month == 0 {
		return nil
	}
	if u.Month < k.lastMonth().Month || u.Count != k.usageOf(u.Month)+1 {
		return fmt.Errorf("usage %d of month %d cannot follow %v", u.Count, u.Month, k.lastMonth())
	}
	if u.Month != k.lastMonth().Month {
		k.usage = append(k.usage, ledger.Usage{Month: u.Month})
	}
	k.usage[len(k.usage)-1].Count = u.Count
	return nil
}

func (k *keyState) lastMonth() ledger.Usage {
	if len(k.usage) == 0 {
		return ledger.Usage{}
	}
	return k.usage[len(k.usage)-1]
}

// usageOf returns the count of a month that is not before the last one.
func (k *keyState) usageOf(month uint32) uint64 {
	if last := k.lastMonth(); last.Month == month {
		return last.Count
	}
	return 0
}

// monthOf returns the UTC month of now, as ledger.Usage counts months.
func monthOf(now int64) uint32 {
	year, month, _ := time.Unix(0, now).UTC().Date()
	return uint32(12*year + int(month) - 1)
}

// never is a time that does not come.
const never = math.MaxInt64
