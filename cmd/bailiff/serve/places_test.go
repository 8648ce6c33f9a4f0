package serve

import (
	"testing"

	"bailiff/runtime/holds"
)

// TestHoldWaitsLeavePlaces holds that requests that wait for holds can't take all connections.
func TestHoldWaitsLeavePlaces(t *testing.T) {
	for room, want := range map[int]int{1: 1, 100: 25, 768: 192, maxPlaces: holds.MaxWaits} {
		if got := placesOf(room, nil, nil).holdWaits(); got != want {
			t.Errorf("of %d places %d wait for holds, want %d", room, got, want)
		}
	}
	if got := (*places)(nil).holdWaits(); got != holds.MaxWaits {
		t.Errorf("without places %d wait for holds", got)
	}
}
