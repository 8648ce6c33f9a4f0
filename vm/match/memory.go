package match

import "unsafe"

// Allocated is what an allocation of its own takes beside its bytes, by rounding up to a size class.
const Allocated = 16

// SliceBytes returns the bytes of a slice's elements and its allocation.
func SliceBytes[T any](s []T) int {
	if cap(s) == 0 {
		return 0
	}
	var element T
	return cap(s)*int(unsafe.Sizeof(element)) + Allocated
}

// exact returns a copy of a slice that has no room besides its elements. The array of a slice that has grown stays as large as it is, also
// where the slice is clipped.
func exact[T any](s []T) []T {
	made := make([]T, len(s))
	copy(made, s)
	return made
}

// MaxMemory bounds the bytes of all automata of a loaded program.
const MaxMemory = 1 << 24
