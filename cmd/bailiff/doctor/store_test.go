package doctor

import (
	"testing"
	"time"

	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/state"
)

func TestJudgeStore(t *testing.T) {
	for _, row := range []struct {
		status  pgledger.Status
		trust   bool
		running bool
		want    string // the verdict; "" for no finding
	}{
		{pgledger.Status{Slots: []pgledger.SlotStatus{{Owner: "a"}}}, false, true, ""},
		{pgledger.Status{Unsafe: "one machine"}, false, false, Trouble},
		{pgledger.Status{Unsafe: "one machine"}, true, false, Doubt},
		{pgledger.Status{Changes: true}, false, false, Doubt},
		{pgledger.Status{Moved: "/data"}, false, false, Trouble},
		{pgledger.Status{Offset: -2 * time.Second}, false, false, Trouble},
		{pgledger.Status{Offset: 700 * time.Millisecond}, false, false, Doubt},
		{pgledger.Status{Offset: 100 * time.Millisecond}, false, false, ""},
		{pgledger.Status{Slots: []pgledger.SlotStatus{{Owner: "a"}, {Slot: 1}}}, false, true, Trouble},
		{pgledger.Status{Writes: state.Latest() - 1}, false, false, Doubt},
	} {
		if row.status.Writes == 0 {
			row.status.Writes = state.Latest()
		}
		p := &Patient{running: row.running}
		p.judgeStore(&row.status, row.trust)
		got := ""
		if len(p.Findings) > 0 {
			got = p.Findings[0].Verdict
		}
		if got != row.want || len(p.Findings) > 1 {
			t.Errorf("%+v (trust: %v): %+v, want %q", row.status, row.trust, p.Findings, row.want)
		}
	}
}
