package main

import (
	"strings"
	"testing"
)

// TestDoctorOfAnotherEnvironment: without an operator key doctor says whose environment it reads, and shows no layer.
func TestDoctorOfAnotherEnvironment(t *testing.T) {
	p := &patient{settings: settings{}}
	p.examineHosting()
	last := p.findings[len(p.findings)-1]
	if last.Verdict != trouble || !strings.HasPrefix(last.Message, "SVC_OPERATOR_PUBLIC_KEY is not set.") || !strings.Contains(last.Message, "run it with the service's") {
		t.Errorf("%+v", last)
	}
}
