package compiler

import (
	"fmt"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/calldata"
)

// tokenTable tells those who fill frames what the policy says of tokens.
func (e *emitter) tokenTable() {
	if e.policy.EVM == nil {
		return
	}
	for _, token := range e.policy.EVM.Tokens {
		row := vm.Token{Symbol: strings.ToLower(token.Symbol), Decimals: uint8(token.Decimals.N)}
		row.Pins = token.Pins()
		e.Token(row)
	}
}

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
	e.allowing(chains)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.If, e.Field(slotChainID), e.exactly(chains.texts()...), pass)
	}, keyChains.Rule, keyChains.Code, "the chain is not in evm.allowed_chains", e.value(slotChainID))
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
		e.allowing(p.AllowedActions)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(p.AllowedActions), done)
	}
	e.deny(keyActions.Rule, keyActions.Code, "the action is not in evm.allowed_actions", e.value(slotAction), done)
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
		e.allowing(&line.Actions)
		e.Test(vm.OpIn, vm.If, e.Field(slotAction), e.lowered(&line.Actions), done)
		e.deny(keyChainActions.Rule, keyChainActions.Code, "the action is not among this chain's evm.chain_actions", e.value(slotAction), done)
	}
}

// amounts judges the declared amount, native or of a token, and the amount in the call data.
func (e *emitter) amounts() {
	callData, native := e.NewLabel(), e.NewLabel()
	e.at(e.policy.EVM.Span)
	e.Kind(vm.If, e.Field(slotLowerToken), absent, native)
	e.tokens(callData)
	e.Place(native)
	e.approves(callData)
	e.native(callData)
	e.Place(callData)
	e.fee()
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
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "the intent names no token, and this action is about one", e.value(slotLowerAction), done)
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
		e.deny(rule, errcode.AmountRequired, "the native amount is missing; write \"0\" where none is meant", e.value(slotAmount), done)
		e.Place(given)
	} else {
		e.Kind(vm.If, slot, absent, done) // it counts as zero
	}
	valid := e.NewLabel()
	e.Load(0, e.Field(slotAmount), NativeDecimals, valid)
	e.deny(rule, errcode.AmountInvalid, "the native amount is no decimal of at most 18 fraction digits (in base units: no integer), or 2^256 base units or more", e.value(slotAmount), done)
	e.Place(valid)
	within := e.NewLabel()
	e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(limit, NativeDecimals), within)
	e.deny(rule, keyMaximum.Code, message, e.value(slotAmount), done)
	e.Place(within)
	e.consensus(done)
}

// fee judges what the intent says that gas may cost. Where the policy limits no fees, a declared one still has to be an
// amount, because the attestation claims it.
func (e *emitter) fee() {
	slot, done, valid := e.Field(slotMaxFee), e.NewLabel(), e.NewLabel()
	e.at(e.policy.EVM.Span)
	most := e.policy.EVM.MaxFee
	if most == nil {
		e.Kind(vm.If, slot, absent, done)
	} else {
		given := e.NewLabel()
		e.at(most.Span)
		e.Kind(vm.Unless, slot, absent, given)
		e.deny(keyMaxFee.Rule, errcode.AmountRequired, "the policy limits fees, and maxFee is missing; declare the most that gas may cost", e.value(slotMaxFee), done)
		e.Place(given)
	}
	e.Load(1, slot, NativeDecimals, valid)
	e.deny(keyMaxFee.Rule, errcode.AmountInvalid, "maxFee is not an amount of at most 18 fraction digits below 2^256 wei; write native units, such as 0.01", e.value(slotMaxFee), done)
	e.Place(valid)
	if most != nil {
		e.Compare(vm.OpGreater, vm.Unless, 1, e.Amount(most.Amount, NativeDecimals), done)
		e.deny(keyMaxFee.Rule, keyMaxFee.Code, "maxFee is above evm.max_fee_eth", e.value(slotMaxFee), done)
	}
	e.Place(done)
}

