package serve

import (
	"testing"

	"bailiff/httpd/strict"
	"bailiff/runtime/holds"
)

// TestHoldWaitsLeavePlaces holds that requests that wait for holds can't take all connections.
func TestHoldWaitsLeavePlaces(t *testing.T) {
	for room, want := range map[int]int{1: 1, 100: 25, 768: 192, 1 << 18: holds.MaxWaits} {
		if got := holdWaits(strict.NewSlots(room, nil, nil, nil)); got != want {
			t.Errorf("of %d slots %d wait for holds, want %d", room, got, want)
		}
	}
	if got := holdWaits(nil); got != holds.MaxWaits {
		t.Errorf("without slots %d wait for holds", got)
	}
}
