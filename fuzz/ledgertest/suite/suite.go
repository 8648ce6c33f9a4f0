// Package suite is the one conformance suite that every ledger passes: the outcomes of plans, what is read back, what survives a
// crash, and what must hold under concurrency.
package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// Suite says how to get the ledger under test.
type Suite struct {
	// Open returns an empty ledger. The suite closes it.
	Open func(t *testing.T) ledger.Ledger
	// Reopen closes a ledger that Open or Reopen returned and opens what it kept; nil where nothing is kept.
	Reopen func(t *testing.T, l ledger.Ledger) ledger.Ledger
	// Without says which cases are not run, and why: nil for none.
	Without map[string]string
	// Draws says of a case whether it is run; nil for yes.
	Draws func() bool
}

const unordered, spread = "keys of several slots have no common order", "the events of all keys are in several logs"

// Several are the cases that do not hold over several slots, each of which has a log of its own.
var Several = map[string]string{
	"Keys": unordered, "Events": spread, "EventsOfKeys": spread, "EventQueries": spread, "ReopenEventsOfKeys": spread, "Head": spread,
	"Approvers": spread, "Defaults": spread, "SetClockRight": spread,
	"UseOnce": "it uses the attestation of one key for another", "ReopenService": "an activation is of one slot, whichever key uses it there",
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for _, c := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Endings", testEndings},
		{"Epochs", testEpochs},
		{"Invalid", testInvalid},
		{"CounterLimits", testCounterLimits},
		{"Atomicity", testAtomicity},
		{"SameCounterTwice", testSameCounterTwice},
		{"Sightings", testSightings},
		{"Parts", testParts},
		{"Unseen", testUnseen},
		{"LongGroups", testLongGroups},
		{"Windows", testWindows},
		{"TimeBackwards", testTimeBackwards},
		{"Observe", testObserve},
		{"Quota", testQuota},
		{"TestRun", testTestRun},
		{"Peek", testPeek},
		{"HoldLife", testHoldLife},
		{"HoldDenied", testHoldDenied},
		{"HoldIdentity", testHoldIdentity},
		{"HoldFee", testHoldFee},
		{"HoldBound", testHoldBound},
		{"HoldReads", testHoldReads},
		{"Keys", testKeys},
		{"Events", testEvents},
		{"ClipsDetails", testClip},
		{"ExactlyN", testExactlyN},
		{"AbortedWait", testAbortedWait},
		{"ChangeKey", testChangeKey},
		{"PinnedKey", testPinnedKey},
		{"Deploy", testDeploy},
		{"DeployRefusals", testDeployRefusals},
		{"FirstDeployments", testFirstDeployments},
		{"Activations", testActivations},
		{"UseOnce", testUseOnce},
		{"UseOnceRace", testUseOnceRace},
		{"Halt", testHalt}, {"Rotation", testRotation},
		{"Approvers", testApprovers}, {"Approvals", testApprovals},
		{"ExpireHolds", testExpireHolds},
		{"Head", testHead},
		{"Webhooks", testWebhooks},
		{"Topics", testTopics},
		{"Deliveries", testDeliveries},
	} {
		s.run(t, c.name, c.run)
	}
	for name, run := range laterCases {
		s.run(t, name, run)
	}
	if s.Reopen != nil {
		s.run(t, "Reopen", testReopen)
		s.run(t, "ReopenEventsOfKeys", testReopenEventsOfKeys)
		s.run(t, "ReopenGroups", testReopenGroups)
		s.run(t, "ReopenService", testReopenService)
	}
}

func (s *Suite) run(t *testing.T, name string, test func(*fixture)) {
	t.Helper()
	if s.Without[name] == "" && (s.Draws == nil || s.Draws()) {
		t.Run(name, func(t *testing.T) { test(newFixture(t, *s)) })
	}
}

const (
	hour = int64(time.Hour)
	day  = 24 * hour
)

// A fixture is an open ledger with one key.
type fixture struct {
	*testing.T
	suite Suite
	l     ledger.Ledger
	key   ledger.Key
	at    int64
	ids   uint64
}

func newFixture(t *testing.T, s Suite) *fixture {
	f := &fixture{T: t, suite: s, l: s.Open(t), at: ledgertest.Start}
	t.Cleanup(func() { f.l.Close() })
	f.key = f.newKey(1)
	return f
}

func (f *fixture) newKey(n uint64) ledger.Key {
	f.Helper()
	key := ledgertest.NewKey(n)
	if err := f.l.CreateKey(f.Context(), key); err != nil {
		f.Fatalf("CreateKey: %v", err)
	}
	got, ok := f.l.LookupKey(key.Hash)
	if !ok || got.Epoch != 1 {
		f.Fatalf("LookupKey after CreateKey: %+v, %t", got, ok)
	}
	return *got
}

