package ledgertest

import (
	"errors"
	"time"

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
		AgentID: p.Hold.AgentID, PolicyVersion: p.Hold.PolicyVersion, Intent: p.Hold.Intent,
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
	f.equal("resolved hold", resolved, want)
	for name, read := range map[string]func() (ledger.Hold, error){
		"missing": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), f.key.ID, ID('h', 999), f.at) },
		"foreign": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), ID('k', 2), opened.Hold, f.at) },
		"expired": func() (ledger.Hold, error) { return f.l.Hold(f.Context(), f.key.ID, opened.Hold, opened.HoldExpires) },
	} {
		if _, err := read(); !errors.Is(err, ledger.ErrNotFound) {
			f.Errorf("%s: %v", name, err)
		}
	}
}
