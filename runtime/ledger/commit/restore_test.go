package commit_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
)

const minute = int64(60e9)

// backedUp is a backup of a log with everything that a restoration takes back: counters of each window, a pending and an allowed hold.
func backedUp(t *testing.T) (groups [][]byte, head ledger.Head) {
	t.Helper()
	ctx := context.Background()
	l := open(t, memory.NewLog())
	defer l.Close()
	if err := l.CreateKey(ctx, ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	for _, window := range []ledger.Window{ledger.Hour, ledger.Day, ledger.Task} {
		if err := l.Submit(counting(window, "known", ledgertest.Start)).Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Submit(repeated(ledgertest.Start)).Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(2) {
		if err := l.Submit(holding(n, ledgertest.Start)).Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.ResolveHold(ctx, ledger.Resolution{Key: ledgertest.ID('k', 1), Hold: ledgertest.ID('h', 0), Allow: true, At: ledgertest.Start}); err != nil {
		t.Fatal(err)
	}
	return groupsOf(t, l)
}

// groupsOf reads the groups of a ledger, page by page, and the head that they lead to.
func groupsOf(t *testing.T, l *commit.Ledger) (groups [][]byte, end ledger.Head) {
	t.Helper()
	for {
		page, head, err := l.Groups(context.Background(), end.LSN, 300)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, page.Groups...)
		if end = page.End; end == head {
			return groups, head
		}
	}
}

// counting is a plan that counts one of at most three in a window of a group.
func counting(window ledger.Window, group string, at int64) *ledger.Plan {
	p := plan()
	p.At = at
	p.Reservations = []ledger.Reservation{{Counter: ledger.Counter{Limit: "calls", Window: window, Group: group}, Op: ledger.Count, Limit: amount.FromUint64(3)}}
	return p
}

// repeated is a plan that may be asked for again while its attestation is good.
func repeated(at int64) *ledger.Plan {
	p := plan()
	p.At, p.Reservations = at, nil
	p.Replay = &ledger.Replay{ID: [32]byte{1}, Nonce: "n", Expires: at + minute, Claims: []byte("{}")}
	return p
}

// holding is a plan that needs a hold of its own.
func holding(n uint64, at int64) *ledger.Plan {
	p := plan()
	p.At, p.Reservations = at, nil
	p.Hold = &ledger.HoldRequest{
		Candidate: ledgertest.ID('h', n), IntentHash: [32]byte{byte(n + 1)}, Method: "bash", Intent: []byte("{}"),
		Pending: ledger.Ending{Decision: ledger.Pending}, Denied: ledger.Ending{Decision: ledger.Denied},
	}
	return p
}

// restored returns the ledger of a backup.
func restored(t *testing.T, groups [][]byte, v ledger.Restoration) (*commit.Ledger, *memory.Log) {
	t.Helper()
	log := memory.NewLog()
	filling, err := commit.Restore(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		if err := filling.Add(group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := filling.Finish(v, rand.Reader); err != nil {
		t.Fatal(err)
	}
	return open(t, log), log
}

// TestRestoredLimits: where a log is restored the windows that were open are used up, also those of groups that the backup does not
// know, and later ones are not; unless the counters are kept.
func TestRestoredLimits(t *testing.T) {
	groups, _ := backedUp(t)
	at := ledgertest.Start + 5*minute
	for _, kept := range []bool{false, true} {
		l, _ := restored(t, groups, ledger.Restoration{At: at, Taken: ledgertest.Start / 1e9, Thawed: true, KeepCounters: kept})
		for _, row := range []struct {
			window ledger.Window
			group  string
			at     int64
			open   bool // the window holds the restoration
		}{
			{ledger.Hour, "known", at, true}, {ledger.Hour, "new", at, true}, {ledger.Day, "known", at, true}, {ledger.Day, "new", at, true},
			{ledger.Task, "known", at, true}, {ledger.Task, "new", at, false},
			{ledger.Hour, "known", at + 25*minute, false}, {ledger.Hour, "new", at + 25*minute, false},
			{ledger.Day, "new", at + 11*60*minute, true}, {ledger.Task, "known", at + 11*60*minute, true},
			{ledger.Day, "known", at + 12*60*minute, false}, {ledger.Day, "new", at + 12*60*minute, false},
		} {
			ticket := l.Submit(counting(row.window, row.group, row.at))
			out := ticket.Outcome()
			if err := ticket.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("counters kept %v: %s of %s, %d minutes on", kept, row.group, row.window, (row.at-at)/minute)
			if refused := out.Result == ledger.Refused; refused != (row.open && !kept) || !refused && out.Result != ledger.Passed {
				t.Errorf("%s: %s", what, out.Result)
			}
			value, err := l.Counter(context.Background(), ledgertest.ID('k', 1), ledger.Counter{Limit: "calls", Window: row.window, Group: row.group}, row.at)
			if err != nil || (value == ledger.UsedUp) != (row.open && !kept) {
				t.Errorf("%s: the counter is %s, %v", what, value, err)
			}
		}
		l.Close()
	}
}

// TestRestoredTakesBack: what may have been used after the backup is no good: attestations, activations of before, holds.
func TestRestoredTakesBack(t *testing.T) {
	ctx := context.Background()
	groups, _ := backedUp(t)
	at := ledgertest.Start + 5*minute
	l, _ := restored(t, groups, ledger.Restoration{At: at, Taken: ledgertest.Start / 1e9, Thawed: true, KeepCounters: true})
	defer l.Close()
	use := func(n uint64, issued, used int64) error {
		return l.UseOnce(ctx, &ledger.Use{Key: ledgertest.ID('k', 1), Epoch: 1, Token: ledgertest.ID('t', n), Issued: issued, Expires: issued + minute, At: used})
	}
	if err := use(1, at-minute/2, at); !errors.Is(err, ledger.ErrExpired) {
		t.Errorf("an attestation of before: %v", err)
	}
	if err := use(2, at+2e9, at+2e9); err != nil {
		t.Errorf("an attestation of after: %v", err)
	}
	for n := range uint64(2) {
		if _, err := l.Hold(ctx, ledgertest.ID('k', 1), ledgertest.ID('h', n), at); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("hold %d: %v", n, err)
		}
		q := holding(n, at)
		q.Hold.Candidate = ledgertest.ID('h', 10+n)
		if out := l.Submit(q).Outcome(); out.Result != ledger.Held || !out.HoldOpened {
			t.Errorf("an intent that was held before, %d: %+v", n, out)
		}
	}
	if _, err := l.ResolveHold(ctx, ledger.Resolution{Key: ledgertest.ID('k', 1), Hold: ledgertest.ID('h', 1), Allow: true, At: at}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("resolving a hold of before: %v", err)
	}
	if n, err := l.ExpireHolds(ctx, at, 10); n != 1 || err != nil {
		t.Errorf("%d holds have expired, %v", n, err)
	}
}

// TestRestoredAtOnce: the same of replays and activations, where the log is restored before they expire.
func TestRestoredAtOnce(t *testing.T) {
	ctx := context.Background()
	groups, _ := backedUp(t)
	at := ledgertest.Start + minute/3
	l, _ := restored(t, groups, ledger.Restoration{At: at, Taken: ledgertest.Start / 1e9, Thawed: true, KeepCounters: true})
	defer l.Close()
	if out := l.Submit(repeated(at)).Outcome(); out.Result != ledger.Passed {
		t.Errorf("a request that was answered before: %s", out.Result)
	}
	deploy := func(n byte, expires int64) error {
		_, err := l.Deploy(ctx, &ledger.Deployment{
			Key: ledgertest.ID('k', 1), At: at, Operator: [32]byte{1}, PolicyHash: [32]byte{n}, Text: []byte("t"), Program: []byte("p"),
			Activation: &ledger.Activation{ID: [32]byte{n}, Expires: expires},
		})
		return err
	}
	if err := deploy(1, at+4*minute); !errors.Is(err, ledger.ErrExpired) {
		t.Errorf("an activation from before: %v", err)
	}
	if err := deploy(2, at+5*minute+1); err != nil {
		t.Errorf("an activation from after: %v", err)
	}
}

// TestRestoredIsFrozen until the operator thaws it: a revocation may be lost.
func TestRestoredIsFrozen(t *testing.T) {
	groups, _ := backedUp(t)
	at := ledgertest.Start + 5*minute
	l, _ := restored(t, groups, ledger.Restoration{At: at, Taken: ledgertest.Start / 1e9, KeepCounters: true})
	defer l.Close()
	p := plan()
	p.At = at
	if out := l.Submit(p).Outcome(); out.Result != ledger.Halted || l.Frozen().Reason != "restored from a backup of 2026-11-18T12:30:00Z" {
		t.Errorf("%s, %+v", out.Result, l.Frozen())
	}
	if err := l.Halt(context.Background(), &ledger.Halt{At: at, Signed: &ledger.HaltStatement{Serial: 1}}); err != nil {
		t.Fatal(err)
	}
	if out := l.Submit(p).Outcome(); out.Result != ledger.Passed {
		t.Errorf("after a thaw: %s", out.Result)
	}
}

// TestRestoredChain: a restored log continues as a new stream. The whole chain verifies, also after a second restore, and still
// contains the head of the backup.
func TestRestoredChain(t *testing.T) {
	groups, head := backedUp(t)
	at := ledgertest.Start + 5*minute
	for range 2 {
		l, log := restored(t, groups, ledger.Restoration{At: at, Taken: ledgertest.Start / 1e9, Thawed: true})
		p := plan()
		p.At = at + 2*24*60*minute
		if err := l.Submit(p).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.Close()
		met := false
		end, err := commit.VerifyLog(log, whole, func(at ledger.Head) error { met = met || at == head; return nil })
		if err != nil || !met || end.Stream == head.Stream || end.LSN != head.LSN+2 {
			t.Errorf("the chain of %d ends at %+v, %v; the head of the backup was met: %v", head.LSN, end, err, met)
		}
		l = open(t, log)
		if groups, head = groupsOf(t, l); head != end {
			t.Fatalf("the groups lead to %+v", head)
		}
		if _, _, err := l.Groups(context.Background(), end.LSN+1, 1); err != nil {
			t.Error(err)
		}
		l.Close()
		at += 3 * 24 * 60 * minute
		if _, _, err := commit.VerifyPath(groups, 1); err != nil {
			t.Errorf("the path from the first record: %v", err)
		}
	}
}

// TestRestoreRefuses: a backup with a group that was edited, exchanged or is missing, a log that has records, a clock that is behind
// the backup, and a stream that begins otherwise than with a restoration.
func TestRestoreRefuses(t *testing.T) {
	groups, _ := backedUp(t)
	after := func(log *memory.Log) (last []byte) {
		_ = log.Read(0, func(_ uint64, group []byte) bool { last = bytes.Clone(group); return true })
		return last
	}
	l, log := restored(t, groups, ledger.Restoration{At: ledgertest.Start + minute, Taken: 1, Thawed: true})
	l.Close()
	begins := after(log)
	plain, own, twice := bytes.Clone(begins), bytes.Clone(begins), bytes.Clone(groups[1])
	copy(plain, "blg2")
	copy(own[4:20], groups[0][4:20])
	copy(twice, "blg3")
	twice[4] ^= 1
	for _, group := range [][]byte{plain, own, twice} {
		reseal(group)
	}
	edited := bytes.Clone(groups[2])
	edited[80] ^= 1
	for what, row := range map[string]struct {
		groups [][]byte
		says   string
	}{
		"edited":  {slices.Concat(groups[:2], [][]byte{edited}), "checksum"},
		"missing": {slices.Concat(groups[:2], groups[3:]), "groups are missing or moved"},
		"moved":   {[][]byte{groups[0], groups[2], groups[1]}, "groups are missing or moved"},
		"a new stream in a group of the old form": {slices.Concat(groups, [][]byte{plain}), "it belongs to the stream"},
		"a restoration without a new stream":      {slices.Concat(groups, [][]byte{own}), "it belongs to the stream"},
		"a new stream without a restoration":      {[][]byte{groups[0], twice}, "begins with a restoration"},
	} {
		filling, err := commit.Restore(memory.NewLog())
		for _, group := range row.groups {
			if err == nil {
				err = filling.Add(group)
			}
		}
		if !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := commit.Restore(log); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a log with records: %v", err)
	}
	filling, err := commit.Restore(memory.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		if err := filling.Add(group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := filling.Finish(ledger.Restoration{At: ledgertest.Start - minute, Taken: 1}, rand.Reader); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a clock behind the backup: %v", err)
	}
}

// TestFrozenBackup: a backup of a frozen service is one of a frozen service, also where it is restored with Thawed, and its attestations
// stay void.
func TestFrozenBackup(t *testing.T) {
	ctx, at := context.Background(), ledgertest.Start+minute
	for _, suspend := range []bool{false, true} {
		l := open(t, memory.NewLog())
		defer l.Close()
		if err := l.CreateKey(ctx, ledgertest.NewKey(1)); err != nil {
			t.Fatal(err)
		}
		halt := &ledger.Halt{Stop: true, At: at, Reason: "incident 7", Signed: &ledger.HaltStatement{Serial: 7, At: at / 1e9}}
		if suspend {
			halt.Key = ledgertest.ID('k', 1)
		}
		if err := l.Halt(ctx, halt); err != nil {
			t.Fatal(err)
		}
		groups, _ := groupsOf(t, l)
		for _, thawed := range []bool{false, true} {
			again, _ := restored(t, groups, ledger.Restoration{At: at + minute, Taken: at / 1e9, Thawed: thawed, KeepCounters: true})
			key, _ := again.LookupKeyID(ledgertest.ID('k', 1))
			state := again.Frozen()
			if suspend {
				state = key.Halt
			}
			if !state.Stopped() || state.Serial != 7 {
				t.Errorf("suspended %v, restored thawed %v: %+v", suspend, thawed, state)
			}
			p := plan()
			p.At, p.Reservations, p.Epoch = at+2*minute, nil, key.Epoch
			if ticket := again.Submit(p); ticket.Outcome().Result != ledger.Halted {
				t.Errorf("suspended %v, restored thawed %v: a plan came to %v", suspend, thawed, ticket.Outcome().Result)
			}
			again.Close()
		}
	}
}

// TestRestoreEmpty: an empty log that gets the record of a restoration, as each slot's does, is opened, and verifies.
func TestRestoreEmpty(t *testing.T) {
	log := memory.NewLog()
	filling, err := commit.Continue(log, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	head, err := filling.Finish(ledger.Restoration{At: ledgertest.Start, Taken: 1}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, log)
	defer l.Close()
	chain, err := commit.VerifyChain(log, 0)
	frozen := l.Frozen()
	if got, problem := l.Head(t.Context()); errors.Join(err, problem) != nil || got != head || chain.Head != head || !frozen.Stopped() {
		t.Errorf("%+v, %+v, frozen %+v: %v, %v", got, chain, frozen, err, problem)
	}
}
