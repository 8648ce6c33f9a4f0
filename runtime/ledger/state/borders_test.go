package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestWindowsEnd: an hour and a day end with those of UTC, a task's window with the hour in which it was idle for long enough.
func TestWindowsEnd(t *testing.T) {
	const start = 20_000 * day
	idle := int64(ledger.TaskIdle)
	for _, c := range []struct {
		window   ledger.Window
		now, end int64
	}{
		{ledger.Hour, start, start + hour},
		{ledger.Hour, start + hour - 1, start + hour},
		{ledger.Hour, start + hour, start + 2*hour},
		{ledger.Day, start, start + day},
		{ledger.Day, start + day - 1, start + day},
		{ledger.Day, start + day, start + 2*day},
		{ledger.Task, start, start + idle},
		{ledger.Task, start + 1, start + idle + hour},
		{ledger.Task, start + hour, start + idle + hour},
	} {
		if got := windowEnd(c.window, c.now); got != c.end {
			t.Errorf("the %s of %d ends at %d, want %d", c.window, c.now-start, got-start, c.end-start)
		}
	}
}

// statementOf is a statement that confirms a device of an approver.
func statementOf(serial uint64, name, credential string) *ledger.ApproverStatement {
	return &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: serial, Name: name, Credential: []byte(credential),
		Grant: ledger.Grant{PublicKey: []byte("p"), Sections: []string{"evm"}, Expires: 1e9},
	}
}

// found is the error of a step about something that there is not, which has to have looked at the time before.
func found(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}

// TestTimes: times are Unix nanoseconds up to a bound, in each step that is given one.
func TestTimes(t *testing.T) {
	for name, step := range map[string]struct {
		least int64
		at    func(c *crowd, at int64, r *Record) error
	}{
		"a statement": {1, func(c *crowd, at int64, r *Record) error {
			return c.s.StateApprover(statementOf(1, "alice", "c"), at, r)
		}},
		"a clock": {0, func(c *crowd, at int64, r *Record) error { return c.s.SetClock(at, r) }},
		"pins": {0, func(c *crowd, at int64, r *Record) error {
			return found(c.s.ForgetTools(&ledger.PinDecision{Key: ledger.ID{1}, Server: "s", Tool: "t", At: at}, r))
		}},
		"a revocation": {0, func(c *crowd, at int64, r *Record) error { return c.s.RevokeKey(ledger.ID{1}, at, r) }},
		"a webhook": {0, func(c *crowd, at int64, r *Record) error {
			return found(c.s.EnableWebhook(&ledger.WebhookChange{Key: ledger.ID{1}, ID: ledger.ID{1}, At: at}, r))
		}},
	} {
		c := newCrowd(t, 2)
		for at, want := range map[int64]bool{-1: false, 0: step.least == 0, 1: true, ledger.MaxTime: true, ledger.MaxTime + 1: false} {
			var r Record
			if err := step.at(c, at, &r); (err == nil) != want || err != nil && !errors.Is(err, ledger.ErrInvalid) {
				t.Errorf("%s at %d: %v", name, at, err)
			}
		}
	}
}

// TestClockSet: a clock is set back where a key or a halt of the service is later, and nowhere else.
func TestClockSet(t *testing.T) {
	c := newCrowd(t, 2)
	c.decide(c.plan("a"))
	for at, want := range map[int64]ledger.Kind{c.now - 1: ledger.ClockSet, c.now: ledger.NoRecord, c.now + 1: ledger.NoRecord} {
		var r Record
		if err := c.s.SetClock(at, &r); err != nil || r.Kind != want || want != ledger.NoRecord && r.Now != at {
			t.Errorf("set to %d after %d: %+v, %v", at, c.now, r.Kind, err)
		}
	}
}

// TestReached: the latest time is that of the latest of all that a clock which is set brings back, whichever that is, so that one set to it brings
// nothing back.
func TestReached(t *testing.T) {
	for what, set := range map[string]func(s *State, at int64){
		"a key":                           func(s *State, at int64) { s.keys[ledger.ID{1}].now = at },
		"a halt":                          func(s *State, at int64) { s.halt.Last = at },
		"counters of a time that is past": func(s *State, at int64) { s.usedUp = at },
		"attestations that are forgotten": func(s *State, at int64) { s.tokens.forgotten = at + attestationLife },
		"activations that are forgotten":  func(s *State, at int64) { s.activations.forgotten = at + activationLife },
	} {
		c := newCrowd(t, 2)
		at := c.now + day
		set(c.s, at)
		if got := c.s.Reached(); got != at {
			t.Errorf("%s of %d: %d is reached", what, at, got)
		}
	}
}

