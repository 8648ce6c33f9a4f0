package oracle

import (
	"encoding/hex"
	"math/big"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/crypto/sha3"

	"bailiff/vm/errcode"
)

// declared returns the declared call data, and false where there is none.
func (j *judgement) declared() (call, bool) {
	return readCall(j.text("calldata")), j.has("calldata")
}

// declaredCalldata is the call data's part of step 4: "Calls that run other calls are looked for first, then what the action
// stands for, then the pinned contract's methods" (choices).
func (j *judgement) declaredCalldata() {
	c, ok := j.declared()
	if !ok {
		return
	}
	runs := j.runsOthers(c)
	if runs {
		j.deny("evm.account_calls", errcode.ActionNotAllowed)
	}
	if j.has("token") {
		j.tokenData(c)
	} else if j.action == "wallet.transfer" && !c.empty() { // "native `wallet.transfer` has no data"
		j.deny("evm.allowed_actions", errcode.ActionNotAllowed)
	}
	if !runs {
		j.pinnedData(c)
	}
}

// ownMethods are the methods of token intents; "any other action: a judged method".
var ownMethods = map[string][]string{
	"wallet.transfer": {"transfer", "transferFrom"},
	"token.approve":   {"approve", "increaseAllowance"},
}

// tokenData: "a token intent's declared data is its action's own method … with at most the declared amount and, where
// declared, that recipient; otherwise it is denied (`evm.allowed_actions`, ACTION_NOT_ALLOWED; a larger amount by the token's
// rule, TOKEN_AMOUNT_EXCEEDED)".
func (j *judgement) tokenData(c call) {
	own, listed := ownMethods[j.action]
	if c.method == nil || listed && !c.method.named(own...) {
		j.deny("evm.allowed_actions", errcode.ActionNotAllowed)
		return
	}
	t := j.tokenNamed(j.text("token"))
	if t == nil {
		return // denied already
	}
	amount, declared := c.amount(new(big.Int)), new(big.Int)
	if j.has("amount") {
		declared, _ = j.amount(t.decimals)
	}
	switch {
	case amount == nil:
		j.deny(t.rule("max_transaction"), errcode.TokenAmountInvalid)
	case declared != nil && amount.Cmp(declared) > 0:
		j.deny(t.rule("max_transaction"), errcode.TokenAmountExceeded)
	case !j.goesWhereDeclared(c):
		j.deny("evm.allowed_actions", errcode.ActionNotAllowed)
	}
}

// goesWhereDeclared compares the recipient or spender with every declared one. An empty list declares none.
func (j *judgement) goesWhereDeclared(c call) bool {
	to := j.field("to")
	all := to.elements()
	if to.kind == textKind {
		all = []value{to}
	}
	for _, recipient := range all {
		if !c.goesTo(recipient.text) {
			return false
		}
	}
	return len(all) > 0 || to.kind == missingKind
}

// runsOthers: methods that run other calls "are denied as call data on any target …; 2.4 `evm.account_calls: allow` opens
// them".
func (j *judgement) runsOthers(c call) bool {
	return !j.accountCallsAllowed() &&
		(accountCalls[c.selector] || tokenMulticalls[c.selector] && j.tokenPinning(j.text("targetAddress")) != nil)
}

func (j *judgement) accountCallsAllowed() bool {
	return asciiLower(j.p.evm.text("account_calls")) == "allow"
}

// pinnedData: "On a contract that a rule pins: empty data is a native transfer; a known method is judged by the rule on its
// amount; every other is denied (`evm.token.<SYM>.methods`, TOKEN_NOT_ALLOWED) unless `token.<SYM>.methods` names it."
func (j *judgement) pinnedData(c call) {
	t := j.tokenPinning(j.text("targetAddress"))
	switch {
	case t == nil || c.empty():
	case c.method == nil:
		if !t.methods[c.selector] {
			j.deny(t.rule("methods"), errcode.TokenNotAllowed)
		}
	default:
		if amount := c.amount(j.attachedValue()); amount == nil {
			j.deny(t.rule("max_transaction"), errcode.TokenAmountInvalid)
		} else {
			j.tokenAmount(t, amount)
		}
	}
}

// attachedValue is the native value that goes with the call: none with a token intent, whose amount is the token's.
func (j *judgement) attachedValue() *big.Int {
	if native := j.nativeAmount(); native != nil && !j.has("token") {
		return native
	}
	return new(big.Int) // an amount that cannot be read is denied by its form
}

// calldataMove returns the rule that pins the target of declared call data of a known method, and the amount, nil where
// it cannot be read.
func (j *judgement) calldataMove() (*token, *big.Int) {
	c, ok := j.declared()
	t := j.tokenPinning(j.text("targetAddress"))
	if !ok || t == nil || c.method == nil {
		return nil, nil
	}
	return t, c.amount(j.attachedValue())
}

