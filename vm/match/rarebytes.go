package match

import (
	"math/bits"
	"strings"
)

// A rareBytes looks for at most 32 entries by few bytes that are scarce in most texts, and one of which each entry has: the
// standard library finds a byte some times as fast as anything finds a pair of them. Where one is, the bytes before and
// behind tell most texts from the entries.
type rareBytes struct {
	set    []entry
	bytes  []byte
	having []uint32 // for each of bytes a bit for each entry that is found by it
	at     []int    // of each entry: where the byte is in it
	// For each byte a bit for each entry that it may be in, before its rare byte and behind.
	before, behind [256]uint32
}

const (
	// maxRareBytes is how many bytes are looked for at most.
	maxRareBytes = 3
	// rareSpacing is how many bytes of a text there are to a rare byte, at least, if looking on is to pay. The first
	// few are free.
	rareSpacing, freeRare = 32, 4
)

// newRareBytes returns the rare bytes of entries, or nil where there are none that would pay.
func newRareBytes(set []entry) *rareBytes {
	if len(set) < 3 || len(set) > FewSearched {
		return nil
	}
	l := &rareBytes{set: set, at: make([]int, len(set))}
	for left := uint32(1<<len(set) - 1); left != 0; {
		c, having := bestRareByte(set, left)
		if having == 0 || len(l.bytes) == maxRareBytes {
			return nil
		}
		l.bytes, l.having = append(l.bytes, c), append(l.having, having)
		for ; having != 0; having &= having - 1 {
			l.add(bits.TrailingZeros32(having), c)
		}
		left &^= l.having[len(l.having)-1]
	}
	return l
}

// bestRareByte returns the scarce byte that most of those entries have that are left, and which have it. Entries that fold
// have none.
func bestRareByte(set []entry, left uint32) (best byte, having uint32) {
	var by [256]uint32
	for ; left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		for j := 0; j < len(set[i].text) && set[i].folded == nil; j++ {
			by[set[i].text[j]] |= 1 << i
		}
	}
	for c, have := range by {
		if have == 0 || scarcity(byte(c)) < scarcity('.') {
			continue
		}
		more := bits.OnesCount32(have) - bits.OnesCount32(having)
		if more > 0 || more == 0 && scarcity(byte(c)) > scarcity(best) {
			best, having = byte(c), have
		}
	}
	return best, having
}

// add adds entry n by its first c.
func (l *rareBytes) add(n int, c byte) {
	text := l.set[n].text
	at := strings.IndexByte(text, c)
	l.at[n] = at
	for i := range 256 {
		if at == 0 || text[at-1] == byte(i) {
			l.before[i] |= 1 << n
		}
		if at+1 == len(text) || text[at+1] == byte(i) {
			l.behind[i] |= 1 << n
		}
	}
}

// search returns a bit for each entry that is in text and, where there are too many rare bytes in it, for each that has
// yet to be looked for. Where one will do it returns the first that it finds.
func (l *rareBytes) search(text string, one bool) (in, left uint32) {
	tries := len(text)/rareSpacing + freeRare
	for k, c := range l.bytes {
		for at := strings.IndexByte(text, c); at >= 0; {
			may := l.having[k]
			if at > 0 {
				may &= l.before[text[at-1]]
			}
			if at+1 < len(text) {
				may &= l.behind[text[at+1]]
			}
			if may != 0 {
				if in |= l.standAt(text, at, may); in != 0 && one {
					return in, 0
				}
			}
			if tries--; tries < 0 {
				return in, (1<<len(l.set) - 1) &^ in
			}
			next := strings.IndexByte(text[at+1:], c)
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return in, 0
}

// standAt returns which of some entries are in text around the rare byte at.
func (l *rareBytes) standAt(text string, at int, may uint32) (in uint32) {
	for ; may != 0; may &= may - 1 {
		n := bits.TrailingZeros32(may)
		begin, e := at-l.at[n], &l.set[n]
		if begin >= 0 && len(text)-begin >= len(e.text) && text[begin:begin+len(e.text)] == e.text {
			in |= 1 << n
		}
	}
	return in
}
