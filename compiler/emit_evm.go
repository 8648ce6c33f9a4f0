package compiler

import (
	"fmt"
	"strings"

	"bailiff/runtime/code"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// evm judges an EVM intent: chain, action, token rule, pinned address, form of the amount, maximum, call data.
func (e *emitter) evm() {
	p := e.policy.EVM
	if p == nil {
		e.at(e.policy.Version.Span)
		e.refuse(keyActions.Rule, keyActions.Code, "the policy has no evm section, which would have to grant the action")
		return
	}
	e.chain()
	e.evmAction()
	e.amounts()
}

// chain denies a chain that is not allowed.
func (e *emitter) chain() {
	chains := e.policy.EVM.AllowedChains
	e.at(chains.Span)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotChainID), e.exactly(chains.texts()...), pass)
	}, keyChains.Rule, keyChains.Code, "the chain is not in evm.allowed_chains")
}

// chainIfPresent denies a chain that is not allowed on an intent that need not name one.
func (e *emitter) chainIfPresent() {
	if e.policy.EVM == nil {
		return
	}
	next := e.NewLabel()
	e.at(e.policy.EVM.AllowedChains.Span)
	e.Kind(vm.If, e.Field(slotChainID), absent, next)
	e.chain()
	e.Place(next)
}

// evmAction denies an action that is not granted on its chain.
func (e *emitter) evmAction() {
	p := e.policy.EVM
	done, global := e.NewLabel(), e.NewLabel()
	if len(p.ChainActions) > 0 {
		e.chainActions(global, done)
	}
	e.Place(global)
	e.at(p.Span)
	if p.AllowedActions != nil {
		e.at(p.AllowedActions.Span)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.exactly(p.AllowedActions.texts()...), done)
	}
	e.deny(keyActions.Rule, keyActions.Code, "the action is not in evm.allowed_actions", done)
	e.Place(done)
}

// chainActions judges the action on the chains that have actions of their own.
func (e *emitter) chainActions(global, done vm.Label) {
	lines := e.policy.EVM.ChainActions
	cases := make([]vm.Case, len(lines))
	for i, line := range lines {
		cases[i] = vm.Case{Text: line.Chain.Text, To: e.NewLabel()}
	}
	e.at(lines[0].Actions.Span)
	e.Switch(e.Field(slotChainID), global, cases...)
	for i, line := range lines {
		e.Place(cases[i].To)
		e.at(line.Actions.Span)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.exactly(line.Actions.texts()...), done)
		e.deny(keyChainActions.Rule, keyChainActions.Code, "the action is not among this chain's evm.chain_actions", done)
	}
}

// amounts judges the declared amount, native or of a token, and the amount in the call data.
func (e *emitter) amounts() {
	callData, native := e.NewLabel(), e.NewLabel()
	e.at(e.policy.EVM.Span)
	e.Kind(vm.If, e.Field(slotToken), absent, native)
	e.tokens(callData)
	e.Place(native)
	e.approves(callData)
	e.native(callData)
	e.Place(callData)
	e.callData()
	if e.policy.EVM.enriched() {
		e.enrichment()
	}
}

// approves denies a token.approve that names no token: there is nothing to approve of the native currency.
func (e *emitter) approves(done vm.Label) {
	other := e.NewLabel()
	e.at(e.policy.EVM.Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly(approveAction), other)
	e.deny(ruleNoToken, code.TokenNotAllowed, "the intent names no token, and this action is about one", done)
	e.Place(other)
}

// native judges an amount of the native currency.
func (e *emitter) native(done vm.Label) {
	rule := keyMaximum.Rule
	limit, message := amount.Amount{}, "the policy has no evm.max_transaction_eth, so no native amount above zero is allowed"
	e.at(e.policy.EVM.Span)
	if most := e.policy.EVM.MaxTransaction; most != nil {
		e.at(most.Span)
		limit, message = most.Amount, "the native amount is above evm.max_transaction_eth"
	}
	if slot := e.Field(slotAmount); e.policy.Version.AtLeast(2, 1) {
		given := e.NewLabel()
		e.Kind(vm.Unless, slot, absent, given)
		e.deny(rule, code.AmountRequired, "the native amount is missing; write \"0\" where none is meant", done)
		e.Place(given)
	} else {
		e.Kind(vm.If, slot, absent, done) // it counts as zero
	}
	valid := e.NewLabel()
	e.Load(0, e.Field(slotAmount), NativeDecimals, valid)
	e.deny(rule, code.AmountInvalid, "the native amount is no decimal of at most 18 fraction digits (in base units: no integer), or 2^256 base units or more", done)
	e.Place(valid)
	within := e.NewLabel()
	e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(limit, NativeDecimals), within)
	e.deny(rule, keyMaximum.Code, message, done)
	e.Place(within)
	e.consensus(done)
}

