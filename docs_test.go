package bailiff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/compiler/lint"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/runtime/policytest"
)

// A block is a part of a document between two lines of three backquotes.
type block struct {
	page, heading string
	line          int
	language      string // behind the first backquotes; "" where there is none
	text          string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

var fence = regexp.MustCompile("^```([a-z]*)$")

// blocksOf returns the blocks of a document.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	heading := ""
	for i, line := range strings.Split(string(content), "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil:
			open = &block{page: page, heading: heading, line: i + 1, language: match[1]}
		case open != nil && match != nil:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		}
	}
	if open != nil {
		t.Errorf("%s is not closed", open)
	}
	return blocks
}

// pages returns the documents of the project.

func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(found, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
}

// mistakes returns what is wrong with a policy of a document: findings, and that it is not formatted.
func mistakes(b block) (found []string) {
	src := grammar.NewSource(b.String(), []byte(b.text))
	_, diagnostics := lint.Compile(src)
	for _, d := range diagnostics {
		if d.Severity != grammar.Note {
			found = append(found, src.Render(d))
		}
	}
	if formatted, _ := compiler.Format(src); len(found) == 0 && string(formatted) != b.text {
		found = append(found, fmt.Sprintf("%s: the policy is not formatted:\n%s", b, formatted))
	}
	return found
}

// runTests runs the tests of a policy, and returns what fails.
func runTests(policyText, tests block) (failed []string, ran int) {
	policy, err := policies.CompilePolicy(grammar.NewSource(policyText.String(), []byte(policyText.text)))
	if err != nil {
		return []string{err.Error()}, 0
	}
	file, err := policytest.Parse("warranty.test.yaml", []byte(tests.text))
	if err == nil {
		err = file.Check(policy)
	}
	if err != nil {
		return []string{tests.String() + ": " + err.Error()}, 0
	}
	for i := range file.Tests {
		result, err := file.Tests[i].Run(file.Name, policy, intent.Options{})
		if err != nil {
			return append(failed, err.Error()), ran
		}
		ran++
		if !result.OK {
			failed = append(failed, fmt.Sprintf("%s: %q, step %d: %s is expected, and it is %s %s", tests, result.Name, result.Step, result.Expected, result.Got, result.Problem))
		}
	}
	return failed, ran
}

// recipes returns the recipes: policies, each with its tests behind it.
func recipes(t *testing.T) (all [][2]block) {
	t.Helper()
	blocks := blocksOf(t, "docs/recipes.md")
	for i := 0; i+1 < len(blocks); i += 2 {
		if blocks[i].language != "warranty" || blocks[i+1].language != "yaml" || blocks[i].heading != blocks[i+1].heading {
			t.Fatalf("%s: a recipe is a policy and its tests", blocks[i])
		}
		all = append(all, [2]block{blocks[i], blocks[i+1]})
	}
	return all
}

// TestRecipes holds the recipes to what they say: each policy has no finding, is formatted, and passes its tests, which have an
// intent that is allowed or held and one that is denied.
func TestRecipes(t *testing.T) {
	all := recipes(t)
	if len(all) < 20 {
		t.Errorf("%d recipes; the page says twenty", len(all))
	}
	for _, recipe := range all {
		for _, mistake := range mistakes(recipe[0]) {
			t.Error(mistake)
		}
		failed, ran := runTests(recipe[0], recipe[1])
		for _, failure := range failed {
			t.Error(failure)
		}
		if text := recipe[1].text; ran < 2 || !strings.Contains(text, "ALLOWED") && !strings.Contains(text, "PENDING") || !strings.Contains(text, "DENIED") {
			t.Errorf("%s: the tests of a recipe show what passes and what is denied", recipe[1])
		}
	}
}
