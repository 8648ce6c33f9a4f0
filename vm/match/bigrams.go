package match

import (
	"math/bits"
	"strings"
	"unsafe"
)

// A bigrams looks for at most 32 entries in one pass over a text. It looks at two bytes that follow each other, steps on,
// and looks at the next two. Of each entry it knows as many pairs, one behind the other, as a step has bytes: so whatever
// is in the text, one of them is met.
type bigrams struct {
	set           []entry
	at            []bigramPlace      // of each pair
	may           [1 << mayBits]bool // by mayIndex: whether two bytes may be a pair
	first, second [256]uint64        // for each byte a bit for each pair that has it there: step bits an entry
	step          int
}

// A bigramPlace is which entry has a bigram, and how many bytes of it are before.
type bigramPlace struct{ entry, before int32 }

const (
	// maxBigramStep bounds a step: the more pairs mean an entry, the more texts have one of them.
	maxBigramStep = 3
	// maxBigramTries bounds how often entries are compared in vain, so that a text takes linear time.
	maxBigramTries = 16
	mayBits        = 12
)

// mayIndex is where two bytes are told from most others.
func mayIndex(a, b byte) int { return int(a)<<4 ^ int(b) }

// newBigrams returns the bigrams of entries, or nil where they would not pay: for one or two entries, or where one is of a
// single byte.
func newBigrams(set []entry) *bigrams {
	step := min(maxBigramStep, 64/max(1, len(set)))
	for i := range set {
		step = min(step, len(set[i].text)-1)
	}
	if len(set) < 3 || len(set) > FewSearched || step < 1 {
		return nil
	}
	p := &bigrams{set: set, at: make([]bigramPlace, len(set)*step), step: step}
	for i := range set {
		p.add(i)
	}
	return p
}

// add adds the scarcest pairs of entry n. Where it folds, a letter means its capital as well.
func (p *bigrams) add(n int) {
	text, best, at := p.set[n].text, -1, 0
	for i := 0; i+p.step < len(text); i++ {
		rank := 0
		for j := i; j <= i+p.step; j++ {
			rank += scarcity(text[j])
		}
		if rank > best {
			best, at = rank, i
		}
	}
	for i := range p.step {
		p.at[n*p.step+i] = bigramPlace{int32(n), int32(at + i)}
		a, b := text[at+i:at+i+1], text[at+i+1:at+i+2]
		if p.set[n].folded != nil {
			a, b = a+string(upper(a[0])), b+string(upper(b[0]))
		}
		p.addBigram(1<<(n*p.step+i), a, b)
	}
}

// addBigram adds a pair: a byte of a and behind it one of b.
func (p *bigrams) addBigram(bit uint64, a, b string) {
	for i := range len(a) {
		p.first[a[i]] |= bit
		for j := range len(b) {
			p.second[b[j]] |= bit
			p.may[mayIndex(a[i], b[j])] = true
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

// search returns a bit for each entry that is in text and, where there were too many tries in vain, for each that has
// yet to be looked for. Where one will do it returns the first that it finds.
func (p *bigrams) search(text string, one bool) (in, left uint32) {
	tries, step := maxBigramTries, p.step
	for i := 1; i < len(text); i += step {
		if i = p.skip(text, i); i >= len(text) {
			break
		}
		for may := p.first[text[i-1]] & p.second[text[i]]; may != 0; may &= may - 1 {
			place := p.at[bits.TrailingZeros64(may)]
			n := int(place.entry)
			switch begin := i - 1 - int(place.before); {
			case in&(1<<n) != 0:
			case p.standsAt(n, text, begin):
				if in |= 1 << n; one {
					return in, 0
				}
			default:
				if tries--; tries == 0 {
					return in, (1<<len(p.set) - 1) &^ in
				}
			}
		}
	}
	return in, 0
}

// skip goes on from i by steps to where a pair may be, or to the end.
func (p *bigrams) skip(text string, i int) int {
	step := uint(p.step)
	at := uint(i)
	for ; at+step < uint(len(text)); at += 2 * step {
		if p.may[mayIndex(text[at-1], text[at])] {
			return int(at)
		}
		if p.may[mayIndex(text[at+step-1], text[at+step])] {
			return int(at + step)
		}
	}
	if at < uint(len(text)) && !p.may[mayIndex(text[at-1], text[at])] {
		at += step
	}
	return int(at)
}

// standsAt reports whether entry n is in text from begin.
func (p *bigrams) standsAt(n int, text string, begin int) bool {
	e := &p.set[n]
	return begin >= 0 && len(text)-begin >= len(e.text) && text[begin+int(e.before)] == e.scarce && e.equal(text[begin:begin+len(e.text)])
}

// memory returns the bytes of a bigram filter.
func (p *bigrams) memory() int {
	if p == nil {
		return 0
	}
	return int(unsafe.Sizeof(*p)) + SliceBytes(p.at)
}
