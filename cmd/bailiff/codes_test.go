package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/report"
	"bailiff/compiler"
	"bailiff/grammar"

	_ "github.com/cockroachdb/datadriven" // for its flag -rewrite
)

// diagnosticsPage is the reference of all codes, as docs/diagnostics.md has it.
func diagnosticsPage() string {
	var b strings.Builder
	b.WriteString("# Diagnostics\n\nEverything that `bailiff check` can say about a policy, one section a code. Codes that begin with E are errors: the\n" +
		"policy is refused. W are warnings, N notes. `bailiff explain-code CODE` prints the same. Where an example has `…` there\n" +
		"is more of the same than a page holds. The page is made from the tables in `grammar` and `compiler`; `make golden`\n" +
		"makes it anew.\n")
	for _, info := range codeTable() {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s", info.Code, info.Title, report.Markdown(info))
	}
	return b.String()
}

// TestDiagnosticsPage holds docs/diagnostics.md to the tables of codes; with -rewrite it writes the page.
func TestDiagnosticsPage(t *testing.T) {
	const path = "../../docs/diagnostics.md"
	want := diagnosticsPage()
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("docs/diagnostics.md is not what the tables say (%v); run: go test ./cmd/bailiff -run TestDiagnosticsPage -rewrite", err)
	}
}

// withoutExample are the codes that no policy shows, or none that fits a page. or none that fits on a page.
var withoutExample = []grammar.Code{grammar.CodeUnexpected, compiler.CodeTooLarge}

// fillings are what the `…` of an example stands for where it matters.
var fillings = map[grammar.Code]string{
	grammar.CodeTooLarge:     strings.Repeat("x", grammar.MaxBytes),
	grammar.CodeTooManyLines: strings.Repeat("# more\n", grammar.MaxLines),
	grammar.CodeLineTooLong:  strings.Repeat("x", grammar.MaxLineBytes),
	grammar.CodeTooManySegs:  strings.Repeat("d.", grammar.MaxSegments) + "d",
	grammar.CodeTooManyItems: strings.Repeat("ops, ", grammar.MaxItems) + "ops",
	grammar.CodeMore:         strings.Repeat("allow bash\n", grammar.MaxDiagnostics),
}

// TestExamples compiles the examples of every code: the wrong one has the finding, and the right one has neither it nor
// any error.
func TestExamples(t *testing.T) {
	for _, info := range codeTable() {
		if slices.Contains(withoutExample, info.Code) {
			if info.Wrong != "" || info.Right != "" {
				t.Errorf("%s has an example, and is listed as one that can't", info.Code)
			}
			continue
		}
		if err := checkExample(info); err != nil {
			t.Errorf("%s: %v", info.Code, err)
		}
	}
}

func checkExample(info grammar.CodeInfo) error {
	if info.Wrong == "" || info.Right == "" {
		return fmt.Errorf("no example")
	}
	wrong := strings.Replace(info.Wrong, "…", fillings[info.Code], 1)
	if _, found := compiler.Compile(grammar.NewSource("wrong", []byte(wrong))); !has(found, info.Code) {
		return fmt.Errorf("the wrong example does not show it, but %v", found)
	}
	src := grammar.NewSource("right", []byte(info.Right))
	_, found := compiler.Compile(src)
	if has(found, info.Code) || found.HasErrors() {
		return fmt.Errorf("the right example has errors: %s", src.Render(found[0]))
	}
	return nil
}

func has(found grammar.Diagnostics, code grammar.Code) bool {
	return slices.ContainsFunc(found, func(d grammar.Diagnostic) bool { return d.Code == code })
}

// TestFixesEnd makes all fixes of every wrong example: they come to an end, and where one was for the finding that the
// example is about, that is gone.
func TestFixesEnd(t *testing.T) {
	mended := 0
	for _, info := range codeTable() {
		made := false
		src := grammar.NewSource("wrong", []byte(strings.Replace(info.Wrong, "…", fillings[info.Code], 1)))
		after, done := mendAll(src, func(_ *grammar.Source, d grammar.Diagnostic) { made = made || d.Code == info.Code })
		if !done {
			t.Errorf("%s: fixes go on for ever; %s", info.Code, after.Text)
		}
		if _, found := compiler.Compile(after); made && has(found, info.Code) {
			t.Errorf("%s: the fixes do not mend\n%s", info.Code, after.Text)
		}
		if made {
			mended++
		}
	}
	if mended < 10 {
		t.Errorf("only %d examples were mended", mended)
	}
}

// TestExamplesCanary shows that the check of examples sees those that show something else, or are wrong themselves.
func TestExamplesCanary(t *testing.T) {
	const good = "version: 2.1.0\n\n## tool_calls\nallowed: bash\n"
	const bad = "version: 2.1.0\n\n## tool_calls\nallowed : bash\n"
	for _, info := range []grammar.CodeInfo{
		{Code: grammar.CodeSpaceColon},
		{Code: grammar.CodeSpaceColon, Wrong: good, Right: good},
		{Code: grammar.CodeSpaceColon, Wrong: bad, Right: bad},
		{Code: grammar.CodeNUL, Wrong: bad, Right: good},
		{Code: grammar.CodeSpaceColon, Wrong: bad, Right: "version: 2.1.0\n"},
	} {
		if checkExample(info) == nil {
			t.Errorf("%+v passed", info)
		}
	}
	if err := checkExample(grammar.CodeInfo{Code: grammar.CodeSpaceColon, Wrong: bad, Right: good}); err != nil {
		t.Error(err)
	}
}

// TestRightExamplesAreCanonical holds the examples that teach the text layer to the layout that fmt gives.
func TestRightExamplesAreCanonical(t *testing.T) {
	for _, info := range grammar.Codes() {
		formatted, _ := grammar.Format(grammar.NewSource("right", []byte(info.Right)))
		if info.Right != "" && !bytes.Equal(formatted, []byte(info.Right)) {
			t.Errorf("%s: the right example is not laid out as fmt would", info.Code)
		}
	}
}
