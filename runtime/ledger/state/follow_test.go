package state

import (
	"errors"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
)

// copyOf is a service-wide record that is copied from another log.
func copyOf(c *crowd, kind ledger.Kind, origin uint64) Record {
	r := c.whole(kind)
	r.Halt.Stop = kind == ledger.ServiceFrozen
	r.Origin = origin
	return r
}

// TestFollow copies service-wide records from one log into another: once each, in their order, and with the same effect. Those that concern
// the log alone are not copied.
func TestFollow(t *testing.T) {
	first, other := newCrowd(t, 8), newCrowd(t, 8)
	var log []Record
	for _, kind := range []ledger.Kind{
		ledger.ServiceFrozen, ledger.ServiceThawed, ledger.ApproverConfirmed, ledger.OperatorRotated, ledger.EventsDropped,
		ledger.ApproverSuspended, ledger.ApproverResumed, ledger.ApproverRemoved, ledger.DefaultBound, ledger.ApproverConfirmed, ledger.ServiceFrozen,
	} {
		r := first.whole(kind)
		_, serial := first.s.Approvers()
		r.Approver.Action, r.Approver.Serial = ledger.ApproverAction(kind), serial+1
		r.Halt = &ledger.Halt{Stop: kind == ledger.ServiceFrozen, At: first.now, Reason: "why"}
		first.apply(r)
		log = append(log, r)
	}
	copied := 0
	for range 2 { // the second time all of it is there
		for i := range log {
			lsn := uint64(10 + i)
			var r, again Record
			if err := other.s.Follow(lsn, &log[i], &r); err != nil {
				t.Fatal(err)
			}
			if r.Kind == ledger.NoRecord {
				continue
			}
			copied++
			if err := again.Decode(string(r.Append(nil))); err != nil || again.Origin != lsn || again.form().number < 52 {
				t.Fatalf("a copy of record %d is of record %d: %v", lsn, again.Origin, err)
			}
			other.apply(again)
			if other.s.Followed() != lsn {
				t.Errorf("followed up to %d, and not %d", other.s.Followed(), lsn)
			}
		}
	}
	if copied != 9 {
		t.Errorf("%d records were copied", copied)
	}
	a, b := first.s, other.s
	if a.Frozen() != b.Frozen() || b.Frozen().Since == 0 || len(b.Operators().Keys) != 2 {
		t.Errorf("the service is stopped %+v, and %+v; the operator had %d keys", a.Frozen(), b.Frozen(), len(b.Operators().Keys))
	}
	if devices, serial := b.Approvers(); len(devices) != 1 || serial != 5 {
		t.Errorf("%d approvers, serial %d", len(devices), serial)
	}
	twice := copyOf(other, ledger.ServiceThawed, b.Followed())
	if err := b.Apply(99, &twice); err == nil || !strings.Contains(err.Error(), "comes after") {
		t.Errorf("a copy that was applied before: %v", err)
	}
	for _, kind := range []ledger.Kind{ledger.ApproverConfirmed, ledger.OperatorRotated} {
		late := first.whole(kind)
		if err := newCrowd(t, 8).s.Follow(1, &late, new(Record)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := b.Follow(99, &late, new(Record)); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s that can't follow: %v", kind, err)
		}
	}
}

// TestKeepExpiring: a hold that was resolved while one of a key that is forgotten was to expire before it does not expire.
func TestKeepExpiring(t *testing.T) {
	c := newCrowd(t, 2)
	forgotten, kept := ledger.ID{1}, ledger.ID{2}
	c.apply(Record{Kind: ledger.KeyCreated, Key: kept, Created: ledger.Key{ID: kept, Hash: [32]byte{2}, Epoch: 1}})
	opened, resolved := c.opens(ledger.ID{7}), c.resolves(ledger.ID{7}, ledger.HoldRefused)
	opened.Key, resolved.Key = kept, kept
	before := c.opens(ledger.ID{6})
	before.Key, before.Hold.Expires = forgotten, opened.Hold.Expires-1
	for _, r := range []Record{before, opened, resolved} {
		c.apply(r)
	}
	c.s.Keep(func(key *ledger.Key) bool { return key.ID == kept }, 0)
	var r Record
	if c.s.ExpireHold(ledger.MaxTime, &r); r.Kind != ledger.NoRecord {
		t.Errorf("the hold %s expires", r.Hold.ID)
	}
}
