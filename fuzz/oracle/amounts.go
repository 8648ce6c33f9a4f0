package oracle

import (
	"math/big"
	"strings"

	"bailiff/runtime/intent"
)

// twoTo256 is the first number that is no amount: "Amounts are 256-bit integers" (decisions, section 2, "Amounts and
// tokens").
var twoTo256 = new(big.Int).Lsh(big.NewInt(1), 256)

// The scales of what is summed.
const (
	etherDigits  = 18
	dollarDigits = 18
	spendDigits  = 6 // of model spend
)

// decimal reads "digits[.digits]", no sign, exponent or separator, of at most digits fraction digits, as a number of
// 10^-digits. It reports false for everything else, and for what does not fit into 256 bits.
func decimal(text string, digits int) (*big.Int, bool) {
	whole, fraction, pointed := strings.Cut(text, ".")
	if !allDigits(whole) || pointed && !allDigits(fraction) || len(fraction) > digits {
		return nil, false
	}
	return integer(whole + fraction + strings.Repeat("0", digits-len(fraction)))
}

// integer reads digits as an integer below 2^256.
func integer(text string) (*big.Int, bool) {
	if !allDigits(text) {
		return nil, false
	}
	number, ok := new(big.Int).SetString(text, 10)
	if !ok || number.Cmp(twoTo256) >= 0 {
		return nil, false
	}
	return number, true
}

// allDigits reports whether text is one or more of 0 to 9.
func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// amount reads intent.amount, which is there: "a decimal in human units … scaled exactly", or "an integer in base
// units instead".
func (j *judgement) amount(digits int) (*big.Int, bool) {
	text := j.in.Text(intent.Amount)
	if j.in.AmountInBaseUnits() {
		return integer(text)
	}
	return decimal(text, digits)
}

// nativeAmount reads the amount of an intent without a token: "A missing native amount counts as zero before 2.1". It
// is nil where the amount cannot be read.
func (j *judgement) nativeAmount() *big.Int {
	if !j.in.Has(intent.Amount) {
		return new(big.Int)
	}
	amount, ok := j.amount(etherDigits)
	if !ok {
		return nil
	}
	return amount
}
