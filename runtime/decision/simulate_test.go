package decision

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
)

// story is a simulation with its clock and the hold that was opened last.
type story struct {
	*Simulation
	now  time.Time
	hold string
}

// newStory returns the simulation of a policy.
func newStory(t *testing.T, policy string) *story {
	t.Helper()
	compiled, err := policies.CompilePolicy(grammar.NewSource("policy.md", []byte(policy)))
	if err != nil {
		t.Fatal(err)
	}
	s := &story{now: time.Date(2026, 11, 21, 12, 30, 0, 0, time.UTC)}
	if s.Simulation, err = NewSimulation(compiled, intent.Options{}, func() time.Time { return s.now }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request is the body of an intent on chain 1, by a task.
func requestOf(intent string) []byte {
	return []byte(`{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + intent + `}`)
}

// describe is an answer as the stories show it: in full with explain.
func describe(answer *Answer, explain bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s %s\n%s\n", answer.Status, answer.Code, answer.Rule, answer.Message)
	if !explain {
		return out.String()
	}
	e := answer.Explanation
	for i, findings := range [][]Finding{e.Violations, e.Holds, e.Notes} {
		for _, f := range findings {
			word := [...]string{"violated", "held", "noted"}[i]
			fmt.Fprintf(&out, "%s line %d %s %s: %s; value %q\n", word, f.Line, f.Rule, f.Code, f.Message, f.Value)
		}
	}
	for i := range e.Limits {
		h := &e.Limits[i]
		left := h.Left()
		fmt.Fprintf(&out, "limit line %d %s per %s %q: %s of %s %s, %s left", h.Line, h.Rule, h.Window, h.Groups,
			h.Used.Format(h.Decimals), h.Limit.Format(h.Decimals), h.Unit, left.Format(h.Decimals))
		if len(h.Missing) > 0 {
			fmt.Fprintf(&out, " (unknown without %q)", h.Missing)
		}
		if !h.Resets.IsZero() {
			fmt.Fprintf(&out, " until %s", h.Resets.Format(time.RFC3339))
		}
		fmt.Fprintln(&out)
	}
	if e.Change != nil {
		fmt.Fprintf(&out, "change: %s\n", e.Change)
	}
	return out.String()
}

// TestStories runs the sessions in testdata, each over one ledger.
//
//	policy                             the policy of the session
//	decide [shim] [test-run] [explain] sends the intent of the input
//	approve, deny                      resolves the hold that was opened last
//	advance d=24h                      moves the clock
//	amounts base, amounts decimal      restarts with this SVC_INTEGER_AMOUNTS, on the same ledger
//	events                             lists what is recorded
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s *story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				s = newStory(t, d.Input+"\n")
				return ""
			case "decide":
				answer, fault := s.Decide(requestOf(d.Input), d.HasArg("shim"), Call{TestRun: d.HasArg("test-run"), Explain: true})
				if fault != nil {
					return fmt.Sprintf("%s\n%s\n", fault.Code, fault.Message)
				}
				if answer.HoldID != "" {
					s.hold = answer.HoldID
				}
				return describe(answer, d.HasArg("explain"))
			case "approve", "deny":
				if err := s.Resolve(s.hold, d.Cmd == "approve"); err != nil {
					return err.Error()
				}
				return ""
			case "advance":
				var text string
				d.ScanArgs(t, "d", &text)
				by, err := time.ParseDuration(text)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				s.now = s.now.Add(by)
				return ""
			case "amounts":
				s.decider.Options.IntegerAmountsBase = d.HasArg("base")
				s.decider = newDecider(s.decider.Config)
				return ""
			case "events":
				return s.events(t)
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func (s *story) events(t *testing.T) string {
	t.Helper()
	page, err := s.decider.Ledger.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range page.Events {
		if !e.Kind.IsDecision() {
			continue
		}
		fmt.Fprintf(&out, "%s %s value %q detail %q", e.Ending.Decision, e.Ending.Rule, e.Event.Value, e.Event.Detail)
		for _, c := range e.Counters {
			fmt.Fprintf(&out, " %s[%s]=%s", c.Counter.Limit, strings.ReplaceAll(c.Counter.Group, "\x00", "|"), c.Value.String())
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
