package mutants

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// least is how many faults there are at least.
const least = 24

// TestMutantsApply keeps the mutants alive: each still matches its file, changes it, and leaves it Go. Whether the
// differential test finds them is for the long test, which builds them.
func TestMutantsApply(t *testing.T) {
	if len(All) < least {
		t.Errorf("%d mutants, fewer than %d", len(All), least)
	}
	names := map[string]bool{}
	for _, m := range All {
		if names[m.Name] {
			t.Errorf("two mutants are called %q", m.Name)
		}
		names[m.Name] = true
		mutated, err := m.Apply(root)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		original, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil || bytes.Equal(original, mutated) {
			t.Errorf("%s changes nothing (%v)", m.Name, err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, mutated, 0); err != nil {
			t.Errorf("%s is no Go: %v", m.Name, err)
		}
	}
}

// TestApplyCatches: a mutant that matches nothing, or more than once, is an error.
func TestApplyCatches(t *testing.T) {
	for _, old := range []string{"no such text in any file", "Mutant"} {
		m := Mutant{File: "fuzz/mutants/mutant.go", Old: old, New: "x"}
		if _, err := m.Apply(root); err == nil {
			t.Errorf("%q is accepted", old)
		}
	}
}
