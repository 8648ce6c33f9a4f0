package suite

import (
	"errors"
	"slices"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

func (f *fixture) resolve(hold ledger.ID, allow bool) error {
	_, err := f.l.ResolveHold(f.Context(), ledger.Resolution{Key: f.key.ID, Hold: hold, Allow: allow, At: f.at, Resolved: f.at / 1e9})
	return err
}

func (f *fixture) mustResolve(hold ledger.ID, allow bool) {
	f.Helper()
	if err := f.resolve(hold, allow); err != nil {
		f.Fatal(err)
	}
}

func testHoldLife(f *fixture) {
	n := count("n", ledger.Day, "", 1)
	first := f.want(f.held(1, n), ledger.Held, ledger.Pending)
	if !first.HoldOpened || first.HoldExpires != f.at+day || first.Rule != "evm.consensus_threshold_eth" {
		f.Fatalf("opened: %+v", first)
	}
	f.wantCounter(n, 0)
	f.at += hour
	if again := f.want(f.held(1, n), ledger.Held, ledger.Pending); again.Hold != first.Hold || again.HoldOpened || again.HoldExpires != first.HoldExpires {
		f.Fatalf("found: %+v", again)
	}
	f.mustResolve(first.Hold, true)
	if err := f.resolve(first.Hold, false); !errors.Is(err, ledger.ErrHoldResolved) {
		f.Fatalf("second resolution: %v", err)
	}
	f.allow(f.plan(n))
	f.refuse(f.held(1, n)) // a refusal by a limit leaves the hold
	observed := f.held(1, n)
	observed.Observe = true
	f.want(observed, ledger.Refused, ledger.Allowed)
	if got := f.allow(f.held(1)); got.Hold != first.Hold {
		f.Fatalf("covered by %s", got.Hold)
	}
	if second := f.want(f.held(1), ledger.Held, ledger.Pending); second.Hold == first.Hold || !second.HoldOpened {
		f.Fatalf("a used hold covers again: %+v", second)
	}
}

// testPendingHolds: what waits for an operator is counted, from the oldest on.
func testPendingHolds(f *fixture) {
	pending := func(number int, oldest int64) {
		f.Helper()
		if n, at, err := f.l.PendingHolds(); n != number || at != oldest || err != nil {
			f.Fatalf("%d pending holds, the oldest of %d, %v; want %d of %d", n, at, err, number, oldest)
		}
	}
	pending(0, 0)
	begun := f.at
	first := f.want(f.held(1), ledger.Held, ledger.Pending)
	f.at += hour
	second := f.want(f.held(2), ledger.Held, ledger.Pending)
	pending(2, begun)
	f.mustResolve(first.Hold, false)
	pending(1, begun+hour)
	f.mustResolve(second.Hold, true)
	pending(0, 0)
}

func testHoldDenied(f *fixture) {
	opened := f.want(f.held(1), ledger.Held, ledger.Pending)
	f.mustResolve(opened.Hold, false)
	denied := f.want(f.held(1), ledger.HoldDenied, ledger.Denied)
	if denied.Hold != opened.Hold || denied.Code != "SVC_POLICY_HOLD_DENIED" {
		f.Fatalf("denied: %+v", denied)
	}
	f.at = opened.HoldExpires - 1
	f.want(f.held(1), ledger.HoldDenied, ledger.Denied)
	f.at = opened.HoldExpires
	if got := f.want(f.held(1), ledger.Held, ledger.Pending); !got.HoldOpened {
		f.Fatalf("an expired hold denies: %+v", got)
	}
	allowed := f.want(f.held(2), ledger.Held, ledger.Pending)
	f.mustResolve(allowed.Hold, true)
	f.at = allowed.HoldExpires
	f.want(f.held(2), ledger.Held, ledger.Pending)
	f.at -= hour // the key's time does not go back, so neither does the expiry
	if err := f.resolve(allowed.Hold, true); !errors.Is(err, ledger.ErrNotFound) {
		f.Fatalf("resolving an expired hold: %v", err)
	}
}

func testHoldIdentity(f *fixture) {
	first := f.want(f.held(1), ledger.Held, ledger.Pending)
	otherIntent := f.want(f.held(2), ledger.Held, ledger.Pending)
	p := f.held(1)
	p.Hold.PolicyHash = [32]byte{'q'}
	p.Hold.Lifetime = time.Minute
	otherPolicy := f.want(p, ledger.Held, ledger.Pending)
	other := f.newKey(2)
	p = f.held(1)
	p.Key = other.ID
	otherKey := f.want(p, ledger.Held, ledger.Pending)
	seen := map[ledger.ID]bool{}
	for _, o := range []ledger.Outcome{first, otherIntent, otherPolicy, otherKey} {
		if !o.HoldOpened || seen[o.Hold] {
			f.Fatalf("not a hold of its own: %+v", o)
		}
		seen[o.Hold] = true
	}
	if otherPolicy.HoldExpires != f.at+int64(time.Minute) {
		f.Fatalf("lifetime: %+v", otherPolicy)
	}
	p = f.held(3)
	p.Hold.Candidate = first.Hold
	if err := f.l.Submit(p).Wait(f.Context()); !errors.Is(err, ledger.ErrInvalid) {
		f.Fatalf("a candidate that exists: %v", err)
	}
}

// testHoldFee lets approvals cover the fee that they were asked for, and lower ones.
func testHoldFee(f *fixture) {
	with := func(fee uint64) *ledger.Plan {
		p := f.held(1)
		p.Hold.Fee = ledger.Fee{Declared: true, Amount: amount.FromUint64(fee)}
		return p
	}
	five := f.want(with(5), ledger.Held, ledger.Pending)
	if again := f.want(with(4), ledger.Held, ledger.Pending); again.Hold != five.Hold {
		f.Fatalf("a lower fee opens hold %+v", again)
	}
	six := f.want(with(6), ledger.Held, ledger.Pending)
	none := f.want(f.held(1), ledger.Held, ledger.Pending)
	if !six.HoldOpened || !none.HoldOpened {
		f.Fatalf("a higher fee and none at all are not covered by a hold with a fee: %+v, %+v", six, none)
	}
	f.mustResolve(six.Hold, false)
	f.mustResolve(five.Hold, true)
	f.mustResolve(none.Hold, true)
	f.want(with(6), ledger.HoldDenied, ledger.Denied)
	if got := f.allow(with(3)); got.Hold != five.Hold { // though the denied one is later, and covers it too
		f.Fatalf("a lower fee is covered by %+v", got)
	}
	f.want(with(5), ledger.HoldDenied, ledger.Denied)
	if got := f.allow(f.held(1)); got.Hold != none.Hold {
		f.Fatalf("no fee is covered by %+v", got)
	}
	if seven := f.want(with(7), ledger.Held, ledger.Pending); !seven.HoldOpened {
		f.Fatalf("a higher fee is covered by %+v", seven)
	} else {
		f.mustResolve(seven.Hold, true)
		if got := f.allow(with(5)); got.Hold != seven.Hold {
			f.Fatalf("covered by %+v", got)
		}
	}
	read, err := f.l.Hold(f.Context(), f.key.ID, five.Hold, f.at)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("fee", read.Fee, ledger.Fee{Declared: true, Amount: amount.FromUint64(5)})
}

func testHoldBound(f *fixture) {
	var last ledger.Ticket
	var holds []ledger.ID
	for i := range ledger.MaxOpenHolds {
		p := f.held(0)
		p.Hold.IntentHash[1], p.Hold.IntentHash[2] = byte(i), byte(i>>8)
		p.At += int64(i)
		last = f.l.Submit(p)
		holds = append(holds, last.Outcome().Hold)
	}
	if err := last.Wait(f.Context()); err != nil || !last.Outcome().HoldOpened {
		f.Fatalf("hold %d: %v, %+v", ledger.MaxOpenHolds, err, last.Outcome())
	}
	f.want(f.held(9), ledger.TooManyHolds, ledger.NoDecision)
	f.want(f.held(0), ledger.Held, ledger.Pending) // one that is open is found
	f.mustResolve(holds[5], false)
	f.want(f.held(9), ledger.Held, ledger.Pending)
	f.want(f.held(10), ledger.TooManyHolds, ledger.NoDecision)
	f.at += day + 1 // two have expired
	f.want(f.held(10), ledger.Held, ledger.Pending)
	f.want(f.held(11), ledger.Held, ledger.Pending)
	f.want(f.held(12), ledger.TooManyHolds, ledger.NoDecision)
}

func testHoldReads(f *fixture) {
	p := f.held(1)
	p.Event.Details.Entry = "git push"
	opened := f.submit(p)
	want := ledger.Hold{
		ID: opened.Hold, Key: f.key.ID, State: ledger.HoldPending, IntentHash: p.Hold.IntentHash, PolicyHash: p.Hold.PolicyHash,
		Created: f.at, Expires: opened.HoldExpires, Rule: p.Hold.Pending.Rule, Entry: "git push", Method: p.Hold.Method,
		AgentID: p.Hold.AgentID, PolicyVersion: p.Hold.PolicyVersion, Intent: p.Hold.Intent, AmountSent: p.Hold.AmountSent,
	}
	got, err := f.l.Hold(f.Context(), f.key.ID, opened.Hold, f.at)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("hold", got, want)
	second := f.submit(f.held(2))
	holds, err := f.l.Holds(f.Context(), f.key.ID, f.at)
	if err != nil || len(holds) != 2 || holds[1].ID != second.Hold {
		f.Fatalf("Holds: %+v, %v", holds, err)
	}
	listed := want
	listed.Intent = nil
	f.equal("listed hold", holds[0], listed)
	f.at += hour
	resolved, err := f.l.ResolveHold(f.Context(), ledger.Resolution{Key: f.key.ID, Hold: opened.Hold, Allow: true, At: f.at})
	if err != nil {
		f.Fatal(err)
	}
	want.State, want.Resolved = ledger.HoldAllowed, f.at
	if resolved.ID != want.ID || resolved.State != want.State || resolved.Resolved != want.Resolved || resolved.Intent != nil {
		f.Fatalf("resolved: %+v", resolved)
	}
	whole, err := f.l.Hold(f.Context(), f.key.ID, opened.Hold, f.at)
	f.equal("resolved hold", whole, want)
	f.wantErr("reading it", err, nil)
	for name, read := range map[string]func() (ledger.Hold, error){
		"missing": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), f.key.ID, ledgertest.ID('h', 999), f.at) },
		"foreign": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), ledgertest.ID('k', 2), opened.Hold, f.at) },
		"expired": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), f.key.ID, opened.Hold, opened.HoldExpires) },
	} {
		if _, err := read(); !errors.Is(err, ledger.ErrNotFound) {
			f.Errorf("%s: %v", name, err)
		}
	}
}