// tokens judges an amount of a token by the token's rule.
func (e *emitter) tokens(done vm.Label) {
	unknown := e.NewLabel()
	tokens := e.policy.EVM.Tokens
	bySymbol := make([]vm.Label, len(tokens))
	byAddress := map[string]vm.Label{}
	var cases []vm.Case
	add := func(text string) vm.Label {
		to := e.NewLabel()
		cases = append(cases, vm.Case{Text: text, To: to})
		return to
	}
	for i, token := range tokens {
		bySymbol[i] = add(strings.ToLower(token.Symbol))
		for _, address := range token.Addresses.texts() {
			byAddress[address] = add(address)
		}
	}
	if len(cases) > 0 {
		e.Switch(e.Field(slotLowerToken), unknown, cases...)
	}
	e.Place(unknown)
	e.deny(ruleNoToken, code.TokenNotAllowed, "no evm.token rule is for this token", done)
	pinned := vm.Const(0)
	if pins := e.policy.EVM.pins(); len(pins) > 0 {
		pinned = e.exactly(pins...)
	}
	for i, token := range tokens {
		e.token(token, bySymbol[i], byAddress, pinned, done)
	}
}

// token judges by one token's rule what names it by symbol or by address. Without addresses of its own the rule is for
// any contract but those that other rules pin: each contract has one maximum. The addresses of all rules are in pinned,
// the labels of those that name the token in byAddress.
func (e *emitter) token(token *Token, bySymbol vm.Label, byAddress map[string]vm.Label, pinned vm.Const, done vm.Label) {
	judge := e.NewLabel()
	for _, address := range token.Addresses.texts() {
		e.at(token.Addresses.Span)
		e.Place(byAddress[address])
		e.Test(vm.OpIn, vm.If, e.Field(slotTarget), e.exactly(address), judge)
		e.deny(keyTokenPins.ruleOf(token.Symbol), keyTokenPins.Code, "targetAddress is not the token's own address", judge)
	}
	e.Place(bySymbol)
	if token.Addresses != nil {
		e.Test(vm.OpIn, vm.If, e.Field(slotTarget), e.exactly(token.Addresses.texts()...), judge)
		e.deny(keyTokenPins.ruleOf(token.Symbol), keyTokenPins.Code, "targetAddress is not an address that the token's rule pins", judge)
	} else if len(byAddress) > 0 {
		e.at(token.Span)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotTarget), pinned, judge)
		e.deny(keyTokenPins.ruleOf(token.Symbol), keyTokenPins.Code, "the rule of another token pins this targetAddress", judge)
	}
	e.Place(judge)
	e.tokenAmount(0, slotAmount, token, done,
		fmt.Sprintf("the token amount is missing, or no decimal of at most %d fraction digits (in base units: no integer), or 2^256 base units or more", token.Decimals.N),
		"the token amount")
}

// tokenAmount judges an amount of a token: its form, the maximum, consensus. It goes on at done, and denies what is no
// amount with the message invalid. Other messages begin with what the amount is, so that one in call data is told from
// the one that is declared beside it.
func (e *emitter) tokenAmount(register int, slot string, token *Token, done vm.Label, invalid, what string) {
	decimals := uint8(token.Decimals.N)
	valid, within := e.NewLabel(), done
	if token.Consensus != nil {
		within = e.NewLabel()
	}
	e.at(token.MaxTransaction.Span)
	e.Load(register, e.Field(slot), decimals, valid)
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), code.TokenAmountInvalid, invalid, done)
	e.Place(valid)
	e.Compare(vm.OpGreater, vm.Unless, register, e.Amount(token.MaxTransaction.Amount, decimals), within)
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), keyTokenMaximum.Code, what+" is above the token's max_transaction", done)
	if token.Consensus != nil {
		e.Place(within)
		e.at(token.Consensus.Span)
		e.Compare(vm.OpAtLeast, vm.Unless, register, e.Amount(token.Consensus.Amount, decimals), done)
		e.agree(keyTokenConsensus.ruleOf(token.Symbol), what+" reaches the token's consensus_threshold")
		e.Jump(done)
	}
}

