package pebbleledger

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

const (
	benchKeys    = 1000
	benchRecords = 1_000_000
)

// BenchmarkEventsOfKey measures a page of 100 events of one key among a million records of a thousand keys, from the middle
// of the log on, and the empty page of a key that has done nothing since it was made: with the index of keys, and without.
func BenchmarkEventsOfKey(b *testing.B) {
	dir := b.TempDir()
	l, err := Open(dir, Options{Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	for n := uint64(1); n <= benchKeys+1; n++ {
		if err := l.CreateKey(context.Background(), ledgertest.NewKey(n)); err != nil {
			b.Fatal(err)
		}
	}
	fillKeys(b, l)
	for l.Indexed() < benchRecords-2*commit.IndexEvery {
		time.Sleep(time.Millisecond)
	}
	b.Run("indexed", func(b *testing.B) { benchPages(b, l) })
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	// No log has so many records: the index stays empty.
	if l, err = Open(dir, Options{Random: rand.Reader, IndexEvery: ledger.MaxLSN}); err != nil {
		b.Fatal(err)
	}
	b.Run("scanned", func(b *testing.B) { benchPages(b, l) })
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

func benchPages(b *testing.B, l *commit.Ledger) {
	for _, c := range []struct {
		name  string
		query ledger.EventQuery
		want  int
	}{
		{"page-of-100", ledger.EventQuery{Key: ledgertest.ID('k', 7), After: benchRecords / 2, Limit: 100}, 100},
		{"idle-key", ledger.EventQuery{Key: ledgertest.ID('k', benchKeys+1), After: benchKeys + 1, Limit: 100}, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := l.Events(context.Background(), c.query)
				if err != nil || len(page.Events) != c.want {
					b.Fatal(len(page.Events), err)
				}
			}
		})
	}
}

// fillKeys has 64 callers write records, of one key after the other.
func fillKeys(b *testing.B, l *commit.Ledger) {
	const callers = 64
	errs := make(chan error, callers)
	for c := range callers {
		go func() {
			var err error
			plan := benchPlan(0)
			for i := c; i < benchRecords && err == nil; i += callers {
				plan.Key = ledgertest.ID('k', uint64(1+i%benchKeys))
				err = l.Submit(plan).Wait(context.Background())
			}
			errs <- err
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}