// TestClockBringsBack: what ended later than its length from a time to which the clock is set ends so much later than that.
func TestClockBringsBack(t *testing.T) {
	c := newCrowd(t, 8)
	c.apply(Record{Kind: ledger.KeySuspended, Key: ledger.ID{1}, Now: c.now, Epoch: 2, Halt: &ledger.Halt{Key: ledger.ID{1}, Stop: true, At: c.now}})
	c.apply(Record{Kind: ledger.KeyResumed, Key: ledger.ID{1}, Now: c.now, Epoch: 3, Halt: &ledger.Halt{Key: ledger.ID{1}, At: c.now}})
	c.apply(Record{Kind: ledger.WebhookCreated, Key: ledger.ID{1}, Now: c.now, Webhook: &ledger.Webhook{
		ID: ledger.ID{7}, Key: ledger.ID{1}, URL: "https://example.com", Topics: ledger.AllTopics, Secret: []byte("secret"), Created: c.now,
	}})
	plan := c.plan("a")
	plan.Epoch = 3
	c.decide(plan)
	c.s.activations.forgotten, c.s.tokens.forgotten = c.now, c.now
	to := c.now - 10*day
	c.apply(Record{Kind: ledger.ClockSet, Now: to})
	if key, _ := c.s.Key(ledger.ID{1}); key.Halt.Last != to {
		t.Errorf("the key was stopped last at %d, want %d", key.Halt.Last, to)
	}
	if got, want := c.s.activations.forgotten, to+300e9; got != want {
		t.Errorf("activations up to %d are refused, want %d", got, want)
	}
	if got, want := c.s.tokens.forgotten, to+60e9; got != want {
		t.Errorf("attestations up to %d are refused, want %d", got, want)
	}
	due := 0
	c.s.Waiting(func(w Waiting) {
		if due++; w.Next != to {
			t.Errorf("a delivery is due at %d, want %d", w.Next, to)
		}
	})
	if due != 1 {
		t.Errorf("%d deliveries wait", due)
	}
	if lsn := c.s.LSN(ledger.ID{1}); lsn != c.lsn {
		t.Errorf("the key has changed last by record %d, want %d", lsn, c.lsn)
	}
}

// approverSteps are statements made one after the other, an hour apart, where there are as many devices as may be.
var approverSteps = []struct {
	action           ledger.ApproverAction
	name, credential string
	off              uint64 // from the serial that comes next
	want             error
	says             string
	suspended        []int64 // then, of each device of a0: in which step
}{
	{ledger.ConfirmApprover, "a0", "c0", 1, ledger.ErrStatementSerial, "serial 102, and the next one is 101;", []int64{0, 0}},
	{ledger.ConfirmApprover, "a0", "c0", ^uint64(0), ledger.ErrStatementSerial, "serial 100, and the next one is 101;", []int64{0, 0}},
	{ledger.ConfirmApprover, "b", "another", 0, ledger.ErrTooMany, "there are 100 devices", []int64{0, 0}},
	{ledger.ConfirmApprover, "a0", "another", 0, ledger.ErrTooMany, "a0 has 2 devices", []int64{0, 0}},
	{ledger.ConfirmApprover, "a1", "c0", 0, ledger.ErrKeyExists, "a0", []int64{0, 0}},
	{ledger.ConfirmApprover, "a0", "c0", 0, nil, "", []int64{0, 0}}, // anew, as the last
	{ledger.SuspendApprover, "unknown", "", 0, ledger.ErrNotFound, "unknown", []int64{0, 0}},
	{ledger.SuspendApprover, "a0", "c2", 0, ledger.ErrNotFound, "a0", []int64{0, 0}},
	{ledger.SuspendApprover, "a0", "c0", 0, nil, "", []int64{0, 8}},
	{ledger.SuspendApprover, "a0", "", 0, nil, "", []int64{9, 8}},
	{ledger.ResumeApprover, "a0", "c1", 0, nil, "", []int64{0, 8}},
	{ledger.RemoveApprover, "a0", "c1", 0, nil, "", []int64{8}},
	{ledger.ConfirmApprover, "b", "another", 0, nil, "", []int64{8}}, // there is room again
}

