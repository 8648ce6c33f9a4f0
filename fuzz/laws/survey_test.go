package laws_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/laws"
)

var survey = flag.Int("survey", 0, "look through so many batches for breaches of the one form, and show each kind of them once, the most frequent first")

// TestSurvey shows all kinds of breaches, for whoever mends several at a time. It looks at respellings of one value only.
func TestSurvey(t *testing.T) {
	if *survey == 0 {
		t.Skip("only with -survey")
	}
	house := laws.NewHouse()
	kinds, first := map[string]int{}, map[string]string{}
	for n := range int64(*survey) {
		batch := gen.NewFocused(n, 25)
		if n%3 == 0 {
			batch = gen.NewBatch(n, 25)
		}
		house.Respellings(batch, func(pair *laws.Respelled) bool {
			problem := pair.Problem()
			if problem == "" || len(pair.Changed) > 1 {
				return true
			}
			kind := fmt.Sprintf("%s by %s: %s", problem, strings.Join(pair.Changed, ", "), pair.Was.Rule)
			if kinds[kind]++; kinds[kind] == 1 {
				first[kind] = fmt.Sprintf("seed %d\n%s\n%s\n%s\n%s\n%s", n, batch.Policy.Text(), pair.Normal, pair.Was, pair.Other, pair.Is)
			}
			return true
		})
	}
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(x, y string) int { return kinds[y] - kinds[x] }) {
		t.Logf("%d × %s\n%s", kinds[kind], kind, first[kind])
	}
}
