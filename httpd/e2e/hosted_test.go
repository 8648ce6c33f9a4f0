package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"
)

// mailPolicy allows commands, and mails that a person approves.
const mailPolicy = `version: 2.0.0

## tool_calls
allowed: bash, email.send
bash.blocked_commands: rm -rf, rm -fr
email.require_approval: true
`

var (
	listing  = tool("bash", `"command":"ls"`)
	removing = tool("bash", `"command":"rm -rf /"`)
	mailing  = tool("email.send", `"to":"someone@example.com"`)
)

// decides compares a decision.
func (r *running) decides(t *testing.T, what, key, body, want string) answer {
	t.Helper()
	got := r.ask("/v1/authorize", key, body)
	if seen := strings.TrimSpace(got.Status + " " + got.Code); seen != want {
		t.Errorf("%s: %d %s, not %s: %s", what, got.HTTP, seen, want, got.Raw)
	}
	if wantHTTP := map[string]int{"ALLOWED": 200, "DENIED": 403, "PENDING": 202}[got.Status]; wantHTTP != 0 && got.HTTP != wantHTTP {
		t.Errorf("%s: %s with HTTP %d", what, got.Status, got.HTTP)
	}
	if (got.Attestation != "") != (got.Status == "ALLOWED") {
		t.Errorf("%s: %s with the attestation %q", what, got.Status, got.Attestation)
	}
	return got
}

const pendingMail = "PENDING SVC_POLICY_HOLD_APPROVAL_REQUIRED"

// TestHostedStory is the life of a key of a hosted service.
func TestHostedStory(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	me := service.register()
	if !strings.HasPrefix(me.APIKey, "sk_svc_") || me.Plan != "developer" || !slices.Equal(me.Scopes, []string{"authorize", "warranty:deploy"}) ||
		time.Since(me.CreatedAt).Abs() > time.Minute {
		t.Fatalf("registered: %+v", me)
	}
	service.send("POST", "/v1/authorize", me.APIKey, listing).wants(t, "without a policy", "409 SVC_NO_POLICY_DEPLOYED")
	service.send("POST", "/v1/authorize/test-run", me.APIKey, listing).wants(t, "a test-run without a policy", "409 SVC_NO_POLICY_DEPLOYED")

	mine, other := newOperator(t), newOperator(t)
	signed, hash := mine.sign(mailPolicy)
	s.write("warranty.md", signed)
	printed := s.must("deploy", "--url", service.base, "--api-key", me.APIKey, "--key", mine.keep(s, "operator.key"), s.path("warranty.md"))
	if strings.TrimSpace(printed) != hash {
		t.Errorf("deploy printed %q, and the hash is %s", printed, hash)
	}
	if got := service.decides(t, "what is allowed", me.APIKey, listing, "ALLOWED"); got.PolicyHash != hash {
		t.Errorf("policyHash %s", got.PolicyHash)
	}
	if got := service.decides(t, "what is blocked", me.APIKey, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND"); got.Rule != "tool_calls.bash.blocked_commands" {
		t.Errorf("matched_rule %s", got.Rule)
	}
	testRun := service.ask("/v1/authorize/test-run", me.APIKey, mailing)
	if testRun.HTTP != 200 || testRun.Status != "PENDING" || testRun.HoldID != "" || !testRun.TestRun {
		t.Errorf("test-run: %s", testRun.Raw)
	}
	holdsStory(t, service, me.APIKey, mine, other)
	service.send("POST", "/v1/warranty/deploy", me.APIKey, other.deployment(mailPolicy)).wants(t, "another operator", "403 SVC_WARRANTY_OPERATOR_KEY_MISMATCH")
	service.send("POST", "/v1/warranty/deploy", me.APIKey, strings.Replace(mine.deployment(mailPolicy), "rm -rf", "rm -rF", 1)).
		wants(t, "an edited policy", "400 SVC_WARRANTY_SIGNATURE_INVALID")
	broken := service.send("POST", "/v1/warranty/deploy", me.APIKey, mine.deployment(mailPolicy+"permitted: x\n"))
	broken.wants(t, "a broken policy", "400 SVC_WARRANTY_INVALID")
	if !strings.Contains(broken.body, `"diagnostics":[{`) {
		t.Errorf("no diagnostics: %s", broken.body)
	}
	service.decides(t, "after refused deployments", me.APIKey, listing, "ALLOWED")
}

