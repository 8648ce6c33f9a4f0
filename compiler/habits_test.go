package compiler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// A habit is a policy as people with habits from other formats write it, and what is wrong with it.
type habit struct {
	name   string
	causes []cause
}

// A cause is one mistake: where it is, and what the finding about it has to say.
type cause struct {
	text     string
	lines    []int
	severity string
	remedies []string // the corrected lines
	tells    []string // what the message or the hint has in it where there is no corrected line
}

func readHabits(t *testing.T) (habits []*habit) {
	t.Helper()
	text, err := os.ReadFile("testdata/habits/expected")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if name, found := strings.CutPrefix(line, "== "); found {
			habits = append(habits, &habit{name: name})
			continue
		}
		h := habits[len(habits)-1]
		field, value, _ := strings.Cut(line, ": ")
		if field == "cause" {
			h.causes = append(h.causes, cause{text: value})
			continue
		}
		c := &h.causes[len(h.causes)-1]
		switch field {
		case "lines":
			for _, number := range strings.Fields(value) {
				n, _ := strconv.Atoi(number)
				c.lines = append(c.lines, n)
			}
		case "severity":
			c.severity = value
		case "remedy":
			c.remedies = append(c.remedies, value)
		case "tells":
			c.tells = append(c.tells, value)
		default:
			t.Fatalf("%s: %q", h.name, line)
		}
	}
	return habits
}

