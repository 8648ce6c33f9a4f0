package decision

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// Rejudged is what the policy in force says, rule by rule, of what the record of a decision has of its request.
type Rejudged struct {
	Status  string // ALLOWED, DENIED or PENDING, as a test-run answers; empty where Fault says why there is none
	Fault   string
	Rules   []RejudgedRule // all rules of the policy, in the order of its lines
	Missing []string       // why the result may be another than that of the decision
}

// RejudgedRule is a rule and what it says of the intent.
type RejudgedRule struct {
	policies.Place
	Says    string // denies, holds, notes, counts, or "" where it says nothing against the intent
	Message string
}

// What rules say of an intent.
const (
	ruleDenies = "denies"
	ruleHolds  = "asks for a person"
	ruleNotes  = "notes"
	ruleCounts = "counts"
)

// Rejudge judges a decision of a key again by the policy that is in force for it now, without any effect.
func (a *Decider) Rejudge(ctx context.Context, key *ledger.Key, event *eventjson.Event) (*Rejudged, *service.Failure) {
	policy, fault, again := a.Of(ctx, key, a.Clock().UnixNano())
	switch {
	case again:
		return nil, service.Retryable(errcode.EvaluationBusy, "the policy is being replaced; ask again", service.ComeAgain)
	case fault != nil:
		return nil, fault
	}
	body, missing := recordedIntent(event)
	result := &Rejudged{Missing: missing}
	if policy.Hash != event.PolicyHash {
		result.Missing = append([]string{"the policy that judged is not in force any more; this is another one"}, missing...)
	}
	done, fault := a.heavyTurn(ctx, key.ID) // as every explanation takes one
	if fault != nil {
		return nil, fault
	}
	defer done()
	s, err := NewSimulation(policy, a.Options, func() time.Time { return event.Timestamp })
	if err != nil {
		return nil, a.StoreFault("the event could not be judged again", err)
	}
	defer func() { _ = s.Close() }() // it is in memory alone
	answer, fault := s.Decide(body, key.Shim, Call{TestRun: true, Explain: true})
	if fault != nil {
		result.Fault = fault.Message
		return result, nil
	}
	result.Status = answer.Status
	result.Rules = rulesOf(policy, answer.Explanation)
	return result, nil
}

// rulesOf gives each rule of a policy what an explanation has of it.
func rulesOf(policy *policies.Policy, e *Explanation) []RejudgedRule {
	says := map[string]RejudgedRule{}
	for i := range e.Limits {
		says[e.Limits[i].Rule] = RejudgedRule{Says: ruleCounts}
	}
	for _, list := range []struct {
		says     string
		findings []Finding
	}{{ruleNotes, e.Notes}, {ruleHolds, e.Holds}, {ruleDenies, e.Violations}} {
		for i := range list.findings {
			says[list.findings[i].Rule] = RejudgedRule{Says: list.says, Message: mask.Text(list.findings[i].Message)}
		}
	}
	places := policy.Places()
	rules := make([]RejudgedRule, len(places))
	for i, place := range places {
		rules[i] = says[place.Rule]
		rules[i].Place = place
	}
	return rules
}

// recordedFields are the fields of an intent that a subject has, by their names in a request.
var recordedFields = map[subject.Field]string{
	subject.Amount: "amount", subject.Token: "token", subject.Target: "targetAddress", subject.Recipient: "to",
	subject.Path: "path", subject.Command: "command", subject.Task: "task_id",
}

// recordedIntent returns a request with what the record of a decision has of it, and what it lacks.
func recordedIntent(event *eventjson.Event) (body []byte, missing []string) {
	missing = []string{
		"of a request the record has what its subject shows, without arguments, metadata, methods and fees",
		"counters and holds are as for a key that has done nothing yet",
	}
	intent := map[string]any{"action": event.Action}
	if s := event.Subject; s != nil {
		for f, name := range recordedFields {
			if s.Texts[f] != "" {
				intent[name] = s.Texts[f]
			}
		}
		if s.Texts[subject.Host] != "" {
			intent["url"] = "https://" + s.Texts[subject.Host] + s.Texts[subject.Path]
			delete(intent, "path")
		}
		if s.Texts[subject.Unit] == "base" {
			intent["amount_unit"] = "base"
		}
		missing = append(missing, lacks(s)...)
	}
	request := map[string]any{"framework": "custom", "agentId": event.AgentID, "intent": intent}
	if event.ChainID != 0 {
		request["chainId"] = event.ChainID
	}
	if event.Action == slot.UserOpAction {
		request["userOpHash"] = "0x" + event.Commitment
	} else {
		request["txCommit"] = event.Commitment
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic(err) // texts and a number
	}
	return body, missing
}

// lacks says what of a request a subject does not have.
func lacks(s *subject.Subject) (missing []string) {
	for f, row := range subject.Table {
		text := s.Texts[f]
		switch {
		case strings.HasPrefix(text, digestPrefix):
			missing = append(missing, row.Name+" is a digest, by SVC_EVENT_DETAIL")
		case strings.Contains(text, mask.Hidden):
			missing = append(missing, "a credential in "+row.Name+" is masked")
		case subject.Field(f) == subject.Command && len(text) >= row.Max-3:
			missing = append(missing, "the command may be longer than its beginning")
		}
		if s.Further[f] > 0 {
			missing = append(missing, "the record has the first value of "+row.Name+" alone")
		}
	}
	return missing
}
