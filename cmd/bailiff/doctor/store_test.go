package doctor

import (
	"strings"
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
		{pgledger.Status{Lone: "b"}, false, false, Doubt},
		{pgledger.Status{Lone: "b"}, true, false, ""},
		{pgledger.Status{Lone: "b", Waits: "b"}, false, false, Trouble},
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

func TestJudgePolicies(t *testing.T) {
	same := []pgledger.InstancePolicy{{Instance: "a", Policy: "1"}, {Instance: "b", Policy: "1"}}
	for _, row := range []struct {
		policies []pgledger.InstancePolicy
		want     string // of the one finding; "" where there is none
	}{
		{nil, ""}, {same, ""}, {[]pgledger.InstancePolicy{{Instance: "a"}, {Instance: "b"}}, ""},
		{append(same, pgledger.InstancePolicy{Instance: "c", Policy: "2"}), "c has 2"},
		{append(same, pgledger.InstancePolicy{Instance: "c"}), "c has none"},
	} {
		p := &Patient{}
		if p.judgePolicies(row.policies); (len(p.Findings) == 1) != (row.want != "") || row.want != "" && !strings.Contains(p.Findings[0].Message, row.want) {
			t.Errorf("%v: %+v", row.policies, p.Findings)
		}
	}
}
