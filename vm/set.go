package vm

import "strings"

// fewEntries is the number of entries up to which trying each in turn is at least as fast as looking one up.
const fewEntries = 8

// addressLength is the length of an address literal: 0x and 40 hex digits.
const addressLength = 42

// An entry is a loaded Entry.
type entry struct {
	text string
	// What tells most texts apart from text, and which of its bits are text's.
	head, headMask, tail, tailMask uint64
	// folded are the offsets of the address literals that match without regard to case. The first byte of a
	// literal is a digit, so that the first byte of an entry never folds.
	folded []int32
	// scarce is a byte of text that does not fold, the least likely one in other texts, and before is how many
	// bytes stand before it.
	scarce byte
	before int32
}

func newEntries(from []Entry) []entry {
	entries := make([]entry, len(from))
	for i, e := range from {
		n := len(e.Text)
		entries[i] = entry{text: e.Text, head: headWord(e.Text), headMask: headMask(n), tail: tailWord(e.Text), tailMask: tailMask(n)}
		if e.Fold {
			entries[i].folded = addressLiterals(e.Text)
		} else {
			entries[i].before = scarcest(e.Text)
		}
		entries[i].scarce = e.Text[entries[i].before]
	}
	return entries
}

// commonBytes are the bytes that texts, commands and identifiers are mostly made of, the commonest first.
const commonBytes = " etaoinsrlcdhmupgfywbvk0123456789.-/_xjqz\"=:,"

// scarcest returns where the byte of text stands that is the least likely in other texts. Only speed depends on it.
func scarcest(text string) (at int32) {
	best := -1
	for i := range len(text) {
		rank := strings.IndexByte(commonBytes, text[i])
		if rank < 0 {
			return int32(i)
		}
		if rank > best {
			best, at = rank, int32(i)
		}
	}
	return at
}

