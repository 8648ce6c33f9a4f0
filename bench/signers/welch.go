package main

import (
	"math"
	"slices"
)

// suspicious is the |t| from which dudect takes a dependence for likely (Reparaz, Balasch, Verbauwhede, "Dude, is my code
// constant time?", 2017).
const suspicious = 4.5

// A finding is what a comparison of two classes of times comes to, of one crop.
type finding struct {
	crop       int     // how many percent of the times, the fastest, it looks at
	t          float64 // Welch's statistic
	difference float64 // of the means, in nanoseconds: the fixed key's less that of the others
	smallest   float64 // the difference in nanoseconds that would have made |t| suspicious
	mean       float64 // of the others' times
}

// crops are as many percent of the times, the fastest. What an interrupt made slow hides small differences, and what depends
// on a branch may show in a part of the times alone.
var crops = []int{10, 25, 50, 75, 90, 100}

// compare returns the finding of each crop, as far as each class has two times in it.
func compare(fixed, others []float64) []finding {
	all := slices.Sorted(slices.Values(slices.Concat(fixed, others)))
	var found []finding
	for _, crop := range crops {
		if len(all) == 0 {
			break
		}
		limit := all[(len(all)-1)*crop/100]
		a, b := momentsOf(fixed, limit), momentsOf(others, limit)
		if a.n < 2 || b.n < 2 {
			continue
		}
		deviation := math.Sqrt(a.variance/a.n + b.variance/b.n)
		found = append(found, finding{crop, (a.mean - b.mean) / deviation, a.mean - b.mean, suspicious * deviation, b.mean})
	}
	return found
}

// largest returns the finding with the largest |t|, and false if there is none.
func largest(found []finding) (finding, bool) {
	if len(found) == 0 {
		return finding{}, false
	}
	return slices.MaxFunc(found, func(a, b finding) int {
		return int(math.Copysign(1, math.Abs(a.t)-math.Abs(b.t)))
	}), true
}

// sharpest returns the smallest difference that would have been suspicious in some crop.
func sharpest(found []finding) float64 {
	least := math.Inf(1)
	for _, f := range found {
		least = min(least, f.smallest)
	}
	return least
}

type moments struct{ n, mean, variance float64 }

// momentsOf returns the mean and the variance of the values up to a limit.
func momentsOf(values []float64, limit float64) (m moments) {
	var squares float64 // of the distances to the mean, by Welford's method
	for _, v := range values {
		if v > limit {
			continue
		}
		m.n++
		before := v - m.mean
		m.mean += before / m.n
		squares += before * (v - m.mean)
	}
	if m.n > 1 {
		m.variance = squares / (m.n - 1)
	}
	return m
}
