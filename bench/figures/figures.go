// Package figures makes figures of what the rounds of a benchmark have measured.
package figures

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Spread is the median of some values and their quartiles.
type Spread struct{ Low, Median, High float64 }

// Of returns the spread of what of takes from each element; all of it is NaN where there are none.
func Of[T any](list []T, of func(T) float64) Spread {
	values := make([]float64, len(list))
	for i, element := range list {
		values[i] = of(element)
	}
	slices.Sort(values)
	return Spread{quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)}
}

// String implements fmt.Stringer.
func (s Spread) String() string { return fmt.Sprintf("%.2f (%.2f – %.2f)", s.Median, s.Low, s.High) }

// Median returns the middle of some values, the mean of the two middle ones of an even number.
func Median(values []float64) float64 {
	return Of(values, func(v float64) float64 { return v }).Median
}

// quantile returns a value that lies between the two of sorted values that are next to its place.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	place := q * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// Verdict says whether a target was met.
func Verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