// confirmation is a statement that confirms a device of an approver.
func (f *fixture) confirmation(name, device string, serial uint64) *ledger.ApproverStatement {
	return &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: serial, SignedAt: f.at / 1e9, Operator: [32]byte{'o'}, Signature: [64]byte{'s'}, Name: name, Credential: []byte(device),
		Grant: ledger.Grant{
			PublicKey: []byte("public"), Keys: []ledger.ID{f.key.ID}, Sections: []string{"evm", "mcp"},
			Amounts: []ledger.AssetAmount{{Asset: "eth", Amount: amount.FromUint64(7)}, {Asset: "usdc", Amount: amount.FromUint64(9)}}, Expires: f.at/1e9 + 1000,
		},
	}
}

// about is a statement about devices of an approver; device is empty for all of them.
func about(action ledger.ApproverAction, name, device string, serial uint64) *ledger.ApproverStatement {
	return &ledger.ApproverStatement{Action: action, Serial: serial, Name: name, Credential: []byte(device)}
}

// approve has a device decide a hold, as it was confirmed by a statement.
func (f *fixture) approve(hold ledger.ID, allow bool, name, device string, serial uint64, needed int) (ledger.Hold, error) {
	return f.approveWith("checked by "+name, hold, allow, name, device, serial, needed)
}