// TestHabits holds the findings about policies that people with other habits write to what is wrong with them: one finding
// a cause, where it is, with the line as it should be, and no other.
func TestHabits(t *testing.T) {
	var b strings.Builder
	perfect, habits := 0, readHabits(t)
	for _, h := range habits {
		text, err := os.ReadFile(filepath.Join("testdata/habits", h.name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		src := grammar.NewSource(h.name+".md", text)
		_, found := compileLinted(src)
		faults := faultsOf(h, src, found)
		if len(faults) == 0 {
			perfect++
		}
		if len(faults) > 0 {
			t.Errorf("%s: %s", h.name, strings.Join(faults, "; "))
		}
		fmt.Fprintf(&b, "== %s\n", h.name)
		_ = src.RenderAll(&b, found)
	}
	if len(habits) < 60 || perfect < len(habits) {
		t.Errorf("%d of %d are perfect", perfect, len(habits))
	}
	const golden = "testdata/habits/findings"
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || b.String() != string(want) {
		t.Errorf("the findings are not those of %s (%v); run this test with -rewrite", golden, err)
	}
}

// TestHabitsCanary plants findings that are missing, elsewhere, weaker, without a remedy, or too many: each is noticed.
func TestHabitsCanary(t *testing.T) {
	src := grammar.NewSource("canary", []byte("version: 2.0.0\n## evm\nallowed: 1\n"))
	h := &habit{causes: []cause{{lines: []int{3}, severity: "error", remedies: []string{"allowed_chains: 1"}}}}
	at := func(code grammar.Code, line int) grammar.Diagnostic {
		return grammar.At(code, grammar.Span{Start: line, End: line + 1}, "wrong").WithFix(grammar.Span{Start: 22, End: 29}, "allowed_chains")
	}
	good := at(codes.UnknownKey, 22)
	if faults := faultsOf(h, src, grammar.Diagnostics{good}); faults != nil {
		t.Fatal(faults)
	}
	vague := good
	vague.Fix = nil
	for _, planted := range []grammar.Diagnostics{nil, {at(codes.UnknownKey, 3)}, {at(codes.RepeatedItem, 22)}, {vague}, {good, good}} {
		if faultsOf(h, src, planted) == nil {
			t.Errorf("%v passed", planted)
		}
	}
}

// faultsOf returns what the findings about a policy lack: an expected finding, its severity or remedy; or that there are more.
func faultsOf(h *habit, src *grammar.Source, found grammar.Diagnostics) (faults []string) {
	left := slices.Clone(found)
	for _, c := range h.causes {
		i := slices.IndexFunc(left, func(d grammar.Diagnostic) bool {
			return slices.Contains(c.lines, src.Position(d.Span.Start).Line) && remedied(c, src, d)
		})
		if i < 0 {
			i = slices.IndexFunc(left, func(d grammar.Diagnostic) bool { return slices.Contains(c.lines, src.Position(d.Span.Start).Line) })
			if i < 0 {
				faults = append(faults, "PLACE")
				continue
			}
			faults = append(faults, "REMEDY")
		}
		if left[i].Severity.String() != c.severity {
			faults = append(faults, "SEVERITY")
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		faults = append(faults, fmt.Sprintf("%d MORE", len(left)))
	}
	return faults
}

// remedied reports whether a finding gives the remedy of a cause, in its words or by its fix.
func remedied(c cause, src *grammar.Source, d grammar.Diagnostic) bool {
	said := d.Message + "\n" + d.Hint
	for _, part := range c.tells {
		if !strings.Contains(said, part) {
			return false
		}
	}
	fixed := ""
	if d.Fix != nil {
		mended, _ := src.Mend(grammar.Diagnostics{d})
		fixed = "\n" + strings.ReplaceAll(string(mended), "\r", "") + "\n"
	}
	for _, line := range c.remedies {
		if !strings.Contains(said, line) && !strings.Contains(fixed, "\n"+line+"\n") {
			return false
		}
	}
	return true
}

// TestProtectionsStay: no finding about an entry that denies, holds or limits proposes to remove it, unless it is there
// twice; and no fix empties it.
func TestProtectionsStay(t *testing.T) {
	looked := 0
	for _, info := range codes.All() {
		looked += checkStays(t, info.Wrong)
	}
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		for _, part := range strings.Split("\n"+string(text), "\n----\n") {
			if _, policy, isPolicy := strings.Cut(part, "\nversion:"); isPolicy {
				looked += checkStays(t, "version:"+policy+"\n")
			}
		}
	}
	if looked < 300 {
		t.Errorf("only %d findings are about protections", looked)
	}
}

// removal is what proposes to remove something, and stricter what proposes to remove a grant, or a line without which more
// is denied, or characters that are too many.
var (
	removal  = regexp.MustCompile(`\b(?:remove (?:it|the|this|one|them|that)|leave the line out|leave this out|do without)\b`)
	stricter = regexp.MustCompile("remove it from `allowed|is denied$|remove the (?:quotes|comma|space|white space)")
)

// twice are the findings about what is there twice, or grants.
var twice = []grammar.Code{codes.RepeatedItem, codes.CaseRepeated, codes.PinnedTwice, codes.SymbolCase}

func checkStays(t *testing.T, text string) (looked int) {
	t.Helper()
	src := grammar.NewSource("policy", []byte(text))
	compiled, found := compileLinted(src)
	for _, d := range found {
		line := src.Position(d.Span.Start).Line
		for _, section := range compiled.File.Sections {
			for _, entry := range section.Entries {
				if src.Position(entry.Span.Start).Line != line || !protects(section.Name, entry) {
					continue
				}
				looked++
				if removal.MatchString(d.Hint) && !stricter.MatchString(d.Hint) && !slices.Contains(twice, d.Code) {
					t.Errorf("this proposes to remove a protection:\n%s", src.Render(d))
				}
				if d.Fix != nil && d.Fix.Span.Start <= entry.Span.Start && strings.TrimSpace(d.Fix.Replacement) == "" {
					t.Errorf("this fix removes a protection:\n%s", src.Render(d))
				}
			}
		}
	}
	return looked
}

// protects reports whether an entry denies, holds or limits.
func protects(section string, entry *grammar.Entry) bool {
	rows := findSection(section).RowsFor(entry.Key)
	if len(rows) == 0 {
		return false
	}
	row := rows[0]
	limits := row.Type == frame.TypeDecimal || row.Type == frame.TypeInteger && !strings.HasSuffix(row.Name, "decimals")
	return row.Blocks || limits || strings.HasPrefix(row.Name, "deny_") || row.TakesScope() || row.Name == frame.NameShim || strings.HasPrefix(row.Name, "protect_")
}
