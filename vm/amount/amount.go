// Package amount holds the one number type that limits, intents and counters are measured in: an unsigned
// 256-bit integer of base units (wei, or the smallest unit of a token).
//
// A text becomes an Amount in one way only, and exactly:
//
//   - human units are digits, or digits, a point and digits ("1", "0.5"), scaled by a number of decimals;
//   - there is no sign, exponent, separator, space, ".5" or "5.", and digits are ASCII;
//   - more fraction digits than decimals is an error, even if they are zeros;
//   - leading zeros say nothing and are accepted, up to [MaxText] bytes of text in all;
//   - what does not fit into 256 bits is an error: nothing wraps, nothing saturates, nothing is rounded.
//
// Comparison happens on the scaled integers, so that a limit and an amount can't differ by a rounding.
// Parsing, comparing and adding allocate nothing.
package amount

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"

	"github.com/holiman/uint256"
)

const (
	// MaxDecimals is the largest number of decimals that a unit may have. 10^36 leaves more than 41 digits
	// before the point, and no token in use comes near it.
	MaxDecimals = 36

	// MaxText is the longest text, in bytes, that Parse and ParseBase read. The largest amount has 78 digits and
	// a point; the rest is room for leading zeros, which some clients pad to a fixed width.
	MaxText = 128
)

// What can be wrong with the text of an amount. The values are fixed, so that refusing costs no allocation.
var (
	errSyntax   = errors.New("amount: not a plain decimal: write digits, or digits.digits, without sign, exponent, separator or space")
	errLength   = errors.New("amount: text is longer than 128 bytes")
	ErrFraction = errors.New("amount: more digits after the point than the unit has decimals")
	ErrOverflow = errors.New("amount: larger than 2^256-1 base units")
	errDecimals = errors.New("amount: a unit has at most 36 decimals")
)

// An Amount is an unsigned 256-bit integer in base units. It is a value: == compares it, and it may be a map
// key. The zero value is zero.
type Amount uint256.Int

// FromUint64 returns n base units.
func FromUint64(n uint64) Amount { return Amount{n} }

// FromBytes32 returns the amount that b holds in big-endian order; it is the inverse of [Amount.Bytes32].
func FromBytes32(b [32]byte) Amount {
	var a Amount
	a.wide().SetBytes32(b[:])
	return a
}

// Bytes32 returns a in big-endian order, so that byte order is numeric order.
func (a Amount) Bytes32() [32]byte { return a.wide().Bytes32() }

// IsZero reports whether a is zero.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or +1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.wide().Cmp(b.wide()) }

// Less reports whether a is less than b, and copies neither.
func Less(a, b *Amount) bool {
	_, borrow := bits.Sub64(a[0], b[0], 0)
	_, borrow = bits.Sub64(a[1], b[1], borrow)
	_, borrow = bits.Sub64(a[2], b[2], borrow)
	_, borrow = bits.Sub64(a[3], b[3], borrow)
	return borrow != 0
}

// Add returns a+b. Where that does not fit into 256 bits overflow is true, and the sum must not be used.
func (a Amount) Add(b Amount) (sum Amount, overflow bool) {
	_, overflow = sum.wide().AddOverflow(a.wide(), b.wide())
	return sum, overflow
}

// Parse reads text in human units and returns it in base units, 10^decimals of them to one human unit. The
// errors are errDecimals, errLength, errSyntax, [ErrFraction] and [ErrOverflow], sought in this order.
func Parse(text string, decimals uint8) (a Amount, err error) {
	err = a.Set(text, decimals)
	return a, err
}

// ParseBase reads text as an integer of base units: digits only. The errors are errLength, errSyntax and
// [ErrOverflow].
func ParseBase(text string) (Amount, error) {
	a, err := Parse(text, 0)
	if errors.Is(err, ErrFraction) {
		return Amount{}, errSyntax
	}
	return a, err
}

// Set sets a to what [Parse] returns: to zero where that is an error.
func (a *Amount) Set(text string, decimals uint8) error {
	if decimals > MaxDecimals {
		*a = Amount{}
		return errDecimals
	}
	if word, fraction, ok := shortDigits(text); ok && fraction <= int(decimals) && int(decimals)-fraction <= wordDigits {
		a[1], a[0] = bits.Mul64(word, powers[int(decimals)-fraction])
		a[2], a[3] = 0, 0
		return nil
	}
	err := a.setLong(text, decimals)
	if err != nil {
		*a = Amount{}
	}
	return err
}