// TestApprovers: statements come in the order of their serials, an approver has few devices, and there are not too many of all.
func TestApprovers(t *testing.T) {
	c := newCrowd(t, 2)
	for i := range uint64(ledger.MaxApprovers) {
		c.apply(Record{Kind: ledger.ApproverConfirmed, Now: c.now, Approver: statementOf(i+1, fmt.Sprintf("a%d", i/ledger.MaxDevices), fmt.Sprint("c", i))})
	}
	first := c.now
	for i, step := range approverSteps {
		c.now = first + int64(i)*hour
		_, latest := c.s.Approvers()
		q := statementOf(latest+1+step.off, step.name, step.credential)
		if q.Action = step.action; q.Action != ledger.ConfirmApprover {
			q.Grant = ledger.Grant{}
		}
		var r Record
		err := c.s.StateApprover(q, c.now, &r)
		switch {
		case !errors.Is(err, step.want):
			t.Fatalf("%s of %s: %v, want %v", q.Action, q.Name, err, step.want)
		case err == nil:
			c.apply(r)
			latest++
		case !strings.Contains(err.Error(), step.says):
			t.Errorf("%s of %s: %v, want %q in it", q.Action, q.Name, err, step.says)
		case c.s.Apply(c.lsn+1, &Record{Kind: ledger.Kind(q.Action), Now: c.now, Approver: q}) == nil:
			t.Errorf("the record of a statement that is refused is applied: %v", err)
		}
		devices, serial := c.s.Approvers()
		var suspended []int64
		for _, d := range devices {
			if d.Name == "a0" {
				suspended = append(suspended, max(0, (d.Suspended-first)/hour))
			}
		}
		if serial != latest || !slices.Equal(suspended, step.suspended) {
			t.Errorf("after %s of %s: serial %d, want %d; suspended in the steps %d, want %d", q.Action, q.Name, serial, latest, suspended, step.suspended)
		}
	}
	if devices, _ := c.s.Approvers(); len(devices) != ledger.MaxApprovers {
		t.Errorf("%d devices", len(devices))
	}
}

// TestDeviceDecides: a device decides until the second in which its grant ends, while it is not suspended.
func TestDeviceDecides(t *testing.T) {
	table := approverTable{devices: []ledger.Approver{
		{ApproverStatement: *statementOf(1, "alice", "c")}, {ApproverStatement: *statementOf(2, "bob", "d"), Suspended: 5},
	}}
	for _, c := range []struct {
		credential string
		now        int64
		decides    bool
	}{{"c", 0, true}, {"c", 1e18 - 1, true}, {"c", 1e18, false}, {"d", 0, false}, {"e", 0, false}} {
		if got := table.decides([]byte(c.credential), c.now) != nil; got != c.decides {
			t.Errorf("%s at %d decides: %t", c.credential, c.now, got)
		}
	}
}

// TestRefusalsTold: the record of a refusal says which limit and by how much; that of a test-run has no effects.
func TestRefusalsTold(t *testing.T) {
	reservation := func(limit uint64) ledger.Reservation {
		return ledger.Reservation{
			Counter: ledger.Counter{Limit: "spent", Window: ledger.Day}, Op: ledger.Sum, Amount: amount.FromUint64(70), Limit: amount.FromUint64(limit),
			Line: 12, Code: "TOO_MUCH", Rule: "r", Decimals: 1,
		}
	}
	c := newCrowd(t, 2)
	plan := c.plan()
	plan.Reservations = []ledger.Reservation{reservation(100)}
	if got := c.decide(plan); got != ledger.Passed {
		t.Fatal(got)
	}
	var r Record
	out, err := c.s.Decide(plan, &r)
	if err != nil || out.Result != ledger.Refused || out.Reservation != 0 || out.Used != amount.FromUint64(70) {
		t.Fatalf("%+v, %v", out, err)
	}
	if e := r.Event; e.Details.Line != 12 || e.Details.Limit != "10" || e.Value != "14" {
		t.Errorf("told %+v, %q", e.Details, e.Value)
	}
	plan.HideValue = true
	if _, err := c.s.Decide(plan, &r); err != nil || r.Event.Value != "" || r.Event.Details.Limit != "10" {
		t.Errorf("a hidden value: told %+v, %q, %v", r.Event.Details, r.Event.Value, err)
	}
	plan.Reservations[0] = reservation(140) // just as much as is left
	if out, err := c.s.Decide(plan, &r); err != nil || out.Result != ledger.Passed {
		t.Errorf("up to the limit: %+v, %v", out, err)
	}
	plan.TestRun = true
	plan.Hold = &ledger.HoldRequest{Candidate: ledger.ID{9}, IntentHash: [32]byte{1}, Pending: ledger.Ending{Decision: ledger.Pending}, Denied: ledger.Ending{Decision: ledger.Denied}}
	out, err = c.s.Decide(plan, &r)
	if err != nil || out.Result != ledger.Held || out.HoldOpened || !out.Hold.IsZero() || out.HoldExpires != 0 {
		t.Errorf("a hold of a test-run: %+v, %v", out, err)
	}
	if r.Kind != ledger.Simulated || r.Ending.Decision != ledger.TestRun || r.Forgets != 0 || len(r.Counters) != 0 || r.Hold.Action != NoHold || r.Usage != (ledger.Usage{}) {
		t.Errorf("the record of a test-run: %+v", r)
	}
}

