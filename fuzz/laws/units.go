package laws

import (
	"fmt"

	"bailiff/fuzz/gen"
)

// IntegerAmounts holds that a service which reads amounts without a point as base units (SVC_INTEGER_AMOUNTS=base)
// gives an intent the hash that it has where it says so itself: an approval of one amount is never spent as another.
func (h *House) IntegerAmounts(b *gen.Batch) string {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return ""
	}
	speller := gen.NewSpeller(b.Policy)
	for _, c := range b.Cases {
		unmarked, marked, scaled, ok := speller.IntegerAmount(speller.Normal(c.Body))
		if !ok {
			continue
		}
		inBase, errBase := h.BaseHash(bound, unmarked.Append(nil))
		said, errSaid := h.Hash(bound, marked.Append(nil))
		human, errHuman := h.Hash(bound, unmarked.Append(nil))
		switch {
		case errBase != nil || errSaid != nil || errHuman != nil:
		case inBase != said:
			return fmt.Sprintf("an amount that is read as base units has another hash than one that says so\n%s", marked.Append(nil))
		case scaled && inBase == human:
			return fmt.Sprintf("an amount in base units has the hash of the decimal amount\n%s", marked.Append(nil))
		}
	}
	return ""
}
