package compiler

import (
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
)

// TestLongWords: a program keeps the beginnings of long words of a list, whole characters of them.
func TestLongWords(t *testing.T) {
	for name, test := range map[string]struct{ word, kept string }{
		"as long as can be":       {strings.Repeat("x", vm.MaxWord), strings.Repeat("x", vm.MaxWord)},
		"a byte more":             {strings.Repeat("x", vm.MaxWord+1), strings.Repeat("x", vm.MaxWord-3) + "…"},
		"cut between characters":  {"x" + strings.Repeat("é", 40), "x" + strings.Repeat("é", 30) + "…"},
		"cut within a character":  {strings.Repeat("é", 40), strings.Repeat("é", 30) + "…"},
		"cut within a longer one": {"xx" + strings.Repeat("🦊", 20), "xx" + strings.Repeat("🦊", 14) + "…"},
	} {
		compiled, found := compileText(example.Tools("bash.blocked_commands: " + test.word))
		if compiled.Program == nil {
			t.Fatalf("%s: %v", name, found)
		}
		var kept []string
		for pc := range compiled.Program.Len() {
			if list := compiled.Program.Words(uint16(pc)); list != nil && !list.Allows {
				kept = append(kept, list.Texts...)
			}
		}
		if len(kept) == 0 || slices.ContainsFunc(kept, func(text string) bool { return text != test.kept }) {
			t.Errorf("%s: kept %q, want %q", name, kept, test.kept)
		}
	}
}

// TestFormat: the canonical layout divides lists, and leaves other values as they are.
func TestFormat(t *testing.T) {
	const before = "version:   2.0.0\n## tool_calls\nallowed:   bash,http\n## custom\ndeny_string:   a,b\nallow_only.metadata.a:   x,y\n"
	const after = "version: 2.0.0\n\n## tool_calls\nallowed: bash, http\n\n## custom\ndeny_string: a,b\nallow_only.metadata.a: x, y\n"
	if got, found := Format(grammar.NewSource("policy", []byte(before))); string(got) != after || found.HasErrors() {
		t.Errorf("%s\n%v", got, found)
	}
}

// TestLongJSON: a text that results may not contain is as long as another one, at most.
func TestLongJSON(t *testing.T) {
	for n, refused := range map[int]bool{frame.MaxTextBytes: false, frame.MaxTextBytes + 1: true} {
		text := example.MCP("allowed_tools: a.b\n## custom\nresponse.deny_string: \"" + strings.Repeat("x", n) + "\"\n")
		text = strings.Replace(text, "2.0.0", "2.2.0", 1)
		if _, found := compileText(text); hasCode(found, codes.TextLong) != refused {
			t.Errorf("a text of %d bytes: %v", n, found)
		}
	}
}
