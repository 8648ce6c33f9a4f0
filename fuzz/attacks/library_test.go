package attacks

import (
	"fmt"
	"strings"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/grammar"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
)

// now is the one time of all services and simulations.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// short leaves out what all codes have in front.
func short(code string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(code, "SVC_"), "POLICY_"), "VIOLATION_")
}

// spell returns an answer as the corpus writes it.
func spell(status, code, rule string) string {
	return strings.TrimSpace(strings.Join(strings.Fields(status+" "+short(code)+" "+rule), " "))
}

// A library judges requests without HTTP, by the machine and by the oracle.
type library struct {
	policy  *policies.Policy
	subject *differential.Subject
	judge   *differential.Judge
	shared  *decision.Simulation // of cases without a story
}

func newLibrary(text string) (*library, error) {
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(text)))
	if err != nil {
		return nil, err
	}
	subject, err := differential.NewSubject([]byte(text))
	if err != nil {
		return nil, err
	}
	l := &library{policy: policy, subject: subject, judge: differential.NewJudge()}
	l.shared, err = l.simulate()
	return l, err
}

func (l *library) simulate() (*decision.Simulation, error) {
	return decision.NewSimulation(l.policy, intent.Options{}, clock)
}

func (l *library) close() { _ = l.shared.Close() }

// answer takes the steps before the attack, and the attack.
func (l *library) answer(c *class, g *group, a *attack) (string, error) {
	simulation := l.shared
	if len(g.Before) > 0 {
		var err error
		if simulation, err = l.simulate(); err != nil {
			return "", err
		}
		defer simulation.Close()
	}
	for i, s := range g.Before {
		got, hold := decide(simulation, request(s.Intent, s.Top, a.value), s.Shim)
		if !meets(got, c.answer(s.Expect)) {
			return "", fmt.Errorf("step %d is answered %s, expected %s", i+1, got, c.answer(s.Expect))
		}
		if s.Then != "" {
			if err := simulation.Resolve(hold, s.Then == "approve"); err != nil {
				return "", err
			}
		}
	}
	got, _ := decide(simulation, g.body(a.value), g.Shim)
	return got, nil
}

func decide(s *decision.Simulation, body []byte, shim bool) (answer, hold string) {
	got, fault := s.Decide(body, shim, decision.Call{})
	if fault != nil {
		return spell("ERROR", string(fault.Code), ""), ""
	}
	return spell(got.Status, string(got.Code), got.Rule), got.HoldID
}

// compare judges the attack by the machine and by the oracle, and returns where they differ. A body that is not a request is not judged,
// and neither is what the oracle does not read.
func (l *library) compare(g *group, a *attack) (differ string, judged bool) {
	from := intent.Agent
	if g.Shim {
		from = intent.Shim
	}
	machine, oracle, invalid := l.judge.Body(l.subject, g.body(a.value), from)
	if invalid != nil || a.unread {
		return "", false
	}
	return machine.Difference(oracle), true
}
