package holds

import (
	"log/slog"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/turns"
)

// TestRoom: of a key a quarter of the room waits, in all as many as there is room for, and nothing is left of who has left.
func TestRoom(t *testing.T) {
	watch := turns.NewWatch(metrics.Waiting, slog.New(slog.DiscardHandler), func() time.Time { return time.Unix(0, 0) }, nil)
	waits := newHoldWaits(8, watch)
	var leaves []func()
	for key := range byte(5) {
		for i := range 3 {
			_, leave, ok := waits.add(ledger.ID{key}, ledger.ID{9})
			if ok != (key < 4 && i < 2) {
				t.Errorf("request %d of key %d: room is %v", i, key, ok)
			}
			if ok {
				leaves = append(leaves, leave)
			}
		}
	}
	for _, leave := range leaves {
		leave()
	}
	if waits.count != 0 || len(waits.byKey) != 0 || len(waits.holds) != 0 {
		t.Errorf("%d requests wait, of %d keys and for %d holds", waits.count, len(waits.byKey), len(waits.holds))
	}
	waits = newHoldWaits(1, watch)
	if _, _, ok := waits.add(ledger.ID{1}, ledger.ID{9}); !ok {
		t.Error("there is no room for the first")
	}
	if _, _, ok := waits.add(ledger.ID{2}, ledger.ID{9}); ok {
		t.Error("another key finds room beyond what there is")
	}
}
