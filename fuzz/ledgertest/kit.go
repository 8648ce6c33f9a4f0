package ledgertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// Start is the time at which every test begins: a Wednesday, half past noon.
var Start = time.Date(2026, 11, 18, 12, 30, 0, 0, time.UTC).UnixNano()

const (
	hour = int64(time.Hour)
	day  = 24 * hour
)

// ID returns the id number n of a series.
func ID(series byte, n uint64) (id ledger.ID) {
	id[0] = series
	binary.BigEndian.PutUint64(id[8:], n)
	return id.UUIDv4()
}

// NewKey returns key number n, as CreateKey takes it.
func NewKey(n uint64) ledger.Key {
	key := ledger.Key{
		ID: ID('k', n), Email: "ops@example.com", Environment: "production", Tier: "developer",
		Scopes: ledger.ScopeAuthorize, Created: Start,
	}
	binary.BigEndian.PutUint64(key.Hash[:], n)
	return key
}

// Counted is a plan of a key, number n of its kind, that counts one out of a limit in the counter Counting.
func Counted(key ledger.ID, n, limit uint64) *ledger.Plan {
	return &ledger.Plan{
		ID: ID('p', n), At: Start, Key: key, Epoch: 1, Pass: ledger.Ending{Decision: ledger.Allowed},
		Reservations:  []ledger.Reservation{{Counter: Counting, Op: ledger.Count, Limit: amount.FromUint64(limit), Code: errcode.LoopLimitExceeded, Rule: "r"}},
		TooManyGroups: errcode.AggregateLimit, Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: "agent", Action: "bash"},
	}
}

// Counting is the counter of Counted.
var Counting = ledger.Counter{Limit: "n", Window: ledger.Day}

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
