package compiler

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// referencePage is the page of the manual that Reference writes.
const referencePage = "../docs/policy-reference.md"

// TestReference holds the page to the tables; -rewrite writes it anew.
func TestReference(t *testing.T) {
	text := reference()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(referencePage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != text {
		t.Error("docs/policy-reference.md is not what the tables say; run this test with -rewrite")
	}
	for _, row := range Schema() {
		if !strings.Contains(text, "### `"+row.Name+"`\n") || !strings.Contains(text, "\n"+row.Example+"\n") {
			t.Errorf("the reference does not have %s.%s", row.Section, row.Name)
		}
	}
}

// TestRuleLines makes sure that every rule is found in the lines that say it.
func TestRuleLines(t *testing.T) {
	compiled, _ := compileText("version: 2.0.0\n## tool_calls\nallowed: bash\n## execution_limits\nmax_tool_calls_per_hour: 5\n## custom\n" +
		"deny_if.metadata.a equals b\n\ndeny_if.metadata.a equals c\nrequire_approval: bash\n")
	want := map[string][]int{
		"tool_calls.allowed": {3}, "execution_limits.max_tool_calls_per_hour": {5},
		"custom.deny_if.metadata.a": {7, 9}, "custom.require_approval": {10},
	}
	for rule, lines := range compiled.RuleLines() {
		name := compiled.Program.Rule(uint16(rule)).Name
		if len(lines) == 0 {
			t.Errorf("%s comes from nowhere", name)
		}
		if want, ok := want[name]; ok && !slices.Equal(lines, want) {
			t.Errorf("%s comes from %v, want %v", name, lines, want)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("there are no rules %v", want)
	}
	if (&Compiled{}).RuleLines() != nil {
		t.Error("no program has lines")
	}
}

// TestReferenceLinks makes sure that every link to a finding leads to its heading.
func TestReferenceLinks(t *testing.T) {
	page, err := os.ReadFile("../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			headings[anchor(strings.TrimSpace(heading))] = true
		}
	}
	links := 0
	for _, part := range strings.Split(reference(), "(diagnostics.md#")[1:] {
		target, _, _ := strings.Cut(part, ")")
		links++
		if !headings[target] {
			t.Errorf("no heading is called %s", target)
		}
	}
	if want := len(codes.All()) + len(grammar.Codes()); links != want {
		t.Errorf("%d links, want %d", links, want)
	}
}
