package errcode

import (
	"strings"
	"testing"
)

// TestRemedies: every code of the table says what to do, in sentences, and no two are the same.
func TestRemedies(t *testing.T) {
	for _, fault := range remedyFaults(Table) {
		t.Error(fault)
	}
	if faults := remedyFaults([]Info{{Code: "SVC_UNKNOWN", HTTP: 429}, {Code: "SVC_UNKNOWN", Remedy: Remedy{"Nothing can be done here.", Never}}}); len(faults) != 2 {
		t.Errorf("a code without a remedy and one that is there twice are found as %q", faults)
	}
	if faults := remedyFaults([]Info{{Code: "SVC_UNKNOWN", HTTP: 503, Remedy: Remedy{"Nothing can be done here.", Never}}}); len(faults) != 1 {
		t.Errorf("a 503 that is never sent again is found as %q", faults)
	}
}

func remedyFaults(table []Info) (faults []string) {
	known := map[Code]bool{}
	for _, info := range table {
		switch text := strings.TrimSpace(info.Remedy.Do); {
		case !strings.HasSuffix(text, ".") || len(text) < 20 || strings.Contains(text, "  "):
			faults = append(faults, string(info.Code)+": what to do is not in sentences")
		case info.Remedy.Retry == Never && (info.HTTP == 429 || info.HTTP >= 500):
			faults = append(faults, string(info.Code)+": an answer that passes may be asked for again")
		}
		if known[info.Code] {
			faults = append(faults, string(info.Code)+" is defined twice")
		}
		known[info.Code] = true
	}
	return faults
}
