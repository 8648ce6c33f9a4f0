package decision

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/compiler/frame"
	"bailiff/fuzz/kit/seed"
	"bailiff/grammar"
	"bailiff/runtime/policies"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// ethOf returns n thousandths of an ETH, and milli the same as a text.
func ethOf(n int) amount.Amount { return amount.FromUint64(uint64(n) * 1e15) }

func milli(n int) string { return ethOf(n).Format(frame.NativeDecimals) }

// transferOf is an intent that moves n thousandths of an ETH.
func transferOf(n int) []byte {
	return requestOf(`{"action":"wallet.transfer","amount":"` + milli(n) + `"}`)
}

// TestChange: the amount that an explanation lowers to is the largest that maximum and daily limit leave.
func TestChange(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	properties.Property("the change is the smallest", prop.ForAll(
		func(most, daily, threshold, before, wanted int) (string, error) {
			s := newStory(t, fmt.Sprintf("version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: %s\n"+
				"consensus_threshold_eth: %s\nconsensus_require_hold: false\n## soft_limits\ndaily_evm_limit_eth: %s\n", milli(most), milli(threshold), milli(daily)))
			left := daily
			if before <= min(most, daily) {
				left -= before
			}
			if _, fault := s.Decide(transferOf(before), false, Call{Explain: true}); fault != nil {
				return "", fault
			}
			answer, fault := s.Decide(transferOf(wanted), false, Call{TestRun: true, Explain: true})
			if fault != nil {
				return "", fault
			}
			change, best := answer.Explanation.Change, min(most, left)
			switch {
			case answer.Status != map[bool]string{true: "ALLOWED", false: "DENIED"}[wanted <= best]:
				return "", fmt.Errorf("%d of %d was %s", wanted, best, answer.Status)
			case wanted <= best || best == 0:
				if change != nil && change.Field != "" {
					return "", fmt.Errorf("%d of %d: %s", wanted, best, change)
				}
			case change == nil || change.To != ethOf(best) || change.By != ethOf(wanted-best) || change.Field != "amount":
				return "", fmt.Errorf("%d of %d: %v", wanted, best, change)
			}
			return "", nil
		},
		gen.IntRange(1, 9), gen.IntRange(1, 9), gen.IntRange(1, 9), gen.IntRange(1, 9), gen.IntRange(1, 20),
	))
	properties.TestingRun(t)
}

// TestExplainChangesNothing: an explained test-run decides as any other, and leaves no trace in counters and holds.
func TestExplainChangesNothing(t *testing.T) {
	h := newHouse(t, rand.Reader)
	for _, intent := range []string{bashIntent, transferIntent, heldIntent, deniedIntent} {
		plain, fault := h.decide(intent, true)
		if fault != nil {
			t.Fatal(fault)
		}
		for range 7 { // more often than the limit of the hour
			explained := new(Answer)
			if fault := h.Decide(context.Background(), h.key, requestOf(intent), Call{TestRun: true, Explain: true}, explained); fault != nil {
				t.Fatal(fault)
			}
			if explained.Explanation == nil || plain.Explanation != nil {
				t.Fatalf("%s: the explanation is with the wrong answer", intent)
			}
			if string(explained.Message) != string(plain.Message) || explained.Status != plain.Status || explained.Code != plain.Code || explained.Rule != plain.Rule {
				t.Errorf("%s: %+v is explained as %+v", intent, plain, explained)
			}
			if violated := len(explained.Explanation.Violations) > 0; violated != (explained.Status == "DENIED") {
				t.Errorf("%s: %s with the violations %+v", intent, explained.Status, explained.Explanation.Violations)
			}
		}
	}
}

// TestExplainNeedsTheStore: what is left of a limit is not guessed.
func TestExplainNeedsTheStore(t *testing.T) {
	h := newHouse(t, rand.Reader)
	h.ledger.Fail(errors.New("the disk is gone"))
	answer := new(Answer)
	if fault := h.Decide(context.Background(), h.key, requestOf(bashIntent), Call{TestRun: true, Explain: true}, answer); fault != nil || answer.Code != errcode.LimitStore || answer.Explanation != nil {
		t.Errorf("with a limit: %+v %v", answer, fault)
	}
	if fault := h.Decide(context.Background(), h.key, requestOf(transferIntent), Call{TestRun: true, Explain: true}, answer); fault == nil || fault.Code != errcode.StoreUnavailable {
		t.Errorf("without: %v", fault)
	}
}

// TestExplainBounded: an explanation lists no more than maxFindings, and outlives the memory of its request.
func TestExplainBounded(t *testing.T) {
	var policy strings.Builder
	policy.WriteString("version: 2.0.0\n## custom\n")
	const rules = maxFindings + 20
	for i := range rules {
		fmt.Fprintf(&policy, "deny_if.metadata.m%d equals bad\n", i)
	}
	s := newStory(t, policy.String())
	var members []string
	for i := range rules {
		members = append(members, fmt.Sprintf(`"m%d":"bad"`, i))
	}
	answer, fault := s.Decide(requestOf(`{"action":"x","metadata":{`+strings.Join(members, ",")+`}}`), false, Call{TestRun: true, Explain: true})
	if fault != nil {
		t.Fatal(fault)
	}
	e := answer.Explanation
	if len(e.Violations) != maxFindings || e.Omitted != rules-maxFindings {
		t.Fatalf("%d violations, %d omitted", len(e.Violations), e.Omitted)
	}
	if _, fault := s.Decide(requestOf(`{"action":"y","metadata":{"other":"`+strings.Repeat("z", 4000)+`"}}`), false, Call{TestRun: true, Explain: true}); fault != nil {
		t.Fatal(fault)
	}
	if got := e.Violations[7]; got.Value != "bad" || got.Line != 10 || got.Rule != "custom.deny_if.metadata.m7" {
		t.Errorf("it became %+v", got)
	}
}

// TestPlaces lists the rules of a policy by line, each once.
func TestPlaces(t *testing.T) {
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(testPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, place := range policy.Places() {
		got = append(got, fmt.Sprintf("%d %s", place.Line, place.Rule))
	}
	want := "1 mcp.allowed_tools, 3 evm.account_calls, 3 evm.max_fee_eth, 3 evm.token, 4 evm.allowed_chains, 5 evm.allowed_actions, 6 evm.max_transaction_eth, " +
		"7 evm.consensus_threshold_eth, 11 tool_calls.allowed, 14 execution_limits.max_tool_calls_per_hour"
	if joined := strings.Join(got, ", "); joined != want {
		t.Errorf("the rules are %s", joined)
	}
}
