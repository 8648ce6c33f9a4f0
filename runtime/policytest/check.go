package policytest

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/runtime/policies"
)

// Check returns what the tests expect that no verdict of the policy can be: a rule that it does not have. The error is
// about the first one, and says where it is.
func (f *File) Check(policy *policies.Policy) error {
	names := ruleNames(policy)
	for i := range f.Tests {
		for j := range f.Tests[i].Steps {
			e := &f.Tests[i].Steps[j].Expect
			if e.Rule != "" && !slices.Contains(names, e.Rule) {
				return &fileProblem{f.Name, e.ruleAt.line, e.ruleAt.column, noRule(e.Rule, names)}
			}
		}
	}
	return nil
}

// ruleNames returns the rules that verdicts of a policy can name, each once.
func ruleNames(policy *policies.Policy) (names []string) {
	for _, place := range policy.Places() {
		names = append(names, place.Rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mostNamed is how many rules are listed where none is near to what was written.
const mostNamed = 12

// noRule says that a policy has no such rule, and which was probably meant.
func noRule(rule string, names []string) string {
	text := fmt.Sprintf("the policy has no rule %q that a verdict could name; ", rule)
	withoutSection := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "."+rule) })
	switch near := grammar.Closest(rule, names); {
	case near != "":
		return text + "did you mean " + near + "?"
	case withoutSection >= 0:
		return text + "did you mean " + names[withoutSection] + "?"
	case len(names) == 0:
		return text + "it has none at all"
	case len(names) > mostNamed:
		return text + "it has " + strings.Join(names[:mostNamed], ", ") + " and others"
	}
	return text + "it has " + strings.Join(names, ", ")
}
