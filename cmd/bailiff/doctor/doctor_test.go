package doctor

import (
	"strings"
	"testing"

	cmdsettings "bailiff/cmd/bailiff/settings"
)

// TestDoctorOfAnotherEnvironment: without an operator key doctor says whose environment it reads, and shows no layer.
func TestDoctorOfAnotherEnvironment(t *testing.T) {
	p := &Patient{settings: new(cmdsettings.Settings)}
	p.examineHosting()
	last := p.Findings[len(p.Findings)-1]
	if last.Verdict != Trouble || !strings.HasPrefix(last.Message, "SVC_OPERATOR_PUBLIC_KEY is not set.") || !strings.Contains(last.Message, "run it with the service's") {
		t.Errorf("%+v", last)
	}
}
