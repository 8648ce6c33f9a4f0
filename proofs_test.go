package bailiff_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProofsSayWhereTheyRun: the table of CONTRIBUTING.md has each target of the Makefile that proves or measures something, and says of
// those of CI and of the nightly run, and of no others, that they run there.
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
		"a proof without a row":          {page, makefile + "\nplanted: build ## planted\n", script},
		"a proof whose row is gone":      {strings.Replace(page, "`make bench-hook` | once", "", 1), makefile, script},
		"an exception that has a row":    {strings.Replace(page, "`make bench-hook` | once", "`make profile` | once", 1), makefile, script},
		"a target that is not there":     {strings.Replace(page, "`make bench-hook` | once", "`make planted` | once", 1), makefile, script},
	} {
		if len(wrongProofs(planted[0], planted[1], planted[2])) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
}

// TestModulesAreTested: a target runs the tests of each module beside this one, which "go test ./..." leaves out.
func TestModulesAreTested(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	makefile, modules := string(text), map[string]bool{}
	for _, s := range sources(t, ".") {
		if s.test {
			modules[moduleOf(s.dir)] = true
		}
	}
	delete(modules, ".")
	for module := range modules {
		if !testsModule(makefile, module) {
			t.Errorf("no target of the Makefile runs the tests of %s", module)
		}
		if testsModule(strings.ReplaceAll(makefile, "$(GO) test", "$(GO) vet"), module) {
			t.Errorf("it is not found that no target runs the tests of %s", module)
		}
	}
	if !modules["bench/peers"] || modules["bench/servers"] {
		t.Errorf("the modules with tests are %v", modules)
	}
}

// moduleOf returns the folder of the module that a folder belongs to.
func moduleOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	return dir
}

// testsModule reports whether a line of a makefile runs the tests of a module.
func testsModule(makefile, module string) bool {
	for line := range strings.Lines(makefile) {
		if strings.HasPrefix(line, "\tcd "+module+" && ") && strings.Contains(line, "&& $(GO) test ") {
			return true
		}
	}
	return false
}

// provesNothing are the targets that prove and measure nothing, or only by way of others.
var provesNothing = []string{"help", "build", "release", "run", "run-cluster", "golden", "profile", "screenshots", "record", "nightly", "clean"}

var (
	target       = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*##`)
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
	said, listed := map[string][]string{}, map[string]bool{}
	for _, row := range proofRow.FindAllStringSubmatch(page, -1) {
		said[row[2]] = append(said[row[2]], row[1])
		listed[row[1]] = true
		if !strings.Contains(makefile, "\n"+row[1]+":") {
			faults = append(faults, fmt.Sprintf("CONTRIBUTING.md names make %s, which the Makefile does not have", row[1]))
		}
	}
	for _, found := range target.FindAllStringSubmatch(makefile, -1) {
		if name := found[1]; listed[name] == slices.Contains(provesNothing, name) {
			faults = append(faults, fmt.Sprintf("CONTRIBUTING.md has to have a row of make %s, or provesNothing its name, and not both", name))
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
