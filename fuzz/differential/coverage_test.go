package differential_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/fuzz/differential"
	"bailiff/vm/errcode"
)

// elsewhere are the codes of denials that no verdict of a policy has, with the reason. Those of a counter must occur
// as what its reservation would be refused with.
var elsewhere = map[errcode.Code]struct {
	reason  string
	counter bool
}{
	errcode.LoopLimitExceeded: {"a counter of the ledger is used up", true},
	errcode.ModelSpend:        {"a counter of the ledger is used up", true},
	errcode.ModelTokens:       {"a counter of the ledger is used up", true},
	errcode.AggregateLimit:    {"a counter of the ledger is used up", true},
	errcode.LimitStore:        {"the ledger has failed", false},
	errcode.HoldDenied:        {"an operator has denied the hold", false},
}

// TestRulesOccur makes sure that every key of the compiler's table whose rule can be named is named.
func TestRulesOccur(t *testing.T) {
	whatever := func(*differential.Divergence) {}
	stats, _ := (&differential.Hunt{Seed: fixedSeed, Pairs: *fixed, Workers: 2, Survey: whatever}).Run()
	seen := map[string]int{}
	for rule, n := range stats.Rules {
		for _, key := range compiler.Schema() {
			if covers(key.Rule, rule) {
				seen[key.Rule] += n
			}
		}
	}
	for _, key := range compiler.Schema() {
		if key.Rule != "" && seen[key.Rule] == 0 {
			t.Errorf("%s is never named, in %d pairs", key.Rule, *fixed)
		}
	}
	rare := slices.SortedFunc(maps.Keys(seen), func(x, y string) int { return seen[x] - seen[y] })
	for _, rule := range rare[:20] {
		t.Logf("%d × %s", seen[rule], rule)
	}
}

// covers reports whether a rule is what a table calls it, with its placeholder filled in.
func covers(pattern, rule string) bool {
	before, rest, placeholder := strings.Cut(pattern, "<")
	_, after, _ := strings.Cut(rest, ">")
	return pattern == rule || placeholder && strings.HasPrefix(rule, before) && strings.HasSuffix(rule, after)
}

// TestCoverage makes sure that the pairs are worth comparing: every code that a verdict can have occurs, and every
// status often.
func TestCoverage(t *testing.T) {
	whatever := func(*differential.Divergence) {} // TestDifferential is there to complain of them
	stats, _ := (&differential.Hunt{Seed: fixedSeed, Pairs: 60_000, Workers: 2, Survey: whatever}).Run()
	for _, row := range errcode.Table {
		verdicts, refusals := stats.Codes[string(row.Code)], stats.Reserved[string(row.Code)]
		why, outside := elsewhere[row.Code]
		switch {
		case row.Class == errcode.Failure:
		case outside && verdicts > 0:
			t.Errorf("%s occurs, though it should not: %s", row.Code, why.reason)
		case outside && why.counter && refusals == 0:
			t.Errorf("%s is never what a reservation would be refused with", row.Code)
		case !outside && verdicts == 0:
			t.Errorf("%s never occurs", row.Code)
		}
	}
	for status, least := range map[string]int{"ALLOWED": 15, "DENIED": 30, "PENDING": 3, "ERROR": 1, "400": 1} {
		if n := stats.Statuses[status]; n*100 < stats.Pairs*least {
			t.Errorf("%d of %d pairs are %s, less than %d %%", n, stats.Pairs, status, least)
		}
	}
	if (stats.Policies+stats.Refused)*95 > stats.Policies*100 {
		t.Errorf("%d policies compile and %d do not", stats.Policies, stats.Refused)
	}
}
