package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

// TestHistory has deliveries taken, refused and not answered, and looks at what is kept of the attempts.
func TestHistory(t *testing.T) {
	w := newWorld(t)
	var status atomic.Int32
	status.Store(http.StatusNoContent)
	receiver := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(int(status.Load())) }))
	hook := w.hook(1, receiver.URL, ledger.AllTopics)
	attempts := func(n int) []Attempt {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if list := w.history.Of(hook); len(list) >= n {
				return list
			}
			if time.Now().After(deadline) {
				t.Fatalf("there are %v, not %d", w.history.Of(hook), n)
			}
		}
	}
	lsn := w.deny()
	if got := attempts(1)[0]; got.LSN != lsn || got.Status != 204 || got.Number != 1 || got.Ended != metrics.Delivered || !got.Next.IsZero() || got.Fault != "" || got.Topic != "intent.denied" {
		t.Errorf("%+v", got)
	}
	status.Store(http.StatusInternalServerError)
	w.deny()
	if got := attempts(2)[0]; got.Status != 500 || got.Ended != metrics.Failed || !got.Next.After(got.At) {
		t.Errorf("%+v", got)
	}
	receiver.Close()
	w.now.Add(int64(time.Hour))
	if got := attempts(3)[0]; got.Status != 0 || got.Number != 2 || got.Fault != "no connection, or no answer over it" {
		t.Errorf("%+v", got)
	}
	if other := w.history.Of(ledgertest.ID('w', 9)); len(other) != 0 {
		t.Errorf("another webhook has %v", other)
	}
}

// TestHistoryIsBounded: the oldest attempts go first, and so do some webhooks.
func TestHistoryIsBounded(t *testing.T) {
	h := NewHistory()
	for n := range 3 * keptAttempts {
		h.add(ledgertest.ID('w', 1), Attempt{Number: n})
	}
	got := h.Of(ledgertest.ID('w', 1))
	if len(got) != keptAttempts || got[0].Number != 3*keptAttempts-1 || got[keptAttempts-1].Number != 2*keptAttempts {
		t.Errorf("%v", got)
	}
	for n := range uint64(keptHooks + 10) {
		h.add(ledgertest.ID('w', n), Attempt{})
	}
	if len(h.byHook) != keptHooks {
		t.Errorf("%d webhooks are kept", len(h.byHook))
	}
	var none *History
	none.add(ledgertest.ID('w', 1), Attempt{})
	if none.Of(ledgertest.ID('w', 1)) != nil {
		t.Error("a history that is none has something")
	}
}

// TestFaults: a fault names neither addresses nor what the system said.
func TestFaults(t *testing.T) {
	for want, err := range map[string]error{
		"":                            nil,
		"public Internet":             fmt.Errorf("dial tcp: %w: 10.0.0.1", errAddress),
		"no answer within 15s":        context.DeadlineExceeded,
		"no connection, or no answer": errors.New("dial tcp 10.0.0.1:443: connection refused"),
	} {
		if got := faultOf(err); !strings.Contains(got, want) || strings.Contains(got, "10.0.0.1") || (got == "") != (err == nil) {
			t.Errorf("%v is said to be %q", err, got)
		}
	}
}
