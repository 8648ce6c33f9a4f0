package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// times is how often something is done that the environment can have done more often: BAILIFF_KILLS=200.
func times(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number", variable, text)
	}
	return n
}

// bordersPolicy has a limit of each kind, each counted by a name of its own.
const bordersPolicy = `version: 2.0.0

## tool_calls
allowed: bash, web_fetch, file_write

## execution_limits
max_tool_calls_per_task: 5

## soft_limits
cap.often.max_count: 7
cap.often.window: day
cap.often.action: web_fetch
cap.often.group_by: metadata.group
cap.dear.max_sum_usd: 10
cap.dear.window: day
cap.dear.action: file_write
cap.dear.group_by: metadata.group
cap.dear.amount_field: metadata.usd
`

// borders are the limits of bordersPolicy, with requests that meet one of them alone.
var borders = []struct {
	name    string
	pass    int
	refused string
	body    func(round, client int) string
}{
	{"calls of a task", 5, "403 DENIED SVC_LOOP_LIMIT_EXCEEDED", func(round, client int) string {
		return tool("bash", fmt.Sprintf(`"command":"ls","task_id":"task-%d"`, round))
	}},
	{"a cap that counts", 7, "403 DENIED SVC_AGGREGATE_LIMIT_EXCEEDED", func(round, client int) string {
		return tool("web_fetch", fmt.Sprintf(`"url":"https://example.com/","task_id":"own-%d-%d","metadata":{"group":"g-%d"}`, round, client, round))
	}},
	{"a cap that sums, 0.30 of 10 at a time", 33, "403 DENIED SVC_AGGREGATE_LIMIT_EXCEEDED", func(round, client int) string {
		return tool("file_write", fmt.Sprintf(`"path":"/tmp/x","task_id":"sum-%d-%d","metadata":{"group":"g-%d","usd":"0.30"}`, round, client, round))
	}},
}

// TestBorders has 64 clients meet each limit at once, 200 times: exactly what is allowed passes.
func TestBorders(t *testing.T) {
	s := newSite(t, bordersPolicy)
	key, service := s.apiKey(), s.start()
	all := newSwarm(t, service, 64)
	for round := range times(t, "BAILIFF_ROUNDS", 200) {
		for _, b := range borders {
			got := count(all.attack(key, func(client int) (string, string) { return "/v1/authorize", b.body(round, client) }))
			if err := got.border(b.pass, b.refused); err != nil {
				t.Fatalf("round %d, %s: %v", round, b.name, err)
			}
			if round == 0 && got.border(b.pass-1, b.refused) == nil { // one too many would have been seen
				t.Error("the check finds nothing")
			}
		}
	}
}

// TestFirstDeployments has two operators deploy to a new key at once: one is pinned, the other is told so, and the policy
// is the pinned one's.
func TestFirstDeployments(t *testing.T) {
	service := newHosted(t).start()
	one, other := newOperator(t), newOperator(t)
	bodies := []string{one.deployment(mailPolicy), other.deployment(taskPolicy)}
	_, hashOne := one.sign(mailPolicy)
	_, hashOther := other.sign(taskPolicy)
	hashes := []string{hashOne, hashOther}
	two := newSwarm(t, service, 2)
	wins := [2]int{}
	for round := range times(t, "BAILIFF_ROUNDS", 200) {
		key := service.register().APIKey
		answers := two.attack(key, func(client int) (string, string) { return "/v1/warranty/deploy", bodies[(client+round)%2] })
		winner := 0
		if answers[0].HTTP != 200 {
			winner = 1
		}
		if late := 1 - winner; answers[late].Code == "SVC_WARRANTY_BUSY" { // the other one was being compiled
			answers[late] = service.ask("/v1/warranty/deploy", key, bodies[(late+round)%2])
		}
		won, lost := answers[winner], answers[1-winner]
		if won.HTTP != 200 || lost.HTTP != 403 || lost.Code != "SVC_WARRANTY_OPERATOR_KEY_MISMATCH" {
			t.Fatalf("round %d: %s and %s", round, answers[0].Raw, answers[1].Raw)
		}
		which := (winner + round) % 2
		wins[which]++
		got := service.ask("/v1/authorize/test-run", key, tool("bash", `"command":"ls","task_id":"t"`))
		if got.PolicyHash != hashes[which] || won.PolicyHash != hashes[which] {
			t.Fatalf("round %d: the policy is %s, and deployed was %s", round, got.Raw, won.Raw)
		}
	}
	t.Logf("wins: %v", wins)
}

// TestOneHold approves a hold that 32 clients use at once: one is allowed, and all others get the one next hold.
func TestOneHold(t *testing.T) {
	service := newHosted(t).start()
	key, mine := service.register().APIKey, newOperator(t)
	service.deploy(key, mine, mailPolicy)
	all := newSwarm(t, service, 32)
	for round := range times(t, "BAILIFF_ROUNDS", 200) {
		mail := tool("email.send", fmt.Sprintf(`"to":"someone-%d@example.com"`, round))
		first := count(all.attack(key, func(int) (string, string) { return "/v1/authorize", mail }))
		if err := first.border(0, "202 "+pendingMail); err != nil {
			t.Fatalf("round %d, before: %v", round, err)
		}
		hold := service.decides(t, "the hold", key, mail, pendingMail).HoldID
		service.resolve(key, mine, hold, "ALLOWED").wants(t, "approved", "200")
		answers := all.attack(key, func(int) (string, string) { return "/v1/authorize", mail })
		if err := count(answers).border(1, "202 "+pendingMail); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		next := map[string]bool{}
		for _, a := range answers {
			if a.Status == "PENDING" {
				next[a.HoldID] = true
			}
		}
		if len(next) != 1 || next[hold] {
			t.Fatalf("round %d: the next holds are %v, the first was %s", round, next, hold)
		}
	}
}

// TestQuotaOfKeys has 64 clients use up the quotas of several keys: each is allowed exactly what its plan includes.
func TestQuotaOfKeys(t *testing.T) {
	service := newHosted(t).start()
	mine := newOperator(t)
	all := newSwarm(t, service, 64)
	for round := range times(t, "BAILIFF_QUOTAS", 2) {
		key := service.register().APIKey
		service.deploy(key, mine, mailPolicy)
		seen := map[string]bool{}
		total := outcomes{}
		for range 17 {
			for _, a := range all.attack(key, func(int) (string, string) { return "/v1/authorize", listing }) {
				for outcome, n := range count([]answer{a}) {
					total[outcome] += n
				}
				if a.Attestation != "" && seen[a.Attestation] {
					t.Error("an attestation was given twice")
				}
				seen[a.Attestation] = true
			}
		}
		if err := total.border(1000, "429 DENIED SVC_QUOTA_EXCEEDED"); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	if err := (outcomes{"200 ALLOWED": 1001}).border(1000, "429"); err == nil || !strings.Contains(err.Error(), "1001") {
		t.Errorf("the check finds nothing: %v", err)
	}
}
