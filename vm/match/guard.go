package match

import "unsafe"

// A Guard tells most texts for which none of several tests holds, at about the cost of one test. It is right where it says
// so; where it can't tell, the tests have to run.
type Guard struct {
	// For tests by whole texts or by endings: the entries' last bytes, as guardBit has them of a tail without its lowest
	// bits. No entry has less than those.
	ends    uint64
	without uint8
	inside  *bigrams // for tests of the text in a text: all entries
}

const (
	// maxGuarded is how many entries a guard has at most: the more, the more texts seem to have one.
	maxGuarded = 16
	// maxGuardBytes is how many last bytes of entries a guard looks at.
	maxGuardBytes = 4
)

// guardBit means the last bytes of a text, in capitals or not.
func guardBit(last uint64) uint64 {
	return 1 << ((last &^ 0x2020202020202020) * mixFactor >> 58)
}

// NewGuard returns the guard for tests by [Inside], or by ways that compare endings ([Whole], [End], [Host]), of which sets
// are the entries. It returns nil where a guard would tell little.
func NewGuard(by By, sets ...*Set) *Guard {
	var entries []entry
	for _, s := range sets {
		entries = append(entries, s.entries...)
	}
	if len(entries) == 0 || len(entries) > maxGuarded {
		return nil
	}
	if by == Inside {
		if b := newBigrams(entries); b != nil {
			return &Guard{inside: b}
		}
		return nil
	}
	bytes := maxGuardBytes
	for i := range entries {
		bytes = min(bytes, len(entries[i].text))
	}
	g := &Guard{without: uint8(64 - 8*bytes)}
	for i := range entries {
		g.ends |= guardBit(entries[i].tail >> g.without)
	}
	return g
}

// Excludes reports whether none of the tests holds for a text. It may miss that.
func (g *Guard) Excludes(text string) bool {
	if g.inside != nil {
		in, left := g.inside.search(text, true)
		return in|left == 0
	}
	return g.ends&guardBit(tailWord(text)>>g.without) == 0
}

// Memory returns the bytes of a guard.
func (g *Guard) Memory() int { return int(unsafe.Sizeof(*g)) + g.inside.memory() }
