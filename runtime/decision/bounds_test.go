package decision

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
)

// TestDocumentedBounds holds the table of budgets in docs/operating.md to the figures that this package enforces; those of the
// other packages are held by the tests of the command.
func TestDocumentedBounds(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range documentedBoundFaults(string(text)) {
		t.Error(fault)
	}
	for _, wrong := range [][2]string{
		{"more than 5 ms | half of the processors; 1 of a key, and 16", "more than 6 ms | half of the processors; 1 of a key, and 16"},
		{"more than 5 ms | half of the processors; 1 of a key, and 16", "more than 5 ms | half of the processors; 1 of a key, and 17"},
		{"one large one; 1 of a key, and 16", "one large one; 1 of a key, and 15"},
		{"wait for a request | 64 MiB", "wait for a request | 65 MiB"},
		{"requests use them | 64 MiB", "requests use them | 63 MiB"},
		{"of events at once | half of the processors; 1 of a key, and 16", "of events at once | half of the processors; 1 of a key, and 18"},
		{"| 20 MiB of a free key |", "| 21 MiB of a free key |"},
	} {
		changed := strings.Replace(string(text), wrong[0], wrong[1], 1)
		if changed == string(text) || len(documentedBoundFaults(changed)) != 1 {
			t.Errorf("%q: it is not found", wrong)
		}
	}
}

// documentedBoundFaults says which rows of the table of budgets have other figures than this package.
func documentedBoundFaults(text string) (faults []string) {
	waiting := fmt.Sprintf("1 of a key, and %d that wait", turns.MaxWaiting)
	stored := accounts.New(service.New(service.Config{Hosted: true}), accounts.Config{}).Storage(&ledger.Key{Tier: "developer"})
	for budget, want := range map[metrics.Budget]string{
		metrics.Evaluating: fmt.Sprintf("requests at once that take more than %d ms | half of the processors; %s", heavyEvaluation.Milliseconds(), waiting),
		metrics.Loading:    "policies at once | as many as processors, and one large one; " + waiting,
		metrics.Programs:   fmt.Sprintf("bytes of the programs that wait for a request | %d MiB, half of it", policies.MaxIdle>>20),
		metrics.Lingering:  fmt.Sprintf("bytes of the programs that were replaced while requests use them | %d MiB", policies.MaxLingering>>20),
		metrics.Paging:     "pages of events at once | half of the processors; " + waiting,
		metrics.Storage:    fmt.Sprintf("bytes of the texts and programs that a key has deployed | %d MiB of a free key", stored>>20),
	} {
		row := regexp.MustCompile("(?m)^\\| `" + budget.String() + "` \\| .*$").FindString(text)
		if !strings.Contains(row, want) {
			faults = append(faults, fmt.Sprintf("the row of %s is %q, and has to have %q", budget, row, want))
		}
	}
	return faults
}
