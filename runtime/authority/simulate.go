package authority

import (
	"bailiff/runtime/code"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/vm"
)

// Violation is one violated rule, for the author of the policy.
type Violation struct {
	Rule    string
	Code    code.Code
	Message string
	Line    int // in the policy, from 1; 0 where it is not known
}

// Simulate decides an intent by a policy without a service, as for a key whose provenance is
// a shim or an agent: no counter that has advanced, no holds. It also
// returns every rule that the intent violates, in the order of evaluation.
func Simulate(policy *Policy, body []byte, shim bool, options intent.Options) (*Answer, []Violation, *Failure) {
	w := newWorker(options)
	in, err := w.decoder.Decode(body)
	if err != nil {
		return nil, nil, invalidIntent(err)
	}
	w.in, w.policy, w.key, w.to, w.observe = in, policy, &ledger.Key{Shim: shim}, new(Answer), true // observe: run every rule
	w.judge()
	if w.result.Status == vm.Rejected {
		return nil, nil, w.rejected()
	}
	answer := w.newAnswer(ledger.Allowed)
	outcome := &ledger.Outcome{Result: ledger.Passed}
	switch w.result.Status {
	case vm.Denied:
		w.blame(answer, w.result.Violations[0].Rule, ledger.Denied)
	case vm.Pending:
		outcome.Result = ledger.Held
		w.blame(answer, w.result.Holds[0], ledger.Pending)
	}
	answer.Message = w.appendMessage(answer.Message, outcome)
	return answer, w.violations(), nil
}

// blame makes an answer the decision that a rule asks for.
func (w *worker) blame(answer *Answer, index uint16, decision ledger.Decision) {
	rule := w.policy.program.Rule(index)
	w.newAnswer(decision)
	answer.Code, answer.Rule = code.Code(rule.Code), rule.Name
}

func (w *worker) violations() []Violation {
	list := make([]Violation, len(w.result.Violations))
	for i := range list {
		found := &w.result.Violations[i]
		rule := w.policy.program.Rule(found.Rule)
		message := string(w.appendViolation(nil, found))
		list[i] = Violation{rule.Name, code.Code(rule.Code), message, int(w.policy.program.Span(found.PC).Line)}
	}
	return list
}
