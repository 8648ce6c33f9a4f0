package gen

import (
	"math/bits"
	"math/rand"
)

// Rand is a small source of pseudo-random numbers (SplitMix64) whose sequence is part of this package's promise: a
// seed found today finds the same case tomorrow. It is not safe for concurrent use.
type Rand struct{ state uint64 }

// NewRand returns the source of a seed.
func NewRand(seed int64) *Rand { return &Rand{state: uint64(seed)} }

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Int63 and Seed let a Rand be the source of a math/rand.Rand.
func (r *Rand) Int63() int64 { return int64(r.Uint64() >> 1) }

// Seed starts the sequence of another seed.
func (r *Rand) Seed(seed int64) { r.state = uint64(seed) }

var _ rand.Source = (*Rand)(nil)

// N returns a number from 0 to n-1; n is positive.
func (r *Rand) N(n int) int {
	high, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(high)
}

// Chance is true in that many cases of a hundred.
func (r *Rand) Chance(percent int) bool { return r.N(100) < percent }

// Pick returns one of the texts.
func (r *Rand) Pick(from ...string) string { return from[r.N(len(from))] }

// One returns one of the values.
func One[T any](r *Rand, from []T) T { return from[r.N(len(from))] }

// Some returns from one to most of the texts, each at most once and in any order; few more often than many.
func (r *Rand) Some(most int, from ...string) []string {
	mixed := append([]string(nil), from...)
	Shuffle(r, mixed)
	n := 1 + min(r.N(most), r.N(most))
	return mixed[:min(n, len(mixed))]
}

// Shuffle puts the values into any order.
func Shuffle[T any](r *Rand, values []T) {
	for i := len(values) - 1; i > 0; i-- {
		j := r.N(i + 1)
		values[i], values[j] = values[j], values[i]
	}
}
