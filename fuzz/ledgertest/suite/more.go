package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

func testGroupBound(f *fixture) {
	// Half of the groups die with the hour, half with the day.
	var last ledger.Ticket
	for i := 0; i < ledger.MaxGroups; i += 512 {
		p := f.plan()
		for j := range min(512, ledger.MaxGroups-1-i) { // all but one
			p.Reservations = append(p.Reservations, count("n", []ledger.Window{ledger.Hour, ledger.Day}[j%2], fmt.Sprint(i+j), 9))
		}
		last = f.l.Submit(p)
	}
	if err := last.Wait(f.Context()); err != nil || last.Outcome().Result != ledger.Passed {
		f.Fatalf("filling: %v, %+v", err, last.Outcome())
	}
	f.allow(f.plan(count("n", ledger.Hour, "2", 9), count("n", ledger.Day, "last", 9)))
	fresh := count("n", ledger.Day, "fresh", 9)
	got := f.want(f.plan(count("n", ledger.Hour, "0", 9), fresh), ledger.RefusedGroups, ledger.Denied)
	if got.Reservation != 1 || got.Code != "SVC_AGGREGATE_LIMIT_EXCEEDED" || got.Rule != fresh.Rule {
		f.Fatalf("refusal: %+v", got)
	}
	f.wantCounter(count("n", ledger.Hour, "0", 9), 1)
	f.allow(f.plan(count("n", ledger.Hour, "0", 9))) // a live group may advance
	f.at += hour
	f.allow(f.plan(fresh, count("n", ledger.Day, "1", 9)))
	f.wantCounter(fresh, 1)
	f.wantCounter(count("n", ledger.Day, "1", 9), 2)
	f.wantCounter(count("n", ledger.Hour, "0", 9), 0)
}

