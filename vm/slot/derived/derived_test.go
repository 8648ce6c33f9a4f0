package derived

import (
	"strings"
	"testing"
)

// TestRows holds every row of the table to be complete.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Rows() {
		if row.Meaning == "" || !strings.HasPrefix(row.Name, "@") || seen[row.Name] || row.Source.Family == "" || row.Source.Share == 0 {
			t.Errorf("incomplete or repeated row %+v", row)
		}
		seen[row.Name] = true
	}
}
