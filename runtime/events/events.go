// Package events reads the event log for a key's holder and for the operator: pages of events, the latest ones, counts of
// decisions, checkpoints, and the bundle that proves one event.
package events

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
	"bailiff/vm/errcode"
)

const (
	// usualEvents is the size of a page where a query names none.
	usualEvents = 100
	// Examined bounds the records that one page looks at, so that a rare rule does not read the whole log at once.
	Examined = 100_000
	// pageWait is how long a page of a key's events waits for its turn. Reading one takes the memory of a whole group of
	// records, which may have other keys' policies in it: read at once, the pages of 60 keys took a gigabyte.
	pageWait = 5 * time.Second
)

// MaxCursor is the largest place in the log that a page can start behind. No log comes so far.
const MaxCursor = ledger.MaxLSN

// Reader reads the events of keys, and proves them.
type Reader struct {
	*service.Service
	accounts    *accounts.Accounts
	defaultText func(hash [32]byte) (text string, ok bool)
	pages       *turns.Turns
	copied      atomic.Int64 // when a page of a backup was read last: Unix nanoseconds
}

// New returns a reader of a service's events. The function returns the text of the default policy in force, where it has
// that hash.
func New(s *service.Service, a *accounts.Accounts, defaultText func(hash [32]byte) (text string, ok bool)) *Reader {
	r := &Reader{Service: s, accounts: a, defaultText: defaultText, pages: turns.New(turns.HalfOf(), turns.MaxWaiting, s.Long, s.Watch(metrics.Paging))}
	s.Gauge(metrics.Paging, turns.HalfOf(), r.pages.UnderWay)
	return r
}

// Turn waits, not for long, for the key's turn to read events. What it returns gives the turn back.
func (a *Reader) Turn(ctx context.Context, key *ledger.Key) (done func(), ok bool) {
	waiting, cancel := a.Timeout(ctx, pageWait)
	defer cancel()
	return a.pages.Take(waiting, key.ID)
}

// noTurn is the answer to a page that got none.
func noTurn() *service.Failure {
	return service.Retryable(errcode.RateLimited, "other pages of events are being read, and this one got no turn; ask for it again, and for one at a time", service.ComeAgain)
}

// Query asks for a page of events. A zero field does not narrow the search.
type Query struct {
	After uint64 // events behind this place, the Next of the page before
	// AfterEach is After for the log of each slot, where the store has several and the query is for the events of all keys.
	AfterEach []uint64

	From, To time.Time // at From or later, and before To
	Decision ledger.Decision
	Rule     string // matched_rule
	Agent    string // agentId
	Task     string // task_id; of records of version 2, which have it
	Action   string // in any case
	Limit    int    // of the page; 0 is 100
}

// Page is a page of events, in the order in which they happened. A page may be empty while there are more.
type Page struct {
	Events []eventjson.Event `json:"events"`
	Next   string            `json:"next"` // the cursor of the next page
	More   bool              `json:"more"`
	// Dropped is the place up to which retention has dropped events that were asked for; the page has those after it.
	Dropped uint64 `json:"dropped,omitempty"`
}

// Events returns a page of the events of a key, and of no other. A key's pages are read one at a time, and few at once.
func (a *Reader) Events(ctx context.Context, key *ledger.Key, query Query) (*Page, *service.Failure) {
	done, ok := a.Turn(ctx, key)
	if !ok {
		return nil, noTurn()
	}
	defer done()
	view, err := eventsOf(ctx, a.Ledger.LogOf(key.ID), key.ID, query)
	switch {
	case errors.Is(err, ledger.ErrInvalid):
		return nil, service.Fail(errcode.ValidationSchema, err.Error())
	case err != nil:
		return nil, a.StoreFault("events could not be read", err)
	}
	return view, nil
}

// EventsOf returns a page of the events of the key of an id or, where that is empty, of all keys. An error that wraps
// ledger.ErrInvalid names the fault of the question.
func (a *Reader) EventsOf(ctx context.Context, keyID string, query Query) (*Page, error) {
	var key ledger.ID
	if keyID != "" {
		var err error
		if key, err = ledger.ParseID(keyID); err != nil {
			return nil, err
		}
	}
	return eventsOf(ctx, a.Ledger.LogOf(key), key, query)
}

