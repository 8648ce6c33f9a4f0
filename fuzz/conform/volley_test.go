package conform

import (
	"math/big"
	"slices"
	"testing"
)

// TestVolleys plants answers to requests that are sent at once, of 1, 2 and 3 units: some that no order explains, and some that one does.
func TestVolleys(t *testing.T) {
	shots := func(amounts ...int64) (all []shot) {
		for _, amount := range amounts {
			all = append(all, shot{amount: big.NewInt(amount)})
		}
		return all
	}
	for _, one := range []struct {
		way     way
		limit   int64
		allowed []int64 // of 1, 2, 3; the others are refused
		wrong   bool
	}{
		{adds, 3, []int64{1, 2}, false}, {adds, 3, []int64{3}, false}, {adds, 3, []int64{2, 3}, true}, {adds, 3, []int64{1}, true}, {adds, 3, nil, true}, {adds, 6, []int64{1, 2, 3}, false},
		{tops, 3, []int64{1, 2, 3}, false}, {tops, 3, []int64{1, 3}, true}, {tops, 2, []int64{1, 2}, false}, {tops, 2, []int64{2}, false}, {tops, 2, nil, false}, {tops, 2, []int64{3}, true},
	} {
		v := &volley{border: &border{rule: "planted", way: one.way}, limit: big.NewInt(one.limit), amounts: []*big.Int{big.NewInt(1), big.NewInt(2), big.NewInt(3)}}
		refused := slices.DeleteFunc([]int64{1, 2, 3}, func(n int64) bool { return slices.Contains(one.allowed, n) })
		wrong := v.added(new(big.Int), shots(one.allowed...), shots(refused...))
		if one.way == tops {
			wrong = v.reported(shots(one.allowed...), shots(refused...))
		}
		if wrong.any() != one.wrong {
			t.Errorf("way %d, limit %d, allowed %v: %+v", one.way, one.limit, one.allowed, wrong)
		}
	}
}
