package grammar

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// testLists knows lists by how their keys are called.
func testLists(section string, key *Key) bool {
	if key.Segments[0].Text == allowOnly {
		return section == "custom"
	}
	return key.Scope == nil && len(key.Words) == 0 && listNames.MatchString(key.Name())
}

var listNames = regexp.MustCompile(`(^|\.)(allowed|blocked|protected_refs|providers|git_providers|actions|roots|keys|addresses|methods|require_approval)$|allowed_|blocked_|_roots$|_actions$|_classes$|_tools$`)

// checkFormat returns an error where formatted is not what Format promises of a text without errors.
func checkFormat(text, formatted []byte) error {
	before, _ := Parse(NewSource("before", text))
	after, found := Parse(NewSource("after", formatted))
	if found.HasErrors() {
		return fmt.Errorf("refused: %s", found[0].Message)
	}
	if a, b := outline(before), outline(after); a != b {
		return fmt.Errorf("the tree was\n%s and is\n%s", a, b)
	}
	if again, _ := Format(NewSource("after", formatted), testLists); !bytes.Equal(again, formatted) {
		return fmt.Errorf("formatted again it is %q", again)
	}
	return checkLayout(after)
}

// outline returns the tree of a file without its spans, each comment with the text of what follows it.
func outline(f *File) string {
	var b strings.Builder
	dump := dumpFile(f, false)
	for _, section := range f.Sections {
		for _, entry := range section.Entries {
			if testLists(section.Name, entry.Key) && entry.Value != nil && len(entry.Value.Items) > 1 { // how a list is spaced says nothing
				dump = strings.Replace(dump, fmt.Sprintf("text %q quoted=false", entry.Value.Raw), "list", 1)
			}
			for _, line := range entry.Block {
				dump = strings.Replace(dump, fmt.Sprintf("text %q quoted=false", line.Value.Raw), "list", 1)
			}
		}
	}
	b.WriteString(dump)
	body := string(f.Framed.Body)
	for _, comment := range f.Comments {
		rest := strings.TrimLeft(strings.ReplaceAll(body[comment.Span.End:], "\r", ""), " \t")
		next := strings.TrimLeft(rest, " \t\n")
		attached := strings.Count(rest[:len(rest)-len(next)], "\n") < 2 || next == ""
		name := regexp.MustCompile(`^[^\s:'"]*`).FindString(strings.TrimLeft(next, `"'`))
		fmt.Fprintf(&b, "comment %q above %q attached=%t\n", regexp.MustCompile(`[ \t\r]+(\n|$)`).ReplaceAllString(comment.Text, "$1"), name, attached)
	}
	return b.String()
}

// checkLayout holds a canonical text to its rules, which are read off its lines.
func checkLayout(f *File) error {
	text := string(f.Framed.Body)
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		return fmt.Errorf("ends with %q", text[max(0, len(text)-5):])
	}
	outside := text // with comments, which are kept as they are, cut out
	for i := len(f.Comments) - 1; i >= 0; i-- {
		span := f.Comments[i].Span
		outside = outside[:span.Start] + "#" + outside[span.End:]
	}
	for _, wrong := range []string{`[ \t\r]\n`, `\n\n\n`, `(?m)^## .*[A-Z]`, `(?m)^## .*\n\n[^#]`, `[^\n]\n## [a-z]`, `(?m)^ {3}|^ [^ ]|^\t`, `(?m)^ +[0-9']`} {
		found := regexp.MustCompile(wrong).FindString(outside)
		if wrong == `[^\n]\n## [a-z]` && strings.HasPrefix(found, "#") {
			continue // a comment that is attached to the heading
		}
		if found != "" {
			return fmt.Errorf("%q against %s", found, wrong)
		}
	}
	if strings.Contains(strings.ReplaceAll(text, "\n", ""), "\r") {
		return fmt.Errorf("a carriage return")
	}
	return nil
}

