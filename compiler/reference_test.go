package compiler

import (
	"flag"
	"os"
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
