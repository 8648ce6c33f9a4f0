package match

import (
	"math/bits"
	"slices"
	"unsafe"
)

// A lookup finds entries of a large set by a hash of them that ignores the case of ASCII letters, so that one
// table serves folded entries and others; what it finds is then compared as the entry says. For whole texts the
// hash takes eight bytes at a step. For all others it grows with each byte, so that one pass over a text hashes
// all its beginnings, or from the back all its endings.
type lookup struct {
	entries []entry
	buckets []int32 // for each hash, 1 + the first entry with it
	next    []int32 // for each entry, 1 + the next one with the same hash
	lengths []int   // of entries, each once, growing
}

// The parameters of the 64-bit FNV-1a hash.
const (
	hashSeed  = 14695981039346656037
	hashPrime = 1099511628211
)

// mixFactor is 2^64 divided by the golden ratio, whose multiples are spread evenly.
const mixFactor = 0x9e3779b97f4a7c15

// hashStep adds a byte to a hash.
func hashStep(h uint64, c byte) uint64 { return (h ^ uint64(lower(c))) * hashPrime }

// newLookup makes the table for tests by by. For Host it holds names without the dot in
// front.
func newLookup(set []entry, by By) *lookup {
	size := 1
	for size < 2*len(set) {
		size *= 2
	}
	l := &lookup{entries: set, buckets: make([]int32, size), next: make([]int32, len(set))}
	for i := range set {
		key := hostKey(set[i].text, by)
		bucket := l.bucket(hashText(key, by))
		l.next[i] = *bucket
		*bucket = int32(i + 1)
		l.lengths = append(l.lengths, len(key))
	}
	slices.Sort(l.lengths)
	l.lengths = slices.Compact(l.lengths)
	return l
}

// hostKey returns by what text an entry is found.
func hostKey(text string, by By) string {
	if by == Host && text[0] == '.' {
		return text[1:]
	}
	return text
}

// hashText hashes a text: all of it at once, or byte by byte in the direction in which a test reads it.
func hashText(text string, by By) uint64 {
	if by == Whole || by == Glob {
		return hashWhole(text)
	}
	h := uint64(hashSeed)
	for i := range len(text) {
		if by == End || by == Host {
			h = hashStep(h, text[len(text)-1-i])
		} else {
			h = hashStep(h, text[i])
		}
	}
	return h
}

// hashWhole hashes all of a text. It takes small and capital letters for the same, and some other bytes too, which
// costs a comparison where it matters.
func hashWhole(text string) uint64 {
	h, last := hashSeed^uint64(len(text)), uint64(0)
	if len(text) >= 8 {
		last = eightBytes(text[len(text)-8:])
		for ; len(text) > 8; text = text[8:] {
			h = mix(h, eightBytes(text))
		}
		return mix(h, last)
	}
	for i := range len(text) {
		last = last<<8 | uint64(text[i])
	}
	return mix(h, last)
}

// mix adds eight bytes to a hash, without the bits that tell small letters from capitals.
func mix(h, word uint64) uint64 {
	high, low := bits.Mul64(h^word&^0x2020202020202020, mixFactor)
	return high ^ low
}

// bucket returns where the entries with a hash begin.
func (l *lookup) bucket(hash uint64) *int32 {
	return &l.buckets[(hash^hash>>29)&uint64(len(l.buckets)-1)]
}

// find reports whether an entry with that hash equals text.
func (l *lookup) find(hash uint64, text string) bool {
	for i := *l.bucket(hash); i != 0; i = l.next[i-1] {
		if l.entries[i-1].equal(text) {
			return true
		}
	}
	return false
}

// in reports whether text equals an entry.
func (l *lookup) in(text string) bool {
	return len(text) <= l.lengths[len(l.lengths)-1] && l.find(hashWhole(text), text)
}

// starts reports whether text starts with an entry.
func (l *lookup) starts(text string) bool {
	h, at := uint64(hashSeed), 0
	for _, length := range l.lengths {
		if length > len(text) {
			return false
		}
		for ; at < length; at++ {
			h = hashStep(h, text[at])
		}
		if l.find(h, text[:length]) {
			return true
		}
	}
	return false
}

// ends reports whether text ends with an entry.
func (l *lookup) ends(text string) bool {
	h, at := uint64(hashSeed), 0
	for _, length := range l.lengths {
		if length > len(text) {
			return false
		}
		for ; at < length; at++ {
			h = hashStep(h, text[len(text)-1-at])
		}
		if l.find(h, text[len(text)-length:]) {
			return true
		}
	}
	return false
}

// host reports whether an entry covers the host name text. It looks at the whole name and behind each dot.
func (l *lookup) host(text string) bool {
	h, longest := uint64(hashSeed), l.lengths[len(l.lengths)-1]
	for at := len(text) - 1; at >= 0 && len(text)-at <= longest; at-- {
		h = hashStep(h, text[at])
		if (at == 0 || text[at-1] == '.') && l.findHost(h, text, at) {
			return true
		}
	}
	return false
}

// findHost reports whether an entry covers the host name text by its ending from at.
func (l *lookup) findHost(hash uint64, text string, at int) bool {
	for i := *l.bucket(hash); i != 0; i = l.next[i-1] {
		if name := l.entries[i-1].text; hostKey(name, Host) == text[at:] && CoversHost(name, text) {
			return true
		}
	}
	return false
}

// cost returns what a lookup takes at most beside hashing: at each length, the entries of the fullest bucket.
func (l *lookup) cost() int {
	fullest := 0
	for _, first := range l.buckets {
		bytes := 0
		for i := first; i != 0; i = l.next[i-1] {
			bytes += 2 + len(l.entries[i-1].text)/8
		}
		fullest = max(fullest, bytes)
	}
	return fullest * len(l.lengths)
}

// memory returns the bytes of a lookup.
func (l *lookup) memory() int {
	if l == nil {
		return 0
	}
	return int(unsafe.Sizeof(*l)) + SliceBytes(l.buckets) + SliceBytes(l.next) + SliceBytes(l.lengths)
}
