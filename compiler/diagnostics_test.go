package compiler

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/grammar"
)

// TestDiagnostics holds every finding to its place, its words and its hint, and makes sure that no code of the
// table is without an example.
func TestDiagnostics(t *testing.T) {
	seen := map[grammar.Code]bool{}
	datadriven.Walk(t, "testdata/diagnostics", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			answer := s.run(t, td)
			_, found := compileLinted(s.compiled.Source)
			for _, d := range found {
				seen[d.Code] = true
				checkFix(t, s.compiled.Source, d)
			}
			return answer
		})
	})
	for src := range outsized() {
		_, found := compileLinted(src)
		for _, d := range found {
			seen[d.Code] = true
		}
	}
	_, late := CompileWithin(grammar.NewSource("late", []byte(example.Tools(""))), func() bool { return true })
	for _, d := range late {
		seen[d.Code] = true
	}
	for _, info := range codes.All() {
		if !seen[info.Code] {
			t.Errorf("no golden file shows %s (%s)", info.Code, info.Title)
		}
	}
}

// checkFix makes sure that a fix mends what it belongs to.
func checkFix(t *testing.T, src *grammar.Source, d grammar.Diagnostic) {
	t.Helper()
	if d.Fix == nil {
		return
	}
	text := string(src.Text)
	mended := grammar.NewSource("mended", []byte(text[:d.Fix.Span.Start]+d.Fix.Replacement+text[d.Fix.Span.End:]))
	_, found := compileLinted(mended)
	for _, left := range found {
		if left.Code == d.Code && left.Span.Start == d.Span.Start && left.Message == d.Message {
			t.Errorf("the fix does not mend this:\n%s", src.Render(d))
		}
	}
}

// outsizedCodes are about policies that are too large to show, or about time.
var outsizedCodes = []grammar.Code{codes.TooLarge, codes.Memory, codes.CompileTime}

// TestCodes holds the table of codes to its form, and its policies to what they show.
func TestCodes(t *testing.T) {
	for _, info := range codes.All() {
		if len(info.Code) != 5 || info.Code[1] != '2' {
			t.Errorf("%s: codes are E2xxx, N2xxx and W2xxx", info.Code)
		}
		if info.Title == "" || !strings.HasSuffix(info.Explanation, ".") {
			t.Errorf("%s has no title or no explanation", info.Code)
		}
		if (info.Wrong == "" || info.Right == "") != slices.Contains(outsizedCodes, info.Code) {
			t.Errorf("%s has no policies that show it", info.Code)
		}
		if info.Wrong != "" && !slices.Contains(codesOf(info.Wrong), info.Code) {
			t.Errorf("%s is not what is wrong with this, but %v:\n%.1000s", info.Code, codesOf(info.Wrong), info.Wrong)
		}
		if info.Right != "" && (slices.Contains(codesOf(info.Right), info.Code) || len(errorsOf(info.Right)) > 0) {
			t.Errorf("%s: there is still %v:\n%.1000s", info.Code, codesOf(info.Right), info.Right)
		}
	}
}

// codesOf returns the codes of all findings about a policy.
func codesOf(text string) []grammar.Code {
	_, found := compileText(text)
	var these []grammar.Code
	for _, d := range found {
		these = append(these, d.Code)
	}
	return these
}
