package state

import (
	"errors"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestQuota: a month has so many ALLOWED decisions; 0 is no quota.
func TestQuota(t *testing.T) {
	for quota, want := range map[uint64]int{0: 3, 1: 1, 2: 2} {
		c, passed := newCrowd(t, 2), 0
		for range 3 {
			plan := c.plan("g")
			plan.Quota = quota
			var r Record
			out, err := c.s.Decide(plan, &r)
			if err != nil {
				t.Fatal(err)
			}
			if out.Result == ledger.QuotaExceeded {
				if out != (ledger.Outcome{Result: ledger.QuotaExceeded, Reservation: -1, Now: c.now}) || r.Kind != ledger.NoRecord || len(r.Counters) != 0 {
					t.Errorf("beyond the quota: %+v, %s", out, r.Kind)
				}
				continue
			}
			passed++
			c.apply(r)
		}
		if passed != want {
			t.Errorf("%d of a quota of %d", passed, quota)
		}
	}
}

// TestUsedUpTold: a counter that a restore used up is told as one that has reached its limit, whatever that is.
func TestUsedUpTold(t *testing.T) {
	c := newCrowd(t, 2)
	c.s.usedUp = c.now
	plan := c.plan()
	plan.Reservations = []ledger.Reservation{{Counter: busyCounter, Op: ledger.Sum, Amount: amount.FromUint64(3), Limit: amount.FromUint64(10), Code: "TOO_MUCH", Line: 1}}
	var r Record
	out, err := c.s.Decide(plan, &r)
	if err != nil || out.Result != ledger.Refused || out.Used != amount.FromUint64(10) || r.Event.Value != "13" {
		t.Errorf("%+v, %q, %v", out, r.Event.Value, err)
	}
}

// TestRepeatedCounter: reservations of one counter are judged on top of each other, and one limit that is reached leaves its group no room.
func TestRepeatedCounter(t *testing.T) {
	c := newCrowd(t, 2)
	task := ledger.Counter{Limit: "n", Window: ledger.Task, Group: "g"}
	for _, reached := range []bool{false, true} {
		plan := c.plan()
		for i, limit := range []uint64{9, 10} {
			plan.Reservations = append(plan.Reservations, ledger.Reservation{Counter: task, Op: ledger.Max, Amount: amount.FromUint64(uint64(i + 1)), Limit: amount.FromUint64(limit)})
		}
		if reached {
			plan.Reservations[1].Amount, plan.Reservations[1].Limit = amount.FromUint64(1), amount.FromUint64(1)
		}
		var r Record
		out, err := c.s.Decide(plan, &r)
		if err != nil || out.Result != ledger.Passed || len(r.Counters) != 1 || r.Counters[0].Room == reached {
			t.Errorf("a limit is reached: %t; %+v, %+v, %v", reached, out, r.Counters, err)
		}
	}
}

// TestPartsSeen: what a request reports is no less than its parts add up to; more than an amount can hold is used up.
func TestPartsSeen(t *testing.T) {
	c := newCrowd(t, 8)
	part := func(group string) ledger.Counter {
		return ledger.Counter{Limit: "part", Window: ledger.Task, Group: group}
	}
	whole := ledger.Counter{Limit: "whole", Window: ledger.Task, Group: "g"}
	for _, s := range []struct{ a, b, said, want amount.Amount }{
		{amount.FromUint64(2), amount.FromUint64(3), amount.FromUint64(1), amount.FromUint64(5)},
		{amount.FromUint64(2), amount.FromUint64(3), amount.FromUint64(9), amount.FromUint64(9)},
		{largestAmount, amount.FromUint64(3), amount.FromUint64(1), ledger.UsedUp},
	} {
		plan := c.plan()
		plan.Seen = []ledger.Sighting{
			{Counter: part("a"), Value: s.a}, {Counter: part("b"), Value: s.b}, {Counter: whole, Value: s.said, Parts: []ledger.Counter{part("a"), part("b")}},
			{Counter: whole, Value: amount.FromUint64(1)},
		}
		var r Record
		if out, err := c.s.Decide(plan, &r); err != nil || out.Result != ledger.Passed || len(r.Counters) != 3 || r.Counters[2].Value != s.want {
			t.Errorf("%s and %s: %+v, %+v, %v", s.a, s.b, out, r.Counters, err)
		}
	}
	plan := c.plan() // a counter is seen twice, with more
	plan.Seen = []ledger.Sighting{{Counter: whole, Value: amount.FromUint64(1)}, {Counter: whole, Value: amount.FromUint64(4)}}
	var r Record
	if _, err := c.s.Decide(plan, &r); err != nil || len(r.Counters) != 1 || r.Counters[0].Value != amount.FromUint64(4) {
		t.Errorf("%+v, %v", r.Counters, err)
	}
}

// TestHoldsOfPlans: a plan opens no hold that is there, and one that is denied has the plan denied.
func TestHoldsOfPlans(t *testing.T) {
	for name, c := range map[string]struct {
		candidate, intent byte
		want              ledger.Result
		action            HoldAction
		invalid           bool
	}{
		"another":          {0x41, 0x41, ledger.Held, HoldOpened, false},
		"one that is":      {0x11, 0x41, 0, 0, true},
		"a pending one":    {0x41, 0x11, ledger.Held, HoldFound, false},
		"an allowed one":   {0x41, 0x12, ledger.Passed, HoldUsedUp, false},
		"one that is over": {0x41, 0x13, ledger.HoldDenied, HoldFound, false},
	} {
		state := busy(t)
		plan := state.plan("g")
		plan.Epoch = busyEpoch
		plan.Hold = &ledger.HoldRequest{Candidate: ledger.ID{c.candidate}, IntentHash: [32]byte{c.intent}, Pending: ledger.Ending{Decision: ledger.Pending}, Denied: deniedEnding}
		var r Record
		out, err := state.s.Decide(plan, &r)
		if errors.Is(err, ledger.ErrInvalid) != c.invalid || !c.invalid && (out.Result != c.want || r.Hold.Action != c.action || (len(r.Counters) > 0) != (c.want == ledger.Passed)) {
			t.Errorf("%s: %+v, %+v, %v", name, out, r.Hold, err)
		}
		if c.action == HoldOpened && (r.Hold.Version != ledger.IntentHashVersion || r.Hold.Expires != state.now+int64(ledger.HoldLifetime)) {
			t.Errorf("%s: %+v", name, r.Hold)
		}
	}
}

// TestLongTexts: long texts of a request are clipped in the record.
func TestLongTexts(t *testing.T) {
	c, long := newCrowd(t, 2), strings.Repeat("a", ledger.MaxEventDetail+9)
	for name, step := range map[string]func(r *Record) error{
		"a decision": func(r *Record) error {
			p := c.plan()
			p.Event.Value, p.Event.Detail = long, long
			_, err := c.s.Decide(p, r)
			return err
		},
		"a malformed request": func(r *Record) error {
			p := c.plan()
			p.Malformed, p.TestRun, p.Pass, p.Event.Value, p.Event.Detail = true, true, deniedEnding, long, long
			_, err := c.s.Decide(p, r)
			return err
		},
		"a use": func(r *Record) error {
			return c.s.UseOnce(&ledger.Use{Key: busyKey, Epoch: 1, Token: ledger.ID{1}, At: c.now, Issued: c.now, Expires: c.now + 1, Event: ledger.Event{Value: long, Detail: long}}, r)
		},
	} {
		var r Record
		if err := step(&r); err != nil || r.Event.Value != ledger.Clip(long) || r.Event.Detail != ledger.Clip(long) || len(r.Event.Value) > ledger.MaxEventDetail {
			t.Errorf("%s: %d and %d bytes, %v", name, len(r.Event.Value), len(r.Event.Detail), err)
		}
	}
}

// TestDeployRefuses: a policy is bound by the operator of a key that is there, is not revoked, and is not stopped.
func TestDeployRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *crowd, d *ledger.Deployment)
		want   error
	}{
		"a policy":        {func(*crowd, *ledger.Deployment) {}, nil},
		"an unknown key":  {func(_ *crowd, d *ledger.Deployment) { d.Key = unknownID }, ledger.ErrNotFound},
		"a revoked key":   {func(_ *crowd, d *ledger.Deployment) { d.Key = revokedKey }, ledger.ErrKeyRevoked},
		"a stopped key":   {func(c *crowd, _ *ledger.Deployment) { c.apply(c.halts(ledger.KeySuspended)) }, ledger.ErrHalted},
		"of another":      {func(_ *crowd, d *ledger.Deployment) { d.Operator = [32]byte{9} }, ledger.ErrOperator},
		"of a key before": {func(_ *crowd, d *ledger.Deployment) { d.Operator = operatorBefore }, ledger.ErrOperator},
		"used activation": {func(c *crowd, d *ledger.Deployment) {
			d.Activation = &ledger.Activation{ID: usedActivation, Expires: c.now + 9}
		}, ledger.ErrUsed},
		"just no room": {func(_ *crowd, d *ledger.Deployment) { d.MaxStored = 3 }, ledger.ErrStorage},
		"just room":    {func(_ *crowd, d *ledger.Deployment) { d.MaxStored = 4 }, nil},
	} {
		state := busy(t)
		d := &ledger.Deployment{Key: busyKey, At: state.now, Operator: operatorNow, PolicyHash: [32]byte{7}, PolicyVersion: "1", Machine: 1, Text: []byte("t"), Program: []byte("p")}
		c.change(state, d)
		var r Record
		if _, err := state.s.Deploy(d, &r); !errors.Is(err, c.want) || (r.Kind == ledger.PolicyBound) != (c.want == nil) {
			t.Errorf("%s: %s, %v, want %v", name, r.Kind, err, c.want)
		}
	}
}

