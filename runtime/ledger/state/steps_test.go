package state

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
)

// TestStepsBeginAnew: a step that is refused, or changes nothing, leaves nothing in the record, whatever was in it before.
func TestStepsBeginAnew(t *testing.T) {
	for name, step := range map[string]func(c *crowd, r *Record) error{
		"a key":             func(c *crowd, r *Record) error { return c.s.CreateKey(&ledger.Key{}, r) },
		"a revocation":      func(c *crowd, r *Record) error { return c.s.RevokeKey(unknownID, 1, r) },
		"a change of a key": func(c *crowd, r *Record) error { return c.s.ChangeKey(&ledger.KeyChange{ID: unknownID, Tier: "t"}, r) },
		"a deployment":      func(c *crowd, r *Record) error { _, err := c.s.Deploy(&ledger.Deployment{At: -1}, r); return err },
		"a default policy": func(c *crowd, r *Record) error {
			_, err := c.s.BindDefault(&ledger.DefaultPolicy{At: -1}, r)
			return err
		},
		"a use":                func(c *crowd, r *Record) error { return c.s.UseOnce(&ledger.Use{At: -1}, r) },
		"a resolution":         func(c *crowd, r *Record) error { return c.s.ResolveHold(&ledger.Resolution{Key: unknownID}, r) },
		"an approval":          func(c *crowd, r *Record) error { return c.s.ResolveHold(approvalOf(c, "unknown"), r) },
		"a webhook":            func(c *crowd, r *Record) error { return c.s.CreateWebhook(&ledger.Webhook{}, r) },
		"a removed webhook":    func(c *crowd, r *Record) error { return c.s.RemoveWebhook(&ledger.WebhookChange{Key: busyKey}, r) },
		"a settled delivery":   func(c *crowd, r *Record) error { return c.s.SettleDelivery(&ledger.DeliveryResult{Key: busyKey}, r) },
		"tools":                func(c *crowd, r *Record) error { return c.s.MeetTools(&ledger.ToolList{At: -1}, r) },
		"a decision on a tool": func(c *crowd, r *Record) error { return c.s.AcceptTool(&ledger.PinDecision{At: -1}, r) },
		"a clock":              func(c *crowd, r *Record) error { return c.s.SetClock(c.now, r) },
		"a statement":          func(c *crowd, r *Record) error { return c.s.StateApprover(&ledger.ApproverStatement{}, 1, r) },
		"a rotation":           func(c *crowd, r *Record) error { return c.s.RotateOperator(&ledger.Rotation{}, r) },
		"a drop":               func(c *crowd, r *Record) error { return c.s.DropEvents(&ledger.Drop{}, r) },
		"a division":           func(c *crowd, r *Record) error { return c.s.Divide(1, c.now, r) },
		"too many slots":       func(c *crowd, r *Record) error { return c.s.Divide(ledger.MaxSlots+1, c.now, r) },
		"a division before":    func(c *crowd, r *Record) error { return c.s.Divide(2, 0, r) },
		"a division too late":  func(c *crowd, r *Record) error { return c.s.Divide(2, ledger.MaxTime+1, r) },
		"a restore":            func(c *crowd, r *Record) error { return c.s.Restore(&ledger.Restoration{}, r) },
		"a halt":               func(c *crowd, r *Record) error { return c.s.Halt(&ledger.Halt{Key: busyKey, At: c.now}, r) },
		"an expiry":            func(c *crowd, r *Record) error { c.s.ExpireHold(c.now, r); return nil },
	} {
		r := Record{Kind: ledger.KeyChanged, Key: unknownID, Now: 7, Forgets: 8, Epoch: 9, Note: "before", Counters: make([]CounterEffect, 1), Outbox: make([]OutboxEffect, 1)}
		err := step(busy(t), &r)
		if r.Counters, r.Outbox = slices.Clip(r.Counters), slices.Clip(r.Outbox); len(r.Counters) == 0 && len(r.Outbox) == 0 {
			r.Counters, r.Outbox = nil, nil
		}
		changesNothing := slices.Contains([]string{"a settled delivery", "a clock", "a halt", "an expiry"}, name)
		if (err == nil) != changesNothing || !reflect.DeepEqual(r, Record{}) {
			t.Errorf("%s, %v, leaves %+v", name, err, r)
		}
	}
}

// approvalOf is an approval of the hold that is pending in the state of busy, by a device.
func approvalOf(c *crowd, credential string) *ledger.Resolution {
	a := c.approves(pendingHold).Approval
	a.Credential, a.Serial, a.AuthenticatorData, a.ClientData = []byte(credential), 1, []byte("a"), []byte("{}")
	return &ledger.Resolution{Key: busyKey, Hold: pendingHold, Allow: true, At: c.now, Needed: 2, Approval: a}
}

