package events

import (
	"context"
	"slices"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
)

// A fakeStore has the same events in each slot's log, at times of their own, and others come for as long as it is asked.
type fakeStore struct {
	ledger.Ledger
	heads []uint64
	asked int
	grows bool
}

func (f *fakeStore) Events(_ context.Context, query ledger.EventQuery) (page ledger.EventPage, err error) {
	f.asked++
	page.NextEach = slices.Clone(query.AfterEach)
	for len(page.Events) < query.Limit {
		slot := 0 // whose next event is the earliest: that of slot n with the LSN l happened at 10 l + n
		for n, after := range page.NextEach {
			if after < page.NextEach[slot] {
				slot = n
			}
		}
		if !f.grows && page.NextEach[slot] >= f.heads[slot] {
			return page, nil
		}
		page.NextEach[slot]++
		page.Events = append(page.Events, ledger.LoggedEvent{LSN: page.NextEach[slot], At: int64(10*page.NextEach[slot]) + int64(slot), Slot: &slot, Kind: ledger.ServiceFrozen}) //nolint:gosec // small
	}
	page.More = true
	return page, nil
}

// TestLatestOfAll: the latest events of all slots are the last ones, also where there are more than a page, and reading them ends where others come
// all the time.
func TestLatestOfAll(t *testing.T) {
	heads := slices.Repeat([]uint64{5000}, 9)
	store := &fakeStore{heads: heads}
	reader := &Reader{Service: &service.Service{Config: service.Config{Ledger: store}}}
	last, err := reader.upTo(t.Context(), heads, 50)
	if err != nil || len(last) != 50 || store.asked < 3 {
		t.Fatalf("%d events after %d pages: %v", len(last), store.asked, err)
	}
	for n, event := range last {
		at := 9*5000 - 50 + n                                   // in the order of all
		if event.LSN != uint64(at/9+1) || *event.Slot != at%9 { //nolint:gosec // small
			t.Fatalf("event %d is %d of slot %d", n, event.LSN, *event.Slot)
		}
	}
	store.grows, store.asked = true, 0
	if _, err := reader.upTo(t.Context(), heads, 50); err != nil || store.asked > 10 {
		t.Errorf("a store that grows is asked for %d pages: %v", store.asked, err)
	}
	store = &fakeStore{heads: []uint64{3, 3}}
	reader.Ledger = store
	if last, err = reader.upTo(t.Context(), store.heads, 50); err != nil || len(last) != 6 {
		t.Errorf("few events: %d, %v", len(last), err)
	}
}
