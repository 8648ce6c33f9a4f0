package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/errcode"
)

// root is the project's folder.
const root = "../.."

// A row of docs/conformance.md: a paragraph of the specification, what it asks for, and what shows it.
type row struct{ paragraph, asks, shown string }

// A conformance is what the rows are held to: the paragraphs of the specification, and the tests of the project.
type conformance struct {
	paragraphs []string
	tests      shelf
}

// TestConformance holds docs/conformance.md to docs/specification.md, to the table of codes and to the tests: every paragraph
// and every code has a row, and every row names tests that exist, or says why none can.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "specification.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := conformance{paragraphsOf(string(text)), shelve(t, root)}
	if len(c.paragraphs) < 100 {
		t.Fatalf("docs/specification.md has %d numbered paragraphs; mend how this test reads it", len(c.paragraphs))
	}
	for _, name := range twice(c.paragraphs) {
		t.Errorf("docs/specification.md has two paragraphs %q: rename one of the sections", name)
	}
	rows, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range c.faults(readRows(string(rows))) {
		t.Error(fault)
	}
}

// readRows reads the tables of a Markdown file: every line that starts a cell with a name in backquotes.
func readRows(text string) (rows []row) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.SplitN(strings.TrimSuffix(strings.TrimSpace(line[1:]), "|"), " | ", 3)
		for len(cells) < 3 {
			cells = append(cells, "")
		}
		rows = append(rows, row{strings.Trim(strings.TrimSpace(cells[0]), "`"), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])})
	}
	return rows
}

// tests are the tests that a row names. What is no name in backquotes is left as it is, and is found to be no test.
func (r *row) tests() (names []string) {
	for name := range strings.SplitSeq(r.shown, ", ") {
		if bare := strings.Trim(name, "`"); name == "`"+bare+"`" {
			name = bare
		}
		names = append(names, name)
	}
	return names
}

// faults says what is wrong with the rows. A paragraph may have several, which ask for different things.
func (c *conformance) faults(rows []row) (faults []string) {
	seen, asked := map[string]row{}, map[[2]string]bool{}
	for _, r := range rows {
		key := [2]string{r.paragraph, r.asks}
		if _, again := seen[r.paragraph]; asked[key] || again && strings.HasPrefix(r.paragraph, "code.") {
			faults = append(faults, fmt.Sprintf("row %q asks for %q twice", r.paragraph, r.asks))
		}
		seen[r.paragraph], asked[key] = r, true
		faults = append(faults, c.rowFaults(r)...)
	}
	for _, paragraph := range c.paragraphs {
		if _, there := seen[paragraph]; !there {
			faults = append(faults, fmt.Sprintf("paragraph %q of the specification has no row", paragraph))
		}
	}
	for _, info := range errcode.Table {
		faults = append(faults, c.codeFaults(info, seen)...)
	}
	return faults
}

// unshown are the reasons for which a row may have no test: the part is not built, or there is nothing to show.
var unshown = regexp.MustCompile("^(not built|not applicable): .{10,}$")

func (c *conformance) rowFaults(r row) (faults []string) {
	ofCode := strings.HasPrefix(r.paragraph, "code.")
	if ofCode && errcode.Lookup(errcode.Code(r.paragraph[len("code."):])).Code != errcode.Code(r.paragraph[len("code."):]) {
		faults = append(faults, fmt.Sprintf("row %q is no code of the table", r.paragraph))
	}
	if !ofCode && !slices.Contains(c.paragraphs, r.paragraph) {
		faults = append(faults, fmt.Sprintf("row %q is not a paragraph of the specification", r.paragraph))
	}
	if r.asks == "" {
		faults = append(faults, fmt.Sprintf("row %q does not say what the paragraph asks for", r.paragraph))
	}
	if !ofCode && unshown.MatchString(r.shown) {
		return faults
	}
	for _, name := range r.tests() {
		if c.tests[name] == nil {
			faults = append(faults, fmt.Sprintf("row %q: %q is no test of this project", r.paragraph, name))
		}
	}
	return faults
}

