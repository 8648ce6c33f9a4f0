package decision

import (
	"fmt"
	"strings"
	"testing"
)

// TestApprovalRoom: lines of the intent and of limits keep to the room that the service's own lines leave, and say where some are left out.
func TestApprovalRoom(t *testing.T) {
	intent := []byte(`{"chainId":1,"intent":{"command":"` + strings.Repeat("c", 900) + `","path":"` + strings.Repeat("p", 900) + `","url":"https://a.example"}}`)
	var limits []string
	for i := range 40 {
		limits = append(limits, fmt.Sprintf("limit %d: %s", i, strings.Repeat("l", 20)))
	}
	for room := 100; room <= 1400; room += 10 {
		lines, left := intentLines(intent, false, room)
		whole := size(lines) <= room && strings.HasPrefix(lines[0], "chain: ") && strings.HasPrefix(lines[len(lines)-1], "intent.path: ")
		cut := size(lines) <= room+len(cutIntent) && lines[len(lines)-1]+"\n" == cutIntent
		if !whole && !cut || !left {
			t.Errorf("room for %d bytes: %d of the intent: %q", room, size(lines), lines)
		}
		kept := fitting(limits, room)
		if last := kept[len(kept)-1]; size(kept) > room || len(kept) <= len(limits) && last != limits[len(limits)-1] && !strings.HasSuffix(last, " more are not shown") {
			t.Errorf("room for %d bytes: %d of limits: %q", room, size(kept), kept)
		}
	}
}
