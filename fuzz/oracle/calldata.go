package oracle

import (
	"encoding/hex"
	"math/big"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/crypto/sha3"

	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// tokenCalls are the calls "`transfer`, `transferFrom`, `approve` or `increaseAllowance`" by selector, with the
// number of their arguments, of which the last is the amount. Each argument takes 32 bytes, 64 digits.
var tokenCalls = map[string]int{
	"a9059cbb": 2, // transfer(address,uint256)
	"23b872dd": 3, // transferFrom(address,address,uint256)
	"095ea7b3": 2, // approve(address,uint256)
	"39509351": 2, // increaseAllowance(address,uint256)
}

// declaredMove reads declared call data: whether it moves tokens, and how many. The amount is nil where the arguments
// are cut off; "bytes behind the arguments are not looked at" (choices).
func declaredMove(calldata string) (amount *big.Int, moves bool) {
	digits := strings.ToLower(strings.TrimPrefix(calldata, "0x"))
	if len(digits) < 8 {
		return nil, false
	}
	words, moves := tokenCalls[digits[:8]]
	arguments := digits[8:]
	if !moves || len(arguments) < 64*words {
		return nil, moves
	}
	amount, _ = new(big.Int).SetString(arguments[64*(words-1):64*words], 16)
	return amount, true
}

// calldataMove returns the rule that pins the target of declared call data that moves tokens, and the amount, nil
// where it cannot be read.
func (j *judgement) calldataMove() (*token, *big.Int) {
	if !j.in.Has(intent.TargetAddress) {
		return nil, nil
	}
	amount, moves := declaredMove(j.in.Text(intent.Calldata))
	t := j.p.tokenPinning(j.in.Text(intent.TargetAddress))
	if !moves || t == nil {
		return nil, nil
	}
	return t, amount
}

// declaredCalldata: "Declared call data that moves a token whose address a rule pins is judged by that rule too, on
// the decoded amount: form, `max_transaction`, `consensus_threshold`", "on every EVM intent" (choices).
func (j *judgement) declaredCalldata() {
	t, amount := j.calldataMove()
	switch {
	case t == nil:
	case amount == nil:
		j.deny(t.rule("max_transaction"), code.TokenAmountInvalid)
	default:
		j.tokenAmount(t, amount)
	}
}

var (
	selectorForm = regexp.MustCompile(`\A0x[0-9a-fA-F]{8}\z`)
	addressForm  = regexp.MustCompile(`\A0x[0-9a-fA-F]{40}\z`)
)

// enrichedMembers are, for each selector, the members of `metadata.evm` that name addresses: "For the selectors of
// transfer, transferFrom and approve it also needs `token_target` (an address), `token_amount`, and `recipient` (of
// the first two) or `spender` (of approve), addresses too."
var enrichedMembers = map[string][]string{
	"0xa9059cbb": {"token_target", "recipient"},
	"0x23b872dd": {"token_target", "recipient"},
	"0x095ea7b3": {"token_target", "spender"},
}

const approveSelector = "0x095ea7b3"

// enriched reports whether the intent has to say what its call data does: "every `contract.call`".
func (j *judgement) enriched() bool {
	return j.p.evm.flag("require_calldata_enrichment") && j.action == "contract.call"
}

// enrichment judges what a shim says about the call data, row by row of the table in section "EVM".
func (j *judgement) enrichment() {
	if !j.enriched() {
		return
	}
	if !j.enrichmentComplete() {
		j.deny("evm.require_calldata_enrichment", code.CalldataEnrichment)
		return
	}
	selector := strings.ToLower(j.metadata("evm", "selector").text)
	if enrichedMembers[selector] == nil {
		if j.p.evm.text("calldata_unknown_selector") != "allow" {
			j.deny("evm.calldata_unknown_selector", code.TokenNotAllowed)
		}
		return // "Unknown selectors that are allowed have nothing more to be judged."
	}
	j.enrichedAmount(selector)
}

// enrichmentComplete is the first row: "not from a shim; `metadata.evm` or a member that is needed is missing, or a
// selector or an address is malformed (a wrong EIP-55 checksum included)".
func (j *judgement) enrichmentComplete() bool {
	selector := j.metadata("evm", "selector")
	if !j.shim || selector.kind != textKind || !selectorForm.MatchString(selector.text) {
		return false
	}
	members := enrichedMembers[strings.ToLower(selector.text)]
	for _, name := range members {
		if member := j.metadata("evm", name); member.kind != textKind || !wellFormedAddress(member.text) {
			return false
		}
	}
	return members == nil || j.metadata("evm", "token_amount").kind != missingKind
}

// wellFormedAddress reports whether text is an address and, "mixed-case", has the checksum of EIP-55: a letter is upper
// case exactly where the hash of the lower-case digits has a digit of 8 or more.
func wellFormedAddress(text string) bool {
	digits, lower := strings.TrimPrefix(text, "0x"), strings.ToLower(text)
	if !addressForm.MatchString(text) {
		return false
	}
	if text == lower || digits == strings.ToUpper(digits) {
		return true
	}
	keccak := sha3.NewLegacyKeccak256()
	keccak.Write([]byte(lower[2:]))
	hash := hex.EncodeToString(keccak.Sum(nil))
	for i, digit := range digits {
		if unicode.IsLetter(digit) && unicode.IsUpper(digit) != (hash[i] >= '8') {
			return false
		}
	}
	return true
}

// enrichedAmount is the rows from the third on.
func (j *judgement) enrichedAmount(selector string) {
	told := j.metadata("evm", "token_amount")
	amount, ok := integer(told.text)
	ok = ok && told.kind == textKind
	unbounded := new(big.Int).Sub(twoTo256, big.NewInt(1))
	if selector == approveSelector && ok && amount.Cmp(unbounded) == 0 {
		j.deny("evm.calldata.unbounded_approval", code.TokenAmountExceeded)
	}
	t := j.p.tokenPinning(j.metadata("evm", "token_target").text)
	switch {
	case t == nil:
		j.deny("evm.token", code.TokenNotAllowed)
	case !ok:
		j.deny(t.rule("max_transaction"), code.TokenAmountInvalid)
	default:
		j.tokenAmount(t, amount)
	}
}

// attestedMove returns the rule and the amount of complete enrichment, for the threshold.
func (j *judgement) attestedMove() (*token, *big.Int) {
	if !j.enriched() || !j.enrichmentComplete() {
		return nil, nil
	}
	if enrichedMembers[strings.ToLower(j.metadata("evm", "selector").text)] == nil {
		return nil, nil
	}
	amount, _ := integer(j.metadata("evm", "token_amount").text)
	return j.p.tokenPinning(j.metadata("evm", "token_target").text), amount
}