// callData judges the amount in declared call data by the rule that pins its target. It binds every EVM action:
// whatever an intent is called, the contract does what the call data says.
func (e *emitter) callData() {
	pinned, cases := e.pinnedTokens()
	if len(pinned) == 0 {
		return
	}
	done := e.NewLabel()
	e.at(e.policy.EVM.Span)
	e.Kind(vm.If, e.Field(slotCalldataAmount), absent, done)
	e.Switch(e.Field(slotTarget), done, cases...)
	for _, token := range pinned {
		e.Place(token.at)
		e.tokenAmount(1, slotCalldataAmount, token.Token, done,
			"the declared calldata calls a method of the token, and is cut off or malformed",
			"the token amount in calldata")
	}
	e.Place(done)
}

// A labelled token is one that has addresses, and where amounts that move it are judged.
type labelled struct {
	*Token
	at vm.Label
}

// pinnedTokens returns the tokens that have addresses, and a case for each address.
func (e *emitter) pinnedTokens() (pinned []labelled, cases []vm.Case) {
	for _, token := range e.policy.EVM.Tokens {
		if token.Addresses == nil || len(token.Addresses.Items) == 0 {
			continue
		}
		pinned = append(pinned, labelled{token, e.NewLabel()})
		for _, address := range token.Addresses.texts() {
			cases = append(cases, vm.Case{Text: address, To: pinned[len(pinned)-1].at})
		}
	}
	return pinned, cases
}

// enrichment judges a contract.call by what a trusted shim says of its call data.
func (e *emitter) enrichment() {
	done, told := e.NewLabel(), e.NewLabel()
	other, approve, judge := e.NewLabel(), e.NewLabel(), e.NewLabel()
	call, value := e.Field(slotCall), e.Field(slotCallAmount)
	e.at(e.policy.EVM.Enrichment.Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly(callAction), done)
	e.Kind(vm.If, call, vm.Kinds(vm.String), told)
	e.deny(keyEnrichment.Rule, keyEnrichment.Code, "contract.call needs metadata.evm from a shim, with the selector and what it moves, and it is missing or malformed", done)
	e.Place(told)
	e.Switch(call, other, vm.Case{Text: "transfer", To: judge}, vm.Case{Text: "transferFrom", To: judge}, vm.Case{Text: "approve", To: approve})
	e.Place(other)
	e.unknownSelector(done)
	e.Place(approve)
	e.at(e.policy.EVM.Enrichment.Span)
	e.Kind(vm.If, value, vm.Kinds(vm.Invalid), judge)
	e.Test(vm.OpIn, vm.Unless, value, e.exactly(unbounded), judge)
	e.deny(ruleUnbounded, code.TokenAmountExceeded, "the call approves 2^256-1, which is no limit at all", judge)
	e.Place(judge)
	e.callByShim(done)
	e.Place(done)
}

// unbounded is 2^256-1, the amount that approves whatever there will ever be.
const unbounded = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

// callAction is the EVM action that calls any method of a contract.
const callAction = "contract.call"

// unknownSelector decides on a method that moves or approves no token.
func (e *emitter) unknownSelector(done vm.Label) {
	if flag := e.policy.EVM.UnknownSelector; flag != nil {
		e.at(flag.Span)
		if flag.On {
			e.Jump(done)
			return
		}
	}
	e.deny(keySelector.Rule, keySelector.Code, "the call is of a method that is none of transfer, transferFrom and approve", done)
}

// callByShim judges what a shim says that a call moves or approves by the rule that pins the token.
func (e *emitter) callByShim(done vm.Label) {
	pinned, cases := e.pinnedTokens()
	unpinned := e.NewLabel()
	if len(cases) > 0 {
		e.Switch(e.Field(slotCallToken), unpinned, cases...)
	}
	e.Place(unpinned)
	e.deny(ruleNoToken, code.TokenNotAllowed, "no evm.token rule pins the token that the call moves or approves", done)
	for _, token := range pinned {
		e.Place(token.at)
		e.tokenAmount(1, slotCallAmount, token.Token, done,
			"the shim's token_amount is no string of digits below 2^256",
			"the token amount that the shim reports")
	}
}

// consensus holds, or notes, the native amount in register 0 where it reaches the threshold.
func (e *emitter) consensus(done vm.Label) {
	p := e.policy.EVM
	if p.Consensus == nil {
		return
	}
	e.at(p.Consensus.Span)
	e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(p.Consensus.Amount, NativeDecimals), done)
	e.agree(keyConsensus.Rule, "the native amount reaches evm.consensus_threshold_eth")
}

// agree holds, or notes, an amount that reaches a threshold.
func (e *emitter) agree(rule, message string) {
	index := e.Rule(vm.Rule{Name: rule, Code: string(keyConsensus.Code), Message: message})
	if hold := e.policy.EVM.RequireHold; hold == nil || hold.On {
		e.Hold(index)
	} else {
		e.Note(index)
	}
}
