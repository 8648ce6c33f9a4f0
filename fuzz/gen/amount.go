package gen

import (
	"math/big"
	"slices"
)

// amounts are the texts of amounts that lie at the borders of one limit, made once for a policy.
type amounts struct {
	within   []string // decimals up to the limit
	beyond   []string // decimals above it
	base     []string // integers in base units within
	past     []string // and above
	decimals int
}

// malformed are no decimals, or ones that some limit has too few digits for.
var malformed = []string{"", "-1", "+1", "1e3", "0x10", "1.", ".5", "1,5", " 1", "1 ", "١", "1.5.0", "NaN",
	"0.0000000000000000000000000000000000001", "1_000", "1/2"}

// newAmounts returns the amounts at the borders of a limit and of a threshold, which may be missing.
func newAmounts(decimals int, limit, threshold string) amounts {
	a := amounts{decimals: decimals}
	one := big.NewInt(1)
	units, limited := parseFixed(limit, decimals)
	if limit == "" || !limited {
		a.within, a.base = []string{"0", "0.0", "000"}, []string{"0", "00"}
		a.beyond, a.past = []string{fixed(one, decimals), "1"}, []string{"1"}
		return a
	}
	add := func(n *big.Int) {
		switch {
		case n.Sign() < 0:
		case n.Cmp(units) <= 0:
			a.within, a.base = append(a.within, fixed(n, decimals)), append(a.base, n.String())
		default:
			a.beyond, a.past = append(a.beyond, fixed(n, decimals)), append(a.past, n.String())
		}
	}
	borders := []*big.Int{units, new(big.Int).Rsh(units, 1)}
	if at, ok := parseFixed(threshold, decimals); threshold != "" && ok {
		borders = append(borders, at)
	}
	for _, border := range borders {
		add(border)
		add(new(big.Int).Sub(border, one))
		add(new(big.Int).Add(border, one))
	}
	for _, n := range []*big.Int{new(big.Int), one, maximum, new(big.Int).Add(maximum, one), new(big.Int).Mul(units, big.NewInt(10))} {
		add(n)
	}
	a.within = append(slices.Clone(a.within), "00"+limit)
	return a
}

// pick returns one of them: within the limit or, where it slips, beyond it or no decimal at all. In base units it says
// so.
func (a *amounts) pick(r *Rand, slips bool) (text string, inBase bool) {
	inBase = r.Chance(15)
	switch {
	case slips && r.Chance(25):
		return One(r, malformed), inBase
	case slips && inBase:
		return One(r, a.past), true
	case slips:
		return One(r, a.beyond), false
	case inBase:
		return One(r, a.base), true
	}
	text = One(r, a.within)
	if r.Chance(5) && a.decimals > 20 {
		text += "0"
	}
	return text, false
}