// holdsStory approves by the command and by the API, denies, and uses each decision.
func holdsStory(t *testing.T, service *running, key string, mine, other operator) {
	t.Helper()
	first := service.decides(t, "a mail", key, mailing, pendingMail)
	if again := service.decides(t, "the same mail", key, mailing, pendingMail); again.HoldID != first.HoldID {
		t.Errorf("the same intent has two holds, %s and %s", first.HoldID, again.HoldID)
	}
	h := service.hold(key, first.HoldID)
	sum := sha256.Sum256(h.Intent)
	if h.Status != "PENDING" || h.Method != "email.send" || h.AgentID != "agent-1" || h.PolicyRule != "tool_calls.email.require_approval" ||
		h.PolicyVersion != "2.0.0" || h.ExpiresAt-h.CreatedAt != 24*60*60 || h.ResolvedAt != nil || hex.EncodeToString(sum[:]) != h.IntentHash {
		t.Errorf("the hold: %+v", h)
	}
	resolution := "/v1/holds/" + first.HoldID + "/resolution"
	service.send("POST", resolution, key, other.resolution(h, "ALLOWED", time.Now())).wants(t, "signed by another operator", "403 SVC_HOLD_SIGNATURE_INVALID")
	service.send("POST", resolution, key, mine.resolution(h, "ALLOWED", time.Now().Add(-6*time.Minute))).wants(t, "an old decision", "400 SVC_VALIDATION_ERROR_SCHEMA")
	service.send("POST", resolution, service.register().APIKey, mine.resolution(h, "ALLOWED", time.Now())).wants(t, "with another key", "404 SVC_NOT_FOUND")
	service.decides(t, "still held", key, mailing, pendingMail)

	flags := []string{"--url", service.base, "--api-key", key}
	if shown := service.must(append(append([]string{"holds", "show"}, flags...), first.HoldID)...); !strings.Contains(shown, "someone@example.com") {
		t.Errorf("holds show: %s", shown)
	}
	operatorFlags := append(flags, "--key", service.path("operator.key"))
	service.must(append(append([]string{"holds", "approve", "--yes"}, operatorFlags...), first.HoldID)...)
	if h := service.hold(key, first.HoldID); h.Status != "ALLOWED" || h.ResolvedAt == nil {
		t.Errorf("approved: %+v", h)
	}
	service.send("POST", resolution, key, mine.resolution(h, "DENIED", time.Now())).wants(t, "a second decision", "409 SVC_HOLD_RESOLVED")
	service.decides(t, "approved by the command", key, mailing, "ALLOWED")
	second := service.decides(t, "approved once", key, mailing, pendingMail)
	if second.HoldID == first.HoldID {
		t.Error("a hold that is used up is given out again")
	}
	read[held](t, service.resolve(key, mine, second.HoldID, "ALLOWED"), 200)
	service.decides(t, "approved by the API", key, mailing, "ALLOWED")
	third := service.decides(t, "approved once", key, mailing, pendingMail)
	service.must(append(append([]string{"holds", "deny", "--yes"}, operatorFlags...), third.HoldID)...)
	service.decides(t, "denied", key, mailing, "DENIED SVC_POLICY_HOLD_DENIED")
	service.decides(t, "denied for good", key, mailing, "DENIED SVC_POLICY_HOLD_DENIED")
	service.decides(t, "another mail", key, tool("email.send", `"to":"another@example.com"`), pendingMail)
}