// addressLiterals returns where address literals start: 0x or 0X and exactly 40 hex digits. Longer runs of
// digits are hashes and keys, not addresses.
func addressLiterals(text string) (starts []int32) {
	for i := 0; i+addressLength <= len(text); i++ {
		if text[i] != '0' || text[i+1]|0x20 != 'x' {
			continue
		}
		end := i + 2
		for end < len(text) && isHex(text[end]) {
			end++
		}
		if end == i+addressLength {
			starts = append(starts, int32(i))
		}
		i = end - 1
	}
	return starts
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// lowerAddresses returns text with its address literals in lower case.
func lowerAddresses(text string) string {
	starts := addressLiterals(text)
	if len(starts) == 0 {
		return text
	}
	lowered := []byte(text)
	for _, start := range starts {
		for i := range addressLength {
			lowered[int(start)+i] = lower(lowered[int(start)+i])
		}
	}
	return string(lowered)
}

// lower returns c, or the small letter for a capital of ASCII.
func lower(c byte) byte {
	if c-'A' <= 'Z'-'A' {
		return c | 0x20
	}
	return c
}

// upper returns c, or the capital for a small letter of ASCII.
func upper(c byte) byte {
	if c-'a' <= 'z'-'a' {
		return c &^ 0x20
	}
	return c
}

// equal reports whether text is the entry.
func (e *entry) equal(text string) bool {
	return text == e.text || e.folded != nil && len(text) == len(e.text) && e.equalFolded(text)
}

// equalFolded compares a text of the entry's length: its address literals without regard to case, what stands
// between them exactly. It stays a call, so that the common comparison of equal can be inlined.
//
//go:noinline
func (e *entry) equalFolded(text string) bool {
	at := 0
	for _, start := range e.folded {
		end := int(start) + addressLength
		if text[at:start] != e.text[at:start] {
			return false
		}
		for at = int(start); at < end; at++ {
			if lower(text[at]) != e.text[at] {
				return false
			}
		}
	}
	return text[at:] == e.text[at:]
}

// prefixes reports whether text, whose head is given, starts with the entry.
func (e *entry) prefixes(text string, head uint64) bool {
	n := len(e.text)
	switch {
	case n > len(text):
		return false
	case e.folded != nil:
		return e.equalFolded(text[:n])
	case (head^e.head)&e.headMask != 0:
		return false
	case n <= 16:
		return n <= 8 || eightBytes(text[n-8:]) == e.tail
	}
	return text[:n] == e.text
}

// suffixes reports whether text, whose tail is given, ends with the entry.
func (e *entry) suffixes(text string, tail uint64) bool {
	at := len(text) - len(e.text)
	switch {
	case at < 0:
		return false
	case e.folded != nil:
		return e.equalFolded(text[at:])
	case (tail^e.tail)&e.tailMask != 0:
		return false
	case len(e.text) <= 16:
		return len(e.text) <= 8 || eightBytes(text[at:]) == e.head
	}
	return text[at:] == e.text
}

// inside reports whether the entry stands anywhere in text.
func (e *entry) inside(text string) bool {
	at := strings.IndexByte(text, e.scarce)
	return at >= 0 && e.insideFrom(text, at)
}

// scarceTries is at how many places of the scarce byte the entry is compared before all of it is searched for.
const scarceTries = 4

// insideFrom reports whether the entry stands in text, whose first scarce byte is at from. The standard library
// finds a byte some times as fast as a text, and mostly there are few.
func (e *entry) insideFrom(text string, from int) bool {
	before, after := int(e.before), len(e.text)-int(e.before)
	for range scarceTries {
		if len(text)-from < after {
			return false
		}
		if begin := from - before; begin >= 0 && text[begin] == e.text[0] && e.equal(text[begin:from+after]) {
			return true
		}
		from++
		next := strings.IndexByte(text[from:], e.scarce)
		if next < 0 {
			return false
		}
		from += next
	}
	return e.search(text[max(0, from-before):])
}

// search looks for the entry place by place.
func (e *entry) search(text string) bool {
	if e.folded == nil {
		return strings.Contains(text, e.text)
	}
	for len(text) >= len(e.text) {
		i := strings.IndexByte(text, e.text[0])
		if i < 0 || len(text)-i < len(e.text) {
			return false
		}
		if e.equalFolded(text[i : i+len(e.text)]) {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// lengthBit stands for the length of a text; long texts share one.
func lengthBit(text string) uint64 { return 1 << min(uint(len(text)), 63) }

// in reports whether text equals an entry.
func (c *constant) in(text string) bool {
	if l := c.equals; l != nil {
		return l.in(text)
	}
	return c.lengths&lengthBit(text) != 0 && c.inFew(text)
}

// inFew reports whether text, whose length an entry has, equals one of a few entries.
func (c *constant) inFew(text string) bool {
	set := c.set
	if len(text) < 8 {
		head := shortWord(text)
		for i := range set {
			if e := &set[i]; head == e.head && len(e.text) == len(text) {
				return true
			}
		}
		return false
	}
	head, tail := eightBytes(text), eightBytes(text[len(text)-8:])
	for i := range set {
		if e := &set[i]; len(e.text) == len(text) && (head == e.head && tail == e.tail || e.folded != nil) {
			if len(text) <= 16 || e.equal(text) {
				return true
			}
		}
	}
	return false
}

// starts reports whether text starts with an entry.
func (c *constant) starts(text string) bool {
	if l := c.heads; l != nil {
		return l.starts(text)
	}
	set, head := c.set, headWord(text)
	for i := range set {
		if e := &set[i]; ((head^e.head)&e.headMask == 0 || e.folded != nil) && e.prefixes(text, head) {
			return true
		}
	}
	return false
}

// ends reports whether text ends with an entry.
func (c *constant) ends(text string) bool {
	if l := c.tails; l != nil {
		return l.ends(text)
	}
	set, tail := c.set, tailWord(text)
	for i := range set {
		if e := &set[i]; ((tail^e.tail)&e.tailMask == 0 || e.folded != nil) && e.suffixes(text, tail) {
			return true
		}
	}
	return false
}

// host reports whether an entry covers the host name text.
func (c *constant) host(text string) bool {
	if l := c.tails; l != nil {
		return l.host(text)
	}
	set, tail := c.set, tailWord(text)
	for i := range set {
		if e := &set[i]; (tail^e.tail)&e.tailMask == 0 && coversHost(e.text, text) {
			return true
		}
	}
	return false
}

// mayEnd reports whether text is long enough to end with a text that is not empty, and has its last byte. It spares
// most comparisons their call.
func mayEnd(text, ending string) bool {
	return len(text) >= len(ending) && text[len(text)-1] == ending[len(ending)-1]
}

// coversHost reports whether host is what entry names or, at a dot, below it.
func coversHost(entry, host string) bool {
	if entry[0] == '.' {
		return len(host) > len(entry) && strings.HasSuffix(host, entry)
	}
	if !strings.HasSuffix(host, entry) {
		return false
	}
	at := len(host) - len(entry)
	return at == 0 || at > 1 && host[at-1] == '.'
}
