package client

import (
	"encoding/csv"
	"strings"
	"testing"

	"bailiff/runtime/accounts"
)

// TestUsageCSV: no cell begins as a formula does, and what begins otherwise stays as it is.
func TestUsageCSV(t *testing.T) {
	emails := map[string]string{
		"agent@example.com": "agent@example.com", "": "", "'agent@example.com": "'agent@example.com", "a=b@example.com": "a=b@example.com",
		"=1+2@example.com": "'=1+2@example.com", "+agent@example.com": "'+agent@example.com", "-agent@example.com": "'-agent@example.com",
		"@SUM(A1)": "'@SUM(A1)", "＝1@example.com": "'＝1@example.com", "\t=1": "'\t=1", `=HYPERLINK("x,y")@example.com`: `'=HYPERLINK("x,y")@example.com`,
	}
	for email, want := range emails {
		var text strings.Builder
		if err := printUsageCSV(&text, []accounts.UsageView{{KeyID: "k", Email: email, AmountUSD: "0.000"}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil || len(rows) != 2 || len(rows[1]) != len(usageHeading) {
			t.Fatalf("%q: %v in\n%s", email, err, &text)
		}
		if got := rows[1][1]; got != want {
			t.Errorf("%q became %q, want %q", email, got, want)
		}
	}
}
