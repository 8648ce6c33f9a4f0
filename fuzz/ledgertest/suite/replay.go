package suite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// replayable returns a plan of request number n that can be asked for again.
func (f *fixture) replayable(n byte) *ledger.Plan {
	p := f.plan()
	p.Replay = &ledger.Replay{ID: [32]byte{n}, Nonce: "n", Expires: f.at + int64(ledger.ReplayLife), Claims: []byte("claims")}
	return p
}

// replays submits a plan that has to be answered by the decision of a record.
func (f *fixture) replays(what string, p *ledger.Plan, first uint64) {
	f.Helper()
	if got := f.submit(p); got.Result != ledger.Replayed || got.LSN != first || got.Decision != ledger.NoDecision {
		f.Fatalf("%s: %+v, not record %d again", what, got, first)
	}
}

// decides submits a plan that has to be decided anew.
func (f *fixture) decides(what string, p *ledger.Plan, want ledger.Result) uint64 {
	f.Helper()
	got := f.submit(p)
	if got.Result != want {
		f.Fatalf("%s: %+v, want %s", what, got, want)
	}
	return got.LSN
}

// testReplays asks again for decisions.
func testReplays(f *fixture) {
	first := f.decides("the first", f.replayable(1), ledger.Passed)
	f.at += int64(59 * time.Second)
	f.replays("again", f.replayable(1), first)
	f.replays("and again", f.replayable(1), first)
	f.decides("another request", f.replayable(2), ledger.Passed)
	testRun := f.replayable(1)
	testRun.TestRun = true
	if got := f.submit(testRun); got.Result != ledger.Passed {
		f.Fatalf("a test-run: %+v", got)
	}
	usage, err := f.l.Usage(f.Context(), f.key.ID)
	if err != nil || len(usage) != 1 || usage[0].Count != 2 {
		f.Fatalf("usage: %+v, %v", usage, err)
	}
	decision, err := f.l.Replay(f.Context(), f.key.ID, first)
	want := ledger.ReplayedDecision{
		Result: ledger.Passed, Ending: f.plan().Pass, Now: f.at - int64(59*time.Second),
		Replay: ledger.Replay{ID: [32]byte{1}, Nonce: "n", Expires: f.at + int64(time.Second), Claims: []byte("claims")},
	}
	if err != nil {
		f.Fatal(err)
	}
	f.equal("the decision", decision, want)
	_, err = f.l.Replay(f.Context(), ledgertest.ID('k', 9), first)
	f.wantErr("another key's", err, ledger.ErrNotFound)
	if f.suite.Reopen != nil {
		f.l = f.suite.Reopen(f.T, f.l)
		f.replays("after opening again", f.replayable(1), first)
	}
	other := f.newKey(2)
	foreign := f.replayable(1)
	foreign.Key, foreign.Epoch = other.ID, 1
	f.decides("another key", foreign, ledger.Passed)
	f.at += int64(time.Second)
	f.decides("expired", f.replayable(1), ledger.Passed)
}

// testReplayBounds: what ends a replay, and what never has one.
func testReplayBounds(f *fixture) {
	refused := f.replayable(1)
	refused.Reservations = []ledger.Reservation{count("n", ledger.Day, "", 0)}
	f.decides("a refusal", refused, ledger.Refused)
	first := f.decides("a refusal is decided anew", f.replayable(1), ledger.Passed)
	refused = f.replayable(1)
	refused.Reservations = []ledger.Reservation{count("n", ledger.Day, "", 0)}
	f.replays("what was allowed stays allowed", refused, first)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{7}}, nil)
	first = f.decides("under another default policy", f.replayable(1), ledger.Passed)
	f.replays("again", f.replayable(1), first)
	f.deploy(f.deployment(1))
	first = f.decides("after a deployment", f.replayable(1), ledger.Passed)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{8}}, nil)
	f.replays("the default policy does not govern it", f.replayable(1), first)
	ahead := f.replayable(3)
	ahead.At += hour
	ahead.Replay.Expires += hour
	f.decides("by a clock that is ahead", ahead, ledger.Passed)
	f.decides("when that is put right", f.replayable(3), ledger.Passed)
	late := f.replayable(4)
	late.Replay.Expires++
	if err := f.l.Submit(late).Wait(f.Context()); err == nil {
		f.Fatal("a replay that outlives its attestation was taken")
	}
	var fresh atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		p := f.replayable(5)
		group.Go(func() {
			ticket := f.l.Submit(p)
			if ticket.Wait(context.Background()) == nil && ticket.Outcome().Result == ledger.Passed {
				fresh.Add(1)
			}
		})
	}
	group.Wait()
	if fresh.Load() != 1 {
		f.Fatalf("of 32 requests at once %d were decided", fresh.Load())
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at); err != nil {
		f.Fatal(err)
	}
	if got := f.submit(f.replayable(5)); got.Result != ledger.KeyRevoked {
		f.Fatalf("of a revoked key: %+v", got)
	}
}