// shortDigits reads digits, or digits.digits, of which there are so few that they fit into one word, and
// returns them without the point and how many are behind it. It says no more of a text than that it is not
// one of those.
func shortDigits(text string) (word uint64, fraction int, ok bool) {
	point, i := -1, 0
	if len(text) > wordDigits+1 {
		return 0, 0, false
	}
	for {
		for len(text)-i >= 8 {
			eight, ok := eightDigits(text[i:])
			if !ok {
				break
			}
			word, i = word*1e8+eight, i+8
		}
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			word = word*10 + uint64(text[i]-'0')
		}
		if i == len(text) {
			break
		}
		if text[i] != '.' || i == 0 || point >= 0 {
			return 0, 0, false
		}
		point, i = i, i+1
	}
	if point < 0 {
		return word, 0, 0 < i && i <= wordDigits
	}
	fraction = i - 1 - point
	return word, fraction, fraction > 0
}

// eightDigits returns the value of the first eight bytes of text, if all of them are digits. It adds neighbours up three
// times: digits to numbers of two, these to numbers of four, and those to one of eight.
func eightDigits(text string) (value uint64, ok bool) {
	w := binary.LittleEndian.Uint64([]byte(text[:8])) ^ 0x3030303030303030
	if (w|(w+0x7676767676767676))&0x8080808080808080 != 0 {
		return 0, false
	}
	w = w*10 + w>>8
	return ((w&0x000000ff000000ff)*(100+1000000<<32) + (w>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32, true
}

// setLong is Set for every text. It leaves anything in a where it is wrong.
func (a *Amount) setLong(text string, decimals uint8) error {
	if len(text) > MaxText {
		return errLength
	}
	whole, fraction, ok := split(text)
	if !ok {
		return errSyntax
	}
	if len(fraction) > int(decimals) {
		return ErrFraction
	}
	*a = Amount{}
	if !a.appendDigits(whole) || !a.appendDigits(fraction) || !a.appendZeros(int(decimals)-len(fraction)) {
		return ErrOverflow
	}
	return nil
}

// String returns a in base units, in decimal.
func (a Amount) String() string { return a.wide().Dec() }

// Format returns a in human units, without trailing zeros after the point and without a point that nothing
// follows. Where decimals is at most [MaxDecimals], Parse(a.Format(decimals), decimals) is a.
func (a Amount) Format(decimals uint8) string { return string(a.AppendFormat(nil, decimals)) }

// AppendFormat appends what Format returns to dst.
func (a Amount) AppendFormat(dst []byte, decimals uint8) []byte {
	var memory [maxDigits]byte
	digits := memory[:0]
	if wide := a.wide(); wide.IsUint64() {
		digits = strconv.AppendUint(digits, wide.Uint64(), 10)
	} else {
		digits = append(digits, wide.Dec()...)
	}
	whole := len(digits) - int(decimals)
	if whole > 0 {
		dst, digits = append(dst, digits[:whole]...), digits[whole:]
	} else {
		dst = append(dst, '0')
	}
	if digits = bytes.TrimRight(digits, "0"); len(digits) == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// maxDigits is how many decimal digits 2^256-1 has.
const maxDigits = 78

// wide views a as the library's type; both have the same representation.
func (a *Amount) wide() *uint256.Int { return (*uint256.Int)(a) }

// split cuts text at its point and reports whether it has the form digits or digits.digits.
func split(text string) (whole, fraction string, ok bool) {
	end := countDigits(text)
	if end == 0 {
		return "", "", false
	}
	if end == len(text) {
		return text, "", true
	}
	fraction = text[end+1:]
	return text[:end], fraction, text[end] == '.' && fraction != "" && countDigits(fraction) == len(fraction)
}

// countDigits returns how many ASCII digits text starts with.
func countDigits(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i]-'0' > 9 {
			return i
		}
	}
	return len(text)
}

// wordDigits is the number of decimal digits that always fit into one 64-bit word.
const wordDigits = 19

// powers holds the powers of ten that fit into one word.
var powers = func() (p [wordDigits + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// appendDigits writes digits behind those that a has, a word at a time, and reports whether the result fits.
func (a *Amount) appendDigits(digits string) bool {
	for digits != "" {
		n := min(len(digits), wordDigits)
		if !a.mulAdd(powers[n], digitsWord(digits[:n])) {
			return false
		}
		digits = digits[n:]
	}
	return true
}

// digitsWord returns the value of at most wordDigits digits.
func digitsWord(digits string) (word uint64) {
	for i := 0; i < len(digits); i++ {
		word = word*10 + uint64(digits[i]-'0')
	}
	return word
}

// appendZeros multiplies a by 10^n and reports whether the result fits.
func (a *Amount) appendZeros(n int) bool {
	for n > 0 {
		step := min(n, wordDigits)
		if !a.mulAdd(powers[step], 0) {
			return false
		}
		n -= step
	}
	return true
}

// mulAdd sets a to a*factor+term and reports whether the result fits.
func (a *Amount) mulAdd(factor, term uint64) bool {
	carry := term
	for i := range a {
		high, low := bits.Mul64(a[i], factor)
		sum, overflow := bits.Add64(low, carry, 0)
		a[i], carry = sum, high+overflow
	}
	return carry == 0
}
