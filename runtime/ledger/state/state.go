// Package state is the ledger's state machine: it decides the outcome of a plan, and applies records to the state. It is
// pure: no I/O, no clock, no goroutine, no randomness. Every ledger shares it, so that no two can differ in meaning.
//
// A step is Decide, which judges a plan against the state and fills in a [Record] of the effects, and then Apply,
// which makes the effects part of the state. Decide changes nothing. The state is a function of the sequence of applied
// records alone, so replaying a log leads to the state that wrote it. What has expired counts as absent from that moment on.
// When its memory is given back is not part of the meaning, except for what is usable once: that is refused rather than used
// twice. A new kind of record is a row of kinds.go.
package state

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
	"bailiff/vm/amount"
)

// A State is what the records applied so far add up to. It is not safe for concurrent use.
type State struct {
	secret Secret
	keys   map[ledger.ID]*keyState
	byHash map[[32]byte]ledger.ID

	tokens      onceTable[ledger.ID] // attestations
	activations onceTable[[32]byte]
	expiring    expiryTable
	waiting     int // deliveries, of all keys

	groups  int                    // the most groups that Decide lets a key have
	crowded map[ledger.ID]struct{} // keys that have CrowdedGroups or more, dead ones included

	approvers approverTable
	replays   replayTable
	halt      ledger.HaltState // of the whole service
	operators ledger.Operators
	dropped   uint64         // LSN up to which retention has dropped the log, or was about to; 0: nothing
	followed  uint64         // LSN of the latest record that was copied from another log; 0: none was
	usedUp    int64          // when the log was restored: the hour and the day of then are used up; 0: neither is
	defaults  []boundDefault // oldest first; the last one is in force

	name      []byte // scratch of counter names
	room      int    // scratch of Decide: how many more groups the key may have
	roomKnown bool
}

// A keyState is all that the ledger knows about one key.
type keyState struct {
	key     ledger.Key
	now     int64  // the latest time of a step of this key
	lsn     uint64 // of the last record that changed this key
	created uint64 // LSN of the record that created it

	counters counterTable
	holds    holdTable
	usage    []ledger.Usage // by month, ascending

	deployments []ledger.DeploymentView // oldest first
	stored      uint64                  // bytes of their texts and programs
	hooks       *hookTable              // nil where there are none
	pins        *pins.Table             // nil where there are none
}

// A Secret is what names of counters are hashed with in memory. It is drawn at random, and belongs to a state and to its
// snapshots; logs have the names.
type Secret [2]uint64

// New returns the state of an empty log.
func New(secret Secret) *State {
	return &State{secret: secret, keys: map[ledger.ID]*keyState{}, byHash: map[[32]byte]ledger.ID{}, groups: ledger.MaxGroups,
		crowded: map[ledger.ID]struct{}{}}
}

// SetMaxGroups has a key have at most n live groups, instead of ledger.MaxGroups and no more than these.
func (s *State) SetMaxGroups(n int) { s.groups = n }

// Fresh returns the state of an empty log with the secret of s.
func (s *State) Fresh() *State { return New(s.secret) }

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
	return s.used(k, counter, s.identify(counter.Bounded()), max(k.now, at))
}

// used returns the value of a counter at a time. In an hour or a day in which the log was restored it is used up: it may have
// advanced after the backup, which need not know its group.
func (s *State) used(k *keyState, c ledger.Counter, id counterID, now int64) amount.Amount {
	if s.usedUp != 0 && c.Window != ledger.Task && now < windowEnd(c.Window, s.usedUp) {
		return ledger.UsedUp
	}
	return k.counters.value(id, now)
}

// Usage returns the number of ALLOWED decisions of key per month, ascending.
func (s *State) Usage(key ledger.ID) []ledger.Usage {
	if k := s.keys[key]; k != nil {
		return append([]ledger.Usage(nil), k.usage...)
	}
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
	kind, k := &kinds[r.Kind], s.keys[r.Key]
	switch {
	case len(kind.forms) == 0:
		return fmt.Errorf("unknown kind")
	case kind.of == noKey && r.Key != (ledger.ID{}):
		return fmt.Errorf("a record about the whole store that names a key")
	case kind.of == existingKey && k == nil:
		return fmt.Errorf("the key does not exist")
	case kind.live && k.key.Revoked != 0:
		return fmt.Errorf("the key was revoked before")
	}
	if kind.of == existingKey && !kind.timeless {
		if r.Now < k.now {
			return fmt.Errorf("its time %d is before the key's, %d", r.Now, k.now)
		}
		k.now, k.lsn = r.Now, lsn
	}
	if kind.apply != nil {
		if err := kind.apply(s, k, lsn, r); err != nil {
			return err
		}
	}
	if r.Origin != 0 {
		if r.Origin <= s.followed {
			return fmt.Errorf("a copy of record %d comes after one of record %d", r.Origin, s.followed)
		}
		s.followed = r.Origin
	}
	if len(r.Outbox) == 0 {
		return nil
	}
	return s.applyOutbox(k, lsn, r)
}

func (s *State) applyDecision(k *keyState, lsn uint64, r *Record) error {
	for i := range r.Counters {
		c := &r.Counters[i]
		if !c.id.known {
			c.id = s.identify(c.Counter)
		}
	}
	if err := k.counters.advance(lsn, r); err != nil {
		return err
	}
	s.noteCrowded(k)
	if err := k.holds.apply(lsn, r); err != nil {
		return err
	}
	if r.Hold.Action == HoldOpened {
		at := r.Hold.Expires
		if r.Hold.Version < ledger.IntentHashVersion { // no intent finds it again
			at = r.Now
		}
		s.expiring.add(holdRef{r.Key, r.Hold.ID}, at)
	}
	if r.Replay != nil {
		if err := s.applyReplay(k, lsn, r); err != nil {
			return err
		}
	}
	return k.applyUsage(r.Usage)
}

// noteCrowded notes whether a key has many groups.
func (s *State) noteCrowded(k *keyState) {
	if len(k.counters.live) >= ledger.CrowdedGroups {
		s.crowded[k.key.ID] = struct{}{}
	} else if len(s.crowded) > 0 {
		delete(s.crowded, k.key.ID)
	}
}

// CrowdedKeys returns the keys that have CrowdedGroups or more live groups at a time, in the order of their ids.
func (s *State) CrowdedKeys(at int64) (keys []ledger.KeyGroups) {
	for id := range s.crowded {
		k := s.keys[id]
		if n := len(k.counters.live) - k.counters.deadCount(max(k.now, at)); n >= ledger.CrowdedGroups {
			keys = append(keys, ledger.KeyGroups{Key: id, Groups: n})
		}
	}
	slices.SortFunc(keys, func(a, b ledger.KeyGroups) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return keys
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
