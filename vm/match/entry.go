package match

import "strings"

// AddressLength is the length of an address literal: 0x and 40 hex digits.
const AddressLength = 42

// An Entry is one text of a set.
type Entry struct {
	Text string
	// Fold lets the address literals in Text (`0x` and exactly 40 hex digits) match without regard to case. All
	// else matches exactly, always.
	Fold bool
}

// An entry is a loaded Entry.
type entry struct {
	text string
	// What tells most texts apart from text, and which of its bits are text's.
	head, headMask, tail, tailMask uint64
	// folded are the offsets of the address literals that match without regard to case. The first byte of a
	// literal is a digit, so that the first byte of an entry never folds.
	folded []int32
	// scarce is a byte of text that does not fold, the least likely one in other texts, and before is how many
	// bytes are before it.
	scarce byte
	before int32
}

func newEntries(from []Entry) []entry {
	entries := make([]entry, len(from))
	for i, e := range from {
		n := len(e.Text)
		entries[i] = entry{text: e.Text, head: headWord(e.Text), headMask: headMask(n), tail: tailWord(e.Text), tailMask: tailMask(n)}
		if e.Fold {
			entries[i].folded = Addresses(e.Text)
		} else {
			entries[i].before = scarcest(e.Text)
		}
		entries[i].scarce = e.Text[entries[i].before]
	}
	return entries
}

// commonBytes are the bytes that texts, commands and identifiers are mostly made of, the commonest first.
const commonBytes = " etaoinsrlcdhmupgfywbvk0123456789/.-_xjqz\"=:,"

// scarcest returns where the byte of text is that is the least likely in other texts. Only speed depends on it.
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

// Addresses returns where address literals start: 0x or 0X and exactly 40 hex digits, with no hex digit beside them. Longer runs
// of digits are hashes and keys, not addresses.
func Addresses(text string) (starts []int32) {
	for i := 0; i+AddressLength <= len(text); i++ {
		if text[i] != '0' || text[i+1]|0x20 != 'x' {
			continue
		}
		end := i + 2
		for end < len(text) && isHex(text[end]) {
			end++
		}
		if end == i+AddressLength && (i == 0 || !isHex(text[i-1])) {
			starts = append(starts, int32(i))
		}
		i = end - 2 // the last digit may be the 0 of the next
	}
	return starts
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// LowerAddresses returns text with its address literals in lower case.
func LowerAddresses(text string) string {
	starts := Addresses(text)
	if len(starts) == 0 {
		return text
	}
	lowered := []byte(text)
	for _, start := range starts {
		for i := range AddressLength {
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

// equalFolded compares a text of the entry's length: its address literals without regard to case, what is
// between them exactly. It stays a call, so that the common comparison of equal can be inlined.
//
//go:noinline
func (e *entry) equalFolded(text string) bool {
	at := 0
	for _, start := range e.folded {
		end := int(start) + AddressLength
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

// suffixes reports whether text ends with the entry, which folds.
func (e *entry) suffixes(text string) bool {
	at := len(text) - len(e.text)
	return at >= 0 && e.equalFolded(text[at:])
}

// inside reports whether the entry is anywhere in text. The scarce byte is sought only where there is room for what
// is around it.
func (e *entry) inside(text string) bool {
	places := len(text) - len(e.text) + 1
	if places <= 0 {
		return false
	}
	at := strings.IndexByte(text[e.before:int(e.before)+places], e.scarce)
	return at >= 0 && e.insideFrom(text, at)
}

// scarceTries is at how many places of the scarce byte the entry is compared before all of it is searched for.
const scarceTries = 4

// insideFrom reports whether the entry is in text, where it may begin at a place and not before. The standard library
// finds a byte some times as fast as a text, and mostly there are few.
func (e *entry) insideFrom(text string, at int) bool {
	before, places := int(e.before), len(text)-len(e.text)+1
	for range scarceTries {
		if text[at] == e.text[0] && e.equal(text[at:at+len(e.text)]) {
			return true
		}
		at++
		next := strings.IndexByte(text[before+at:before+places], e.scarce)
		if next < 0 {
			return false
		}
		at += next
	}
	return e.search(text[at:])
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