// plan returns an ALLOWED plan of the fixture's key and time.
func (f *fixture) plan(reservations ...ledger.Reservation) *ledger.Plan {
	f.ids++
	return &ledger.Plan{
		ID: ledgertest.ID('p', f.ids), At: f.at, Key: f.key.ID, Epoch: f.key.Epoch,
		Pass:          ledger.Ending{Decision: ledger.Allowed},
		Reservations:  reservations,
		TooManyGroups: errcode.AggregateLimit,
		Event:         ledger.Event{Endpoint: "/v1/authorize", AgentID: "agent", Action: "bash"},
	}
}

// denied returns a plan that the policy denied.
func (f *fixture) denied() *ledger.Plan {
	p := f.plan()
	p.Pass = ledger.Ending{Decision: ledger.Denied, Code: errcode.BlockedCommand, Rule: "tool_calls.bash.blocked_commands"}
	return p
}

// held returns a plan that a rule holds, for intent number n.
func (f *fixture) held(n byte, reservations ...ledger.Reservation) *ledger.Plan {
	p := f.plan(reservations...)
	p.Hold = &ledger.HoldRequest{
		Candidate: ledgertest.ID('h', f.ids), IntentHash: [32]byte{n}, PolicyHash: [32]byte{'p'},
		Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldConsensus, Rule: "evm.consensus_threshold_eth"},
		Denied:  ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "evm.consensus_threshold_eth"},
		Method:  "wallet.transfer", AgentID: "agent", PolicyVersion: "2.0.0", Intent: []byte(`{"action":"wallet.transfer"}`),
	}
	if n%2 == 1 {
		p.Hold.AmountSent = `"1.50"`
	}
	return p
}

// count returns a reservation of one out of limit.
func count(name string, w ledger.Window, group string, limit uint64) ledger.Reservation {
	return ledger.Reservation{
		Counter: ledger.Counter{Limit: name, Window: w, Group: group}, Op: ledger.Count,
		Limit: amount.FromUint64(limit), Code: errcode.LoopLimitExceeded, Rule: "rule." + name,
	}
}

// sum returns a reservation of n out of limit.
func sum(name string, w ledger.Window, group string, n, limit uint64) ledger.Reservation {
	r := count(name, w, group, limit)
	r.Op, r.Amount, r.Code = ledger.Sum, amount.FromUint64(n), errcode.AggregateLimit
	return r
}

// submit submits p, waits, and returns the outcome.
func (f *fixture) submit(p *ledger.Plan) ledger.Outcome {
	f.Helper()
	ticket := f.l.Submit(p)
	if err := ticket.Wait(f.Context()); err != nil {
		f.Fatalf("Wait: %v (outcome %+v)", err, ticket.Outcome())
	}
	return ticket.Outcome()
}

// want submits p and checks result and decision.
func (f *fixture) want(p *ledger.Plan, result ledger.Result, decision ledger.Decision) ledger.Outcome {
	f.Helper()
	got := f.submit(p)
	if got.Result != result || got.Decision != decision {
		f.Fatalf("got %s, %s; want %s, %s (%+v)", got.Result, got.Decision, result, decision, got)
	}
	return got
}

func (f *fixture) allow(p *ledger.Plan) ledger.Outcome {
	f.Helper()
	return f.want(p, ledger.Passed, ledger.Allowed)
}

func (f *fixture) refuse(p *ledger.Plan) ledger.Outcome {
	f.Helper()
	return f.want(p, ledger.Refused, ledger.Denied)
}

// wantCounter checks a counter at the fixture's time.
func (f *fixture) wantCounter(r ledger.Reservation, want uint64) {
	f.Helper()
	got, err := f.l.Counter(f.Context(), f.key.ID, r.Counter, f.at)
	if err != nil || got != amount.FromUint64(want) {
		f.Fatalf("counter %s of %q: %s, %v; want %d", r.Counter.Limit, r.Counter.Group, got, err, want)
	}
}

func (f *fixture) usage() (total uint64) {
	f.Helper()
	usage, err := f.l.Usage(f.Context(), f.key.ID)
	if err != nil {
		f.Fatal(err)
	}
	for _, u := range usage {
		total += u.Count
	}
	return total
}

// events returns all events of the fixture's key.
func (f *fixture) events() []ledger.LoggedEvent {
	f.Helper()
	var all []ledger.LoggedEvent
	query := ledger.EventQuery{Key: f.key.ID, Limit: 7}
	for {
		page, err := f.l.Events(f.Context(), query)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
		query.After = page.Next
	}
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// expired returns a context that has ended.
func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (f *fixture) wantErr(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("%s: %v, want %v", what, err, want)
	}
}
