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
		if len(shown.Text) > ledger.MaxApprovalSummary {
			t.Errorf("%s: %d bytes", what, len(shown.Text))
		}
		for _, name := range []string{"action", "amount", "in all", "agent", "API key", "rule", "policy", "hold", "opened", "expires", "also waiting", "intent.targetAddress"} {
			if n := strings.Count("\n"+shown.Text, "\n"+name+": "); n != 1 {
				t.Errorf("%s: %d lines %q:\n%s", what, n, name, shown.Text)
			}
		}
		if strings.ContainsAny(shown.Text, "\u202e\x01") {
			t.Errorf("%s: %q", what, shown.Text)
		}
	}
}

// TestApprovalForemost: whatever else an agent writes, the summary says where a transfer goes, and says that there is more, where there is.
func TestApprovalForemost(t *testing.T) {
	var caps strings.Builder
	caps.WriteString("\n## soft_limits\n")
	for i := range 24 {
		fmt.Fprintf(&caps, "cap.transfers_with_a_long_name_%02d.max_count: 1000\ncap.transfers_with_a_long_name_%02d.window: day\ncap.transfers_with_a_long_name_%02d.action: wallet.transfer\n", i, i, i)
	}
	d := newDesk(t, 1, caps.String())
	_, visit := d.approver("alice")
	for _, padded := range []bool{false, true} {
		members := `"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.5"`
		if pad := "/" + strings.Repeat("a", 200); padded {
			for _, name := range []string{"command", "cwd", "path", "query"} {
				members += fmt.Sprintf(`,%q:%q`, name, pad)
			}
			members += fmt.Sprintf(`,"arguments":{"a":%q},"metadata":{"a":%q}`, pad, pad)
		}
		shown, fault := d.Show(d.ctx, visit, d.holdOf(members))
		if fault != nil {
			t.Fatal(fault)
		}
		if !strings.Contains(shown.Text, "\nintent.targetAddress: 0x00000000000000000000000000000000000000aa\n") || len(shown.Text) > ledger.MaxApprovalSummary {
			t.Errorf("padded %v: the summary doesn't say where it goes:\n%s", padded, shown.Text)
		}
		if shown.Cut != strings.Contains(shown.Text, "the whole intent is below") {
			t.Errorf("padded %v: Cut is %v of:\n%s", padded, shown.Cut, shown.Text)
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
