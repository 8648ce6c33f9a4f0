// Package predicted holds decisions that readers predicted from the documents alone, before any of them was run: the
// policy language is meant to be predictable by people who have never seen its code. A fault that machine and oracle share
// is invisible to the differential test, but not to such a reader.
//
// A file of testdata has a story a line, in JSON: a policy, and intents that share counters and holds, each with the
// decision that is expected. Expectations that turned out to be misread were corrected, with the reason in `corrected`.
package predicted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
)

// A Story is a policy and what is expected of it.
type Story struct {
	ID      string `json:"id"`
	Policy  string `json:"policy"`            // without a signature
	Refused bool   `json:"refused,omitempty"` // the compiler finds an error
	Warned  bool   `json:"warned,omitempty"`  // the compiler finds a warning
	Steps   []Step `json:"steps,omitempty"`
	Why     string `json:"why,omitempty"`
	// Corrected says why the expectation is another than the reader's.
	Corrected string `json:"corrected,omitempty"`
}

// A Step is an intent and the decision that is expected of it.
type Step struct {
	Intent    json.RawMessage `json:"intent"` // the body of the request
	Shim      bool            `json:"shim,omitempty"`
	Approve   bool            `json:"approve,omitempty"` // the hold that was opened last is approved first
	Expect    Decision        `json:"expect"`
	Why       string          `json:"why,omitempty"`
	Doubt     string          `json:"doubt,omitempty"`
	Corrected string          `json:"corrected,omitempty"`
}

// A Decision is the answer to an intent: status, error_code and matched_rule. A request that is not valid is an ERROR.
type Decision struct {
	Status string `json:"status"`
	Code   string `json:"code,omitempty"`
	Rule   string `json:"rule,omitempty"`
}

// statusError is the status of a request that is not valid, whatever the answer says.
const statusError = "ERROR"

// Read returns the stories of a file.
func Read(path string) (stories []Story, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		var story Story
		if err := json.Unmarshal(lines.Bytes(), &story); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		stories = append(stories, story)
	}
	return stories, lines.Err()
}

// Predictions returns how many decisions the story predicts.
func (s *Story) Predictions() int { return max(len(s.Steps), 1) }

// Run takes all steps of a story and returns what is not as expected, a line for each.
func (s *Story) Run() (wrong []string, err error) {
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(s.Policy)))
	switch {
	case err != nil && s.Refused:
		return nil, nil
	case err != nil:
		return []string{fmt.Sprintf("%s: the policy is refused: %v", s.ID, err)}, nil
	case s.Refused:
		return []string{s.ID + ": the policy is accepted, and was to be refused"}, nil
	case s.Warned && len(policy.Warnings) == 0:
		wrong = append(wrong, s.ID+": the policy gives no warning")
	}
	now := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	simulation, err := decision.NewSimulation(policy, intent.Options{}, func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	defer simulation.Close()
	hold := ""
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.Approve {
			if err := simulation.Resolve(hold, true); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s, step %d: the hold can't be approved: %v", s.ID, i+1, err))
			}
		}
		answer, fault := simulation.Decide(step.Intent, step.Shim, decision.Call{})
		got, message := decisionOf(answer, fault)
		if fault == nil && answer.HoldID != "" {
			hold = answer.HoldID
		}
		if !step.Expect.equals(got) {
			wrong = append(wrong, fmt.Sprintf("%s, step %d: %v (%s), expected %v\n\tintent %s\n\twhy: %s %s",
				s.ID, i+1, got, message, step.Expect, step.Intent, step.Why, step.Doubt))
		}
	}
	return wrong, nil
}

func decisionOf(answer *decision.Answer, fault *service.Failure) (Decision, string) {
	if fault != nil {
		return Decision{Status: statusError, Code: string(fault.Code)}, fault.Message
	}
	return Decision{Status: answer.Status, Code: string(answer.Code), Rule: answer.Rule}, string(answer.Message)
}

// equals compares what is expected of an answer with it. A code or a rule that is not expected is not looked at.
func (d Decision) equals(got Decision) bool {
	return d.Status == got.Status && (d.Code == "" || d.Code == got.Code) && (d.Rule == "" || d.Rule == got.Rule)
}
