package figures

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, row := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{7}, Spread{7, 7, 7}},
		{[]float64{4, 1}, Spread{1.75, 2.5, 3.25}},
		{[]float64{5, 1, 9, 3, 7}, Spread{3, 5, 7}},
		{[]float64{8, 2, 6, 4}, Spread{3.5, 5, 6.5}},
	} {
		got := Of(row.values, func(v float64) float64 { return v })
		if got != row.want || Median(row.values) != row.want.Median {
			t.Errorf("of %v: %+v, want %+v", row.values, got, row.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
}