// TestFormatGenerated holds Format to its promises on generated policies.
func TestFormatGenerated(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	properties.Property("only the layout changes", prop.ForAll(func(n int64) string {
		r := rand.New(rand.NewSource(n))
		text, _ := writePolicy(r)
		text += strings.Repeat("\n", r.Intn(3))
		if r.Intn(2) == 0 {
			text = strings.ReplaceAll(text, "## tool_calls\n", "## Tool_Calls\nchain_actions:\n# a\n\n "+"8453: a,b\n <!-- b -->\n\t\"1\":'c'\n# d\n")
		}
		if r.Intn(3) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		formatted, found := Format(NewSource("generated", []byte(text)), testLists)
		if formatted == nil {
			return fmt.Sprintf("%s\n%v", text, found)
		}
		if err := checkFormat([]byte(text), formatted); err != nil {
			return fmt.Sprintf("%s\n%s\n%v", text, formatted, err)
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
}

// FuzzFormat holds Format to its promises on any bytes.
func FuzzFormat(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		src := NewSource("fuzz", text)
		_, found := Parse(src)
		if mended, made := src.Mend(found); len(made) == 0 != bytes.Equal(mended, text) {
			t.Fatalf("%d fixes made of %q %q", len(made), text, mended)
		}
		formatted, said := Format(src, testLists)
		switch {
		case formatted == nil && !said.HasErrors():
			t.Fatal("no text, and nobody says why")
		case formatted == nil && !found.HasErrors() && said[0].Code != CodeTooLarge && said[0].Code != CodeLineTooLong && said[0].Code != CodeTooManyLines:
			t.Fatalf("refused: %s\n%q", said[0].Message, text)
		case formatted != nil && found.HasErrors():
			t.Fatal("a text with errors was formatted")
		case formatted == nil:
			return
		}
		if err := checkFormat(text, formatted); err != nil {
			t.Fatalf("%v\n%s", err, formatted)
		}
	})
}

// TestFormatCanary shows that the checks above, and the one that Format makes by itself, see a layout that loses or
// moves something.
func TestFormatCanary(t *testing.T) {
	text := "version: 2.0.0\n\n## evm\n# One.\nallowed_actions: a, b\nchain_actions:\n  \"1\": a\n\n# Two.\n\n## custom\n# Three.\ndeny_string: a,b\ndeny_if.x equals y\n"
	file, found := Parse(NewSource("canary", []byte(text)))
	if formatted, _ := Format(file.Source, testLists); found.HasErrors() || string(formatted) != text || checkFormat([]byte(text), formatted) != nil {
		t.Fatalf("%v, %s", found, formatted)
	}
	for _, plant := range []struct {
		old, new string
		inside   bool // Format itself has to see it
	}{
		{"a, b", "a", true},
		{"a, b", `"a, b"`, true},
		{"a, b", "b, a", true},
		{"a,b", "a, b", true},
		{"equals", "not_equals", true},
		{"# Two.\n", "", true},
		{"# Two.\n\n## custom\n", "## custom\n# Two.\n\n", true},
		{"## custom\n# Three.\n", "# Three.\n## custom\n", true},
		{"deny_string: a,b\ndeny_if.x equals y\n", "deny_if.x equals y\ndeny_string: a,b\n", true},
		{"\"1\"", "\"01\"", true},
		{"# Two.\n\n", "# Two.\n", false},
		{"a, b", "a,b", false},
		{"## custom", "## Custom", false},
		{"  \"1\"", "  1", false},
		{"One.\n", "One. \n", false},
		{"equals y\n", "equals y\n\n", false},
		{"equals y", "equals: y", false},
	} {
		changed := strings.Replace(text, plant.old, plant.new, 1)
		if checkFormat([]byte(text), []byte(changed)) == nil {
			t.Errorf("%q became %q, and nobody noticed", plant.old, plant.new)
		}
		if plant.inside && !checkFormatted(file, NewSource("changed", []byte(changed)), testLists).HasErrors() {
			t.Errorf("%q became %q, and Format would not notice", plant.old, plant.new)
		}
	}
}

// TestFormatBounds holds that a layout which would break a bound is refused rather than written.
func TestFormatBounds(t *testing.T) {
	head := "version: 2.0.0\n## evm\n"
	for _, c := range []struct {
		text string
		code Code
	}{
		{head + "allowed_actions: " + strings.Repeat("a,", 4000) + strings.Repeat("b", MaxLineBytes-9000) + "\n", CodeLineTooLong},
		{"version: 2.0.0\n" + strings.Repeat("#\n", MaxLines-2) + "## evm\n", CodeTooManyLines},
	} {
		src := NewSource("bounds", []byte(c.text))
		if _, found := Parse(src); found.HasErrors() {
			t.Fatal(found)
		}
		formatted, found := Format(src, testLists)
		if formatted != nil || len(found) != 1 || found[0].Code != c.code {
			t.Errorf("%d bytes, %v", len(formatted), found)
		}
	}
}

// TestUTF16 holds that a file in UTF-16, as some editors and shells write it, is one finding.
func TestUTF16(t *testing.T) {
	for _, text := range []string{"\xff\xfev\x00e\x00r\x00\n\x00", "\xfe\xff\x00v\x00e\x00r\x00\n"} {
		_, found := Parse(NewSource("policy", []byte(text)))
		if len(found) != 1 || found[0].Code != CodeInvalidUTF8 || found[0].Fix != nil {
			t.Errorf("%q: %v", text, found)
		}
	}
}
