package player

import (
	"encoding/json"
	"errors"
	"fmt"

	"bailiff/bench"
)

// An Answer is what the checks look at in a body of the service.
type Answer struct {
	Status      string  `json:"status"`
	Attestation *string `json:"intent_attestation"`
	PolicyHash  string  `json:"policyHash"`
	Code        string  `json:"error_code"`
	TestRun     bool    `json:"test_run"`
}

// ExpectAnswer is a check of bodies that are answers.
func ExpectAnswer(status string, fits func(*Answer) bool) Expectation {
	return Expectation{Status: status, Body: func(body []byte) error {
		var a Answer
		if err := json.Unmarshal(body, &a); err != nil {
			return fmt.Errorf("the answer is no JSON: %w", err)
		}
		if !fits(&a) {
			return errors.New("the answer is not the expected one")
		}
		return nil
	}}
}

// The expectations of the service, and of what plays it.
var (
	ExpectTestRun = ExpectAnswer("200", func(a *Answer) bool {
		return a.Status == "ALLOWED" && a.TestRun && a.Attestation == nil && len(a.PolicyHash) == 64
	})
	ExpectDenied = ExpectAnswer("403", func(a *Answer) bool {
		return a.Status == "DENIED" && a.Code == bench.DeniedCode && a.Attestation == nil && !a.TestRun
	})
	ExpectSigned = ExpectAnswer("200", func(a *Answer) bool {
		return a.Status == "ALLOWED" && a.Attestation != nil && len(*a.Attestation) > 6000 && !a.TestRun
	})
)
