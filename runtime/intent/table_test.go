package intent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
	"bailiff/vm/slot"
)

// TestTable holds every row of the table of fields to be complete, and the package comment to list them all.
func TestTable(t *testing.T) {
	rows := slot.Fields()
	if len(rows) != int(slot.Count)-1 {
		t.Fatalf("the table has %d rows for %d fields", len(rows), slot.Count-1)
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
		if fieldOf(row.Name) != row.Field && row.Field != slot.IntentObject {
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
	before, rest, found := strings.Cut(string(source), "//\tframework ")
	_, after, ended := strings.Cut(rest, "\n//\n")
	if !found || !ended {
		t.Fatal("doc.go has no list of fields")
	}
	page.Whole(t, "doc.go", "go test ./runtime/intent -run TestTable -rewrite", before+list.String()+"//\n"+after)
}

// TestExplanations holds every explanation to be one of a derived slot.
func TestExplanations(t *testing.T) {
	for name := range explanations {
		if _, err := NewBinding([]string{name}, nil); err != nil {
			t.Error(err)
		}
	}
}
