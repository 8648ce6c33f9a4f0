package events

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// What a page of the console reads of one key. Nothing here changes anything.

// latestWindows are the windows of the log that Latest looks at, one after the other, until it has enough. Each is read forwards: the
// ledger has no other direction.
var latestWindows = [...]uint64{1_000, 10_000, 100_000}

// LatestPage are the latest events of a key before a place in the log.
type LatestPage struct {
	Events []eventjson.Event // the newest first
	// Before continues with older events; 0 where there are none.
	Before uint64
	// Head is the end of the log when it was read. What follows it is newer.
	Head uint64
}

// Latest returns the latest events of a key, and of no other, that a query asks for and that are before a place in the
// log; 0 is its end. It looks at 100,000 records at most, so a page may be short, or empty, and have older ones all the same.
func (a *Reader) Latest(ctx context.Context, key *ledger.Key, query Query, before uint64) (*LatestPage, *service.Failure) {
	head, err := a.Ledger.LogOf(key.ID).Head(ctx)
	if err != nil {
		return nil, a.StoreFault("events could not be read", err)
	}
	end := head.LSN + 1
	if before > 0 && before < end {
		end = before
	}
	most := query.Limit
	if most == 0 {
		most = usualEvents
	}
	done, ok := a.Turn(ctx, key)
	if !ok {
		return nil, noTurn()
	}
	defer done()
	view := &LatestPage{Head: head.LSN}
	upper, lower := end, end
	first := a.Ledger.LogOf(key.ID).Beginning().After.LSN + 1 // what is before it was dropped
	for _, window := range latestWindows {
		lower = max(end-min(window, end-1), min(first, end))
		events, err := a.between(ctx, key.ID, query, lower, upper, most-len(view.Events))
		if err != nil {
			return nil, a.latestFault(err)
		}
		for i := len(events) - 1; i >= 0; i-- {
			view.Events = append(view.Events, events[i])
		}
		if len(view.Events) == most {
			view.Before = view.Events[most-1].LSN
			return view, nil
		}
		if upper = lower; lower <= first {
			return view, nil
		}
	}
	view.Before = lower
	return view, nil
}

// A several is a ledger whose records are in the logs of several slots.
type several interface {
	Slots() int
	Heads(ctx context.Context) ([]uint64, error)
}

// LatestOfAll returns the latest events of all keys, the newest first, at most so many. Over several slots they are among the last 250 records of
// each log: of a busy one there may be others that are not as old as the oldest here.
func (a *Reader) LatestOfAll(ctx context.Context, most int) ([]eventjson.Event, *service.Failure) {
	all := new(ledger.Key)
	of, ok := a.Ledger.(several)
	if !ok || of.Slots() == 1 {
		page, fault := a.Latest(ctx, all, Query{Limit: most}, 0)
		if fault != nil {
			return nil, fault
		}
		return page.Events, nil
	}
	done, ok := a.Turn(ctx, all)
	if !ok {
		return nil, noTurn()
	}
	defer done()
	heads, err := of.Heads(ctx)
	var found []eventjson.Event
	if err == nil {
		found, err = a.upTo(ctx, heads, most)
	}
	if err != nil {
		return nil, a.StoreFault("events could not be read", err)
	}
	slices.Reverse(found)
	return found, nil
}

// latestOfEach is how many of the last records of each slot's log LatestOfAll looks at.
const latestOfEach = 250

// upTo returns the last events of all keys, at most so many, among the last records of logs that end at the given places.
func (a *Reader) upTo(ctx context.Context, heads []uint64, most int) (last []eventjson.Event, err error) {
	query := Query{Limit: maxConsolePage}
	for _, head := range heads {
		query.AfterEach = append(query.AfterEach, head-min(head, latestOfEach))
	}
	for range len(heads)*latestOfEach/maxConsolePage + 2 { // what comes meanwhile is not followed for ever
		page, err := eventsOf(ctx, a.Ledger, ledger.ID{}, query)
		if err != nil {
			return nil, err
		}
		last = append(last, page.Events...)
		last = last[max(0, len(last)-most):]
		if !page.More || !query.Continue(page.Next) {
			break
		}
	}
	return last, nil
}

