package policytest

import (
	"fmt"
	"strings"
	"time"

	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// start is the time at which every test begins.
var start = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

// Result is what came of one test.
type Result struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
	OK   bool   `json:"ok"`

	// Of the first step that failed.
	Step       int                `json:"step,omitempty"` // from 1; 0 where the test has one step
	Expected   string             `json:"expected,omitempty"`
	Got        string             `json:"got,omitempty"`
	Problem    string             `json:"problem,omitempty"` // why the step could not be taken
	Violations []decision.Finding `json:"-"`                 // that the answer explains

	// Named are the rules that verdicts named which met their expectation.
	Named []policies.Place `json:"-"`
}

// Run runs one test. The error says that the simulation itself failed.
func (t *Test) Run(file string, policy *policies.Policy, options intent.Options) (Result, error) {
	r := &run{result: Result{Name: t.Name, File: file, Line: t.Line}, now: start}
	simulation, err := decision.NewSimulation(policy, options, func() time.Time { return r.now })
	if err != nil {
		return Result{}, err
	}
	defer simulation.Close()
	r.simulation = simulation
	for i := range t.Steps {
		step := &t.Steps[i]
		if !r.take(step) {
			if r.result.Line = step.Line; len(t.Steps) > 1 {
				r.result.Step = i + 1
			}
			return r.result, nil
		}
	}
	r.result.OK = true
	return r.result, nil
}

// run is a test under way.
type run struct {
	simulation *decision.Simulation
	now        time.Time
	hold       string // the hold that was opened last
	result     Result
}

// take takes a step, and reports whether everything was as expected.
func (r *run) take(step *Step) bool {
	r.now = r.now.Add(step.Advance)
	if problem := r.resolve(step.Resolve); problem != "" {
		r.result.Problem = problem
		return false
	}
	for n := range step.Repeat {
		answer, fault := r.simulation.Decide(step.Body, step.Shim, decision.Call{Explain: true})
		got := answered(answer, fault)
		if !got.meets(&step.Expect) {
			r.result.Expected, r.result.Got = step.Expect.String(), got.String()
			if step.Repeat > 1 {
				r.result.Got += fmt.Sprintf(" (time %d of %d)", n+1, step.Repeat)
			}
			if answer != nil {
				r.result.Violations = answer.Explanation.Violations
			}
			return false
		}
		if answer != nil {
			r.result.Named = append(r.result.Named, answer.Explanation.Named...)
			if answer.HoldID != "" {
				r.hold = answer.HoldID
			}
		}
	}
	return true
}

// resolve resolves the hold that was opened last, and returns why it could not.
func (r *run) resolve(how Resolution) string {
	if how == Leave {
		return ""
	}
	if r.hold == "" {
		return "no step before opened a hold, so there is nothing to approve or deny"
	}
	if err := r.simulation.Resolve(r.hold, how == Approve); err != nil {
		return "the hold can't be resolved: " + err.Error()
	}
	return ""
}

// answered is an answer, or a failure, in the terms of an expectation.
func answered(answer *decision.Answer, fault *service.Failure) *Expectation {
	if fault != nil {
		return &Expectation{Status: errcode.Lookup(fault.Code).Status, Code: string(fault.Code), Message: fault.Message}
	}
	return &Expectation{Status: answer.Status, Code: string(answer.Code), Rule: answer.Rule, Message: string(answer.Message)}
}

// meets reports whether an answer is what was expected.
func (e *Expectation) meets(want *Expectation) bool {
	return e.Status == want.Status &&
		(want.Code == "" || e.Code == want.Code) &&
		(want.Rule == "" || e.Rule == want.Rule) &&
		strings.Contains(e.Message, want.Message)
}
