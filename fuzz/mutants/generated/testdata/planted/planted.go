// Package planted has a place for each kind of mutant.
package planted

import "errors"

const most = 3

var table = []int{0: 4, 1: 5}

// Between reports whether low <= n < high, and n is not refused.
func Between(n, low, high int, refused bool) bool {
	if refused {
		return false
	}
	return n >= low && n < high
}

// Mix does sums.
func Mix(a, b uint32) (uint32, error) {
	if b == 0 || a > 1<<20 {
		return 0, errors.New("out of range")
	}
	sum := a*b + a/b - a%b
	sum ^= a & b
	sum |= b << 3
	return sum &^ (a >> 1), nil
}

// Steps counts up to n, and says so.
func Steps(n int, say func(string)) (steps int, last string) {
	for steps < n && steps < most {
		steps++
		last = "step"
		say(last)
	}
	for _, more := range table {
		steps += -more
	}
	return steps, last
}

// Up is an endless loop where its step is the other way.
func Up(n uint64) (sum uint64) {
	for i := n; i > 0; i-- {
		sum += i
	}
	return sum
}

type kind uint8

const last kind = 7

// Shadow has a variable with the name of its type.
func Shadow(n uint8) bool {
	kind := kind(n)
	return kind == last
}

// First names the kind of a byte.
func First(c byte) (string, *byte) {
	switch {
	case !('a' <= c):
		return "before", nil
	case c == 'z':
		return "last", &c
	}
	return "", nil
}
