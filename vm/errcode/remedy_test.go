package errcode

import (
	"strings"
	"testing"
)

// TestRemedies: every code of the table says what to do, in sentences, and nothing else does.
func TestRemedies(t *testing.T) {
	for _, fault := range remedyFaults(Table) {
		t.Error(fault)
	}
	if faults := remedyFaults(append([]Info{{Code: "SVC_UNKNOWN", HTTP: 429}}, Table[1:]...)); len(faults) != 2 {
		t.Errorf("a code without a remedy and a remedy without a code are found as %q", faults)
	}
	if faults := remedyFaults(append([]Info{{Code: ActionNotAllowed, HTTP: 503}}, Table[1:]...)); len(faults) != 1 {
		t.Errorf("a 503 that is never sent again is found as %q", faults)
	}
}

func remedyFaults(table []Info) (faults []string) {
	for _, info := range table {
		remedy, ok := RemedyOf(info.Code)
		switch text := strings.TrimSpace(remedy.Do); {
		case !ok:
			faults = append(faults, string(info.Code)+" has no row in remedies: say what a client can do about it")
		case !strings.HasSuffix(text, ".") || len(text) < 20 || strings.Contains(text, "  "):
			faults = append(faults, string(info.Code)+": what to do is not in sentences")
		case remedy.Retry == Never && (info.HTTP == 429 || info.HTTP >= 500):
			faults = append(faults, string(info.Code)+": an answer that passes may be asked for again")
		}
	}
	known := map[Code]bool{}
	for _, info := range table {
		known[info.Code] = true
	}
	for code := range remedies {
		if !known[code] {
			faults = append(faults, string(code)+" has a remedy and is not in the table")
		}
	}
	return faults
}
