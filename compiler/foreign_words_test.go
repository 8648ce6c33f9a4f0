package compiler

import (
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// TestListsInProse writes the list of every key that denies or holds with `and` and `or`, as prose does: it has a finding whose
// fix gives exactly the list that was meant.
func TestListsInProse(t *testing.T) {
	forms := []func(items []string) string{
		func(items []string) string { return items[0] + ", " + items[1] + " and " + items[2] },
		func(items []string) string { return items[0] + ", " + items[1] + ", OR " + items[2] },
		func(items []string) string { return items[0] + " and " + items[1] + " or " + items[2] },
	}
	eachBlockingList(t, func(row *frame.Key, items []string) {
		for _, form := range forms {
			text := keyPolicy(row, form(items))
			_, found := compileText(text)
			i := slices.IndexFunc(found, func(d grammar.Diagnostic) bool { return d.Fix != nil && d.Code != codes.FlagOrder })
			if i < 0 {
				t.Errorf("%s of %s: no finding with a fix: %v\n%s", row.Name, row.Section, found, text)
				continue
			}
			fix := found[i].Fix
			mended := text[:fix.Span.Start] + fix.Replacement + text[fix.Span.End:]
			if want := keyPolicy(row, strings.Join(items, ", ")); mended != want {
				t.Errorf("%s of %s: the fix gives\n%s\nwant\n%s", row.Name, row.Section, mended, want)
			}
		}
	})
}

// TestNegatedItems writes an exception into the list of every key that denies or holds, as `!item` and in words: there is a finding at it.
func TestNegatedItems(t *testing.T) {
	for _, mark := range []string{"!", "not ", "Except "} {
		eachBlockingList(t, func(row *frame.Key, items []string) {
			text := keyPolicy(row, items[0]+", "+mark+items[1])
			at := strings.Index(text, mark)
			_, found := compileText(text)
			if !slices.ContainsFunc(found, func(d grammar.Diagnostic) bool { return d.Span.Start == at && strings.Contains(d.Message, "exception") }) {
				t.Errorf("%s of %s: no finding at the exception: %v\n%s", row.Name, row.Section, found, text)
			}
		})
	}
}

// TestEscapedCommand: a blocked command with an escape, which is sought without it, too, has one finding about its flags.
func TestEscapedCommand(t *testing.T) {
	_, found := compileText(example.Tools(`bash.blocked_commands: rm -rf \#x`))
	if n := len(slices.DeleteFunc(found, func(d grammar.Diagnostic) bool { return d.Code != codes.FlagOrder })); n != 1 {
		t.Errorf("%d findings", n)
	}
}

// TestMeantWords holds quoted items, operators and words that only contain a conjunction to no finding about lists.
func TestMeantWords(t *testing.T) {
	for _, list := range []string{`"read and write"`, `"!sudo"`, "find . -or -name x", "./android, sandor", "and", "! test -f x"} {
		_, found := compileText("version: 2.3.0\n## tool_calls\nallowed: bash\nbash.blocked_commands: " + list + "\n")
		for _, d := range found {
			if d.Code == codes.NotDivided || d.Code == codes.NegatedItem {
				t.Errorf("%s: %v", list, d)
			}
		}
	}
}

// eachBlockingList calls f with every key whose list denies or holds, and three items for it.
func eachBlockingList(t *testing.T, f func(row *frame.Key, items []string)) {
	t.Helper()
	tried := 0
	for _, row := range schema {
		if !row.Blocks {
			continue
		}
		items := itemsOf[row.Type]
		if row.Values != nil {
			items = row.Values[:3]
		}
		f(row, items)
		tried++
	}
	if tried < 10 {
		t.Errorf("only %d lists were tried", tried)
	}
}

// TestAddressAfter0x: an address may be right after another 0x, which is how templates that already have one spell it.
func TestAddressAfter0x(t *testing.T) {
	for _, rule := range []string{"deny_string: 0x0xabcdef0123456789abcdef0123456789abcdef01", "deny_if.metadata.note contains 0x0xabcdef0123456789abcdef0123456789abcdef01"} {
		if _, found := compileText(example.Custom(rule)); found.HasErrors() {
			t.Errorf("%s: %v", rule, found)
		}
	}
}
