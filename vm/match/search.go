package match

import (
	"math/bits"
	"unsafe"
)

// A searcher finds the entries of a set in a text, in one pass whatever their number.
type searcher struct {
	// few are looked for one by one, or by rare bytes, or in a short text by bigrams, where they are.
	few     []entry
	rare    *rareBytes
	bigrams *bigrams
	// exact finds the entries that are compared exactly, folded those with an address that ignores case. The
	// second ignores the case of all letters, and what it finds is then compared as the entry says.
	exact, folded *automaton
}

// FewSearched is the number of texts up to which looking for each in turn is faster than an automaton: the
// standard library's search runs some fifty times as fast as the automaton, which pays for all texts at once.
const FewSearched = 32

// bigramsPay is how many bytes of a text bigrams takes about as long for as the standard library for all of it and one entry.
const bigramsPay = 64

// newSearcher makes the searcher for a set, and returns the memory that its automata take.
func newSearcher(set []entry) (s *searcher, memory int, err error) {
	if len(set) <= FewSearched {
		return &searcher{few: set, rare: newRareBytes(set), bigrams: newBigrams(set)}, 0, nil
	}
	var exact, folded []int
	for i := range set {
		if len(set[i].folded) == 0 {
			exact = append(exact, i)
		} else {
			folded = append(folded, i)
		}
	}
	s = &searcher{}
	if s.exact, err = newAutomaton(set, exact, false); err != nil {
		return nil, 0, err
	}
	if s.folded, err = newAutomaton(set, folded, true); err != nil {
		return nil, 0, err
	}
	return s, s.exact.grown() + s.folded.grown(), nil
}

// fewIn returns a bit for each of few that is in text or, where one will do, for at least one of them.
func (s *searcher) fewIn(text string, one bool) (in uint32) {
	left := uint32(1<<len(s.few) - 1)
	if s.rare != nil {
		in, left = s.rare.search(text, one)
	}
	if left != 0 && s.bigrams != nil && len(text) <= bigramsPay*len(s.few) {
		in, left = s.bigrams.search(text, one)
	}
	for ; left != 0 && (in == 0 || !one); left &= left - 1 {
		if i := bits.TrailingZeros32(left); s.few[i].inside(text) {
			in |= 1 << i
		}
	}
	return in
}

// contains reports whether an entry is in text.
func (s *searcher) contains(text string) bool {
	return s.fewIn(text, true) != 0 || s.exact != nil && s.exact.contains(text) || s.folded != nil && s.folded.contains(text)
}

// scan adds to hits every entry that is in text, which is the given element of a list.
func (s *searcher) scan(text string, hits *Hits, element int32) {
	for in := s.fewIn(text, false); in != 0; in &= in - 1 {
		hits.add(bits.TrailingZeros32(in), element)
	}
	if s.exact != nil {
		s.exact.scan(text, hits, element)
	}
	if s.folded != nil {
		s.folded.scan(text, hits, element)
	}
}

// cost returns what each byte of a text takes at most.
func (s *searcher) cost(all bool) int {
	cost := 0
	for i := range s.few {
		cost++ // for the scarce byte, a try, and all of the entry
		if len(s.few[i].folded) > 0 {
			cost += len(s.few[i].text)
		}
	}
	return cost + s.exact.cost(all) + s.folded.cost(all)
}

// memory returns the bytes of a searcher.
func (s *searcher) memory() int {
	if s == nil {
		return 0
	}
	bytes := int(unsafe.Sizeof(*s)) + s.bigrams.memory() + s.exact.memory() + s.folded.memory()
	if l := s.rare; l != nil {
		bytes += int(unsafe.Sizeof(*l)) + SliceBytes(l.bytes) + SliceBytes(l.having) + SliceBytes(l.at)
	}
	return bytes
}
