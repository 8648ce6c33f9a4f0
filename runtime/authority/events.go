package authority

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// usualEvents is the size of a page whose size nobody names.
	usualEvents = 100
	// examinedEvents bounds the records that one page looks at, so that a rare rule does not read the whole log at once.
	examinedEvents = 100_000
	// pageWait is how long a page of a key's events waits for its turn. Reading one takes the memory of a whole group of
	// records, which may have other keys' policies in it: read at once, the pages of 60 keys took a gigabyte.
	pageWait = 5 * time.Second
)

// MaxCursor is the largest place in the log that a page can start behind. No log comes so far.
const MaxCursor = ledger.MaxLSN

// EventQuery asks for a page of events. What is zero does not narrow.
type EventQuery struct {
	After    uint64    // events behind this place, the Next of the page before
	From, To time.Time // at From or later, and before To
	Decision ledger.Decision
	Rule     string // matched_rule
	Agent    string // agentId
	Task     string // task_id; of records of version 2, which have it
	Action   string // in any case
	Limit    int    // of the page; 0 is 100
}

// EventsView is a page of events, in the order in which they happened. A page may be empty while there are more.
type EventsView struct {
	Events []eventjson.Event `json:"events"`
	Next   string            `json:"next"` // the cursor of the next page
	More   bool              `json:"more"`
}

// Events returns a page of the events of a key, and of no other. A key's pages are read one at a time, and few at once.
func (a *Authority) Events(ctx context.Context, key *ledger.Key, query EventQuery) (*EventsView, *service.Failure) {
	waiting, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	done, ok := a.pages.Take(waiting, key.ID)
	if !ok {
		return nil, service.Retryable(errcode.RateLimited, "other pages of events are being read, and this one got no turn; ask for it again, and for one at a time", service.ComeAgain)
	}
	defer done()
	view, err := eventsOf(ctx, a.Ledger, key.ID, query)
	switch {
	case errors.Is(err, ledger.ErrInvalid):
		return nil, service.Fail(errcode.ValidationSchema, err.Error())
	case err != nil:
		return nil, a.StoreFault("events could not be read", err)
	}
	return view, nil
}

// Events returns a page of the events of the key of an id or, where that is empty, of all keys. An error that wraps
// ledger.ErrInvalid says what is wrong with the question.
func (a *Admin) Events(ctx context.Context, keyID string, query EventQuery) (*EventsView, error) {
	var key ledger.ID
	if keyID != "" {
		var err error
		if key, err = ledger.ParseID(keyID); err != nil {
			return nil, err
		}
	}
	return eventsOf(ctx, a.Ledger, key, query)
}

func eventsOf(ctx context.Context, l ledger.EventReader, key ledger.ID, query EventQuery) (*EventsView, error) {
	asked := ledger.EventQuery{
		After: query.After, Key: key, From: nanoseconds(query.From), To: nanoseconds(query.To),
		Decision: query.Decision, Rule: query.Rule, Agent: query.Agent, Task: query.Task, Action: strings.ToLower(query.Action),
		Limit: query.Limit, Examine: examinedEvents,
	}
	if asked.Limit == 0 {
		asked.Limit = usualEvents
	}
	if query.After > MaxCursor {
		return nil, fmt.Errorf("%w: after is %d: no event stands behind %d", ledger.ErrInvalid, query.After, uint64(MaxCursor))
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
	view := &EventsView{Events: make([]eventjson.Event, len(page.Events)), Next: strconv.FormatUint(page.Next, 10), More: page.More}
	for i := range page.Events {
		view.Events[i] = eventjson.View(&page.Events[i])
	}
	return view, nil
}

// nanoseconds returns a time as the ledger has it; one that is outside of what it can hold is its nearest. The zero time
// is zero.
func nanoseconds(t time.Time) int64 {
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

// Checkpoint returns how far the log has come, signed (C2SP tlog-checkpoint): whoever keeps it can tell later whether the
// log was changed or cut.
func (a *Authority) Checkpoint(ctx context.Context) ([]byte, *service.Failure) {
	head, err := a.Ledger.Head(ctx)
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