// TestFullGroups: a figure that a request reports is left out where there is no room for its group, and raises one that is there.
func TestFullGroups(t *testing.T) {
	c := newCrowd(t, 1)
	c.decide(c.plan("a"))
	for group, want := range map[string]int{"a": 1, "b": 0} {
		plan := c.plan()
		plan.Seen = []ledger.Sighting{{Counter: ledger.Counter{Limit: "n", Window: ledger.Task, Group: group}, Value: amount.FromUint64(9)}}
		var r Record
		if out, err := c.s.Decide(plan, &r); err != nil || out.Result != ledger.Passed || len(r.Counters) != want {
			t.Errorf("group %s: %+v, %d counters, %v", group, out, len(r.Counters), err)
		}
	}
	plan := c.plan("b")
	plan.Reservations[0].Line = 3
	var r Record
	if out, err := c.s.Decide(plan, &r); err != nil || out.Result != ledger.RefusedGroups || !r.Event.Details.IsZero() {
		t.Errorf("a limit that has no room: %+v, %+v, %v", out, r.Event.Details, err)
	}
}

// TestUnseen: a limit on figures that no request has reported refuses, and those beside it advance nothing.
func TestUnseen(t *testing.T) {
	c := newCrowd(t, 8)
	plan := c.plan("a", "b")
	plan.Reservations = append(plan.Reservations[:1], ledger.Reservation{
		Counter: ledger.Counter{Limit: "seen", Window: ledger.Task, Group: "g"}, Op: ledger.Max, Limit: amount.FromUint64(9), Code: "TOO_MUCH", Unseen: "UNSEEN", Line: 4,
	}, plan.Reservations[1])
	var r Record
	out, err := c.s.Decide(plan, &r)
	if err != nil || out.Result != ledger.Refused || out.Code != "UNSEEN" || out.Reservation != 1 || len(r.Counters) != 0 || r.Event.Details.Line != 4 || r.Event.Details.Limit != "" {
		t.Errorf("%+v, %+v, %+v, %v", out, r.Counters, r.Event.Details, err)
	}
	plan.Seen = []ledger.Sighting{{Counter: plan.Reservations[1].Counter, Value: amount.FromUint64(3)}}
	if out, err := c.s.Decide(plan, &r); err != nil || out.Result != ledger.Passed || len(r.Counters) != 3 {
		t.Errorf("once it is reported: %+v, %+v, %v", out, r.Counters, err)
	}
}
