package oracle

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"bailiff/grammar"
	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// A token is the rule of one token, `token.<SYM>.*`.
type token struct {
	symbol    string // as the policy spells it
	decimals  int
	maximum   *big.Int // in base units
	threshold *big.Int // of consensus; nil for none
	addresses []string // pinned, in lower case
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
		for _, address := range p.evm.list("token." + symbol + ".addresses") {
			t.addresses = append(t.addresses, strings.ToLower(address))
		}
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

// tokenNamed finds the rule of intent.token: by symbol, "compared without regard to case", or by an address, which
// "matches the rule that pins it".
func (p *Policy) tokenNamed(name string) *token {
	if pinned := p.tokenPinning(name); pinned != nil {
		return pinned
	}
	for i := range p.tokens {
		if asciiLower(p.tokens[i].symbol) == asciiLower(name) {
			return &p.tokens[i]
		}
	}
	return nil
}

// tokenPinning finds the rule that pins an address.
func (p *Policy) tokenPinning(address string) *token {
	for i := range p.tokens {
		if contains(p.tokens[i].addresses, strings.ToLower(address)) {
			return &p.tokens[i]
		}
	}
	return nil
}

// chain makes sure that a chain that is named is allowed, where there is `## evm`.
func (j *judgement) chain() {
	if j.p.evm == nil || !j.in.Has(intent.ChainID) {
		return
	}
	for _, allowed := range j.p.evm.list("allowed_chains") {
		if chainID(allowed) == j.in.Text(intent.ChainID) {
			return
		}
	}
	j.deny("evm.allowed_chains", code.ChainNotAllowed)
}

// evmSection: "The steps are: chain, action, token rule, pinned address, form of the amount, maximum, call data."
func (j *judgement) evmSection() {
	if j.p.evm == nil {
		j.deny("evm.allowed_actions", code.ActionNotAllowed) // "Where a section is absent, its granting key stands for it"
		return
	}
	j.chain()
	j.evmAction()
	if j.in.Has(intent.Token) {
		j.tokenIntent()
	} else {
		j.nativeIntent()
	}
	j.declaredCalldata()
	j.enrichment()
}

// evmAction: "`chain_actions` for a chain replaces `allowed_actions` there"; the lists are exact.
func (j *judgement) evmAction() {
	rule, granted := "evm.allowed_actions", j.p.evm.list("allowed_actions")
	if override, ok := j.p.chainActions[j.in.Text(intent.ChainID)]; ok {
		rule, granted = "evm.chain_actions", override
	}
	if !contains(granted, j.sent) {
		j.deny(rule, code.ActionNotAllowed)
	}
}

// tokenIntent judges an intent that names a token.
func (j *judgement) tokenIntent() {
	name := j.in.Text(intent.Token)
	t := j.p.tokenNamed(name)
	if t == nil {
		j.deny("evm.token", code.TokenNotAllowed)
		return
	}
	j.pinnedAddress(t, name)
	amount, ok := j.amount(t.decimals)
	if !j.in.Has(intent.Amount) || !ok {
		j.deny(t.rule("max_transaction"), code.TokenAmountInvalid)
		return
	}
	j.tokenAmount(t, amount)
}

// pinnedAddress: "A token given by address matches the rule that pins it, and `targetAddress` must equal it. A rule
// that pins addresses needs `targetAddress` to be one of them." "A token rule without addresses does not reach a
// contract that another rule pins" (choices).
func (j *judgement) pinnedAddress(t *token, name string) {
	target := strings.ToLower(j.in.Text(intent.TargetAddress))
	switch {
	case len(t.addresses) > 0 && !contains(t.addresses, target),
		len(t.addresses) == 0 && j.p.tokenPinning(target) != nil,
		contains(t.addresses, strings.ToLower(name)) && strings.ToLower(name) != target:
		j.deny(t.rule("addresses"), code.TokenNotAllowed)
	}
}

// tokenAmount judges an amount of a token in base units: its maximum here, its threshold among the holds.
func (j *judgement) tokenAmount(t *token, amount *big.Int) {
	if amount.Cmp(t.maximum) > 0 {
		j.deny(t.rule("max_transaction"), code.TokenAmountExceeded)
	}
}

// nativeIntent judges an intent without a token. "`token.approve` names its token" (choices).
func (j *judgement) nativeIntent() {
	const rule = "evm.max_transaction_eth"
	if j.action == "token.approve" {
		j.deny("evm.token", code.TokenNotAllowed)
		return
	}
	if !j.in.Has(intent.Amount) && j.p.version.AtLeast(2, 1) {
		j.deny(rule, code.AmountRequired) // "from 2.1 it is denied"
		return
	}
	amount := j.nativeAmount()
	if amount == nil {
		j.deny(rule, code.AmountInvalid)
		return
	}
	maximum := j.p.evm.number("max_transaction_eth", etherDigits)
	if maximum == nil {
		maximum = new(big.Int) // "No max_transaction_eth: a native amount above zero is denied"
	}
	if amount.Cmp(maximum) > 0 {
		j.deny(rule, code.AmountExceeded)
	}
}

// consensus holds what reaches a threshold: "its `token` or native amount reaches a consensus threshold", and the
// amounts of declared and of attested call data as well.
func (j *judgement) consensus() {
	if j.kind != evmIntent || j.p.evm == nil {
		return
	}
	if j.in.Has(intent.Token) {
		if t := j.p.tokenNamed(j.in.Text(intent.Token)); t != nil && j.in.Has(intent.Amount) {
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
		j.hold(rule, code.HoldConsensus)
	}
}
