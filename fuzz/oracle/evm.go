package oracle

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// A token is the rule of one token, `token.<SYM>.*`.
type token struct {
	symbol    string // as the policy spells it
	decimals  int
	maximum   *big.Int // in base units
	threshold *big.Int // of consensus; nil for none
	pins      []pin
	methods   map[string]bool // selectors that `token.<SYM>.methods` names
}

// A pin is one pinned address, "`8453:0x…`" or, "pinned on all", one without a chain.
type pin struct{ chain, address string }

func (t *token) pinned(address, chain string) bool {
	for _, p := range t.pins {
		if p.address == asciiLower(address) && (p.chain == "" || p.chain == chain) {
			return true
		}
	}
	return false
}

// pinsAnywhere is pinned for rules, which are written without a chain.
func (t *token) pinsAnywhere(address string) bool {
	for _, p := range t.pins {
		if p.address == asciiLower(address) {
			return true
		}
	}
	return false
}

func (t *token) rule(key string) string { return "evm.token." + t.symbol + "." + key }

// readTokens reads the token rules in file order.
func (p *Policy) readTokens(file *grammar.File) error {
	seen := map[string]bool{}
	for _, entry := range entries(file, "evm") {
		segments := entry.Key.Segments
		if len(segments) != 3 || segments[0].Text != "token" || seen[segments[1].Text] {
			continue
		}
		symbol := segments[1].Text
		seen[symbol] = true
		decimals, err := strconv.Atoi(p.evm.text("token." + symbol + ".decimals"))
		if err != nil || decimals < 0 {
			return fmt.Errorf("oracle: token %s has no decimals", symbol)
		}
		t := token{symbol: symbol, decimals: decimals}
		t.maximum = p.evm.number("token."+symbol+".max_transaction", t.decimals)
		t.threshold = p.evm.number("token."+symbol+".consensus_threshold", t.decimals)
		if t.maximum == nil {
			return fmt.Errorf("oracle: token %s has no maximum", symbol)
		}
		for _, item := range p.evm.list("token." + symbol + ".addresses") {
			chain, address, ok := strings.Cut(item, ":")
			if !ok {
				chain, address = "", item
			}
			t.pins = append(t.pins, pin{chainID(chain), asciiLower(address)})
		}
		t.methods = namedMethods(p.evm.list("token." + symbol + ".methods"))
		p.tokens = append(p.tokens, t)
	}
	return nil
}

// readChainActions reads the block of `chain_actions`: "quotes optional, leading zeros dropped".
func (p *Policy) readChainActions(file *grammar.File) error {
	p.chainActions = map[string][]string{}
	for _, entry := range entries(file, "evm") {
		for _, line := range entry.Block {
			if line.Value != nil {
				p.chainActions[chainID(line.Key.Text)] = items(line.Value)
			}
		}
	}
	return nil
}

func chainID(text string) string { return strings.TrimLeft(text, "0") }

// namedMethods reads "selectors or signatures".
func namedMethods(list []string) map[string]bool {
	all := map[string]bool{}
	for _, item := range list {
		if selectorForm.MatchString(item) {
			all[asciiLower(item)[2:]] = true
		} else {
			all[selectorOf(strings.ReplaceAll(item, " ", ""))] = true
		}
	}
	return all
}

// tokenNamed finds the rule of intent.token: by symbol, "compared without regard to case", or by an address, which
// "matches the rule that pins it" on the chain of the intent.
func (j *judgement) tokenNamed(name string) *token {
	if pinned := j.tokenPinning(name); pinned != nil {
		return pinned
	}
	for i := range j.p.tokens {
		if asciiLower(j.p.tokens[i].symbol) == asciiLower(name) {
			return &j.p.tokens[i]
		}
	}
	return nil
}

// tokenPinning finds the rule that pins an address on the chain of the intent.
func (j *judgement) tokenPinning(address string) *token {
	for i := range j.p.tokens {
		if j.p.tokens[i].pinned(address, j.text("chainId")) {
			return &j.p.tokens[i]
		}
	}
	return nil
}

// chain makes sure that a chain that is named is allowed, where there is `## evm`: "`chainId` of a model intent is not held
// to `allowed_chains`".
func (j *judgement) chain() {
	if j.p.evm == nil || !j.has("chainId") || j.kind == modelIntent {
		return
	}
	for _, allowed := range j.p.evm.list("allowed_chains") {
		if chainID(allowed) == j.text("chainId") {
			return
		}
	}
	j.deny("evm.allowed_chains", errcode.ChainNotAllowed)
}

// evmSection: "The steps are: chain, action, token rule, pinned address, form of the amount, maximum, call data."
func (j *judgement) evmSection() {
	if j.p.evm == nil {
		j.deny("evm.allowed_actions", errcode.ActionNotAllowed) // "Where a section is absent, its granting key stands for it"
		return
	}
	j.chain()
	j.evmAction()
	if j.has("token") {
		j.tokenIntent()
	} else {
		j.nativeIntent()
	}
	j.maximumFee()
	j.declaredCalldata()
	j.enrichment()
}

