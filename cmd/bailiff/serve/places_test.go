package serve

import (
	"testing"

	"bailiff/runtime/authority"
)

// TestHoldWaitsLeavePlaces holds that requests that wait for holds can't take all connections.
func TestHoldWaitsLeavePlaces(t *testing.T) {
	for room, want := range map[int]int{1: 1, 100: 25, 768: 192, maxPlaces: authority.MaxHoldWaits} {
		if got := placesOf(room, nil, nil).holdWaits(); got != want {
			t.Errorf("of %d places %d wait for holds, want %d", room, got, want)
		}
	}
	if got := (*places)(nil).holdWaits(); got != authority.MaxHoldWaits {
		t.Errorf("without places %d wait for holds", got)
	}
}
