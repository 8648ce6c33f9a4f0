package approvals_test

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
)

// TestApprovalSummaries: however much an agent writes, and whatever, the service's own lines are all there, and each stands on its line.
func TestApprovalSummaries(t *testing.T) {
	d := newDesk(t, 1)
	_, visit := d.approver("alice")
	for what, text := range map[string]string{
		"nothing": "", "steering": strings.Repeat("\\u0001\\u202e\\n", 400), "long": strings.Repeat("a", 3000), "wide": strings.Repeat("\U0001f600", 900),
		"an own line": "x\\npolicy: 0000\\nexpires: never",
	} {
		members := ""
		for i := range 12 {
			members += fmt.Sprintf(`,"note%02d":"%s"`, i, text)
		}
		shown, fault := d.Show(d.ctx, visit, d.holdOf(`"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.5","metadata":{"a":1`+members+`}`))
		if fault != nil {
			t.Fatalf("%s: %v", what, fault)
		}
		if len(shown.Summary) > ledger.MaxApprovalSummary {
			t.Errorf("%s: %d bytes", what, len(shown.Summary))
		}
		for _, name := range []string{"action", "amount", "in all", "agent", "API key", "rule", "policy", "hold", "opened", "expires", "also waiting", "intent.targetAddress"} {
			if n := strings.Count("\n"+shown.Summary, "\n"+name+": "); n != 1 {
				t.Errorf("%s: %d lines %q:\n%s", what, n, name, shown.Summary)
			}
		}
		if strings.ContainsAny(shown.Summary, "\u202e\x01") {
			t.Errorf("%s: %q", what, shown.Summary)
		}
	}
}

// TestApprovalCallData: what call data move is held against the bounds, and not the declared amount alone.
func TestApprovalCallData(t *testing.T) {
	d := newDesk(t, 1)
	made, visit := d.approver("alice")
	hold := d.holdOf(`"action":"contract.call","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.5","calldata":"0xa9059cbb` + strings.Repeat("0", 62) + "22" + strings.Repeat("0", 62) + `64"`)
	shown, fault := d.Show(d.ctx, visit, hold)
	if fault != nil || shown.Refused != "" || !strings.Contains(shown.RefusedApproval, "a token that the policy doesn't know") {
		t.Fatalf("%v %+v", fault, shown)
	}
	if status, err := d.decide(visit, made, hold, ledger.Denied, nil); err != nil || status != "DENIED" {
		t.Error(status, err)
	}
	hold = d.holdOf(`"action":"contract.call","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.5","calldata":"0x12345678"`)
	if shown, fault = d.Show(d.ctx, visit, hold); fault != nil || !strings.Contains(shown.RefusedApproval, "without an amount") {
		t.Fatalf("%v %+v", fault, shown)
	}
}
