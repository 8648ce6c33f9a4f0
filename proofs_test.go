package bailiff_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProofsSayWhereTheyRun: the table of CONTRIBUTING.md has each proof that CI and the nightly run make, and no other claims to be there.
func TestProofsSayWhereTheyRun(t *testing.T) {
	texts := map[string]string{}
	for _, name := range []string{"CONTRIBUTING.md", "Makefile", ".ci/run"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(content)
	}
	page, makefile, script := texts["CONTRIBUTING.md"], texts["Makefile"], texts[".ci/run"]
	for _, fault := range wrongProofs(page, makefile, script) {
		t.Error(fault)
	}
	for what, planted := range map[string][3]string{
		"a nightly target without a row": {page, strings.Replace(makefile, "nightly: ", "nightly: planted ", 1), script},
		"a suite of CI without a row":    {page, makefile, strings.Replace(script, "for suite in ", "for suite in planted ", 1)},
		"a row that runs elsewhere":      {strings.Replace(page, "`make bench-hook` | once", "`make bench-hook` | nightly", 1), makefile, script},
		"a target that is not there":     {strings.Replace(page, "`make bench-hook` | once", "`make planted` | once", 1), makefile, script},
	} {
		if len(wrongProofs(planted[0], planted[1], planted[2])) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
}

var (
	proofRow     = regexp.MustCompile("(?m)^\\| [^|]+ \\| `make ([a-z0-9-]+)[^`]*` \\| (CI|nightly|once) \\| [^|]+ \\|$")
	nightlyRule  = regexp.MustCompile(`(?m)^nightly: ([^#]*)##.*\n((?:\t.*\n)*)`)
	nightlyMakes = regexp.MustCompile(`(?m)^\t\$\(MAKE\) ((?:[a-z0-9-]+ ?)+)`)
	suites       = regexp.MustCompile(`for suite in ([^;]+);`)
)

// wrongProofs returns where a table of proofs differs from what a makefile's nightly target and the script of CI run.
func wrongProofs(page, makefile, script string) (faults []string) {
	runs := map[string][]string{"CI": strings.Fields(suites.FindStringSubmatch(script)[1])}
	rule := nightlyRule.FindStringSubmatch(makefile)
	runs["nightly"] = strings.Fields(rule[1])
	for _, line := range nightlyMakes.FindAllStringSubmatch(rule[2], -1) {
		runs["nightly"] = append(runs["nightly"], strings.Fields(line[1])...)
	}
	said := map[string][]string{}
	for _, row := range proofRow.FindAllStringSubmatch(page, -1) {
		said[row[2]] = append(said[row[2]], row[1])
		if !strings.Contains(makefile, "\n"+row[1]+":") {
			faults = append(faults, fmt.Sprintf("CONTRIBUTING.md names make %s, which the Makefile does not have", row[1]))
		}
	}
	for _, where := range []string{"CI", "nightly"} {
		slices.Sort(said[where])
		slices.Sort(runs[where])
		if !slices.Equal(said[where], runs[where]) {
			faults = append(faults, fmt.Sprintf("%s runs %q, and the table of CONTRIBUTING.md says %q", where, runs[where], said[where]))
		}
	}
	return faults
}
