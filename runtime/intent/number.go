package intent

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxInteger is the largest integer that every JSON implementation reads alike (RFC 7493, section 2.2).
const maxInteger = 1<<53 - 1

// maxPlain is the largest number of digits that can't exceed maxInteger, so that an integer's own text is its
// canonical form and nothing has to be parsed.
const maxPlain = 15

// appendNumber appends the RFC 8785 form of the JSON number raw to dst. It reports false where raw is not exactly
// the value of that form, which is the shortest text that a double is read back from, or where it is an
// integer beyond ±(2^53−1), however written: two readers could understand such a number differently.
func appendNumber(dst []byte, raw string) ([]byte, bool) {
	value, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.Abs(value) > maxInteger {
		return dst, false
	}
	if value == 0 {
		value = 0 // RFC 8785 writes minus zero as 0.
	}
	start := len(dst)
	dst = jsontext.AppendFloat(dst, value, 64)
	return dst, sameDecimal(raw, string(dst[start:]))
}

// isPlainInteger reports whether raw is an integer whose text is canonical already.
func isPlainInteger(raw []byte) bool {
	if raw[0] == '-' {
		raw = raw[1:]
		if raw[0] == '0' {
			return false // -0, which is written as 0
		}
	}
	if len(raw) > maxPlain {
		return false
	}
	for _, c := range raw {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// isInteger reports whether the canonical number text has neither fraction nor exponent.
func isInteger(text string) bool { return !strings.ContainsAny(text, ".e") }

// sameDecimal reports whether two JSON numbers have the same decimal value.
func sameDecimal(a, b string) bool { return readDecimal(a) == readDecimal(b) }

// significant bounds the digits that are compared. A double's shortest text has at most 17 of them, so a number
// with more significant digits equals none.
const significant = 32

// A decimal is ±0.digits × 10^exponent without leading or trailing zeros; zero has no digits.
type decimal struct {
	negative bool
	excess   bool // more than significant digits
	count    int
	digits   [significant]byte
	exponent int
}

// readDecimal takes a JSON number apart.
func readDecimal(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], readExponent(text[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	zeros := 0 // digits that count only if another follows
	d.exponent = len(whole) + exponent
	for _, part := range [...]string{whole, fraction} {
		for i := range len(part) {
			zeros = d.push(part[i], zeros)
		}
	}
	if d.count == 0 {
		return decimal{}
	}
	return d
}

// push takes the next digit, after zeros held back, and returns how many are held back now.
func (d *decimal) push(c byte, zeros int) int {
	switch {
	case c == '0' && d.count == 0:
		d.exponent--
		return 0
	case c == '0':
		return zeros + 1
	case d.count+zeros+1 > significant:
		d.excess = true
		return 0
	}
	for range zeros {
		d.digits[d.count] = '0'
		d.count++
	}
	d.digits[d.count] = c
	d.count++
	return 0
}

// readExponent returns the value of an exponent, held within bounds that no double comes near but that
// leading zeros of the mantissa can't make up for either.
func readExponent(text string) int {
	text = strings.TrimPrefix(text, "+")
	value, err := strconv.Atoi(text)
	const far = 1 << 40
	if err == nil {
		return min(max(value, -far), far)
	}
	if strings.HasPrefix(text, "-") {
		return -far
	}
	return far
}
