package decision

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/vm/errcode"
)

// malformedIn returns the events of malformed requests.
func malformedIn(t *testing.T, h *house) (events []ledger.LoggedEvent) {
	t.Helper()
	if _, fault := h.decide(bashIntent, false); fault != nil { // with whose group they are written
		t.Fatal(fault)
	}
	page, err := h.ledger.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Kind == ledger.RequestMalformed {
			events = append(events, e)
		}
	}
	return events
}

// TestMalformedEvents: a request that can't be decided leaves its code and field, and no value; of one key sixty a minute do.
func TestMalformedEvents(t *testing.T) {
	h := newHouse(t, rand.Reader)
	const secret = "hunter2"
	for _, body := range []string{
		`{"action":"bash","method":"` + secret + `"}`, `{"action":"bash","amount":"` + secret + `"}`, `{"action":"wallet.transfer","to":` + "\xff" + `}`,
	} {
		if _, fault := h.decide(body, false); fault == nil {
			t.Fatalf("%s is decided", body)
		}
	}
	events := malformedIn(t, h)
	if len(events) != 3 {
		t.Fatalf("3 malformed requests left %d events", len(events))
	}
	for i, field := range []string{"intent.method", "amount", ""} {
		e := &events[i]
		if e.Event.Detail != field || e.Ending.Code != errcode.ValidationSchema || e.Event.Value != "" || e.Event.Action != "" || e.Key != h.key.ID {
			t.Errorf("event %d is %+v", i, e)
		}
		if strings.Contains(e.Event.Detail, secret) {
			t.Errorf("event %d has a value: %+v", i, e)
		}
	}
	for range 100 {
		if _, fault := h.decide(`{"action":1}`, true); fault == nil {
			t.Fatal("an action that is a number is decided")
		}
	}
	if n := len(malformedIn(t, h)); n != maxMalformed {
		t.Errorf("103 malformed requests of a minute left %d events", n)
	}
}

// TestMalformedPerMinute: each key has sixty events a minute, and a clock that goes back gives no more.
func TestMalformedPerMinute(t *testing.T) {
	var m malformed
	one, other := ledger.ID{1}, ledger.ID{2}
	left := func(key ledger.ID, now int64) (n int) {
		for m.admit(key, now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		key  ledger.ID
		now  int64
		want int
	}{{one, 600, 60}, {one, 659, 0}, {other, 659, 60}, {one, 660, 60}, {one, 600, 0}, {other, 719, 60}} {
		if n := left(c.key, c.now); n != c.want {
			t.Errorf("at %d key %d has room for %d events, want %d", c.now, c.key[0], n, c.want)
		}
	}
}