// tokens judges an amount of a token by the token's rule. The machine sees the symbol of the rule, however the intent gives
// the token.
func (e *emitter) tokens(done vm.Label) {
	unknown, cases, blame := e.NewLabel(), e.tokenCases(nil), e.value(slotLowerToken)
	e.at(e.policy.EVM.Span)
	if len(cases) > 0 {
		blame = e.value(slotToken)
		e.Switch(blame.Slot, unknown, cases...)
	}
	e.Place(unknown)
	e.listed(true, e.symbols())
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "no evm.token rule is for this token", blame, done)
	for i, token := range e.policy.EVM.Tokens {
		e.Place(cases[i].To)
		e.token(token, done)
	}
}

// symbols returns the tokens that have a rule.
func (e *emitter) symbols() (words []word) {
	for _, token := range e.policy.EVM.Tokens {
		words = append(words, word{token.Symbol, token.Symbol})
	}
	return words
}

// tokenCases returns a case for the symbol of each token that is wanted, in order; nil wants all.
func (e *emitter) tokenCases(wanted func(*Token) bool) (cases []vm.Case) {
	for _, token := range e.policy.EVM.Tokens {
		if wanted == nil || wanted(token) {
			cases = append(cases, vm.Case{Text: strings.ToLower(token.Symbol), To: e.NewLabel()})
		}
	}
	return cases
}

// token judges an intent by its token's rule. Without addresses of its own the rule is for any contract but those that
// other rules pin: each contract has one maximum.
func (e *emitter) token(token *Token, done vm.Label) {
	rule, judge := keyTokenPins.ruleOf(token.Symbol), e.NewLabel()
	switch {
	case token.Addresses != nil:
		e.allowing(token.Addresses)
		if token.hasTwins() {
			own := e.NewLabel()
			e.Kind(vm.If, e.Field(slotStray), absent, own)
			e.deny(rule, keyTokenPins.Code, "targetAddress is not the token's own address", e.value(slotTarget), judge)
			e.Place(own)
		}
		e.Test(vm.OpIn, vm.If, e.Field(slotTargetToken), e.exactly(strings.ToLower(token.Symbol)), judge)
		e.deny(rule, keyTokenPins.Code, "targetAddress is not an address that the token's rule pins on this chain", e.value(slotTarget), judge)
	case e.policy.EVM.pins():
		e.at(token.Span)
		e.Kind(vm.If, e.Field(slotTargetToken), absent, judge)
		e.deny(rule, keyTokenPins.Code, "the rule of another token pins this targetAddress", e.value(slotTarget), judge)
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
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), errcode.TokenAmountInvalid, invalid, e.value(slot), done)
	e.Place(valid)
	e.Compare(vm.OpGreater, vm.Unless, register, e.Amount(token.MaxTransaction.Amount, decimals), within)
	e.deny(keyTokenMaximum.ruleOf(token.Symbol), keyTokenMaximum.Code, what+" is above the token's max_transaction", e.value(slot), done)
	if token.Consensus != nil {
		e.Place(within)
		e.at(token.Consensus.Span)
		e.Compare(vm.OpAtLeast, vm.Unless, register, e.Amount(token.Consensus.Amount, decimals), done)
		e.agree(keyTokenConsensus.ruleOf(token.Symbol), what+" reaches the token's consensus_threshold")
		e.Jump(done)
	}
}

// callData judges declared call data, whatever the intent is called: the contract does what the call data says.
func (e *emitter) callData() {
	e.at(e.policy.EVM.Span)
	e.accountCalls()
	e.matches()
	e.pinnedCalls()
}

// accountCalls denies call data that makes its target run further calls.
func (e *emitter) accountCalls() {
	if flag := e.policy.EVM.AccountCalls; flag != nil {
		e.at(flag.Span)
		if flag.On {
			return
		}
	}
	next := e.NewLabel()
	e.Kind(vm.If, e.Field(slotCalldataRuns), absent, next)
	e.deny(keyAccountCalls.Rule, keyAccountCalls.Code, "the calldata makes the target run further calls, whose amounts no rule sees", e.value(slotCalldataRuns), next)
	e.Place(next)
}

