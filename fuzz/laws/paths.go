package laws

import (
	"fmt"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/vm/errcode"
)

// SeveralPaths holds that a list of paths passes no rule that one of them would not pass alone: an intent with several is
// denied where one of them is, by a rule that denies one of them, and is allowed where all are, but for caps that group by path,
// which it can't be counted under. One path is the same in a list as without.
func (h *House) SeveralPaths(b *gen.Batch) string {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return ""
	}
	r, writer := gen.NewRand(b.Seed), gen.NewWriter(b.Policy)
	for _, c := range b.Cases {
		several, single, listed := writer.Files(r, c.Body)
		if several == nil {
			continue
		}
		whole, _ := h.Judged(bound, &gen.Case{Body: several, Shim: c.Shim})
		var alone []*differential.Verdict
		for i := range single {
			one, hash := h.Judged(bound, &gen.Case{Body: single[i], Shim: c.Shim})
			same, sameHash := h.Judged(bound, &gen.Case{Body: listed[i], Shim: c.Shim})
			if what := one.Difference(same); what != "" || hash != sameHash {
				return fmt.Sprintf("a path in a list of one differs in its %s, or its hash\n%s\n%s\n%s", what, one, same, listed[i].Append(nil))
			}
			alone = append(alone, one)
		}
		if problem := together(whole, alone); problem != "" {
			return fmt.Sprintf("%s\n%s\n%s\nalone: %s\n%s", problem, several.Append(nil), whole, alone, b.Policy.Text())
		}
	}
	return ""
}

// together says what is wrong with the verdict over several paths, by those over each alone, or nothing.
func together(whole *differential.Verdict, alone []*differential.Verdict) string {
	rules, least := map[string]bool{}, whole.Status
	for i, one := range alone {
		rules[one.Rule] = true
		if i == 0 || leniency[one.Status] < leniency[least] {
			least = one.Status
		}
	}
	switch {
	case whole.Status == "DENIED" && whole.Code == string(errcode.AggregateField) && least != "ERROR":
		return ""
	case least == "DENIED" && !rules[whole.Rule]:
		return "several paths are denied by a rule that denies none of them"
	case whole.Status == least:
		return ""
	}
	return "several paths are decided otherwise than the strictest of them"
}
