// Package evmaddr normalises the addresses of accounts and contracts: "0x" and 40 hexadecimal digits.
//
// The normal form is lower case. An address whose letters are all lower case or all upper case is taken as it
// is. One of mixed case carries a checksum (EIP-55), and a wrong one is an error: it is the sign of a mistyped
// or doctored address. The prefix is "0x" only; a text with "0X" is not an address.
package evmaddr

import (
	"errors"
	"iter"
	"strings"

	"golang.org/x/crypto/sha3"
)

// Length is the number of bytes in the text of an address, its prefix included.
const Length = 2 + 40

// What can be wrong with an address.
var (
	errSyntax   = errors.New("address: not 0x and 40 hexadecimal digits")
	ErrChecksum = errors.New("address: mixed case with a wrong EIP-55 checksum: check the digits, or write them all in lower case")
)

// Normalize returns text as a lower-case address. It returns text itself, without allocating, where that is
// lower case already. The errors are errSyntax and [ErrChecksum].
func Normalize(text string) (string, error) {
	if !IsLiteral(text) {
		return "", errSyntax
	}
	lower, upper := letterCases(text[2:])
	if !upper {
		return text, nil
	}
	normal := strings.ToLower(text)
	if lower && Checksum(normal) != text {
		return "", ErrChecksum
	}
	return normal, nil
}

// IsLiteral reports whether text has the form of an address: "0x" and 40 hexadecimal digits of either case.
// It does not look at the checksum.
func IsLiteral(text string) bool {
	return len(text) == Length && strings.HasPrefix(text, "0x") && countHex(text[2:]) == Length-2
}

// Checksum returns the mixed-case spelling of a lower-case address (EIP-55): a letter is upper case where the
// digit at its place in the Keccak-256 hash of the lower-case digits is 8 or more. A text that is no address in
// lower case is returned as it is.
func Checksum(lower string) string {
	if !IsLiteral(lower) || strings.ToLower(lower) != lower {
		return lower
	}
	keccak := sha3.NewLegacyKeccak256()
	keccak.Write([]byte(lower[2:]))
	hash := keccak.Sum(nil)
	mixed := []byte(lower)
	for i := range hash[:20] {
		mixed[2+2*i] = raise(mixed[2+2*i], hash[i]>>4)
		mixed[3+2*i] = raise(mixed[3+2*i], hash[i]&15)
	}
	return string(mixed)
}

// A Span is the half-open range of bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Literals yields the address literals inside text, from left to right: "0x" and 40 hexadecimal digits with no
// hexadecimal digit beside them, so that a 32-byte hash holds none. An address in a rule matches without
// regard to case, and these are the parts of a rule's text for which that holds.
func Literals(text string) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for start := 0; ; {
			found := strings.Index(text[start:], "0x")
			if found < 0 {
				return
			}
			start += found
			end := start + 2 + countHex(text[start+2:])
			if end-start == Length && (start == 0 || countHex(text[start-1:start]) == 0) && !yield(Span{start, end}) {
				return
			}
			start += 2
		}
	}
}

// FoldLiterals returns text with its address literals in lower case and all else as it is. It checks no
// checksums: rules that hold an address go through [Normalize] too.
func FoldLiterals(text string) string {
	var folded []byte
	for span := range Literals(text) {
		if _, upper := letterCases(text[span.Start+2 : span.End]); !upper {
			continue
		}
		if folded == nil {
			folded = []byte(text)
		}
		copy(folded[span.Start:], strings.ToLower(text[span.Start:span.End]))
	}
	if folded == nil {
		return text
	}
	return string(folded)
}

// raise returns the upper case of c, a lower-case hexadecimal digit, where the nibble of the hash asks for it.
func raise(c, nibble byte) byte {
	if nibble >= 8 && c >= 'a' {
		return c - 'a' + 'A'
	}
	return c
}

// countHex returns how many hexadecimal digits text starts with.
func countHex(text string) int {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c-'0' > 9 && (c|0x20)-'a' > 5 {
			return i
		}
	}
	return len(text)
}

// letterCases reports which cases the letters of hexadecimal digits have.
func letterCases(digits string) (lower, upper bool) {
	for i := 0; i < len(digits); i++ {
		lower = lower || digits[i] >= 'a'
		upper = upper || digits[i]-'A' < 26
	}
	return lower, upper
}
