package oracle

import (
	"math/big"
	"strings"
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
	text := j.text("amount")
	if j.inBaseUnits(text) {
		return integer(text)
	}
	return decimal(text, digits)
}

// inBaseUnits: "`amount_unit: "base"` says that it is an integer in base units"; so may SVC_INTEGER_AMOUNTS.
func (j *judgement) inBaseUnits(text string) bool {
	return j.text("amount_unit") == "base" || j.from.IntegersAreBase && !strings.Contains(text, ".")
}

// nativeAmount reads the amount of an intent without a token: "A missing native amount counts as zero before 2.1". It
// is nil where the amount cannot be read.
func (j *judgement) nativeAmount() *big.Int {
	if !j.has("amount") {
		return new(big.Int)
	}
	amount, ok := j.amount(etherDigits)
	if !ok {
		return nil
	}
	return amount
}

// normalAmount is the form of intent.amount for rules, "the shortest decimal in human units". Sent in base units, it has none
// where no rule says how many digits the token has; sent in human units, it has one wherever it is a decimal.
func (j *judgement) normalAmount(text string) (string, bool) {
	if !j.inBaseUnits(text) {
		whole, fraction, pointed := strings.Cut(text, ".")
		if !allDigits(whole) || pointed && !allDigits(fraction) {
			return "", false
		}
		return trimmedDecimal(whole, fraction), true
	}
	digits := etherDigits
	if j.has("token") {
		t := j.tokenNamed(j.text("token"))
		if t == nil {
			return "", false
		}
		digits = t.decimals
	}
	return shortest(j.amount(digits))(digits)
}

// unitForm: "`amount_unit` says how an amount is written, so an amount in its normal form has none" (choices).
func (j *judgement) unitForm() form {
	f := plain
	f.normal = func(text string) (string, bool) {
		_, readable := j.normalAmount(j.text("amount"))
		return text, !j.has("amount") || !readable
	}
	return f
}

// shortest returns what writes an amount in base units of that many digits as the shortest decimal.
func shortest(amount *big.Int, ok bool) func(digits int) (string, bool) {
	return func(digits int) (string, bool) {
		if !ok {
			return "", false
		}
		text := amount.String()
		text = strings.Repeat("0", max(0, digits-len(text))) + text
		return trimmedDecimal(text[:len(text)-digits], text[len(text)-digits:]), true
	}
}

// fee is intent.maxFee, "always decimal native units, whatever `amount_unit` and `SVC_INTEGER_AMOUNTS` say". It is nil
// where it is absent or cannot be read.
func (j *judgement) fee() *big.Int {
	fee, ok := decimal(j.text("maxFee"), etherDigits)
	if !ok {
		return nil
	}
	return fee
}