// Tail returns events of a key that a query asks for, once there is one behind query.After. Where wait ends before, or good
// says no, it returns none. A new event is seen within a second.
func (a *Reader) Tail(ctx context.Context, key *ledger.Key, query Query, wait time.Duration, good func() bool) (*Page, *service.Failure) {
	ctx, cancel := a.Timeout(ctx, wait)
	defer cancel()
	for {
		head, err := a.Ledger.LogOf(key.ID).Head(context.Background()) // not of ctx: its end is no failure
		if err != nil {
			return nil, a.StoreFault("events could not be read", err)
		}
		if head.LSN > query.After {
			view, fault := a.Events(context.Background(), key, query)
			if fault != nil || len(view.Events) > 0 || view.More {
				return view, fault
			}
			if _, err := fmt.Sscan(view.Next, &query.After); err != nil {
				return nil, a.StoreFault("events could not be read", err)
			}
		}
		select {
		case <-a.Timers.Alarm(tailStep).C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || !good() {
			return &Page{Next: strconv.FormatUint(query.After, 10)}, nil
		}
	}
}

// tailStep is how often a tail looks for new events.
const tailStep = 500 * time.Millisecond

func (a *Reader) latestFault(err error) *service.Failure {
	if errors.Is(err, ledger.ErrInvalid) {
		return service.Fail(errcode.ValidationSchema, err.Error())
	}
	return a.StoreFault("events could not be read", err)
}

// between returns the last events of a key from one place in the log up to before another, at most so many.
func (a *Reader) between(ctx context.Context, key ledger.ID, query Query, from, to uint64, most int) ([]eventjson.Event, error) {
	var last []eventjson.Event
	query.Limit = maxConsolePage
	for query.After = from - 1; query.After+1 < to; {
		page, err := eventsOf(ctx, a.Ledger.LogOf(key), key, query)
		if err != nil {
			return nil, err
		}
		for _, event := range page.Events {
			if event.LSN < to {
				last = append(last, event)
			}
		}
		last = last[max(0, len(last)-most):]
		next, past := query.After, len(page.Events) > 0 && page.Events[len(page.Events)-1].LSN >= to
		if _, err := fmt.Sscan(page.Next, &next); err != nil || past || !page.More || next <= query.After {
			break
		}
		query.After = next
	}
	return last, nil
}

// maxConsolePage is how many events are read at once for a page of the console.
const maxConsolePage = 1000

// EventAt returns the event of a key at a place in the log. An event of another key is not found.
func (a *Reader) EventAt(ctx context.Context, key *ledger.Key, lsn uint64) (*eventjson.Event, *service.Failure) {
	if lsn == 0 || lsn > MaxCursor {
		return nil, noEvent()
	}
	if begins := a.Ledger.LogOf(key.ID).Beginning().After.LSN; lsn <= begins {
		return nil, service.Fail(errcode.NotFound, fmt.Sprintf("retention has dropped event %d; the record begins at %d", lsn, begins+1))
	}
	page, fault := a.Events(ctx, key, Query{After: lsn - 1, Limit: 1})
	if fault != nil {
		return nil, fault
	}
	if len(page.Events) == 0 || page.Events[0].LSN != lsn {
		return nil, noEvent()
	}
	return &page.Events[0], nil
}

func noEvent() *service.Failure {
	return service.Fail(errcode.NotFound, "the API key has no event at this place of the log")
}

// Chain returns the durable end of a key's log, as a place in its chain of hashes.
func (a *Reader) Chain(ctx context.Context, key *ledger.Key) (*ChainView, *service.Failure) {
	head, err := a.Ledger.LogOf(key.ID).Head(ctx)
	if err != nil {
		return nil, a.StoreFault("the end of the log could not be read", err)
	}
	return &ChainView{Stream: hex.EncodeToString(head.Stream[:]), LSN: head.LSN, Hash: hex.EncodeToString(head.Hash[:])}, nil
}

// ChainView is the end of the log.
type ChainView struct {
	Stream string // id of the log
	LSN    uint64 // of the last record
	Hash   string // SHA-256 of the last group of records, which covers all before it
}

// Counts are how many decisions of a key ended in each way since a time.
type Counts struct {
	From     time.Time
	ByStatus map[string]int // ALLOWED, DENIED, PENDING and TEST_RUN
	ByRule   map[string]int // that name a rule, test-runs not counted
	// ByHour are the statuses of each hour that begins at From or later; the last one may not be over.
	ByHour []map[string]int
	// Partial says that the log has more records since From than were looked at: the latest ones are counted.
	Partial bool
}

// countedRecords is how many of the log's latest records CountDecisions looks at.
const countedRecords = 20_000

// CountDecisions counts the decisions of a key since a time.
func (a *Reader) CountDecisions(ctx context.Context, key *ledger.Key, from time.Time) (*Counts, *service.Failure) {
	head, err := a.Ledger.LogOf(key.ID).Head(ctx)
	if err != nil {
		return nil, a.StoreFault("events could not be read", err)
	}
	counts := &Counts{From: from, ByStatus: map[string]int{}, ByRule: map[string]int{}}
	query := Query{From: from, Limit: maxConsolePage}
	if head.LSN > countedRecords {
		query.After = head.LSN - countedRecords
		// Whether records before them are of the time is known by asking for one.
		page, fault := a.Events(ctx, key, Query{From: from, Limit: 1})
		if fault != nil {
			return nil, fault
		}
		counts.Partial = len(page.Events) == 0 && page.More || len(page.Events) > 0 && page.Events[0].LSN <= query.After
	}
	for range countedRecords/maxConsolePage + 1 {
		page, fault := a.Events(ctx, key, query)
		if fault != nil {
			return nil, fault
		}
		for i := range page.Events {
			counts.add(&page.Events[i])
		}
		next := query.After
		if _, err := fmt.Sscan(page.Next, &next); err != nil || !page.More || next <= query.After {
			break
		}
		query.After = next
	}
	return counts, nil
}

func (c *Counts) add(e *eventjson.Event) {
	if e.Decision == "" {
		return
	}
	c.ByStatus[e.Decision]++
	if e.Rule != "" && e.Decision != ledger.TestRun.String() {
		c.ByRule[e.Rule]++
	}
	hour := int(e.Timestamp.Sub(c.From) / time.Hour)
	if hour < 0 || hour >= maxCountedHours {
		return
	}
	for len(c.ByHour) <= hour {
		c.ByHour = append(c.ByHour, map[string]int{})
	}
	c.ByHour[hour][e.Decision]++
}

// maxCountedHours bounds ByHour: a week. Later hours are in the other counts only.
const maxCountedHours = 7 * 24
