package compiler

import (
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// callData judges declared call data, whatever the intent is called: the contract does what the call data says.
func (e *emitter) callData() {
	e.at(part[EVM](e.parts).Span)
	e.accountCalls()
	e.matches()
	e.pinnedCalls()
}

// accountCalls denies call data that makes its target run further calls.
func (e *emitter) accountCalls() {
	if flag := part[EVM](e.parts).AccountCalls; flag != nil {
		e.at(flag.Span)
		if flag.On {
			return
		}
	}
	next := e.NewLabel()
	e.Kind(vm.If, e.Field(derived.Runs), absent, next)
	e.deny(keyAccountCalls.Rule, keyAccountCalls.Code, "the calldata makes the target run further calls, whose amounts no rule sees", e.value(derived.Runs), next)
	e.Place(next)
}

// pinnedCalls judges a call of a contract that a token's rule pins: what it moves or approves by the rule's amounts; every
// other method only passes where the rule names it. Without data it is a native transfer.
func (e *emitter) pinnedCalls() {
	done, cases := e.NewLabel(), e.tokenCases(pinned)
	if len(cases) == 0 {
		e.Place(done)
		return
	}
	e.at(part[EVM](e.parts).Span)
	e.Kind(vm.If, e.Field(derived.Method), absent, done)
	e.Switch(e.Field(derived.TargetToken), done, cases...)
	for _, token := range part[EVM](e.parts).Tokens {
		if !pinned(token) {
			continue
		}
		judge := e.NewLabel()
		e.Place(cases[0].To)
		cases = cases[1:]
		e.at(token.Addresses.Span)
		e.Kind(vm.Unless, e.Field(derived.CalldataAmount), absent, judge)
		method := e.Field(derived.Method)
		if token.Methods != nil {
			e.allowing(token.Methods)
			e.Test(vm.OpIn, vm.If, method, e.exactly(token.Methods.Texts()...), done)
		}
		rule := keyTokenMethods.ruleOf(token.Symbol)
		e.deny(rule, keyTokenMethods.Code, "the method is none whose amount the token's rule can judge, and "+rule+" does not name it", e.value(derived.Method), done)
		e.Place(judge)
		e.tokenAmount(1, derived.CalldataAmount, token, done, "the declared calldata calls a method of the token, and is cut off", "the token amount in calldata")
	}
	e.Place(done)
}

// enrichment judges call data by what a trusted shim says of it: of every contract.call, and of every intent that declares
// some.
func (e *emitter) enrichment() {
	done, bound, told := e.NewLabel(), e.NewLabel(), e.NewLabel()
	other, approve, judge := e.NewLabel(), e.NewLabel(), e.NewLabel()
	call, value := e.Field(derived.Call), e.Field(derived.CallAmount)
	e.at(part[EVM](e.parts).Enrichment.Span)
	e.Kind(vm.Unless, e.Field(slotCalldata), absent, bound)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.exactly(callAction), done)
	e.Place(bound)
	e.Kind(vm.If, call, vm.Kinds(vm.String), told)
	e.deny(keyEnrichment.Rule, keyEnrichment.Code, "call data needs metadata.evm from a shim, with the selector and what it moves, and it is missing or malformed", e.value(derived.Call), done)
	e.Place(told)
	e.Switch(call, other, vm.Case{Text: "transfer", To: judge}, vm.Case{Text: "approve", To: approve})
	e.Place(other)
	e.unknownSelector(done)
	e.Place(approve)
	e.at(part[EVM](e.parts).Enrichment.Span)
	e.Kind(vm.If, value, vm.Kinds(vm.Invalid), judge)
	e.Test(vm.OpIn, vm.Unless, value, e.exactly(unbounded), judge)
	e.deny(ruleUnbounded, errcode.TokenAmountExceeded, "the call approves 2^256-1, which is no limit at all", e.value(derived.CallAmount), judge)
	e.Place(judge)
	e.callByShim(done)
	e.Place(done)
}

// unbounded is 2^256-1, the amount that approves whatever there will ever be.
const unbounded = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

// unknownSelector decides on a method that moves no amount that the service knows of. One that runs further calls is denied
// as declared call data that does so.
func (e *emitter) unknownSelector(done vm.Label) {
	if flag := part[EVM](e.parts).UnknownSelector; flag != nil {
		e.at(flag.Span)
		if flag.On {
			if !IsOn(part[EVM](e.parts).AccountCalls) {
				e.Test(vm.OpIn, vm.Unless, e.Field(derived.Call), e.exactly("run"), done)
				e.deny(keyAccountCalls.Rule, keyAccountCalls.Code, "the call that the shim reports makes its target run further calls, whose amounts no rule sees", e.value(derived.Call), done)
			} else {
				e.Jump(done)
			}
			return
		}
	}
	e.deny(keySelector.Rule, keySelector.Code, "the call is of a method that moves and approves no amount that the service knows of", e.value(derived.Call), done)
}

// callByShim judges what a shim says that a call moves or approves by the rule that pins the token.
func (e *emitter) callByShim(done vm.Label) {
	cases := e.tokenCases(pinned)
	unpinned := e.NewLabel()
	if len(cases) > 0 {
		e.Switch(e.Field(derived.CallSymbol), unpinned, cases...)
	}
	e.Place(unpinned)
	e.deny(ruleNoToken, errcode.TokenNotAllowed, "no evm.token rule pins the token that the call moves or approves", e.value(derived.CallToken), done)
	for _, token := range part[EVM](e.parts).Tokens {
		if !pinned(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		e.tokenAmount(1, derived.CallAmount, token, done,
			"the shim's token_amount is no string of digits below 2^256",
			"the token amount that the shim reports")
	}
}
