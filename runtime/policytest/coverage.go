package policytest

import (
	"slices"

	"bailiff/runtime/policies"
)

// Coverage says which rules of a policy its tests name.
type Coverage struct {
	Rules     int              // that a verdict can name, each at its line
	Uncovered []policies.Place // in the order of lines
}

// Cover returns the coverage of a policy by the results of its tests.
func Cover(policy *policies.Policy, results []Result) Coverage {
	places := policy.Places()
	cover := Coverage{Rules: len(places)}
	named := map[policies.Place]bool{}
	for i := range results {
		for _, place := range results[i].Named {
			named[place] = true
		}
	}
	cover.Uncovered = slices.DeleteFunc(places, func(p policies.Place) bool { return named[p] })
	return cover
}

// Covered returns how many rules are covered.
func (c *Coverage) Covered() int { return c.Rules - len(c.Uncovered) }

// Percent returns the covered part, rounded down, so that 100 says all. It is 100 where there are no rules.
func (c *Coverage) Percent() int {
	if c.Rules == 0 {
		return 100
	}
	return 100 * c.Covered() / c.Rules
}
