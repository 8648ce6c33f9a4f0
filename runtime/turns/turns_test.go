package turns

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

// TestTurns: a key's work is done one after the other, few wait for it, what has no turn is told so, and nothing is left of a key
// whose work is done.
func TestTurns(t *testing.T) {
	watch := NewWatch(metrics.Compiling, slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(0, 0) }, nil)
	shared := make(chan struct{}, 1)
	turns := New(2, 1, shared, watch)
	first, ok := turns.Take(t.Context(), ledger.ID{1})
	if !ok || turns.UnderWay() != 1 || len(shared) != 1 {
		t.Fatalf("%v, %d under way", ok, turns.UnderWay())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := turns.Take(ended, ledger.ID{2}); ok { // no shared place
		t.Error("two have one place")
	}
	second := make(chan func())
	go func() {
		done, _ := turns.Take(context.Background(), ledger.ID{1})
		second <- done
	}()
	waits := func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.keys[ledger.ID{1}].count == 2
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	if _, ok := turns.Take(t.Context(), ledger.ID{1}); ok {
		t.Error("more wait than may")
	}
	first()
	(<-second)()
	if len(turns.keys) != 0 || turns.UnderWay() != 0 || len(shared) != 0 {
		t.Errorf("%d keys are left, %d under way, %d shared", len(turns.keys), turns.UnderWay(), len(shared))
	}
}