var (
	selectorForm = regexp.MustCompile(`\A0x[0-9a-fA-F]{8}\z`)
	addressForm  = regexp.MustCompile(`\A0x[0-9a-fA-F]{40}\z`)
)

// enrichedMembers are the members of `metadata.evm` that name addresses, for a method of the "one table, which the shim's
// enrichment shares": `token_target`, and `recipient` or `spender` where the method has one.
func enrichedMembers(m *method) []string {
	switch {
	case m.target < 0:
		return []string{"token_target"}
	case m.kind == moves:
		return []string{"token_target", "recipient"}
	}
	return []string{"token_target", "spender"}
}

// enrichedMethod is the method that the shim names, nil for one that is not known.
func (j *judgement) enrichedMethod() *method {
	selector := asciiLower(j.metadata("evm", "selector").text)
	return methodBySelector[strings.TrimPrefix(selector, "0x")]
}

// enriched reports whether the intent has to say what its call data does: "`require_calldata_enrichment` binds every EVM
// intent that declares `calldata`, and every `contract.call`."
func (j *judgement) enriched() bool {
	return j.p.evm.flag("require_calldata_enrichment") && (j.action == "contract.call" || j.has("calldata"))
}

// enrichment judges what a shim says about the call data, row by row of the table in section "EVM".
func (j *judgement) enrichment() {
	if !j.enriched() {
		return
	}
	if !j.enrichmentComplete() {
		j.deny("evm.require_calldata_enrichment", errcode.CalldataEnrichment)
		return
	}
	selector := strings.TrimPrefix(asciiLower(j.metadata("evm", "selector").text), "0x")
	switch m := j.enrichedMethod(); {
	case m != nil:
		j.enrichedAmount(m)
	case j.p.evm.text("calldata_unknown_selector") != "allow":
		j.deny("evm.calldata_unknown_selector", errcode.TokenNotAllowed)
	case !j.accountCallsAllowed() && accountCalls[selector]: // "with that, a selector that makes the target run further calls"
		j.deny("evm.account_calls", errcode.ActionNotAllowed)
	} // "Unknown selectors that are allowed have nothing more to be judged."
}

// enrichmentComplete is the first row: "not from a shim; `metadata.evm` or a member that is needed is missing, or a
// selector or an address is malformed (a wrong EIP-55 checksum included)".
func (j *judgement) enrichmentComplete() bool {
	selector := j.metadata("evm", "selector")
	if !j.shim || selector.kind != textKind || !selectorForm.MatchString(selector.text) {
		return false
	}
	m := j.enrichedMethod()
	if m == nil {
		return true
	}
	for _, name := range enrichedMembers(m) {
		if member := j.metadata("evm", name); member.kind != textKind || !wellFormedAddress(member.text) {
			return false
		}
	}
	_, alone := m.amountAlone()
	return alone || j.metadata("evm", "token_amount").kind != missingKind
}

// amountAlone returns the amount that is "0 or 2^256−1 by the method alone": an operator may move everything, and what lowers
// an allowance moves nothing.
func (m *method) amountAlone() (*big.Int, bool) {
	switch {
	case m.kind == lowers:
		return new(big.Int), true
	case m.kind == allows && m.amount < 0 && m.signature != daiPermit:
		return unbounded, true
	}
	return nil, false
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
func (j *judgement) enrichedAmount(m *method) {
	amount := j.attestedAmount(m)
	if m.kind == allows && amount != nil && amount.Cmp(unbounded) == 0 {
		j.deny("evm.calldata.unbounded_approval", errcode.TokenAmountExceeded)
	}
	t := j.tokenPinning(j.metadata("evm", "token_target").text)
	switch {
	case t == nil:
		j.deny("evm.token", errcode.TokenNotAllowed)
	case amount == nil:
		j.deny(t.rule("max_transaction"), errcode.TokenAmountInvalid)
	default:
		j.tokenAmount(t, amount)
	}
}

// attestedAmount is what the method says alone, or else the shim; nil where that is not a string of digits below 2^256.
func (j *judgement) attestedAmount(m *method) *big.Int {
	if amount, alone := m.amountAlone(); alone {
		return amount
	}
	told := j.metadata("evm", "token_amount")
	if amount, ok := integer(told.text); ok && told.kind == textKind {
		return amount
	}
	return nil
}

// attestedMove returns the rule and the amount of complete enrichment, for the threshold.
func (j *judgement) attestedMove() (*token, *big.Int) {
	if !j.enriched() {
		return nil, nil
	}
	return j.toldMove()
}

// toldMove returns the rule and the amount of what a shim tells of a method that the table has, whether or not it has to.
func (j *judgement) toldMove() (*token, *big.Int) {
	m := j.enrichedMethod()
	if m == nil || !j.enrichmentComplete() {
		return nil, nil
	}
	return j.tokenPinning(j.metadata("evm", "token_target").text), j.attestedAmount(m)
}
