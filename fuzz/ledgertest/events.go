package ledgertest

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// CompareEvents returns how the events of a key differ from those that are found by looking at the events of all keys,
// from several places of the log on, in pages of several sizes.
func CompareEvents(l ledger.Ledger, key ledger.ID) error {
	all, err := allEvents(l, ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		return err
	}
	head := uint64(0)
	if len(all) > 0 {
		head = all[len(all)-1].LSN
	}
	for i, query := range []ledger.EventQuery{
		{Limit: ledger.MaxEventPage}, {Limit: 3, After: head / 3}, {Limit: 2, Examine: 5, After: head / 2}, {Limit: 1, After: head - min(head, 4)},
	} {
		query.Key = key
		var want []ledger.LoggedEvent
		for _, e := range all {
			if e.Key == key && e.LSN > query.After {
				want = append(want, e)
			}
		}
		got, err := allEvents(l, query)
		if err != nil {
			return fmt.Errorf("events of key %s: %w", key, err)
		}
		got = got[:min(len(got), len(want))] // more may have been written meanwhile
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("events of key %s, query %d (-by a look at all +by key):\n%s", key, i, diff)
		}
	}
	return nil
}

// allEvents reads page after page.
func allEvents(l ledger.Ledger, query ledger.EventQuery) (all []ledger.LoggedEvent, err error) {
	for more := true; more; {
		page, err := l.Events(context.Background(), query)
		if err != nil {
			return nil, err
		}
		if len(page.Events) > query.Limit || page.More && page.Next <= query.After {
			return nil, fmt.Errorf("after %d: a page of %d events, of %d at most, and the next after %d", query.After, len(page.Events), query.Limit, page.Next)
		}
		all = append(all, page.Events...)
		query.After, more = page.Next, page.More
	}
	return all, nil
}

// testEventsOfKeys writes records of several keys, in groups of one record and of many, and compares the events of each key
// with those of all while they are written: an index may be behind, or just catch up.
func testEventsOfKeys(f *fixture) {
	keys := []ledger.Key{f.key, f.newKey(2), f.newKey(3), f.newKey(4)} // the last one does nothing
	for round := range 12 {
		for i := range 1 + round%3*20 {
			p := f.plan()
			p.Key = keys[(i*i+round)%3].ID
			if round%4 == 3 {
				p.Key = keys[0].ID // a stretch without the others
			}
			p.TestRun = i%2 == 0 // nobody waits for these: they come in groups
			if f.l.Submit(p); i%7 == 0 {
				f.submit(f.denied())
			}
		}
		if err := f.l.Flush(f.Context()); err != nil {
			f.Fatal(err)
		}
		for _, key := range keys {
			if err := CompareEvents(f.l, key.ID); err != nil {
				f.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

// testReopenEventsOfKeys compares the events of keys after a start, and what comes after it.
func testReopenEventsOfKeys(f *fixture) {
	testEventsOfKeys(f)
	for range 3 {
		f.l = f.suite.Reopen(f.T, f.l)
		for range 5 {
			for n := range uint64(4) {
				if err := CompareEvents(f.l, ID('k', n+1)); err != nil {
					f.Fatal(err)
				}
			}
			f.submit(f.denied())
		}
	}
}
