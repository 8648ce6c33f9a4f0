package doctor

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/attest"
)

// TestDoctorSaysThatItWorks: verifying the record, which may take minutes, has a line of progress.
func TestDoctorSaysThatItWorks(t *testing.T) {
	data := t.TempDir()
	s, err := cmdsettings.Load([]string{"SVC_DATA_DIR=" + data})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attest.LoadOrCreate(s.KeyDir, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.LedgerPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	said := ""
	p := &Patient{settings: s, working: func() func() {
		said += "begins "
		return func() { said += "ends" }
	}}
	if p.examineRecord(); said != "begins ends" || len(p.Findings) != 1 {
		t.Errorf("it said %q, and found %+v", said, p.Findings)
	}
}

// TestDoctorOfAnotherEnvironment: without an operator key doctor says whose environment it reads, and shows no layer.
func TestDoctorOfAnotherEnvironment(t *testing.T) {
	p := &Patient{settings: new(cmdsettings.Settings)}
	p.examineHosting()
	last := p.Findings[len(p.Findings)-1]
	if last.Verdict != Trouble || !strings.HasPrefix(last.Message, "SVC_OPERATOR_PUBLIC_KEY is not set.") || !strings.Contains(last.Message, "run it with the service's") {
		t.Errorf("%+v", last)
	}
}
