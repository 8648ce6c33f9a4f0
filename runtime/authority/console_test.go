package authority

import (
	"context"
	"crypto/rand"
	"testing"
	"time"
)

// TestCountDecisionsPartial: of more records than are looked at the latest are counted, and the counts say so.
func TestCountDecisionsPartial(t *testing.T) {
	h := newHouse(t, rand.Reader)
	from := h.Clock().Add(-time.Hour)
	count := func(records uint64) (decisions int, counts *DecisionCounts) {
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
	few, counts := count(countedRecords)
	if counts.Partial || few == 0 || few >= countedRecords {
		t.Errorf("%d decisions of %d records are counted, partial %v", few, countedRecords, counts.Partial)
	}
	if many, counts := count(countedRecords + 50); !counts.Partial || many != countedRecords {
		t.Errorf("%d decisions of %d records are counted, partial %v", many, countedRecords+50, counts.Partial)
	}
	// Where the records before are older than the time, nothing is missing.
	from = h.Clock().Add(time.Second)
	if none, counts := count(0); counts.Partial || none != 0 {
		t.Errorf("%d decisions after the last one are counted, partial %v", none, counts.Partial)
	}
}
