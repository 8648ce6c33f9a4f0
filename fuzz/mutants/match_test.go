package mutants

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bailiff/vm/form"
)

const root = "../.."

// How many faults there are at least.
const (
	least      = 24
	leastForms = 12
)

// TestEveryFormHasAMutant: a form that is new to the table needs a fault that the law finds.
func TestEveryFormHasAMutant(t *testing.T) {
	for _, form := range form.Forms() {
		if len(mutantsOf[form.String()]) == 0 {
			t.Errorf("no mutant is about the form %s", form)
		}
		for _, name := range mutantsOf[form.String()] {
			if !slices.ContainsFunc(slices.Concat(Forms, All), func(m Mutant) bool { return m.Name == name }) {
				t.Errorf("no mutant is called %q", name)
			}
		}
	}
}

// mutantsOf are mutants of each form, by their names.
var mutantsOf = map[string][]string{
	"text":    {"an address in another text keeps its case"},
	"lower":   {"a part of an MCP action keeps its case in rules"},
	"address": {"a pattern about what has no case knows one"},
	"hex":     {"a part of a value is sought in its own case"},
	"token":   {"a cap counts the names of a token apart"},
	"amount":  {"an amount in base units is compared digit by digit", "zeros at the end of an amount make another"},
	"decimal": {"zeros at the end of an amount make another"},
	"unit":    {"an amount in normal form has a unit"},
	"mailbox": {"a recipient is compared as it is sent"},
	"host":    {"a host is compared as it is sent"},
	"url":     {"a URL is compared as it is sent"},
	"escapes": {"a query keeps escapes that it need not have"},
	"path":    {"a path keeps its backslashes", "a path keeps its empty segments"},
}

// TestMutantsApply keeps the mutants alive: each still matches its file, changes it, and leaves it Go. Whether the
// differential test finds them is for the long test, which builds them.
func TestMutantsApply(t *testing.T) {
	if len(All) < least {
		t.Errorf("%d mutants, fewer than %d", len(All), least)
	}
	names := map[string]bool{}
	for _, m := range slices.Concat(All, Gateway, Forms, Commands, Ledger, Restored, Approvals, Approvers, Attacked, Own, Owners, Replaced, Alone, Divided, Joined, Renumbered, Passing, Simulated) {
		if names[m.Name] && !slices.Contains(Simulated, m) { // the simulator has to find some faults that others find, too
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
