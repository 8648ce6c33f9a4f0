package match

// Hits are the entries of a set that a scan found, and for each the element of a list in which it found the first.
type Hits struct {
	found    []uint64 // a bit for each entry
	elements []int32  // valid where the bit is set
	any      bool
}

// Reset makes room for n entries, none of them found.
func (h *Hits) Reset(n int) {
	words := (n + 63) / 64
	if len(h.elements) < n {
		h.found, h.elements = make([]uint64, words), make([]int32, n)
	}
	h.any = false
	if h.found[0] = 0; words > 1 {
		clear(h.found[:words])
	}
}

// Any reports whether an entry was found.
func (h *Hits) Any() bool { return h.any }

// Has reports whether an entry was found.
func (h *Hits) Has(entry uint16) bool { return h.found[entry/64]&(1<<(entry%64)) != 0 }

// Element returns the element of an entry that was found.
func (h *Hits) Element(entry uint16) int32 { return h.elements[entry] }

func (h *Hits) add(entry int, element int32) {
	word, bit := &h.found[entry/64], uint64(1)<<(entry%64)
	if *word&bit == 0 {
		*word |= bit
		h.elements[entry] = element
	}
	h.any = true
}
