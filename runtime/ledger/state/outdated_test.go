package state

import (
	"testing"

	"bailiff/runtime/ledger"
)

// TestOutdatedHolds: a pending hold of an older version of the intent hash is due at once, with its event; one of this
// version is not. A record without a version is of version 1.
func TestOutdatedHolds(t *testing.T) {
	key := ledger.ID{1}
	s := New(Secret{1, 2})
	lsn := uint64(0)
	apply := func(r Record) {
		t.Helper()
		var read Record
		if err := read.Decode(string(r.Append(nil))); err != nil {
			t.Fatal(err)
		}
		lsn++
		if err := s.Apply(lsn, &read); err != nil {
			t.Fatal(err)
		}
	}
	held := func(id byte, version uint64) Record {
		return Record{
			Kind: ledger.Decided, Key: key, Now: 10, Plan: ledger.ID{id}, Result: ledger.Held, Ending: ledger.Ending{Decision: ledger.Pending},
			Hold: HoldEffect{Action: HoldOpened, ID: ledger.ID{id}, Version: version, Expires: 1000, IntentHash: [32]byte{id}},
		}
	}
	apply(Record{Kind: ledger.KeyCreated, Key: key, Now: 1, Created: ledger.Key{ID: key, Epoch: 1}})
	apply(held(1, 1))
	apply(held(2, ledger.IntentHashVersion))
	if n := s.OutdatedHolds(); n != 1 {
		t.Fatalf("%d outdated holds, want 1", n)
	}
	s, err := ReadSnapshot(s.AppendSnapshot(nil))
	if err != nil || s.OutdatedHolds() != 1 {
		t.Fatalf("after a snapshot: %v, %d outdated holds", err, s.OutdatedHolds())
	}
	var r Record
	if s.ExpireHold(20, &r); r.Kind != ledger.HoldExpired || r.Hold.ID != (ledger.ID{1}) {
		t.Fatalf("record %+v", r)
	}
	apply(r)
	if s.ExpireHold(20, &r); r.Kind != ledger.NoRecord || s.OutdatedHolds() != 0 {
		t.Fatalf("a second record %+v, %d outdated holds", r, s.OutdatedHolds())
	}
	if _, _, found := s.Hold(key, ledger.ID{1}, 20); found {
		t.Error("the outdated hold is still there")
	}
	if _, _, found := s.Hold(key, ledger.ID{2}, 20); !found {
		t.Error("the other hold is gone")
	}
}

// TestOutdatedHoldsBroughtBack: where a clock is set back, a hold of an older version of the intent hash is due no later than it was.
func TestOutdatedHoldsBroughtBack(t *testing.T) {
	c := newCrowd(t, 2)
	outdated := c.opens(pendingHold)
	outdated.Hold.Version = ledger.IntentHashVersion - 1
	c.apply(outdated)
	c.apply(Record{Kind: ledger.ClockSet, Now: c.now - hour/2})
	var r Record
	if c.s.ExpireHold(c.now, &r); r.Kind != ledger.HoldExpired || r.Hold.ID != pendingHold {
		t.Errorf("record %s of hold %s", r.Kind, r.Hold.ID)
	}
}
