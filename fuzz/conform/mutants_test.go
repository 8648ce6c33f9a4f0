package conform_test

import (
	"context"
	"testing"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/conform/falsify"
	"bailiff/fuzz/kit/seed"
)

// mutantCases bounds the search for one mutant.
const mutantCases = 6000

// TestMutants holds that the kit finds each falsified answer: ten operators that the seed draws, and ten faults of attacks.
func TestMutants(t *testing.T) {
	w, first := serveHere(t), seed.Value(t)
	for i, mutant := range append(falsify.Drawn(first, 10), falsify.Named()...) {
		config := w.config(first+int64(i)*mutantCases, mutantCases, conform.Core, conform.Limits, conform.Holds, conform.Attestation)
		config.Front, config.NoShrink = falsify.Front(mutant), true
		report, err := conform.Run(context.Background(), config)
		must(t, err)
		if len(report.Divergences) == 0 {
			t.Errorf("%s is not found in %d cases: %s", mutant.Name, report.Cases, mutant.What)
			continue
		}
		t.Logf("%s: %s, after %d cases in %.1f s: expected %.80s, got %.80s", mutant.Name, report.Divergences[0].What, report.Cases, report.Seconds, report.Divergences[0].Expected, report.Divergences[0].Got)
	}
}
