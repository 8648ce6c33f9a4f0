package webhook

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// TestPoisonedEvent has a receiver that refuses one event for good, and takes pings and other events: that event alone is
// given up, and counted.
func TestPoisonedEvent(t *testing.T) {
	for _, refusal := range []int{http.StatusGone, http.StatusInternalServerError} {
		w := newWorld(t)
		var poisoned atomic.Value
		url, got := receive(t, func(_ int, out http.ResponseWriter, r *http.Request) {
			id := r.Header.Get("webhook-id")
			if poisoned.CompareAndSwap(nil, id); poisoned.Load() == id {
				out.WriteHeader(refusal)
			}
		})
		hook := w.hook(1, url, ledger.AllTopics)
		w.deny()
		id := take(t, got).id()
		for range pauses {
			if refusal == http.StatusGone {
				break
			}
			w.now.Store(w.recorded() + int64(48*time.Hour))
			if again := take(t, got).id(); again != id {
				t.Fatalf("%s came, want %s", again, id)
			}
		}
		if ping := take(t, got); ping.kind(t) != pingType {
			t.Fatalf("%d: after the last attempt came %s", refusal, ping.body)
		}
		w.deny()
		if next := take(t, got); next.id() == id || next.kind(t) != "intent.denied" {
			t.Errorf("%d: the next delivery is %s %s", refusal, next.id(), next.body)
		}
		w.now.Add(int64(100 * 24 * time.Hour))
		none(t, got)
		hooks, err := w.l.Webhooks(t.Context(), ledgertest.ID('k', 1))
		if err != nil || len(hooks) != 1 || hooks[0].ID != hook || hooks[0].Disabled != 0 || hooks[0].Dropped != 1 {
			t.Errorf("%d: the webhooks are %+v, %v", refusal, hooks, err)
		}
	}
}

// TestFewLines: the log says when a receiver begins to fail and when it works again, and has no line for each attempt.
func TestFewLines(t *testing.T) {
	w := newWorld(t)
	w.shut()
	var log lockedBuffer
	w.logTo = slog.New(slog.NewTextHandler(&log, nil))
	w.open()
	var good atomic.Bool
	url, got := receive(t, func(_ int, out http.ResponseWriter, _ *http.Request) {
		if !good.Load() {
			out.WriteHeader(http.StatusInternalServerError)
		}
	})
	w.hook(1, url, ledger.AllTopics)
	for range 30 {
		w.deny()
		take(t, got)
	}
	good.Store(true)
	for taken := 0; taken < 30; {
		select {
		case <-got:
			taken++
		case <-time.After(20 * time.Millisecond): // the last failure may have been recorded after the clock had moved
			w.now.Add(int64(6 * time.Second))
		}
	}
	eventually(t, "the line of its working again", func() bool { return strings.Contains(log.String(), "succeed again") })
	if text := log.String(); strings.Count(text, "\n") > 4 || !strings.Contains(text, "deliveries of the webhook fail") {
		t.Errorf("60 attempts, of which 30 failed, are in the log as:\n%s", text)
	}
}

// A lockedBuffer is a buffer that a log may write to while it is read.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestGone(t *testing.T) {
	w := newWorld(t)
	url, got := receive(t, status(410))
	hook := w.hook(1, url, ledger.AllTopics)
	w.deny()
	take(t, got)
	eventually(t, "disabled", func() bool { return w.disabled(hook) })
}

// kind returns the type of a delivery.
func (d delivered) kind(t *testing.T) string {
	t.Helper()
	var body struct{ Type string }
	if err := json.Unmarshal(d.body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Type
}
