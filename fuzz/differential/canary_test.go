package differential_test

import (
	"strings"
	"testing"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
)

// TestHuntCatches gives the two different policies: the oracle's lacks one line. In few pairs the hunt has to see it,
// whatever the line is about, and to show policy, request, verdicts and seed.
func TestHuntCatches(t *testing.T) {
	judge := differential.NewJudge()
	lines, caught := 0, 0
	for n := range int64(60) {
		batch := gen.NewBatch(n, 150)
		subject, err := differential.NewSubject([]byte(batch.Policy.Text()))
		if err != nil {
			continue
		}
		for _, less := range batch.Policy.Smaller() {
			other, err := differential.NewSubject([]byte(less.Text()))
			if err != nil || !strings.Contains(batch.Policy.Text(), "deny") {
				continue
			}
			lines++
			if differs(judge, subject, other, batch) {
				caught++
			}
			break
		}
	}
	t.Logf("%d of %d missing lines seen", caught, lines)
	if lines < 10 || caught*2 < lines {
		t.Errorf("%d of %d missing lines seen, each in 150 pairs", caught, lines)
	}
}

func differs(judge *differential.Judge, one, other *differential.Subject, batch *gen.Batch) bool {
	for _, c := range batch.Cases {
		machine, _, invalid := judge.Pair(one, c)
		if invalid != nil {
			continue
		}
		if _, oracle, _ := judge.Pair(other, c); machine.Difference(oracle) != "" {
			return true
		}
	}
	return false
}
