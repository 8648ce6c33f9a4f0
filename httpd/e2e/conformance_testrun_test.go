package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTestRunLeavesNothing simulates everything that would leave something, and looks for it: in webhooks, the month's
// usage, holds, the task's counter and the highest model usage. What is left are the records, which say TEST_RUN.
func TestTestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_WEBHOOK_ALLOW_PRIVATE=true").start()
	key, id, _ := service.customer("version: 2.0.0\n\n## tool_calls\nallowed: bash, email.send\nbash.blocked_commands: rm -rf\nemail.require_approval: true\n\n" +
		"## execution_limits\nmax_tool_calls_per_task: 2\nmax_model_tokens_per_task: 100\n")
	all := newReceiver(t, nil)
	service.hook(key, all.URL, allTopics)
	usage := func(tokens string) string {
		return `"task_id":"t","metadata":{"model_usage":{"total_tokens":` + tokens + `}}`
	}
	simulated := []struct{ body, want string }{
		{tool("bash", `"command":"ls",`+usage("1")), "ALLOWED"},
		{tool("bash", `"command":"rm -rf /",`+usage("1")), "DENIED"},
		{tool("email.send", `"to":"a@example.com",`+usage("1")), "PENDING"},
		{tool("bash", `"command":"ls",`+usage("101")), "DENIED"},
	}
	for range 5 {
		for _, x := range simulated {
			got := service.ask("/v1/authorize/test-run", key, x.body)
			if got.HTTP != 200 || got.Status != x.want || !got.TestRun || got.Attestation != "" || got.HoldID != "" ||
				!strings.Contains(string(got.Raw), `"intent_attestation":null`) || !strings.Contains(string(got.Raw), `"observe_mode_active":false`) {
				t.Errorf("%s: %d %s, and not %s", x.body, got.HTTP, got.Raw, x.want)
			}
		}
	}
	if table := service.must("usage", "--format", "csv"); !strings.Contains(table, id+",") || !strings.Contains(table, ",0,10000,0,49.000,0.000,49.000") {
		t.Errorf("metered: %s", table)
	}
	if held := service.must("holds", "list"); strings.Contains(held, "email.send") {
		t.Errorf("held: %s", held)
	}
	for _, want := range []string{"ALLOWED", "ALLOWED", "DENIED SVC_LOOP_LIMIT_EXCEEDED"} { // so nothing was counted before, tokens neither
		service.decides(t, "for real", key, simulated[0].body, want)
	}
	if got := all.await(t, 3, 10*time.Second); len(got) != 3 {
		t.Errorf("%d deliveries of 3 decisions: %+v", len(got), got)
	}
	records, events := service.page(t, key, "?decision=TEST_RUN")
	if n := strings.Count(records.raw(), `"endpoint":"/v1/authorize/test-run"`); n != len(events) || strings.Contains(records.raw(), "holdId") {
		t.Errorf("recorded: %s", records.raw())
	}
	if len(events) != 20 {
		t.Errorf("%d of 20 test-runs are recorded", len(events))
	}
}

// TestOnlyOBSERVEObserves starts the service with other values of SVC_MODE: each enforces the policy.
func TestOnlyOBSERVEObserves(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "OBSERVE,", "ENFORCE", "true"} {
		s := newSite(t, mailPolicy, "SVC_MODE="+mode)
		service := s.start()
		service.decides(t, "SVC_MODE="+mode, s.apiKey(), removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
		service.kill()
	}
	if _, problem, code := newSite(t, mailPolicy, "SVC_MODE=observe").run("serve"); code != 1 || !strings.HasPrefix(problem, "[Svc] SVC_MODE is \"observe\"; write OBSERVE in capitals") {
		t.Errorf("another spelling of OBSERVE: exit %d, %s", code, problem)
	}
}

// TestPolicyIsSoughtInConfig starts the service without WARRANTY_PATH: the policy is that of config/warranty.md in the
// folder where the service runs.
func TestPolicyIsSoughtInConfig(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	key := s.apiKey()
	if err := os.Mkdir(s.path("config"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("config/warranty.md", s.secret("warranty.md")+"\n")
	if err := os.Remove(s.path("warranty.md")); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "WARRANTY_PATH=")
	s.start().decides(t, "under the policy of config", key, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
}
