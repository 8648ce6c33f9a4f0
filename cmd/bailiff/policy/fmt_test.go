package policy

import (
	"bytes"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/compiler/lint"
	"bailiff/grammar"
)

// TestFormatKnowsLists formats a line of every key: the formatter spaces the items of
// every list, and leaves every other value as it is written.
func TestFormatKnowsLists(t *testing.T) {
	lists, others := 0, 0
	for _, key := range compiler.Schema() {
		if key.Type == frame.TypeChainMap {
			continue
		}
		want := "a,b"
		if strings.HasPrefix(string(key.Type), "list") {
			want = "a, b"
			lists++
		} else {
			others++
		}
		name, separator := placeholders.Replace(key.Name), ": "
		if strings.HasPrefix(name, "deny_if") {
			separator = " "
		}
		head := "version: 2.3.0\n\n## " + key.Section + "\n" + name + separator
		formatted, found := compiler.Format(grammar.NewSource(key.Name, []byte(head+"a,b\n")))
		if string(formatted) != head+want+"\n" {
			t.Errorf("%s of %s, a %s, is formatted as %q, %v", name, key.Section, key.Type, formatted, found)
		}
	}
	if lists < 20 || others < 20 {
		t.Errorf("only %d lists and %d other keys", lists, others)
	}
}

var placeholders = strings.NewReplacer("<SYM>", "USDC", "<METHOD>", "GET", "<path>", "metadata.a", "<pattern>", "bash",
	"<operator>", "equals", "<name>", "daily")

// TestFormatKeepsTheProgram compiles the examples of all codes, and the example policy, as they are and formatted: what
// is enforced is the same.
func TestFormatKeepsTheProgram(t *testing.T) {
	texts := [][]byte{exampleOf(t)}
	for _, info := range codeTable() {
		texts = append(texts, []byte(info.Right), []byte(info.Wrong), []byte(strings.NewReplacer(", ", ",", "\n\n", "\n", "\n", "\r\n").Replace(info.Right)))
	}
	compared := 0
	for _, text := range texts {
		src := grammar.NewSource("policy", text)
		formatted, _ := compiler.Format(src)
		before, _ := lint.Compile(src)
		if formatted == nil || before.Program == nil {
			continue
		}
		after, found := lint.Compile(grammar.NewSource("policy", formatted))
		if after.Program == nil || !bytes.Equal(before.Program.Canonical(), after.Program.Canonical()) {
			t.Errorf("%s\nis enforced in another way once it is\n%s%v", text, formatted, found)
		}
		compared++
	}
	if compared < 50 {
		t.Errorf("only %d policies were compared", compared)
	}
	example := exampleOf(t)
	if formatted, _ := compiler.Format(grammar.NewSource("example", example)); !bytes.Equal(formatted, example) {
		t.Error("the example policy is not in canonical layout")
	}
}

// exampleOf is the policy of a first run.
func exampleOf(t *testing.T) []byte {
	t.Helper()
	policy, _, err := StarterOf("trader")
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