// TestMalformedRequests: a request that cannot be read is recorded at the key's time, without a decision.
func TestMalformedRequests(t *testing.T) {
	c := newCrowd(t, 2)
	c.decide(c.plan("a"))
	plan := &ledger.Plan{Key: ledger.ID{1}, ID: ledger.ID{3}, At: c.now - 5, Malformed: true, TestRun: true, Pass: ledger.Ending{Decision: ledger.Denied, Code: "BAD"}}
	var r Record
	out, err := c.s.Decide(plan, &r)
	if err != nil || out.Now != c.now || out.Reservation != -1 || r.Kind != ledger.RequestMalformed || r.Now != c.now || r.Ending.Code != "BAD" {
		t.Errorf("%+v, %+v, %v", out, r, err)
	}
}

// TestDivideBorders: a record is divided into two slots up to as many as there may be, at a time that there may be.
func TestDivideBorders(t *testing.T) {
	for _, c := range []struct {
		slots int
		at    int64
		fine  bool
	}{{1, 1, false}, {2, 1, true}, {ledger.MaxSlots, ledger.MaxTime, true}, {ledger.MaxSlots + 1, 1, false}, {2, 0, false}, {2, ledger.MaxTime + 1, false}} {
		var r Record
		if err := New(Secret{}).Divide(c.slots, c.at, &r); (err == nil) != c.fine {
			t.Errorf("into %d at %d: %v", c.slots, c.at, err)
		} else if err == nil {
			var read Record
			if err := read.Decode(string(r.Append(nil))); err != nil || read.Slots != c.slots {
				t.Errorf("into %d: read as %d, %v", c.slots, read.Slots, err)
			}
		}
	}
}

// TestClockSlotBorders: a clock may be that of any slot of a store, and of no other.
func TestClockSlotBorders(t *testing.T) {
	for slot, fine := range map[int]bool{0: true, 1: true, 3: true, 4: false} {
		written, read := Record{Kind: ledger.ClockSet, Now: 1, Slots: 3, Slot: slot}, Record{}
		if err := read.Decode(string(written.Append(nil))); (err == nil) != fine || fine && (read.Slot != slot || read.Slots != 3) {
			t.Errorf("slot %d: read as %d of %d, %v", slot, read.Slot, read.Slots, err)
		}
	}
}

// TestKeepsTheRest: a state that forgets keys still works for the others: it follows the same record, repeats their decisions, and drops those
// once they expire.
func TestKeepsTheRest(t *testing.T) {
	c := newCrowd(t, 2)
	key := ledger.ID{1}
	of := func(n byte) replayRef { return replayRef{key, [32]byte{n}} }
	life := int64(ledger.ReplayLife)
	c.s.replays.add(of(1), replay{lsn: 1, expires: life})
	c.s.replays.add(of(2), replay{lsn: 2, expires: 3 * life}) // forgets the first
	if len(c.s.replays.by) != 1 || c.s.replays.head != 1 {
		t.Fatalf("%d decisions are remembered, %d were forgotten", len(c.s.replays.by), c.s.replays.head)
	}
	known := c.s.AppendKey(nil, key)
	c.s.Keep(func(k *ledger.Key) bool { return k.ID == key }, 7)
	if c.s.Followed() != 7 {
		t.Errorf("record %d is followed", c.s.Followed())
	}
	c.s.replays.add(of(4), replay{lsn: 4, expires: 4 * life})
	if len(c.s.replays.by) != 1 || c.s.replays.by[of(4)].lsn != 4 {
		t.Errorf("%d decisions are remembered", len(c.s.replays.by))
	}
	if again := c.s.AppendKey(nil, key); len(known) == 0 || string(again) != string(known) {
		t.Errorf("of the key is known %q, and was %q", again, known)
	}
}

// TestFitsItsOwn: a record that is in a form which may be written stays in it.
func TestFitsItsOwn(t *testing.T) {
	c := newCrowd(t, 2)
	r := c.opens(ledger.ID{7})
	r.Hold.AmountSent = "1.50"
	with := r.form().number
	if r.form().spare == nil {
		t.Fatal("the amount as it was sent can't be spared")
	}
	if number := r.Fits(int(with)); number != int(with) || r.Hold.AmountSent != "1.50" {
		t.Errorf("the form %d becomes %d, and the amount %q", with, number, r.Hold.AmountSent)
	}
	if number := r.Fits(int(with) - 1); number >= int(with) || r.Hold.AmountSent != "" {
		t.Errorf("one below the form %d it becomes %d, and the amount %q", with, number, r.Hold.AmountSent)
	}
}
