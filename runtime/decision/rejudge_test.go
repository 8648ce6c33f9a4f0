package decision

import (
	"context"
	"strings"
	"testing"

	"bailiff/runtime/events"
	"bailiff/vm/errcode"
)

const rejudgePolicy = `version: 2.4.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 1
## tool_calls
allowed: bash, file_write, web_fetch, email.send
bash.blocked_commands: rm -rf
bash.require_approval: git push
file_write.blocked_paths: /etc
email.require_approval: true
## soft_limits
cap.calls.max_count: 100
cap.calls.window: day
cap.calls.action: *
`

// rejudged decides an intent, and judges the decision again.
func (h *house) rejudged(intent string) (status string, again *Rejudged) {
	h.t.Helper()
	answer, fault := h.decide(intent, false)
	if fault != nil {
		h.t.Fatalf("%s: %v", intent, fault.Message)
	}
	latest, fault := h.Latest(h.t.Context(), h.key, events.Query{Limit: 1}, 0)
	if fault != nil || len(latest.Events) == 0 {
		h.t.Fatalf("%s has no event: %v", intent, fault)
	}
	if again, fault = h.Rejudge(h.t.Context(), h.key, &latest.Events[0]); fault != nil {
		h.t.Fatal(fault.Message)
	}
	return answer.Status, again
}

// says returns the rules that say something.
func (r *Rejudged) says() string {
	var list []string
	for _, rule := range r.Rules {
		if rule.Says != "" {
			list = append(list, rule.Rule+" "+rule.Says)
		}
	}
	return strings.Join(list, ", ")
}

// TestRejudge: where the record has all of a request that the policy asks for, it is decided as before, and the rules say why.
func TestRejudge(t *testing.T) {
	h, _ := limited(t, rejudgePolicy)
	for _, c := range []struct{ intent, status, says string }{
		{`{"action":"bash","command":"ls -l","task_id":"t"}`, "ALLOWED", "soft_limits.cap.calls.max_count counts"},
		{`{"action":"bash","command":"rm -rf /"}`, "DENIED", "tool_calls.bash.blocked_commands denies"},
		{`{"action":"bash","command":"git push"}`, "PENDING", "tool_calls.bash.require_approval asks for a person"},
		{`{"action":"file_write","path":"/etc/passwd"}`, "DENIED", "tool_calls.file_write.blocked_paths denies"},
		{`{"action":"file_write","path":"/srv/x"}`, "ALLOWED", "soft_limits.cap.calls.max_count counts"},
		{`{"action":"email.send","to":"ann@example.com"}`, "PENDING", "tool_calls.email.require_approval asks for a person"},
		{`{"action":"wallet.transfer","amount":"0.5","targetAddress":"0x00000000000000000000000000000000000000aa"}`, "ALLOWED", "soft_limits.cap.calls.max_count counts"},
		{`{"action":"wallet.transfer","amount":"1.5","targetAddress":"0x00000000000000000000000000000000000000aa"}`, "DENIED", "evm.max_transaction_eth denies"},
		{`{"action":"curl"}`, "DENIED", "tool_calls.allowed denies"},
	} {
		status, again := h.rejudged(c.intent)
		if status != c.status || again.Status != c.status || !strings.Contains(again.says(), c.says) || len(again.Missing) == 0 {
			t.Errorf("%s: %s, and again %s %q: %s, missing %q; want %s, %s", c.intent, status, again.Status, again.Fault, again.says(), again.Missing, c.status, c.says)
		}
	}
	if before, after := h.limitsText(), h.limitsText(); before != after {
		t.Errorf("judging again has an effect: %s, then %s", before, after)
	}
}

// TestRejudgeTakesATurn: a key's pages do not judge beside its other heavy requests.
func TestRejudgeTakesATurn(t *testing.T) {
	h, _ := limited(t, rejudgePolicy)
	h.rejudged(`{"action":"bash","command":"ls"}`)
	latest, _ := h.Latest(t.Context(), h.key, events.Query{Limit: 1}, 0)
	done, fault := h.heavyTurn(t.Context(), h.key.ID)
	if fault != nil {
		t.Fatal(fault.Message)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, fault := h.Rejudge(gone, h.key, &latest.Events[0]); fault == nil || fault.Code != errcode.EvaluationBusy {
		t.Errorf("beside another one it is answered %v", fault)
	}
	done()
	if _, fault := h.Rejudge(t.Context(), h.key, &latest.Events[0]); fault != nil {
		t.Errorf("in its turn it is answered %s", fault.Message)
	}
}

// TestRejudgeMissing: what the record lacks is said.
func TestRejudgeMissing(t *testing.T) {
	h, _ := limited(t, rejudgePolicy)
	for intent, want := range map[string]string{
		`{"action":"bash","command":"curl -H 'Authorization: Bearer abcdefgh'"}`: "a credential in command is masked",
		`{"action":"bash","command":"echo ` + strings.Repeat("x", 300) + `"}`:    "longer than its beginning",
		`{"action":"email.send","to":["ann@example.com","ben@example.com"]}`:     "first value of recipient",
		`{"action":"file_write","paths":["/srv/a","/srv/b"]}`:                    "first value of path",
	} {
		if _, again := h.rejudged(intent); !strings.Contains(strings.Join(again.Missing, "; "), want) {
			t.Errorf("%s: missing is %q; want %q", intent, again.Missing, want)
		}
	}
	h.EventDetail = DigestDetail
	status, again := h.rejudged(`{"action":"bash","command":"rm -rf /"}`)
	if status != "DENIED" || again.Status != "ALLOWED" || !strings.Contains(strings.Join(again.Missing, "; "), "command is a digest") {
		t.Errorf("of a digest: %s, and again %s, missing %q", status, again.Status, again.Missing)
	}
	latest, _ := h.Latest(t.Context(), h.key, events.Query{Limit: 1}, 0)
	latest.Events[0].PolicyHash = strings.Repeat("0", 64)
	if again, _ := h.Rejudge(t.Context(), h.key, &latest.Events[0]); !strings.Contains(strings.Join(again.Missing, "; "), "another one") {
		t.Errorf("under another policy missing is %q", again.Missing)
	}
	latest.Events[0].Action = ""
	if again, _ := h.Rejudge(t.Context(), h.key, &latest.Events[0]); again.Fault == "" || again.Status != "" {
		t.Errorf("a request that is none is answered %+v", again)
	}
}
