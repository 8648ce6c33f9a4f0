package vm

import (
	"math/bits"
	"strings"
)

// A pairs looks for at most 32 entries in one pass over a text. It looks at two bytes that follow each other, steps on,
// and looks at the next two. Of each entry it knows as many pairs, one behind the other, as a step has bytes: so whatever
// stands in the text, one of them is met.
type pairs struct {
	set           []entry
	at            []int       // where the pairs of each entry begin
	first, second [256]uint32 // for each byte a bit for each entry that has it there in a pair
	step          int
}

const (
	// maxPairStep bounds a step: the more pairs stand for an entry, the more texts have one of them.
	maxPairStep = 3
	// maxPairTries bounds how often entries are compared in vain, so that a text takes linear time.
	maxPairTries = 16
)

// newPairs returns the pairs of entries, or nil where they would not pay: for one or two entries, or where one is of a
// single byte.
func newPairs(set []entry) *pairs {
	p := &pairs{set: set, at: make([]int, len(set)), step: maxPairStep}
	for i := range set {
		p.step = min(p.step, len(set[i].text)-1)
	}
	if len(set) < 3 || len(set) > fewSearched || p.step < 1 {
		return nil
	}
	for i := range set {
		p.add(i)
	}
	return p
}

// add adds the scarcest pairs of entry n. Where it folds, a letter stands for its capital as well.
func (p *pairs) add(n int) {
	text, bit, best, at := p.set[n].text, uint32(1)<<n, -1, 0
	for i := 0; i+p.step < len(text); i++ {
		rank := 0
		for j := i; j <= i+p.step; j++ {
			rank += scarcity(text[j])
		}
		if rank > best {
			best, at = rank, i
		}
	}
	p.at[n] = at
	for i := at; i < at+p.step; i++ {
		p.first[text[i]] |= bit
		p.second[text[i+1]] |= bit
		if p.set[n].folded != nil {
			p.first[upper(text[i])] |= bit
			p.second[upper(text[i+1])] |= bit
		}
	}
}

// scarcity grows as a byte gets less likely in other texts.
func scarcity(c byte) int {
	if rank := strings.IndexByte(commonBytes, c); rank >= 0 {
		return rank
	}
	return len(commonBytes)
}

// search returns a bit for each entry that stands in text and, where there were too many tries in vain, for each that has
// yet to be looked for. Where one will do it returns the first that it finds.
func (p *pairs) search(text string, one bool) (in, left uint32) {
	tries, step := maxPairTries, p.step
	for i := 1; i < len(text); i += step {
		may := p.first[text[i-1]] & p.second[text[i]]
		if may == 0 {
			continue
		}
		for may &^= in; may != 0; may &= may - 1 {
			n := bits.TrailingZeros32(may)
			if p.standsAt(n, text, i-1) {
				if in |= 1 << n; one {
					return in, 0
				}
			} else if tries--; tries == 0 {
				return in, (1<<len(p.set) - 1) &^ in
			}
		}
	}
	return in, 0
}

// standsAt reports whether entry n stands in text so that one of its pairs is at i.
func (p *pairs) standsAt(n int, text string, i int) bool {
	e := &p.set[n]
	for begin := i - p.at[n]; begin > i-p.at[n]-p.step && begin >= 0; begin-- {
		if len(text)-begin >= len(e.text) && text[begin+int(e.before)] == e.scarce && e.equal(text[begin:begin+len(e.text)]) {
			return true
		}
	}
	return false
}