// TestResolveRefuses: a hold is resolved once, by whom may, before it has expired, and while its key is not stopped.
func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *crowd, q *ledger.Resolution)
		want   error
	}{
		"the hold":            {func(*crowd, *ledger.Resolution) {}, nil},
		"its last moment":     {func(c *crowd, q *ledger.Resolution) { q.At = c.now + holdEnds - 1 }, nil},
		"an expired hold":     {func(c *crowd, q *ledger.Resolution) { q.At = c.now + holdEnds }, ledger.ErrNotFound},
		"an unknown hold":     {func(_ *crowd, q *ledger.Resolution) { q.Hold = unknownID }, ledger.ErrNotFound},
		"an unknown key":      {func(_ *crowd, q *ledger.Resolution) { q.Key = unknownID }, ledger.ErrNotFound},
		"a resolved hold":     {func(_ *crowd, q *ledger.Resolution) { q.Hold = resolvedHold }, ledger.ErrHoldResolved},
		"a key of before":     {func(_ *crowd, q *ledger.Resolution) { q.Operator = operatorBefore }, ledger.ErrOperator},
		"a suspended key":     {func(c *crowd, _ *ledger.Resolution) { c.apply(c.halts(ledger.KeySuspended)) }, ledger.ErrHalted},
		"a frozen service":    {func(c *crowd, _ *ledger.Resolution) { c.apply(c.halts(ledger.ServiceFrozen)) }, ledger.ErrHalted},
		"an unknown approver": {func(c *crowd, q *ledger.Resolution) { *q = *approvalOf(c, "unknown") }, ledger.ErrApprover},
	} {
		state := busy(t)
		q := &ledger.Resolution{Key: busyKey, Hold: pendingHold, At: state.now, Allow: true, Resolved: 5, Signature: [64]byte{6}, Operator: operatorNow}
		c.change(state, q)
		var r Record
		if err := state.s.ResolveHold(q, &r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want == nil && (r.Kind != ledger.HoldResolved || r.Hold.State != ledger.HoldAllowed || r.Resolved != 5 || r.Signature != [64]byte{6} || len(r.Outbox) != 1) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestApprovalsCount: those of devices count that may still decide, by the statement that confirmed them, once an approver.
func TestApprovalsCount(t *testing.T) {
	c := busy(t)
	c.apply(Record{Kind: ledger.ApproverConfirmed, Now: c.now, Approver: statementOf(1, "alice", "c")})
	c.apply(Record{Kind: ledger.ApproverConfirmed, Now: c.now, Approver: statementOf(2, "bob", "d")})
	for name, approvals := range map[string]struct {
		of    []heldApproval
		names string
		note  string
	}{
		"none":               {nil, "", ""},
		"two":                {[]heldApproval{{"alice", "c", 1, ""}, {"bob", "d", 2, "of bob"}}, "alice bob", "of bob"},
		"the first note":     {[]heldApproval{{"alice", "c", 1, "of alice"}, {"bob", "d", 2, "of bob"}}, "alice bob", "of alice"},
		"an unknown device":  {[]heldApproval{{"alice", "e", 1, "of alice"}, {"bob", "d", 2, "of bob"}}, "bob", "of bob"},
		"confirmed anew":     {[]heldApproval{{"alice", "c", 0, "of alice"}, {"bob", "d", 2, "of bob"}}, "bob", "of bob"},
		"the same one twice": {[]heldApproval{{"bob", "d", 2, ""}, {"bob", "d", 2, ""}}, "bob", ""},
	} {
		h := &hold{approvals: approvals.of}
		if got := strings.Join(c.s.approvedBy(h, c.now), " "); got != approvals.names {
			t.Errorf("%s: approved by %q, want %q", name, got, approvals.names)
		}
		if got := c.s.earlierNote(h, c.now); got != approvals.note {
			t.Errorf("%s: the note is %q, want %q", name, got, approvals.note)
		}
	}
	var r Record
	if err := c.s.ResolveHold(approvalOf(c, "c"), &r); err != nil || r.Kind != ledger.HoldApproved || r.Hold.State != 0 {
		t.Fatalf("the first of two approvals: %+v, %v", r, err)
	}
	r.Note = "n"
	c.apply(r)
	if err := c.s.ResolveHold(approvalOf(c, "c"), &r); !errors.Is(err, ledger.ErrApproved) {
		t.Errorf("the same approver again: %v", err)
	}
	second := approvalOf(c, "d")
	second.Approval.Name, second.Approval.Serial = "bob", 2
	if err := c.s.ResolveHold(second, &r); err != nil || r.Kind != ledger.HoldResolved || r.Hold.State != ledger.HoldAllowed || r.Note != "n" {
		t.Errorf("the second of two approvals: %+v, %v", r, err)
	}
}

// TestHoldsShown: holds are shown until they expire, in the order of the log.
func TestHoldsShown(t *testing.T) {
	c := busy(t)
	for at, want := range map[int64]bool{c.now: true, c.now + holdEnds - 1: true, c.now + holdEnds: false} {
		if _, lsn, ok := c.s.Hold(busyKey, pendingHold, at); ok != want || ok && lsn != 2 {
			t.Errorf("after %d the hold of record %d is shown: %t", at-c.now, lsn, ok)
		}
		views, lsns := c.s.Holds(busyKey, at)
		if want && !slices.Equal(lsns, []uint64{2, 3, 4}) || (len(views) > 0) != want || want && (views[0].ID != pendingHold || views[2].State != ledger.HoldRefused) {
			t.Errorf("after %d: holds of the records %d, %+v", at-c.now, lsns, views)
		}
	}
	if _, _, ok := c.s.Hold(busyKey, unknownID, c.now); ok {
		t.Error("an unknown hold is shown")
	}
	if _, _, ok := c.s.Hold(unknownID, pendingHold, c.now); ok {
		t.Error("a hold of an unknown key is shown")
	}
	for hold, want := range map[holdRef]bool{{busyKey, pendingHold}: true, {busyKey, allowedHold}: false, {busyKey, unknownID}: false, {unknownID, pendingHold}: false} {
		if got := c.s.PendingHold(hold.key, hold.id); got != want {
			t.Errorf("hold %s of key %s is pending: %t", hold.id, hold.key, got)
		}
	}
	if n, oldest := c.s.PendingHolds(); n != 1 || oldest != c.now {
		t.Errorf("%d are pending, since %d", n, oldest)
	}
	if got, want := c.s.Live(), []uint64{2, 3, 4, toldAt, 13}; !slices.Equal(got, want) {
		t.Errorf("the records %d are live, want %d", got, want)
	}
}