// matches denies call data that is not the call which the rest of the intent describes.
func (e *emitter) matches() {
	done := e.NewLabel()
	e.atActions()
	e.Kind(vm.If, e.Field(slotMismatch), absent, done)
	if len(e.policy.EVM.Tokens) > 0 { // without, an intent about one has been denied
		e.tokenMismatch(done)
	}
	e.deny(keyActions.Rule, keyActions.Code, "a native wallet.transfer has no calldata; declare a contract.call, or a token", e.value(slotCalldata), done)
	e.Place(done)
}

// atActions says that what follows comes from the list of actions, or, without one, from the section.
func (e *emitter) atActions() {
	e.at(e.policy.EVM.Span)
	if actions := e.policy.EVM.AllowedActions; actions != nil {
		e.at(actions.Span)
	}
}

// tokenMismatch denies what is wrong with the call data of a token intent, and goes on behind it for a native one. A call of
// a pinned contract that is cut off is left to the rule about that.
func (e *emitter) tokenMismatch(done vm.Label) {
	native, other := e.NewLabel(), e.NewLabel()
	amounts, cut, recipient := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.Switch(e.Field(slotMismatch), other,
		vm.Case{Text: calldata.NativeData.String(), To: native}, vm.Case{Text: calldata.OtherRecipient.String(), To: recipient},
		vm.Case{Text: calldata.LargerAmount.String(), To: amounts}, vm.Case{Text: calldata.CutOff.String(), To: cut})
	e.Place(recipient)
	e.deny(keyActions.Rule, keyActions.Code, "the calldata is for another recipient or spender than to declares", e.value(slotTo), done)
	e.Place(other)
	e.deny(keyActions.Rule, keyActions.Code, "the calldata calls no method of the token that the action stands for", e.value(slotCalldataMethod), done)
	e.Place(amounts)
	e.mismatchedAmount(nil, keyTokenMaximum.Code, "the calldata moves or approves more than the declared amount", done)
	e.Place(cut)
	e.mismatchedAmount(func(t *Token) bool { return !pinned(t) }, errcode.TokenAmountInvalid, "the declared calldata calls a method of the token, and is cut off", done)
	e.Place(native)
	e.atActions()
}

