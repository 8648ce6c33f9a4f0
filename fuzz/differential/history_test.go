package differential_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
)

// historyBatches is how many policies TestHistory asks for, each with historyCases requests.
const historyBatches, historyCases = 60, 40

// TestHistory holds a service in memory to the oracle and its memory, over requests that share counters, usage and holds,
// while an operator decides holds and the clock advances.
func TestHistory(t *testing.T) {
	first := seed.Value(t)
	seen := map[string]int{}
	for i := range int64(historyBatches) {
		if problem := playHistory(gen.NewBatch(first+i, historyCases), seen, nil); problem != "" {
			t.Fatalf("BAILIFF_SEED=%d: %s", first+i, problem)
		}
	}
	t.Log(seen)
}

// TestHistoryNotices plants a fault in what the oracle expects: a service that forgets a denial of its counters.
func TestHistoryNotices(t *testing.T) {
	first := seed.Value(t)
	forgets := func(e *differential.Expected) {
		if e.Status == oracle.Denied && e.Verdict.Status == oracle.Allowed {
			e.Status = oracle.Allowed
		}
	}
	for i := range int64(10 * historyBatches) {
		if playHistory(gen.NewBatch(first+i, historyCases), map[string]int{}, forgets) != "" {
			return
		}
	}
	t.Error("a limit that refuses nothing is not noticed")
}

// playHistory returns what a service answered otherwise than expected, or "".
func playHistory(b *gen.Batch, seen map[string]int, fault func(*differential.Expected)) string {
	text := []byte(b.Policy.Text())
	subject, err := differential.NewSubject(text)
	if errors.Is(err, differential.ErrInvalid) {
		return ""
	} else if err != nil {
		return err.Error()
	}
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", text))
	if err != nil {
		return err.Error()
	}
	now := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	simulation, err := decision.NewSimulation(policy, intent.Options{}, func() time.Time { return now })
	if err != nil {
		return err.Error()
	}
	defer func() { _ = simulation.Close() }()
	r, history := gen.NewRand(b.Seed), differential.NewHistory()
	for i, c := range append(b.Cases, b.Cases...) {
		if r.Chance(5) {
			now = now.Add(time.Duration(r.N(90)) * time.Minute)
		}
		asked := differential.Request{Body: c.Bytes(), Shim: c.Shim, TestRun: r.Chance(30), PolicyHash: policy.Hash, At: now}
		want := history.Decide(subject, asked)
		if fault != nil {
			fault(&want)
		}
		got := oracle.Decision{Status: oracle.Error}
		answer, failure := simulation.Decide(asked.Body, asked.Shim, decision.Call{TestRun: asked.TestRun})
		if failure != nil {
			got.Code = string(failure.Code)
		} else {
			got = oracle.Decision{Status: answer.Status, Code: string(answer.Code), Rule: answer.Rule}
		}
		if got.Status != want.Status || got.Code != want.Code || got.Rule != want.Rule {
			return fmt.Sprintf("request %d is answered %s %s %s; expected %s %s %s\n%s\n%s", i, got.Status, got.Code, got.Rule, want.Status, want.Code, want.Rule, b.Policy.Text(), c)
		}
		seen[got.Status+" "+got.Code]++
		if want.Opened {
			want.Hold.ID = answer.HoldID
			if allow := r.Chance(60); r.Chance(70) {
				if err := simulation.Resolve(answer.HoldID, allow); err != nil {
					return err.Error()
				}
				want.Hold.State = map[bool]string{true: oracle.Allowed, false: oracle.Denied}[allow]
			}
		}
	}
	return ""
}

// TestUsageOfOneTask holds that usage counts for its task however the task is spelled: addresses in a task id have no case.
func TestUsageOfOneTask(t *testing.T) {
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte("version: 2.4.0\n## execution_limits\nmax_model_spend_usd_per_task: 1\n")))
	if err != nil {
		t.Fatal(err)
	}
	simulation, err := decision.NewSimulation(policy, intent.Options{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = simulation.Close() }()
	const body = `{"framework":"custom","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"intent":{"action":"model.inference","task_id":%q,"metadata":{"model_usage":{"estimated_spend_usd":%q}}}}`
	for _, step := range []struct{ task, spend, status string }{
		{"0x52908400098527886E0F7030069857D2E4169EE7", "2", "DENIED"},
		{"0x52908400098527886e0f7030069857d2e4169ee7", "0.1", "DENIED"}, // 2 were seen
		{"another", "0.1", "ALLOWED"},
	} {
		answer, fault := simulation.Decide(fmt.Appendf(nil, body, step.task, step.spend), false, decision.Call{})
		if fault != nil {
			t.Fatal(fault)
		}
		if answer.Status != step.status {
			t.Errorf("task %s with %s is %s; expected %s", step.task, step.spend, answer.Status, step.status)
		}
	}
}
