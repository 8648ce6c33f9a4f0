package differential

import (
	"fmt"
	"strings"

	"bailiff/fuzz/gen"
)

// Divergence is a policy, and mostly a request, that the two judge differently.
type Divergence struct {
	Batch           *gen.Batch // with the one request
	What            string     // in which part the verdicts differ
	Machine, Oracle *Verdict
	Problem         string // in place of verdicts, where one of the two can't read the policy
}

// Kind tells divergences apart that are likely to have different causes: by what differs and by the rules that either
// names.
func (d *Divergence) Kind() string {
	if d.Problem != "" {
		return d.Problem
	}
	short := func(v *Verdict) string { return strings.TrimSpace(v.Status + " " + v.Rule + " " + v.Code) }
	return fmt.Sprintf("%s: the machine says %s, the oracle %s", d.What, short(d.Machine), short(d.Oracle))
}

// maxTrials bounds the work of shrinking. Each trial compiles a policy.
const maxTrials = 4000

// Shrink returns a divergence in the same part with a small policy and a small request.
func (d *Divergence) Shrink() *Divergence {
	judge := NewJudge()
	for trials := 0; trials < maxTrials; {
		smaller := (*Divergence)(nil)
		for _, batch := range d.Batch.Smaller() {
			trials++
			if _, found := judge.batch(batch, false); len(found) > 0 && found[0].Kind() == d.Kind() {
				smaller = found[0]
				break
			}
			if trials >= maxTrials {
				break
			}
		}
		if smaller == nil {
			return d
		}
		d = smaller
	}
	return d
}

// String shows everything that is needed to see it again.
func (d *Divergence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the verdicts differ in their %s; to see it again: BAILIFF_SEED=%d go test ./fuzz/differential -run TestDifferential -pairs %d\n\n%s",
		d.What, d.Batch.Seed, casesPerPolicy, d.Golden())
	if d.Problem != "" {
		return b.String() + "\n" + d.Problem
	}
	fmt.Fprintf(&b, "\nthe machine says: %s\nthe oracle says:  %s", d.Machine, d.Oracle)
	return b.String()
}

// Golden is the case in the form of the files in testdata/found, with the oracle's verdict.
func (d *Divergence) Golden() string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy\n%s----\nok\n", d.Batch.Policy.Text())
	for _, c := range d.Batch.Cases {
		fmt.Fprintf(&b, "\njudge\n%s\n----\n", c)
		if d.Oracle != nil {
			fmt.Fprintf(&b, "%s\n", d.Oracle)
		}
	}
	return b.String()
}
