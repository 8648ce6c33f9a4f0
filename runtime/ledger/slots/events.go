package slots

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"bailiff/runtime/ledger"
)

// eventsOfAll returns a page of the events of all slots, in the order of their times. Copies of service-wide records are left out: the first
// slot's log has them. Where a slot can't be asked there is no page.
func (l *Ledger) eventsOfAll(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if query.AfterEach == nil {
		query.AfterEach = make([]uint64, len(l.slots))
	}
	if query.After != 0 && query.After <= l.options.Divided { // a place from before the record was divided
		query.AfterEach[0], query.After = query.After, 0
	}
	if query.After != 0 {
		return ledger.EventPage{}, fmt.Errorf("%w: a number is a place in the log of one slot, and the store has several; name the API key whose log is meant", ledger.ErrInvalid)
	}
	if len(query.AfterEach) != len(l.slots) {
		return ledger.EventPage{}, fmt.Errorf("%w: the cursor is of a store with %d slots, and this one has %d", ledger.ErrInvalid, len(query.AfterEach), len(l.slots))
	}
	pages := make([]ledger.EventPage, len(l.slots))
	err := l.askEach(func(n int, at asked) (err error) {
		one := query
		one.After, one.AfterEach = query.AfterEach[n], nil
		if pages[n], err = at.Events(ctx, one); n > 0 && pages[n].Dropped <= l.options.Divided {
			pages[n].Dropped = 0 // the first slot's log has them
		}
		return err
	})
	if err != nil {
		return ledger.EventPage{}, err
	}
	return merge(query.AfterEach, query.Limit, pages), nil
}

// Heads returns the LSN of the last record in the log of each slot.
func (l *Ledger) Heads(ctx context.Context) ([]uint64, error) {
	heads := make([]uint64, len(l.slots))
	return heads, l.askEach(func(n int, at asked) error {
		head, err := at.Head(ctx)
		heads[n] = head.LSN
		return err
	})
}

// askEach asks the ledgers of all slots at once, here or at other instances. All have to answer.
func (l *Ledger) askEach(question func(n int, at asked) error) error {
	faults := make([]error, len(l.slots))
	var all sync.WaitGroup
	for n := range l.slots {
		all.Add(1)
		l.options.Go(func() {
			defer all.Done()
			at, err := l.ask(n)
			if err == nil {
				err = question(n, at)
			}
			if err != nil {
				faults[n] = fmt.Errorf("slot %d: %w", n, err)
			}
		})
	}
	all.Wait()
	return cmp.Or(faults...)
}

// merge returns the first events of the pages of several logs, which begin after the given places.
func merge(after []uint64, limit int, pages []ledger.EventPage) (page ledger.EventPage) {
	page.NextEach = append([]uint64(nil), after...)
	taken := make([]int, len(pages))
	for len(page.Events) < limit {
		first := -1
		for n := range pages {
			switch {
			case taken[n] == len(pages[n].Events) && pages[n].More:
				first = len(pages) // what follows there may be earlier than what the others have
			case taken[n] < len(pages[n].Events) && (first < 0 || first < len(pages) && pages[n].Events[taken[n]].At < pages[first].Events[taken[first]].At):
				first = n
			}
			if first == len(pages) {
				break
			}
		}
		if first < 0 || first == len(pages) {
			break
		}
		event := pages[first].Events[taken[first]]
		taken[first]++
		page.NextEach[first] = event.LSN
		if event.Origin == 0 {
			event.Slot = &first
			page.Events = append(page.Events, event)
		}
	}
	for n := range pages {
		page.Dropped = max(page.Dropped, pages[n].Dropped)
		if taken[n] < len(pages[n].Events) {
			page.More = true
			continue
		}
		page.NextEach[n] = max(page.NextEach[n], pages[n].Next)
		page.More = page.More || pages[n].More
	}
	return page
}
