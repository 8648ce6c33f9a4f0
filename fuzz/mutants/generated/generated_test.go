package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/page"
	"bailiff/fuzz/kit/reviewed"
)

const root = "../../.."

// planted is a module with a place for each kind of mutant, and the tests that may kill them.
func planted(tests string) (*options, part) {
	return &options{out: io.Discard, patience: time.Second}, part{packages: []string{"."}, suites: []suite{{folder: ".", tests: tests}}}
}

// TestWeakTestsLetMutantsLive is the canary: tests that look at nothing let mutants live which others kill.
func TestWeakTestsLetMutantsLive(t *testing.T) {
	dir := filepath.Join("testdata", "planted")
	o, p := planted("^TestStrong$")
	strong, err := o.run(t.Context(), dir, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range strong.of(alive, false) {
		t.Errorf("a test that asserts does not kill %s", v.name())
	}
	if len(strong.of(late, false)) == 0 || len(strong.of(killed, false)) < strong.generated/2 {
		t.Errorf("no loop is endless, or few mutants are killed: %s", strong)
	}
	o, p = planted("^TestWeak$")
	weak, err := o.run(t.Context(), dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(weak.of(alive, false)); n < weak.generated/2 {
		t.Errorf("a test that looks at nothing leaves %d of %d alive", n, weak.generated)
	}
	if said := weak.String(); !strings.Contains(said, "alive: planted.go: Between: ") {
		t.Error(said)
	}
}

// TestSuites: a suite may be subtests of a test, and one without a test ends the run.
func TestSuites(t *testing.T) {
	dir := filepath.Join("testdata", "planted")
	o, p := planted("^TestStrong$/^kinds$")
	strong, err := o.run(t.Context(), dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(strong.of(killed, false)) < strong.generated/2 {
		t.Errorf("few mutants are killed: %s", strong)
	}
	o, p = planted("^TestNone$")
	if _, err := o.run(t.Context(), dir, p); err == nil || !strings.Contains(err.Error(), "has no tests by the pattern") {
		t.Errorf("a suite without a test ends with %v", err)
	}
}

// TestOperators holds the mutants of the planted module to a list of their names.
func TestOperators(t *testing.T) {
	f, _, err := generate(filepath.Join("testdata", "planted"), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, m := range f.mutants {
		names.WriteString(m.name() + "\n")
	}
	page.Whole(t, filepath.Join("testdata", "planted.txt"), "go test ./fuzz/mutants/generated -run TestOperators -rewrite", names.String())
}

// TestFailingTests: a test that fails without a mutant would kill them all, and ends the run.
func TestFailingTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module planted\n\ngo 1.26\n",
		"planted.go":      "// Package planted is planted.\npackage planted\n\nfunc one() int { return 1 }\n",
		"planted_test.go": "package planted\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 2 {\n\t\tt.Fatal(\"it is not\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, p := planted("")
	if _, err := o.run(t.Context(), dir, p); err == nil || !strings.Contains(err.Error(), "fails without a mutant") {
		t.Errorf("the run ends with %v", err)
	}
}

// TestReviewed: each mutant of the list is there, as long as the list has it.
func TestReviewed(t *testing.T) {
	reasons, err := reviewed.Read("reviewed.txt", reviewedText)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, name := range partNames() {
		f, _, err := generate(root, parts[name].packages)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.mutants {
			there[m.name()] = true
		}
	}
	for _, name := range unmatched(reasons, there) {
		t.Errorf("reviewed.txt has a mutant that is not there any more: %s", name)
	}
	reasons["vm/planted.go: planted: `x`: x is negated"] = "planted"
	if len(unmatched(reasons, there)) == 0 {
		t.Error("a planted entry is not found")
	}
}

// unmatched returns the names of a list that no mutant has.
func unmatched(reasons map[string]string, there map[string]bool) (names []string) {
	for name := range reasons {
		if !there[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestPage holds docs/mutation.md to the reports of the last runs.
func TestPage(t *testing.T) {
	docs := filepath.Join(root, "docs")
	all, err := read(docs)
	if err != nil {
		t.Fatal(err)
	}
	text, err := board(all)
	if err != nil {
		t.Fatal(err)
	}
	page.Whole(t, filepath.Join(docs, pageName), "go test ./fuzz/mutants/generated -run TestPage -rewrite", text)
}

// TestAgain: a run over those that were alive brings the report up to date, and refuses a report of another text.
func TestAgain(t *testing.T) {
	dir, docs := filepath.Join("testdata", "planted"), t.TempDir()
	const name = "vm" // in whose place the planted module is
	run := func(again bool, tests string) (*result, *report, error) {
		t.Helper()
		o, p := planted(tests)
		o.docs, o.again = docs, again
		r, err := o.part(t.Context(), dir, name, p)
		if err != nil {
			return nil, nil, err
		}
		kept, err := readReport(docs, name)
		return r, kept, err
	}
	if _, _, err := run(true, "^TestStrong$"); err == nil || !strings.Contains(err.Error(), "has no report") {
		t.Errorf("again before a report: %v", err)
	}
	_, first, err := run(false, "^TestWeak$")
	if err != nil {
		t.Fatal(err)
	}
	tried, second, err := run(true, "^TestStrong$")
	if err != nil {
		t.Fatal(err)
	}
	now := len(tried.of(killed, false))
	if tried.tried != len(first.Alive) || now == 0 || second.Tried != first.Tried || second.Killed != first.Killed+now || len(second.Alive) != 0 {
		t.Errorf("%d killed of %d; after %+v the report is %+v", now, tried.tried, first, second)
	}
	second.Digest = "of another text"
	if err := second.write(docs); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(true, "^TestStrong$"); err == nil || !strings.Contains(err.Error(), "other mutants") {
		t.Errorf("again after a report of another text: %v", err)
	}
}

// TestBoardSaysWhatIsBelow: the page names the parts that were not tried, and those of which too few mutants are killed.
func TestBoardSaysWhatIsBelow(t *testing.T) {
	text, err := board([]*report{
		{Part: "runtime/gateway", Generated: 200, Tried: 100, Killed: 97, Equivalent: 1, Alive: make([]string, 2)},
		{Part: "vm", Generated: 200, Tried: 102, Killed: 98, TimedOut: 1, Equivalent: 1, Alive: make([]string, 2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"`runtime/ledger/state` was not tried.", "`runtime/gateway` is below the aim.", "`vm` reaches the aim in a sample."} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the page does not say: %s", line)
		}
	}
}

// TestWronglyReviewed: a mutant that is reviewed and that a test kills is named in the log, in the report, and on the page as long as the list has it.
func TestWronglyReviewed(t *testing.T) {
	const killedOne, livingOne = "planted.go: Between: `return false`: false becomes true", "planted.go: Up: `sum += i`: sum += i is left out"
	before := reviewedText
	defer func() { reviewedText = before }()
	reviewedText = killedOne + "\n\tplanted\n"
	dir, docs := filepath.Join("testdata", "planted"), t.TempDir()
	var said strings.Builder
	o, p := planted("^TestStrong$")
	o.out, o.names = &said, map[string]bool{killedOne: true, livingOne: true}
	r, err := o.run(t.Context(), dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if log := said.String(); !strings.Contains(log, "WRONGLY REVIEWED") || !strings.Contains(log, killedOne) || strings.Contains(log, livingOne) {
		t.Errorf("the log is %s", log)
	}
	if s := r.String(); strings.Count(s, "wrongly reviewed: ") != 1 || !strings.Contains(s, "wrongly reviewed: "+killedOne) {
		t.Errorf("the run came to %s", s)
	}
	made := r.report("vm", "commit", time.Now(), 1)
	if err := made.after(&report{Part: "vm", Digest: made.Digest, Tried: 2, Alive: make([]string, 2), WronglyReviewed: []string{"of before"}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(made.WronglyReviewed, []string{"of before", killedOne}) || made.Killed != 2 {
		t.Errorf("the report is %+v", made)
	}
	if err := made.write(docs); err != nil {
		t.Fatal(err)
	}
	for _, listed := range []bool{true, false} {
		if !listed {
			reviewedText = ""
		}
		text, err := board([]*report{made})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "## Wrongly reviewed in `vm`\n") != listed || strings.Contains(text, "- "+killedOne+"\n") != listed || strings.Contains(text, "of before") {
			t.Errorf("on the list: %t; the page is %s", listed, text)
		}
	}
}

// TestInterrupted: a run that is stopped has no result.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o, p := planted("")
	if r, err := o.run(ctx, filepath.Join("testdata", "planted"), p); err == nil {
		t.Errorf("an interrupted run came to %s", r)
	}
}