func eventsOf(ctx context.Context, l ledger.EventReader, key ledger.ID, query Query) (*Page, error) {
	asked := ledger.EventQuery{
		After: query.After, AfterEach: query.AfterEach, Key: key, From: Nanoseconds(query.From), To: Nanoseconds(query.To),
		Decision: query.Decision, Rule: query.Rule, Agent: query.Agent, Task: query.Task, Action: strings.ToLower(query.Action),
		Limit: query.Limit, Examine: Examined,
	}
	if asked.Limit == 0 {
		asked.Limit = usualEvents
	}
	if query.After > MaxCursor {
		return nil, fmt.Errorf("%w: after is %d: the last event is %d", ledger.ErrInvalid, query.After, uint64(MaxCursor))
	}
	for _, part := range [...]struct {
		name, text string
		most       int
	}{
		{"rule", query.Rule, ledger.MaxRule}, {"agent", query.Agent, ledger.MaxEventText}, {"task", query.Task, ledger.MaxEventText}, {"action", query.Action, ledger.MaxEventText},
	} {
		if len(part.text) > part.most {
			return nil, fmt.Errorf("%w: %s has %d bytes: at most %d", ledger.ErrInvalid, part.name, len(part.text), part.most)
		}
	}
	page, err := l.Events(ctx, asked)
	if err != nil {
		return nil, err
	}
	view := &Page{Events: make([]eventjson.Event, len(page.Events)), Next: (&Query{After: page.Next, AfterEach: page.NextEach}).Cursor(), More: page.More, Dropped: page.Dropped}
	for i := range page.Events {
		view.Events[i] = eventjson.View(&page.Events[i])
	}
	return view, nil
}

// eachCursor begins a cursor for the logs of several slots. What follows is the place in each, as varints in base64url.
const eachCursor = "s"

// Cursor returns where the query begins, as the Next of the page before has it.
func (q *Query) Cursor() string {
	if q.AfterEach == nil {
		return strconv.FormatUint(q.After, 10)
	}
	var places []byte
	for _, lsn := range q.AfterEach {
		places = binary.AppendUvarint(places, lsn)
	}
	return eachCursor + base64.RawURLEncoding.EncodeToString(places)
}

// Continue has the query ask for what follows a page, whose Next is given. It reports false for a text that no page has.
func (q *Query) Continue(next string) bool {
	if each, of := strings.CutPrefix(next, eachCursor); of {
		places, err := base64.RawURLEncoding.Strict().DecodeString(each)
		if err != nil || len(places) == 0 {
			return false
		}
		q.AfterEach = nil
		for len(places) > 0 {
			lsn, n := binary.Uvarint(places)
			if n <= 0 || lsn > MaxCursor || len(q.AfterEach) > ledger.MaxSlots {
				return false
			}
			q.AfterEach, places = append(q.AfterEach, lsn), places[n:]
		}
		return true
	}
	lsn, err := strconv.ParseUint(next, 10, 64)
	if err != nil || lsn > MaxCursor || strconv.FormatUint(lsn, 10) != next {
		return false
	}
	q.After = lsn
	return true
}

// Nanoseconds returns a time as the ledger has it; one that is outside of what it can hold is its nearest. The zero time
// is zero.
func Nanoseconds(t time.Time) int64 {
	switch latest := time.Unix(0, ledger.MaxTime); {
	case t.IsZero():
		return 0
	case t.Before(time.Unix(0, 1)):
		return 1
	case t.After(latest):
		return ledger.MaxTime
	}
	return t.UnixNano()
}

// Checkpoint returns how far a key's log has come, signed (C2SP tlog-checkpoint): with it a client can tell later whether the
// log was changed or cut.
func (a *Reader) Checkpoint(ctx context.Context, key *ledger.Key) ([]byte, *service.Failure) {
	head, err := a.Ledger.LogOf(key.ID).Head(ctx)
	if err != nil {
		return nil, a.StoreFault("a checkpoint could not be made", err)
	}
	note, err := a.Signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: a.Clock().Truncate(time.Second)})
	if err != nil {
		a.Log.Error("a checkpoint could not be signed", "error", err)
		return nil, service.Fail(errcode.Internal, "the checkpoint could not be signed")
	}
	return note, nil
}
