package eventjson

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/subject"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

var at = time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC).UnixNano()

// TestView is what each kind of event looks like.
func TestView(t *testing.T) {
	for _, row := range []struct {
		event ledger.LoggedEvent
		want  string
	}{
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.KeyCreated, Tier: "developer", Scopes: ledger.ScopeAuthorize}, `"event":"key.created" "plan":"developer" "scopes":["authorize"]`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.KeyWasRevoked}, `"event":"key.revoked"`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.KeyChanged, Tier: "growth", Scopes: ledger.ScopeAuthorize | ledger.ScopeWebhooks}, `"event":"key.changed" "plan":"growth" "scopes":["authorize","webhooks:write"]`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.DeliverySettled, Webhook: ledger.ID{2}}, `"event":"webhook.changed" "webhookId":"02000000-0000-0000-0000-000000000000" "webhookChange":"disabled"`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.PolicyBound, Rollback: true, Event: ledger.Event{PolicyHash: [32]byte{0xab}}}, `"event":"policy.deployed" "policyHash":"ab` + strings.Repeat("0", 62) + `" "rollback":true`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.HoldResolved, Hold: ledger.ID{3}, HoldState: ledger.HoldRefused}, `"event":"hold.resolved" "holdId":"03000000-0000-0000-0000-000000000000" "holdStatus":"DENIED"`},
		{
			ledger.LoggedEvent{LSN: 7, Kind: ledger.PinsChanged, Server: "files", Pins: []ledger.PinView{{Tool: "read", Change: ledger.ToolPinned, SHA256: [32]byte{0xab}}, {Tool: "write", Change: ledger.ToolForgotten}}},
			`"event":"mcp.pins" "serverId":"files" "pins":[{"toolName":"read","change":"pinned","sha256":"ab` + strings.Repeat("0", 62) + `"},{"toolName":"write","change":"forgotten"}]`,
		},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.HoldExpired, Hold: ledger.ID{3}}, `"event":"hold.expired" "holdId":"03000000-0000-0000-0000-000000000000" "holdStatus":"EXPIRED"`},
		{ledger.LoggedEvent{LSN: 7, Kind: ledger.AttestationUsed, Event: ledger.Event{Endpoint: "/rpc/1", ChainID: 1}}, `"event":"attestation.used" "endpoint":"/rpc/1" "chainId":1`},
		{
			ledger.LoggedEvent{
				LSN: 7, Kind: ledger.Decided, Plan: ledger.ID{4}, Result: ledger.Passed, Observed: true,
				Ending:   ledger.Ending{Decision: ledger.Allowed, Code: errcode.BlockedCommand, Rule: "tool_calls.bash.blocked_commands"},
				Event:    ledger.Event{Class: uint8(vm.Tool), Action: "bash", AgentID: "a", RequestID: "r", Value: "rm -rf", Detail: "why", Commitment: [32]byte{1}},
				Counters: []ledger.CounterValue{{Counter: ledger.Counter{Limit: "secret"}}},
			},
			`"event":"decision" "id":"04000000-0000-0000-0000-000000000000" "requestId":"r" "agentId":"a" "action":"bash" "kind":"tool" "commitment":"01` + strings.Repeat("0", 62) +
				`" "decision":"ALLOWED" "errorCode":"SVC_POLICY_VIOLATION_BLOCKED_COMMAND" "matchedRule":"tool_calls.bash.blocked_commands" "observed":true "value":"rm -rf" "message":"why"`,
		},
		{
			ledger.LoggedEvent{LSN: 7, Kind: ledger.Decided, Result: ledger.Refused, Ending: ledger.Ending{Decision: ledger.Denied, Rule: "soft_limits.daily_tool_calls"}},
			`"event":"decision" "decision":"DENIED" "matchedRule":"soft_limits.daily_tool_calls" "message":"the intent would exceed soft_limits.daily_tool_calls"`,
		},
		{
			ledger.LoggedEvent{LSN: 7, Kind: ledger.Decided, Plan: ledger.ID{4}, Ending: ledger.Ending{Decision: ledger.Allowed}},
			`"event":"decision" "id":"04000000-0000-0000-0000-000000000000" "requestId":"04000000000000000000000000000000" "decision":"ALLOWED"`,
		},
		{
			ledger.LoggedEvent{LSN: 7, Kind: ledger.Decided, Result: ledger.Held, Ending: ledger.Ending{Decision: ledger.Pending}, Hold: ledger.ID{3}, HoldState: ledger.HoldPending, HoldExpires: at},
			`"event":"decision" "decision":"PENDING" "message":"a person has to decide" "holdId":"03000000-0000-0000-0000-000000000000" "holdStatus":"PENDING" "holdExpiresAt":"2026-11-21T12:00:00.000000005Z"`,
		},
	} {
		row.event.Key, row.event.At = ledger.ID{1}, at
		raw, err := json.Marshal(View(&row.event))
		if err != nil {
			t.Fatal(err)
		}
		event, rest, _ := strings.Cut(row.want, " ")
		want := `{"lsn":7,` + event + `,"keyId":"01000000-0000-0000-0000-000000000000","timestamp":"2026-11-21T12:00:00.000000005Z"`
		if rest != "" {
			want += "," + strings.ReplaceAll(rest, `" "`, `","`)
		}
		if got := string(raw); got != tidy(want)+"}" {
			t.Errorf("%s\nwant\n%s", got, tidy(want)+"}")
		}
	}
}

// TestSubject: an event shows its subject, and masks what a record of version 1 has as it was sent.
func TestSubject(t *testing.T) {
	e := ledger.LoggedEvent{Kind: ledger.Decided}
	if View(&e).Subject != nil {
		t.Error("an event without a subject has one")
	}
	e.Event.Subject.Set(subject.Host, "example.com")
	e.Event.Value, e.Event.Detail, e.Event.Details.Entry = "sudo sk_live_0123456789", "not sk_live_0123456789", "sk_live_0123456789"
	view := View(&e)
	if view.Subject == nil || view.Subject.Texts[subject.Host] != "example.com" {
		t.Errorf("the subject is %v", view.Subject)
	}
	raw, err := json.Marshal(view)
	if err != nil || strings.Contains(string(raw), "0123456789") || strings.Count(string(raw), "sk_"+mask.Hidden) != 4 {
		t.Errorf("%s, %v", raw, err)
	}
}

// tidy joins the members of a test's shorthand.
func tidy(text string) string {
	for _, end := range []string{"true", "1"} {
		text = strings.ReplaceAll(text, end+` "`, end+`,"`)
	}
	return text
}