// maximumFee: "2.4: `evm.max_fee_eth` (after "maximum"; above: AMOUNT_EXCEEDED, malformed: AMOUNT_INVALID) …; where either
// [of it and `soft_limits.daily_fee_eth`] is declared, `maxFee` is required (AMOUNT_REQUIRED)". One that is malformed is
// denied whatever is declared: no attestation can say it.
func (j *judgement) maximumFee() {
	const rule = "evm.max_fee_eth"
	maximum := j.p.evm.number("max_fee_eth", etherDigits)
	switch fee := j.fee(); {
	case j.has("maxFee") && fee == nil:
		j.deny(rule, errcode.AmountInvalid)
	case maximum == nil:
	case fee == nil:
		j.deny(rule, errcode.AmountRequired)
	case fee.Cmp(maximum) > 0:
		j.deny(rule, errcode.AmountExceeded)
	}
}

// evmAction: "`chain_actions` for a chain replaces `allowed_actions` there"; the lists "hold whole actions, and have no case".
func (j *judgement) evmAction() {
	rule, granted := "evm.allowed_actions", j.p.evm.list("allowed_actions")
	if override, ok := j.p.chainActions[j.text("chainId")]; ok {
		rule, granted = "evm.chain_actions", override
	}
	if !slices.Contains(lowered(granted), j.action) {
		j.deny(rule, errcode.ActionNotAllowed)
	}
}

// tokenIntent judges an intent that names a token.
func (j *judgement) tokenIntent() {
	name := j.text("token")
	t := j.tokenNamed(name)
	if t == nil {
		j.deny("evm.token", errcode.TokenNotAllowed)
		return
	}
	j.pinnedAddress(t, name)
	amount, ok := j.amount(t.decimals)
	if !j.has("amount") || !ok {
		j.deny(t.rule("max_transaction"), errcode.TokenAmountInvalid)
		return
	}
	j.tokenAmount(t, amount)
}

// pinnedAddress: "A token given by address matches the rule that pins it, and `targetAddress` must equal it. A rule
// that pins addresses needs `targetAddress` to be one of them." "A token rule without addresses does not reach a
// contract that another rule pins" (choices).
func (j *judgement) pinnedAddress(t *token, name string) {
	target := j.text("targetAddress")
	switch {
	case len(t.pins) > 0 && !t.pinned(target, j.text("chainId")),
		len(t.pins) == 0 && j.tokenPinning(target) != nil,
		t.pinsAnywhere(name) && asciiLower(name) != asciiLower(target):
		j.deny(t.rule("addresses"), errcode.TokenNotAllowed)
	}
}

// tokenAmount judges an amount of a token in base units: its maximum here, its threshold among the holds.
func (j *judgement) tokenAmount(t *token, amount *big.Int) {
	if amount.Cmp(t.maximum) > 0 {
		j.deny(t.rule("max_transaction"), errcode.TokenAmountExceeded)
	}
}

// nativeIntent judges an intent without a token. "`token.approve` names its token" (choices).
func (j *judgement) nativeIntent() {
	const rule = "evm.max_transaction_eth"
	if j.action == "token.approve" {
		j.deny("evm.token", errcode.TokenNotAllowed)
		return
	}
	if !j.has("amount") && j.p.version.AtLeast(2, 1) {
		j.deny(rule, errcode.AmountRequired) // "from 2.1 it is denied"
		return
	}
	amount := j.nativeAmount()
	if amount == nil {
		j.deny(rule, errcode.AmountInvalid)
		return
	}
	maximum := j.p.evm.number("max_transaction_eth", etherDigits)
	if maximum == nil {
		maximum = new(big.Int) // "No max_transaction_eth: a native amount above zero is denied"
	}
	if amount.Cmp(maximum) > 0 {
		j.deny(rule, errcode.AmountExceeded)
	}
}

// consensus holds what reaches a threshold: "its `token` or native amount reaches a consensus threshold", and the
// amounts of declared and of attested call data as well.
func (j *judgement) consensus() {
	if j.kind != evmIntent || j.p.evm == nil {
		return
	}
	if j.has("token") {
		if t := j.tokenNamed(j.text("token")); t != nil && j.has("amount") {
			amount, _ := j.amount(t.decimals)
			j.tokenThreshold(t, amount)
		}
	} else {
		j.threshold("evm.consensus_threshold_eth", j.nativeAmount(), j.p.evm.number("consensus_threshold_eth", etherDigits))
	}
	if t, amount := j.calldataMove(); t != nil {
		j.tokenThreshold(t, amount)
	}
	if t, amount := j.attestedMove(); t != nil {
		j.tokenThreshold(t, amount)
	}
}

func (j *judgement) tokenThreshold(t *token, amount *big.Int) {
	j.threshold(t.rule("consensus_threshold"), amount, t.threshold)
}

// threshold: "an amount at or above the threshold is PENDING. `consensus_require_hold: false` only notes it in the
// message; absent counts as true". An amount that is nil was denied by its form.
func (j *judgement) threshold(rule string, amount, threshold *big.Int) {
	switch {
	case amount == nil || threshold == nil || amount.Cmp(threshold) < 0:
	case j.p.evm.has("consensus_require_hold") && !j.p.evm.flag("consensus_require_hold"):
		j.note(rule)
	default:
		j.hold(rule, errcode.HoldConsensus)
	}
}