func (f *fixture) approveWith(note string, hold ledger.ID, allow bool, name, device string, serial uint64, needed int) (ledger.Hold, error) {
	return f.l.ResolveHold(f.Context(), ledger.Resolution{
		Key: f.key.ID, Hold: hold, Allow: allow, At: f.at, Needed: needed, Note: note,
		Approval: &ledger.Approval{
			Name: name, Credential: []byte(device), Serial: serial, Nonce: [32]byte{1}, Summary: "a summary", AuthenticatorData: []byte{1}, ClientData: []byte{2}, Signature: []byte{3},
		},
	})
}

// testApprovers: statements follow each other by their serials, and the list shows the devices as they say.
func testApprovers(f *fixture) {
	state := func(want error, s *ledger.ApproverStatement) {
		f.Helper()
		f.wantErr(s.Action.String()+" "+s.Name, f.l.StateApprover(f.Context(), s, f.at), want)
	}
	listed := func(serial uint64, want ...string) {
		f.Helper()
		all, latest, err := f.l.Approvers(f.Context())
		got := []string{}
		for _, d := range all {
			mark := ""
			if d.Suspended != 0 {
				mark = " suspended"
			}
			got = append(got, d.Name+" "+string(d.Credential)+mark)
		}
		if err != nil || latest != serial || !slices.Equal(got, want) {
			f.Fatalf("%v: %v, serial %d; want %v, serial %d", err, got, latest, want, serial)
		}
	}
	state(ledger.ErrStatementSerial, f.confirmation("alice", "a1", 2))
	state(nil, f.confirmation("alice", "a1", 1))
	state(ledger.ErrStatementSerial, f.confirmation("alice", "a2", 1))
	state(nil, f.confirmation("alice", "a2", 2))
	state(ledger.ErrTooMany, f.confirmation("alice", "a3", 3))
	state(ledger.ErrKeyExists, f.confirmation("bob", "a1", 3))
	state(ledger.ErrNotFound, about(ledger.SuspendApprover, "bob", "", 3))
	state(ledger.ErrNotFound, about(ledger.RemoveApprover, "alice", "a3", 3))
	listed(2, "alice a1", "alice a2")
	state(nil, about(ledger.SuspendApprover, "alice", "", 3))
	listed(3, "alice a1 suspended", "alice a2 suspended")
	state(nil, about(ledger.ResumeApprover, "alice", "a2", 4))
	listed(4, "alice a1 suspended", "alice a2")
	state(nil, f.confirmation("alice", "a1", 5)) // anew: with another grant, and not suspended
	listed(5, "alice a2", "alice a1")
	state(nil, about(ledger.RemoveApprover, "alice", "a1", 6))
	listed(6, "alice a2")
	bad := f.confirmation("Alice\n", "a9", 7)
	state(ledger.ErrInvalid, bad)
	bad = about(ledger.SuspendApprover, "alice", "", 7)
	bad.WithoutAmount = true
	state(ledger.ErrInvalid, bad)
	page, err := f.l.Events(f.Context(), ledger.EventQuery{Limit: 100})
	f.wantErr("reading events", err, nil)
	var last *ledger.ApproverStatement
	for _, e := range page.Events {
		if e.Approver != nil {
			last = e.Approver
		}
	}
	if last == nil || last.Action != ledger.RemoveApprover || last.Serial != 6 || string(last.Credential) != "a1" {
		f.Fatalf("the last statement of the log is %+v", last)
	}
}

