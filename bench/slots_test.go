package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	ledgercommit "bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/system"
)

// BenchmarkSlots gives the time per durable decision of an instance over PostgreSQL with a synchronous standby, by the number of the store's
// slots, beside the ledger over Pebble. There are as many keys as committers, so that they are in all slots.
func BenchmarkSlots(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.NumCPU()))
	for _, many := range []int{committers, 8 * committers} {
		b.Run(fmt.Sprintf("pebble/%d", many), func(b *testing.B) { commit(b, body{"pebble", prepareLedger}, many) })
		for _, count := range []int{1, 8, 16} {
			b.Run(fmt.Sprintf("slots-%d/%d", count, many), func(b *testing.B) {
				commit(b, body{"slots", func(tb testing.TB) func() error { return prepareSlots(tb, count, many) }}, many)
			})
		}
	}
}

// prepareSlots opens the ledger over a store of so many slots, with keys in them; a step submits a plan of one of them, and waits for it.
func prepareSlots(tb testing.TB, count, keys int) func() error {
	primary, _ := pgtest.StartPair(tb)
	stop := make(chan struct{})
	store, err := pgledger.NewStore(pgledger.Options{URL: primary.URL(), Name: "a", Lease: 2 * time.Second, Environment: "test", Calls: system.Real(clock.System()), Stop: stop})
	if err == nil {
		_, err = store.Init(pgledger.Setup{Slots: count})
	}
	if err != nil {
		tb.Fatal(err)
	}
	again := reopen.Options{Random: rand.Reader}
	var l ledger.Ledger
	if count == 1 {
		l, err = store.Ledger(ledgercommit.Options{Random: rand.Reader}, again)
	} else {
		l, err = store.Share(slots.Options{Commit: ledgercommit.Options{Random: rand.Reader}, Log: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		close(stop)
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
		store.Close()
	})
	ctx := context.Background()
	if _, err := l.BindDefault(ctx, &ledger.DefaultPolicy{At: 1}); err != nil {
		tb.Fatal(err)
	}
	ids := make([]ledger.ID, keys)
	for n := range ids {
		key := ledger.Key{Email: "bench@localhost.localdomain", Environment: "production", Tier: "developer", Scopes: ledger.ScopeAuthorize, Created: 1}
		if _, err := rand.Read(key.Hash[:]); err != nil {
			tb.Fatal(err)
		}
		key.ID = ledger.ID(key.Hash[:16])
		for err = slots.ErrElsewhere; errors.Is(err, slots.ErrElsewhere); err = l.CreateKey(ctx, key) { // the instance takes its slots one after the other
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			tb.Fatal(err)
		}
		ids[n] = key.ID
	}
	var serial atomic.Uint64
	return func() error {
		n := serial.Add(1)
		return l.Submit(decisionPlan(ids[n%uint64(len(ids))], n)).Wait(ctx)
	}
}
