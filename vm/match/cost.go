package match

// What looking for texts takes beside their bytes, in steps of about a nanosecond. Each is above what the slowest of many measured
// sets and texts took.
const (
	// fewTextStep is for looking for one of few texts: a search for its scarce byte, and one for all of it. Each try between them
	// goes on by a byte at least, so that bytes pay for it.
	fewTextStep = 16
	// fewHitStep is for looking for one of few texts all of which are wanted.
	fewHitStep = 6
)

// Cost returns what a test by by takes at most, in steps of about a nanosecond: for each text, and for each of its bytes.
func (s *Set) Cost(by By) (each, byByte int) {
	switch by {
	case Path:
		return s.paths.cost()
	case Inside:
		return fewTextStep * len(s.search.few), s.search.cost(false)
	case Each:
		return len(s.entries)/64 + fewHitStep*len(s.search.few), s.search.cost(true)
	}
	each, byByte = s.entriesCost(by)
	moreEach, moreByByte := s.globsCost()
	return each + moreEach, byByte + moreByByte
}

// entriesCost returns what comparing with entries takes at most.
func (s *Set) entriesCost(by By) (each, byByte int) {
	l := *s.lookup(by)
	switch {
	case l == nil:
		return 3 * len(s.entries), 1
	case by == Host:
		return 4, 2 + l.cost()/len(l.lengths)
	}
	return l.cost(), 2
}

// globsCost returns what testing patterns takes at most, beside looking up those without a star: each byte is
// searched once for the parts between stars and once for the separator.
func (s *Set) globsCost() (each, byByte int) {
	for i := range s.globs {
		each += 8 + 6*len(s.globs[i].middle)
	}
	return each, 2 * len(s.globs)
}

// Memory returns the bytes of a set beside its struct.
func (s *Set) Memory() int {
	bytes := SliceBytes(s.entries) + SliceBytes(s.firsts) + SliceBytes(s.globs)
	for i := range s.entries {
		bytes += SliceBytes(s.entries[i].folded)
	}
	for i := range s.globs {
		bytes += SliceBytes(s.globs[i].middle)
	}
	return bytes + s.equals.memory() + s.heads.memory() + s.tails.memory() + s.search.memory() + s.paths.memory()
}