func testKeys(f *fixture) {
	same := ledgertest.NewKey(2)
	same.ID = f.key.ID
	if err := f.l.CreateKey(f.Context(), same); !errors.Is(err, ledger.ErrKeyExists) {
		f.Fatalf("same id: %v", err)
	}
	same = ledgertest.NewKey(2)
	same.Hash = f.key.Hash
	if err := f.l.CreateKey(f.Context(), same); !errors.Is(err, ledger.ErrKeyExists) {
		f.Fatalf("same hash: %v", err)
	}
	for name, spoil := range map[string]func(*ledger.Key){
		"id": func(k *ledger.Key) { k.ID = ledger.ID{} }, "hash": func(k *ledger.Key) { k.Hash = [32]byte{} },
		"scopes": func(k *ledger.Key) { k.Scopes = 0 }, "email": func(k *ledger.Key) { k.Email = "" },
		"tier": func(k *ledger.Key) { k.Tier = strings.Repeat("t", 257) }, "epoch": func(k *ledger.Key) { k.Epoch = 1 },
	} {
		key := ledgertest.NewKey(3)
		spoil(&key)
		if err := f.l.CreateKey(f.Context(), key); !errors.Is(err, ledger.ErrInvalid) {
			f.Errorf("%s: %v", name, err)
		}
	}
	shim := ledgertest.NewKey(4)
	shim.Shim, shim.Scopes, shim.Tier, shim.Environment = true, ledger.AllScopes, "growth", "test"
	if err := f.l.CreateKey(f.Context(), shim); err != nil {
		f.Fatal(err)
	}
	revoked, err := f.l.RevokeKey(f.Context(), f.key.ID, ledgertest.Start+5)
	if err != nil {
		f.Fatal(err)
	}
	shim.Epoch = 1
	keys, err := f.l.Keys(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.equal("keys", keys, []ledger.Key{revoked, shim})
	if got, ok := f.l.LookupKey(f.key.Hash); !ok || *got != revoked {
		f.Fatalf("lookup of a revoked key: %+v", got)
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, ledgertest.Start); !errors.Is(err, ledger.ErrKeyRevoked) {
		f.Fatalf("revoked twice: %v", err)
	}
	if _, err := f.l.RevokeKey(f.Context(), ledgertest.ID('k', 9), ledgertest.Start); !errors.Is(err, ledger.ErrNotFound) {
		f.Fatalf("revoking none: %v", err)
	}
	if _, ok := f.l.LookupKey([32]byte{9}); ok {
		f.Fatal("found a key that nobody created")
	}
}

func testEvents(f *fixture) {
	n := sum("eth", ledger.Day, "g", 7, 10)
	p := f.plan(n)
	p.Event = ledger.Event{
		Endpoint: "/v1/authorize", RequestID: "r-1", AgentID: "agent", Action: "wallet.transfer", Class: 1, ChainID: 8453,
		Commitment: [32]byte{1}, PolicyHash: [32]byte{2}, Value: "v", Detail: "d",
		Details: ledger.Details{Limit: "0.5", Allowed: []string{"a", "b"}, Count: 3, Entry: "e", Line: 7},
	}
	out := f.allow(p)
	held := f.want(f.held(1), ledger.Held, ledger.Pending)
	f.mustResolve(held.Hold, true)
	other := f.newKey(2)
	q := f.plan()
	q.Key = other.ID
	f.allow(q)
	all := f.events()
	f.equal("decision", all[1], ledger.LoggedEvent{
		LSN: out.LSN, Kind: ledger.Decided, Key: f.key.ID, At: f.at, Plan: p.ID, Result: ledger.Passed, Ending: p.Pass,
		Event: p.Event, Counters: []ledger.CounterValue{{Counter: n.Counter, Value: n.Amount}},
	})
	if len(all) != 4 || all[0].Kind != ledger.KeyCreated || all[2].Hold != held.Hold || all[2].HoldState != ledger.HoldPending ||
		all[3].Kind != ledger.HoldResolved || all[3].HoldState != ledger.HoldAllowed {
		f.Fatalf("events: %+v", all)
	}
	page, err := f.l.Events(f.Context(), ledger.EventQuery{After: 1, Limit: 2})
	if err != nil || len(page.Events) != 2 || !page.More || page.Next != 3 {
		f.Fatalf("page: %+v, %v", page, err)
	}
	page, err = f.l.Events(f.Context(), ledger.EventQuery{After: page.Next, Limit: 100})
	if err != nil || len(page.Events) != 3 || page.More || page.Next != 6 {
		f.Fatalf("last page: %+v, %v", page, err)
	}
	if _, err := f.l.Events(f.Context(), ledger.EventQuery{After: 1<<64 - 1, Limit: 1}); !errors.Is(err, ledger.ErrInvalid) {
		f.Errorf("events behind the last number: %v", err)
	}
	if _, err := f.l.Events(f.Context(), ledger.EventQuery{}); !errors.Is(err, ledger.ErrInvalid) {
		f.Fatalf("a page of nothing: %v", err)
	}
}

func testClip(f *fixture) {
	p := f.denied()
	p.Event.Value = strings.Repeat("é", ledger.MaxEventDetail)
	p.Event.Detail = "x" + p.Event.Value
	f.submit(p)
	got := f.events()[1].Event
	if got.Value != p.Event.Value[:ledger.MaxEventDetail] || got.Detail != p.Event.Detail[:ledger.MaxEventDetail-1] {
		f.Fatalf("cut to %d and %d bytes", len(got.Value), len(got.Detail))
	}
}

// testExactlyN has 64 goroutines compete for a limit.
func testExactlyN(f *fixture) {
	const limit, each = 100, 8
	n, s := count("n", ledger.Day, "", limit), sum("s", ledger.Day, "", 3, 3*limit)
	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range each {
				p := &ledger.Plan{At: f.at, Key: f.key.ID, Epoch: f.key.Epoch, Pass: ledger.Ending{Decision: ledger.Allowed}, Reservations: []ledger.Reservation{n, s}}
				ticket := f.l.Submit(p)
				if err := ticket.Wait(context.Background()); err != nil {
					f.Errorf("Wait: %v", err)
				}
				switch ticket.Outcome().Result {
				case ledger.Passed:
					passed.Add(1)
				case ledger.Refused:
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != limit || refused.Load() != 64*each-limit {
		f.Fatalf("%d passed and %d were refused; the limit is %d", passed.Load(), refused.Load(), limit)
	}
	f.wantCounter(n, limit)
	f.wantCounter(s, 3*limit)
}

// testAbortedWait has callers give up; nobody else may notice.
func testAbortedWait(f *fixture) {
	n := count("n", ledger.Day, "", 1000)
	var wg sync.WaitGroup
	for i := range 32 {
		p := f.plan(n)
		wg.Go(func() {
			if i%2 == 0 {
				if err := f.l.Submit(p).Wait(expired()); err != nil && !(errors.Is(err, ledger.ErrUnknown) && errors.Is(err, context.Canceled)) {
					f.Errorf("aborted: %v", err)
				}
				return
			}
			if err := f.l.Submit(p).Wait(context.Background()); err != nil {
				f.Errorf("Wait: %v", err)
			}
		})
	}
	wg.Wait()
	f.wantCounter(n, 32)
	f.l.Submit(f.plan(n)) // a ticket that nobody waits for
	f.wantCounter(n, 33)
}

func testClosed(f *fixture) {
	ticket := f.l.Submit(f.plan())
	if err := f.l.Close(); err != nil {
		f.Fatal(err)
	}
	if err := ticket.Wait(f.Context()); err != nil {
		f.Fatalf("submitted before Close: %v", err)
	}
	late := f.l.Submit(f.plan())
	if err := late.Wait(f.Context()); !errors.Is(err, ledger.ErrClosed) || !errors.Is(err, ledger.ErrUnavailable) {
		f.Fatalf("submitted after Close: %v", err)
	}
	if late.Outcome().Result != ledger.Unknown || f.l.Peek(f.plan()).Result != ledger.Unknown {
		f.Fatal("a closed ledger decides")
	}
	if err := f.l.CreateKey(f.Context(), ledgertest.NewKey(2)); !errors.Is(err, ledger.ErrClosed) {
		f.Fatalf("CreateKey: %v", err)
	}
	if _, err := f.l.Counter(f.Context(), f.key.ID, ledger.Counter{}, f.at); !errors.Is(err, ledger.ErrClosed) {
		f.Fatalf("Counter: %v", err)
	}
	if f.l.Health() == nil {
		f.Fatal("a closed ledger is healthy")
	}
	if err := f.l.Close(); err != nil {
		f.Fatalf("second Close: %v", err)
	}
}

// testReopen checks that everything that is read is the same after closing and opening.
func testReopen(f *fixture) {
	n, task := count("n", ledger.Day, "", 3), count("t", ledger.Task, "task", 3)
	f.allow(f.plan(n, task))
	held := f.want(f.held(1), ledger.Held, ledger.Pending)
	used := f.want(f.held(2), ledger.Held, ledger.Pending)
	f.mustResolve(used.Hold, true)
	f.allow(f.held(2))
	if _, err := f.l.RevokeKey(f.Context(), f.newKey(2).ID, f.at); err != nil {
		f.Fatal(err)
	}
	dry := f.plan()
	dry.TestRun = true
	f.submit(dry)
	keys, _ := f.l.Keys(f.Context())
	holds, _ := f.l.Holds(f.Context(), f.key.ID, f.at)
	events := f.events()

	f.l = f.suite.Reopen(f.T, f.l)
	after, _ := f.l.Keys(f.Context())
	f.equal("keys", after, keys)
	holdsAfter, _ := f.l.Holds(f.Context(), f.key.ID, f.at)
	f.equal("holds", holdsAfter, holds)
	f.equal("events", f.events()[:len(events)], events)
	if last := f.events(); last[len(last)-1].Ending.Decision != ledger.TestRun {
		f.Fatal("Close did not write the last test-run")
	}
	f.wantCounter(n, 1)
	f.wantCounter(task, 1)
	if got := f.usage(); got != 2 {
		f.Fatalf("usage is %d", got)
	}
	if again := f.want(f.held(1), ledger.Held, ledger.Pending); again.Hold != held.Hold {
		f.Fatalf("found hold %s", again.Hold)
	}
	f.want(f.held(2), ledger.Held, ledger.Pending)
	f.allow(f.plan(n))
	f.allow(f.plan(n))
	f.refuse(f.plan(n))
}