// testApprovals: a device decides a hold while it may, one denial ends a hold, and two approvers are two people.
func testApprovals(f *fixture) {
	f.wantErr("confirming", errors.Join(
		f.l.StateApprover(f.Context(), f.confirmation("alice", "a1", 1), f.at),
		f.l.StateApprover(f.Context(), f.confirmation("alice", "a2", 2), f.at),
		f.l.StateApprover(f.Context(), f.confirmation("bob", "b1", 3), f.at)), nil)
	decide := func(want error, hold ledger.ID, allow bool, name, device string, serial uint64, needed int) ledger.Hold {
		f.Helper()
		view, err := f.approve(hold, allow, name, device, serial, needed)
		f.wantErr("deciding", err, want)
		return view
	}
	one := f.want(f.held(1), ledger.Held, ledger.Pending).Hold
	decide(ledger.ErrApprover, one, true, "alice", "unknown", 1, 1)
	decide(ledger.ErrApprover, one, true, "bob", "a1", 1, 1)
	decide(ledger.ErrApprover, one, true, "alice", "a1", 2, 1) // of another statement
	if view := decide(nil, one, true, "alice", "a1", 1, 1); view.State != ledger.HoldAllowed || view.Note != "checked by alice" {
		f.Fatalf("%+v", view)
	}
	decide(ledger.ErrHoldResolved, one, false, "bob", "b1", 3, 1)
	f.want(f.held(1), ledger.Passed, ledger.Allowed)

	two := f.want(f.held(2), ledger.Held, ledger.Pending).Hold
	if view := decide(nil, two, true, "alice", "a1", 1, 2); view.State != ledger.HoldPending || !slices.Equal(view.Approvers, []string{"alice"}) {
		f.Fatalf("%+v", view)
	}
	decide(ledger.ErrApproved, two, true, "alice", "a2", 2, 2) // the same person
	f.wantErr("suspending", f.l.StateApprover(f.Context(), about(ledger.SuspendApprover, "alice", "", 4), f.at), nil)
	if view := decide(nil, two, true, "bob", "b1", 3, 2); view.State != ledger.HoldPending || !slices.Equal(view.Approvers, []string{"bob"}) {
		f.Fatalf("half of it is of an approver who is suspended: %+v", view)
	}
	decide(ledger.ErrApprover, two, true, "alice", "a1", 1, 2)
	f.wantErr("resuming", f.l.StateApprover(f.Context(), about(ledger.ResumeApprover, "alice", "a2", 5), f.at), nil)
	if view := decide(nil, two, true, "alice", "a2", 2, 2); view.State != ledger.HoldAllowed {
		f.Fatalf("%+v", view)
	}

	three := f.want(f.held(3), ledger.Held, ledger.Pending).Hold
	decide(nil, three, true, "bob", "b1", 3, 2)
	if view := decide(nil, three, false, "bob", "b1", 3, 2); view.State != ledger.HoldRefused {
		f.Fatalf("a denial: %+v", view)
	}
	four := f.want(f.held(4), ledger.Held, ledger.Pending).Hold
	view, err := f.l.ResolveHold(f.Context(), ledger.Resolution{Key: f.key.ID, Hold: four, At: f.at, Note: "no", Signature: [64]byte{9}})
	if f.wantErr("the operator", err, nil); view.Note != "no" || view.State != ledger.HoldRefused {
		f.Fatalf("%+v", view)
	}
	five := f.want(f.held(5), ledger.Held, ledger.Pending).Hold
	f.at += 1000e9
	decide(ledger.ErrApprover, five, true, "bob", "b1", 3, 1) // expired
	decide(ledger.ErrInvalid, five, true, "bob", "b1", 3, 3)
	f.testHalves()
	counts := map[ledger.Kind]int{}
	for _, e := range f.events() {
		if e.Approval != nil {
			counts[e.Kind]++
		}
	}
	f.equal("decisions by passkey in the log", counts, map[ledger.Kind]int{ledger.HoldResolved: 6, ledger.HoldApproved: 7})
}