// codeFaults holds the row of a code to the table, and to tests in which the code occurs.
func (c *conformance) codeFaults(info errcode.Info, rows map[string]row) (faults []string) {
	line, asks := "code."+string(info.Code), fmt.Sprintf("%d: %s", info.HTTP, info.Meaning)
	r := rows[line]
	if r.asks != asks {
		faults = append(faults, fmt.Sprintf("the code needs the row: | `%s` | %s | … |", line, asks))
	}
	for _, name := range r.tests() {
		if test := c.tests[name]; test != nil && test.mentions(info.Code) {
			return faults
		}
	}
	return append(faults, fmt.Sprintf("row %q: the code is in none of the tests that it names", line))
}

// TestConformanceCatches plants a fault at a time in a good row.
func TestConformanceCatches(t *testing.T) {
	text := "# Title\n1 word\n## Limits\n\n| a | b |\n1. c\n   2. d\n- e\n2. f\n### Of `POST /x`\n1. g\n"
	want := []string{"limits.1", "limits.2", "of-post-x.1"}
	if got := paragraphsOf(text); !slices.Equal(got, want) {
		t.Errorf("paragraphs %q, and not %q", got, want)
	}
	if got := twice(paragraphsOf("## A\n1. x\n## B\n1. x\n## A\n1. y\n2. z\n")); !slices.Equal(got, []string{"a.1"}) {
		t.Errorf("repeated paragraphs %q, and not a.1", got)
	}
	c := conformance{[]string{"limits.1"}, shelf{"httpd/e2e.TestX": {file: "AMOUNT_EXCEEDED errcode.NotFound"}}}
	count := func(r ...row) int { return len(c.faults(r)) }
	good := row{"limits.1", "something", "`httpd/e2e.TestX`"}
	least := count(good) // no code has a row
	info := errcode.Lookup(errcode.AmountExceeded)
	rule := row{"code." + string(info.Code), fmt.Sprintf("%d: %s", info.HTTP, info.Meaning), good.shown}
	lookup := errcode.Lookup(errcode.NotFound)
	byName := row{"code." + string(lookup.Code), fmt.Sprintf("%d: %s", lookup.HTTP, lookup.Meaning), good.shown}
	for name, x := range map[string]struct {
		rows []row
		more int
	}{
		"a good row":         {[]row{good}, 0},
		"a reason":           {[]row{{"limits.1", "something", "not built: there is no console yet"}}, 0},
		"a short reason":     {[]row{{"limits.1", "something", "not applicable: no"}}, 1},
		"no test":            {[]row{{"limits.1", "something", ""}}, 1},
		"no such test":       {[]row{{"limits.1", "something", "`httpd/e2e.TestY`"}}, 1},
		"words":              {[]row{{"limits.1", "something", "`httpd/e2e.TestX` and more"}}, 1},
		"nothing asked":      {[]row{{"limits.1", "", good.shown}}, 1},
		"twice":              {[]row{good, good}, 1},
		"something else":     {[]row{good, {"limits.1", "something else", good.shown}}, 0},
		"an invented line":   {[]row{good, {"limits.2", "something", good.shown}}, 1},
		"a line forgotten":   {[]row{}, 1},
		"a good code":        {[]row{good, rule}, -2},
		"a code by its name": {[]row{good, byName}, -2},
		"an invented code":   {[]row{good, {"code.SVC_NO", "403: no", good.shown}}, 1},
		"another meaning":    {[]row{good, {rule.paragraph, "403: no", good.shown}}, -1},
		"an unshown code":    {[]row{good, {rule.paragraph, rule.asks, "not built: there is no limit yet"}}, 0},
		"a longer code":      {[]row{good, {"code.SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED", errcode.Lookup(errcode.TokenAmountExceeded).Meaning, good.shown}}, 0},
	} {
		if got := count(x.rows...) - least; got != x.more {
			t.Errorf("%s: %+d faults, and not %+d", name, got, x.more)
		}
	}
}
