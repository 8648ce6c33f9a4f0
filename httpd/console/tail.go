package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"bailiff/runtime/budget"
	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
)

const (
	// tailWait is how long a request for new events waits for one. The browser asks again by itself.
	tailWait = 15 * time.Second
	// tailRetry is how long the browser waits before it asks again, in milliseconds.
	tailRetry = 1000
	// maxTails is how many requests wait for new events at once, and maxTailsOfKey how many of one key.
	maxTails      = 1024
	maxTailsOfKey = 16
)

// tails counts the requests that wait for new events.
type tails struct {
	mu    sync.Mutex
	count int
	byKey map[ledger.ID]int
}

// begin adds a request of a key; end ends that. It is not ok where there is no room.
func (t *tails) begin(key ledger.ID) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count >= maxTails || t.byKey[key] >= maxTailsOfKey {
		return nil, false
	}
	t.count++
	t.byKey[key]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.count--
		if t.byKey[key]--; t.byKey[key] == 0 {
			delete(t.byKey, key)
		}
	}, true
}

// Sessions returns how many sessions there are.
func (c *Console) Sessions() int { return c.sessions.count() }

// Memory returns the budget of the sessions' memory.
func (c *Console) Memory() *budget.Budget { return c.sessions.budget }

// Tails returns how many requests wait for new events.
func (c *Console) Tails() int {
	c.tails.mu.Lock()
	defer c.tails.mu.Unlock()
	return c.tails.count
}

// tail answers with new events in the form of server-sent events (HTML Standard, 9.2), or with none after a while. Each answer
// ends, and the browser asks again behind the last id that it got, so that every request is held to the session anew. Between
// two of them the session may end, too: then there is no further answer.
func (c *Console) tail(ctx context.Context, v *visit, _ string) *Response {
	asked := filter{Decision: v.Query.Get("decision"), Rule: v.Query.Get("rule")}
	query, _, err := asked.query("")
	place := v.LastEventID
	if place == "" {
		place = v.Query.Get("after")
	}
	if err == nil {
		if query.After, err = strconv.ParseUint(place, 10, 63); err != nil {
			err = fmt.Errorf("after is %.32q; it is a place in the log", place)
		}
	}
	if err == nil && len(asked.Rule) > ledger.MaxRule {
		err = fmt.Errorf("rule has %d bytes: at most %d", len(asked.Rule), ledger.MaxRule)
	}
	if err != nil {
		return c.problem(v, http.StatusBadRequest, err.Error())
	}
	end, ok := c.tails.begin(v.key.ID)
	if !ok {
		return c.problem(v, http.StatusServiceUnavailable, "Too many pages of this key wait for new events. Close some.")
	}
	defer end()
	// An operator's other page may choose another key meanwhile, and a browser sign in with one.
	good := func() bool {
		key := c.sessionKey(v.Token, c.sessions.peek)
		return key != nil && key.ID == v.key.ID && (!v.Query.Has("key") || v.Query.Get("key") == key.ID.String())
	}
	view, fault := c.Authority.Tail(ctx, v.key, query, tailWait, good)
	if fault != nil {
		return c.fail(v, fault)
	}
	if !good() {
		return &Response{Status: http.StatusNoContent} // which ends the browser's asking
	}
	return &Response{Status: http.StatusOK, Type: "text/event-stream", Body: stream(view)}
}

// stream writes events, each with its place as its id, and at the end the place to go on from.
func stream(view *events.Page) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "retry: %d\n\n", tailRetry)
	for _, row := range rows(view.Events) {
		text, err := json.Marshal(row)
		if err != nil {
			continue // a struct of texts and numbers
		}
		fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", row.LSN, text)
	}
	fmt.Fprintf(&b, "id: %s\n\n", view.Next)
	return b.Bytes()
}

func (c *Console) script(context.Context, *visit, string) *Response {
	return &Response{Status: http.StatusOK, Type: "text/javascript; charset=utf-8", Body: tailScript, Cacheable: true}
}
