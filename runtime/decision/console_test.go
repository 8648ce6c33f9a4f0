package decision

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"bailiff/runtime/events"
)

// TestCountDecisionsPartial: of more records than are looked at the latest are counted, and the counts say so.
func TestCountDecisionsPartial(t *testing.T) {
	h := newHouse(t, rand.Reader)
	from := h.Clock().Add(-time.Hour)
	count := func(records uint64) (decisions int, counts *events.Counts) {
		t.Helper()
		for {
			head, err := h.Ledger.Head(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if head.LSN >= records {
				break
			}
			if _, fault := h.decide(bashIntent, false); fault != nil {
				t.Fatal(fault)
			}
		}
		counts, fault := h.CountDecisions(context.Background(), h.key, from)
		if fault != nil {
			t.Fatal(fault)
		}
		for _, n := range counts.ByStatus {
			decisions += n
		}
		return decisions, counts
	}
	few, counts := count(20_000)
	if counts.Partial || few == 0 || few >= 20_000 {
		t.Errorf("%d decisions of %d records are counted, partial %v", few, 20_000, counts.Partial)
	}
	if many, counts := count(20_050); !counts.Partial || many != 20_000 {
		t.Errorf("%d decisions of %d records are counted, partial %v", many, 20_050, counts.Partial)
	}
	// Where the records before are older than the time, nothing is missing.
	from = h.Clock().Add(time.Second)
	if none, counts := count(0); counts.Partial || none != 0 {
		t.Errorf("%d decisions after the last one are counted, partial %v", none, counts.Partial)
	}
}