// TestRollback deploys a policy again that another one has replaced; and a hold does not outlive its policy.
func TestRollback(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	s.env = append(s.env, "SVC_REFUSE_ROLLBACK=false")
	service := s.start()
	key, mine := service.register().APIKey, newOperator(t)
	next := mailPolicy + "\n## execution_limits\nmax_tool_calls_per_hour: 100\n"
	first := service.deploy(key, mine, mailPolicy)
	hold := service.decides(t, "under the first policy", key, mailing, pendingMail)
	read[held](t, service.resolve(key, mine, hold.HoldID, "ALLOWED"), 200)
	second := service.deploy(key, mine, next)
	if first.PolicyHash == second.PolicyHash || len(second.Warnings) != 0 {
		t.Errorf("%+v %+v", first, second)
	}
	service.decides(t, "approved under the policy before", key, mailing, pendingMail)
	back := service.deploy(key, mine, mailPolicy)
	if len(back.Warnings) != 1 || back.Warnings[0].Code != "SVC_WARRANTY_ROLLBACK" {
		t.Errorf("going back is not warned of: %+v", back)
	}
	if again := service.deploy(key, mine, mailPolicy); len(again.Warnings) != 0 {
		t.Errorf("the policy that is in force is no rollback: %+v", again)
	}
	service.decides(t, "approved under the policy that is back", key, mailing, "ALLOWED")
	events := read[eventList](t, service.send("GET", "/v1/events", key, ""), 200)
	if n := strings.Count(events.raw(), `"rollback":true`); n != 1 {
		t.Errorf("%d events say rollback: %s", n, events.raw())
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	s.env = slices.DeleteFunc(s.env, func(entry string) bool { return strings.HasPrefix(entry, "SVC_REFUSE_ROLLBACK=") })
	service = s.start()
	service.send("POST", "/v1/warranty/deploy", key, mine.deployment(next)).wants(t, "a rollback that is refused", "409 SVC_WARRANTY_ROLLBACK")
	if got := service.decides(t, "after it", key, listing, "ALLOWED"); got.PolicyHash != first.PolicyHash {
		t.Errorf("a refused rollback changed the policy to %s", got.PolicyHash)
	}
}

// TestScopes asks for everything with keys of each scope.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := newHosted(t, "SVC_WEBHOOK_ALLOW_PRIVATE=true")
	service := s.start()
	mine := newOperator(t)
	deployment, hook := mine.deployment(mailPolicy), `{"url":"http://127.0.0.1:1/","events":["intent.denied"]}`
	type request struct{ method, path, body string }
	requests := []request{
		{"POST", "/v1/warranty/deploy", deployment},
		{"POST", "/v1/authorize", listing},
		{"POST", "/v1/authorize/test-run", listing},
		{"GET", "/v1/events", ""},
		{"POST", "/v1/webhooks", hook},
		{"GET", "/v1/webhooks", ""},
	}
	const scope, tier = "403 SVC_API_KEY_SCOPE_INSUFFICIENT", "403 SVC_TIER_INSUFFICIENT"
	for _, row := range []struct {
		flags []string
		want  []string // of requests
	}{
		{[]string{}, []string{scope, "409 SVC_NO_POLICY_DEPLOYED", "409 SVC_NO_POLICY_DEPLOYED", "200", tier, scope}},
		{[]string{"--scope", "warranty:deploy"}, []string{"200", scope, scope, scope, tier, scope}},
		{[]string{"--scope", "warranty:deploy", "--scope", "authorize"}, []string{"200", "200", "200", "200", tier, scope}},
		{[]string{"--plan", "growth"}, []string{scope, "409 SVC_NO_POLICY_DEPLOYED", "409 SVC_NO_POLICY_DEPLOYED", "200", "201", "200"}},
		{[]string{"--plan", "pro", "--full-grant"}, []string{"200", "200", "200", "200", "201", "200"}},
	} {
		key := s.apiKey(row.flags...)
		for i, r := range requests {
			service.send(r.method, r.path, key, r.body).wants(t, strings.Join(row.flags, " ")+" "+r.path, row.want[i])
		}
	}
	for _, r := range requests {
		service.send(r.method, r.path, "", r.body).wants(t, r.path+" without a key", "401 SVC_API_KEY_REQUIRED")
		service.send(r.method, r.path, "sk_svc_nobody", r.body).wants(t, r.path+" with a key that nobody has", "401 SVC_API_KEY_INVALID")
	}
}