// testHalves: half an approval is of the statement that confirmed its device; its note is not lost; and it is whole where one is enough by now.
func (f *fixture) testHalves() {
	half := func(hold ledger.ID, name, device string, serial uint64, needed int, note string) ledger.Hold {
		f.Helper()
		view, err := f.approveWith(note, hold, true, name, device, serial, needed)
		f.wantErr("deciding", err, nil)
		return view
	}
	f.wantErr("confirming", errors.Join(
		f.l.StateApprover(f.Context(), f.confirmation("alice", "a1", 6), f.at),
		f.l.StateApprover(f.Context(), f.confirmation("bob", "b1", 7), f.at)), nil)
	six := f.want(f.held(6), ledger.Held, ledger.Pending).Hold
	half(six, "alice", "a1", 6, 2, "")
	f.wantErr("confirming anew", f.l.StateApprover(f.Context(), f.confirmation("alice", "a1", 8), f.at), nil)
	if view := half(six, "bob", "b1", 7, 2, "looks right"); view.State != ledger.HoldPending || !slices.Equal(view.Approvers, []string{"bob"}) {
		f.Fatalf("half of it is by another statement: %+v", view)
	}
	if view := half(six, "alice", "a1", 8, 2, ""); view.State != ledger.HoldAllowed || view.Note != "looks right" {
		f.Fatalf("%+v", view)
	}
	seven := f.want(f.held(7), ledger.Held, ledger.Pending).Hold
	half(seven, "alice", "a1", 8, 2, "first")
	if view := half(seven, "alice", "a1", 8, 1, "second"); view.State != ledger.HoldAllowed || view.Note != "second" {
		f.Fatalf("one is enough by now: %+v", view)
	}
	eight := f.want(f.held(8), ledger.Held, ledger.Pending).Hold
	half(eight, "alice", "a1", 8, 2, "first")
	if view := half(eight, "bob", "b1", 7, 2, "second"); view.State != ledger.HoldAllowed || view.Note != "second" {
		f.Fatalf("%+v", view)
	}
}
