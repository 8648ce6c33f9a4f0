package intent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/slot"
)

// TestTable holds every row of the table of fields to be complete, and the package comment to list them all.
func TestTable(t *testing.T) {
	rows := Fields()
	if len(rows) != int(fieldCount)-1 {
		t.Fatalf("the table has %d rows for %d fields", len(rows), fieldCount-1)
	}
	var list strings.Builder
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Name == "" || row.Place == 0 || row.Type == 0 || row.Bound == "" || seen[row.Name] {
			t.Errorf("row %d is incomplete or repeated: %+v", row.Field, row)
		}
		if len(row.Name) > maxName {
			t.Errorf("%s is longer than maxName", row.Name)
		}
		if fieldOf(row.Name) != row.Field && row.Field != IntentObject {
			t.Errorf("%s names field %d", row.Name, fieldOf(row.Name))
		}
		seen[row.Name] = true
		line := fmt.Sprintf("%-13s  %-26s  %-19s  %-19s  %s", row.Name, row.Type, row.Place, row.Presence, row.Bound)
		list.WriteString("//\t" + strings.ReplaceAll(line, "`", "") + "\n")
	}
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), "//\n"+list.String()+"//\n") {
		t.Errorf("the list of fields in doc.go is not that of the table, which is:\n%s", list.String())
	}
}

// TestForms holds the table to that of vm/slot, which rules read. Rules name `path` for `paths`.
func TestForms(t *testing.T) {
	var names, want []string
	for _, row := range Fields() {
		if row.Field != IntentObject && row.Field != Paths {
			names = append(names, row.Name)
		}
		if row.Members != (row.Type&Members != 0) {
			t.Errorf("%s: has it members?", row.Name)
		}
	}
	for _, row := range slot.Rows() {
		want = append(want, row.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("the decoder knows %v, rules %v", names, want)
	}
}

// TestDerived holds every row of the table of derived values to be complete.
func TestDerived(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Derived() {
		if row.Meaning == "" || row.value == nil || !strings.HasPrefix(row.Name, "@") || seen[row.Name] {
			t.Errorf("incomplete or repeated row %q", row.Name)
		}
		seen[row.Name] = true
	}
}

// TestExplanations holds every explanation to be one of a derived slot.
func TestExplanations(t *testing.T) {
	for name := range explanations {
		if _, err := NewBinding([]string{name}, nil); err != nil {
			t.Error(err)
		}
	}
}