// mismatchedAmount denies by the rule of the intent's token, where that is wanted, and else goes on at done.
func (e *emitter) mismatchedAmount(wanted func(*Token) bool, c errcode.Code, message string, done vm.Label) {
	cases := e.tokenCases(wanted)
	if len(cases) == 0 {
		e.Jump(done)
		return
	}
	e.Switch(e.Field(slotToken), done, cases...)
	for _, token := range e.policy.EVM.Tokens {
		if wanted != nil && !wanted(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		e.at(token.MaxTransaction.Span)
		e.deny(keyTokenMaximum.ruleOf(token.Symbol), c, message, e.value(slotCalldata), done)
	}
}

// pinnedCalls judges a call of a contract that a token's rule pins: what it moves or approves by the rule's amounts; every
// other method only passes where the rule names it. Without data it is a native transfer.
func (e *emitter) pinnedCalls() {
	done, cases := e.NewLabel(), e.tokenCases(pinned)
	if len(cases) == 0 {
		e.Place(done)
		return
	}
	e.at(e.policy.EVM.Span)
	e.Kind(vm.If, e.Field(slotCalldataMethod), absent, done)
	e.Switch(e.Field(slotTargetToken), done, cases...)
	for _, token := range e.policy.EVM.Tokens {
		if !pinned(token) {
			continue
		}
		judge := e.NewLabel()
		e.Place(cases[0].To)
		cases = cases[1:]
		e.at(token.Addresses.Span)
		e.Kind(vm.Unless, e.Field(slotCalldataAmount), absent, judge)
		method := e.Field(slotCalldataMethod)
		if token.Methods != nil {
			e.allowing(token.Methods)
			e.Test(vm.OpIn, vm.If, method, e.exactly(token.Methods.texts()...), done)
		}
		rule := keyTokenMethods.ruleOf(token.Symbol)
		e.deny(rule, keyTokenMethods.Code, "the method is none whose amount the token's rule can judge, and "+rule+" does not name it", e.value(slotCalldataMethod), done)
		e.Place(judge)
		e.tokenAmount(1, slotCalldataAmount, token, done, "the declared calldata calls a method of the token, and is cut off", "the token amount in calldata")
	}
	e.Place(done)
}

// hasTwins reports whether a token's rule pins two contracts on one chain: one given as `token` may then stand beside the
// other as the target.
func (t *Token) hasTwins() bool {
	chains := map[string]bool{}
	for _, pin := range t.Pins() {
		if chains[pin.Chain] || chains[""] || pin.Chain == "" && len(chains) > 0 {
			return true
		}
		chains[pin.Chain] = true
	}
	return false
}

// pinned reports whether a token's rule pins an address.
func pinned(token *Token) bool { return token.Addresses != nil && len(token.Addresses.Items) > 0 }

// enrichment judges call data by what a trusted shim says of it: of every contract.call, and of every intent that declares
// some.
func (e *emitter) enrichment() {
	done, bound, told := e.NewLabel(), e.NewLabel(), e.NewLabel()
	other, approve, judge := e.NewLabel(), e.NewLabel(), e.NewLabel()
	call, value := e.Field(slotCall), e.Field(slotCallAmount)
	e.at(e.policy.EVM.Enrichment.Span)
	e.Kind(vm.Unless, e.Field(slotCalldata), absent, bound)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly(callAction), done)
	e.Place(bound)
	e.Kind(vm.If, call, vm.Kinds(vm.String), told)
	e.deny(keyEnrichment.Rule, keyEnrichment.Code, "call data needs metadata.evm from a shim, with the selector and what it moves, and it is missing or malformed", e.value(slotCall), done)
	e.Place(told)
	e.Switch(call, other, vm.Case{Text: "transfer", To: judge}, vm.Case{Text: "approve", To: approve})
	e.Place(other)
	e.unknownSelector(done)
	e.Place(approve)
	e.at(e.policy.EVM.Enrichment.Span)
	e.Kind(vm.If, value, vm.Kinds(vm.Invalid), judge)
	e.Test(vm.OpIn, vm.Unless, value, e.exactly(unbounded), judge)
	e.deny(ruleUnbounded, errcode.TokenAmountExceeded, "the call approves 2^256-1, which is no limit at all", e.value(slotCallAmount), judge)
	e.Place(judge)
	e.callByShim(done)
	e.Place(done)
}

// unbounded is 2^256-1, the amount that approves whatever there will ever be.
const unbounded = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

// callAction is the EVM action that calls any method of a contract.
const callAction = "contract.call"

// unknownSelector decides on a method that moves no amount that the service knows of. One that runs further calls is denied
// as declared call data that does so.
func (e *emitter) unknownSelector(done vm.Label) {
	if flag := e.policy.EVM.UnknownSelector; flag != nil {
		e.at(flag.Span)
		if flag.On {
			if !isOn(e.policy.EVM.AccountCalls) {
				e.Test(vm.OpIn, vm.Unless, e.Field(slotCall), e.exactly("run"), done)
				e.deny(keyAccountCalls.Rule, keyAccountCalls.Code, "the call that the shim reports makes its target run further calls, whose amounts no rule sees", e.value(slotCall), done)
			} else {
				e.Jump(done)
			}
			return
		}
	}
	e.deny(keySelector.Rule, keySelector.Code, "the call is of a method that moves and approves no amount that the service knows of", e.value(slotCall), done)
}

// callByShim judges what a shim says that a call moves or approves by the rule that pins the token.
func (e *emitter) callByShim(done vm.Label) {
	cases := e.tokenCases(pinned)
	unpinned := e.NewLabel()
	if len(cases) > 0 {
		e.Switch(e.Field(slotCallSymbol), unpinned, cases...)
	}
	e.Place(unpinned)
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "no evm.token rule pins the token that the call moves or approves", e.value(slotCallToken), done)
	for _, token := range e.policy.EVM.Tokens {
		if !pinned(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		e.tokenAmount(1, slotCallAmount, token, done,
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
