package slots

import (
	"context"
	"slices"
	"testing"

	"bailiff/runtime/ledger"
)

// listed is a log whose events have LSNs; the other records are none, or of other keys.
type listed struct {
	ledger.Log
	lsns []uint64
	head uint64
}

// Events implements ledger.Log.
func (l listed) Events(_ context.Context, query ledger.EventQuery) (page ledger.EventPage, err error) {
	page.Next = query.After
	for looked := 0; page.Next < l.head; looked++ {
		if len(page.Events) == query.Limit || query.Examine > 0 && looked == query.Examine {
			page.More = true
			return page, nil
		}
		if page.Next++; slices.Contains(l.lsns, page.Next) {
			page.Events = append(page.Events, ledger.LoggedEvent{LSN: page.Next})
		}
	}
	return page, nil
}

// TestDividedLog reads a log that was divided after record 6, from each place and in pages of each size: each event is read once, in order.
func TestDividedLog(t *testing.T) {
	for _, head := range []uint64{7, 9} { // of the first slot's log, which has the record of the division, and events of others after it
		d := dividedLog{listed{lsns: []uint64{7, 8, 10}, head: 10}, listed{lsns: []uint64{1, 2, 5, 8}, head: head}, 6}
		all := []uint64{1, 2, 5, 7, 8, 10}
		for after := range uint64(11) {
			for limit := 1; limit < 8; limit++ {
				for examine := range 8 {
					var got []uint64
					query := ledger.EventQuery{After: after, Limit: limit, Examine: examine}
					for pages := 0; pages < 30; pages++ {
						page, err := d.Events(t.Context(), query)
						if err != nil || len(page.Events) > limit {
							t.Fatal(err, len(page.Events))
						}
						for _, event := range page.Events {
							got = append(got, event.LSN)
						}
						if query.Continue(&page); !page.More {
							break
						}
					}
					want := slices.DeleteFunc(slices.Clone(all), func(lsn uint64) bool { return lsn <= after })
					if !slices.Equal(got, want) {
						t.Fatalf("after %d, %d a page, %d looked at, the first log up to %d: %v, want %v", after, limit, examine, head, got, want)
					}
				}
			}
			page, err := d.Events(t.Context(), ledger.EventQuery{After: after, Limit: 1, Examine: 1})
			if found := len(page.Events) == 1; err != nil || found != slices.Contains(all, after+1) || found && page.Events[0].LSN != after+1 {
				t.Errorf("the record after %d is %+v, %v", after, page.Events, err)
			}
		}
	}
}
