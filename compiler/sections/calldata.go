package sections

import (
	"bailiff/compiler/frame"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// emitCallData judges declared call data, whatever the intent is called: the contract does what the call data says.
func emitCallData(e *frame.Emitter) {
	e.At(frame.Part[EVM](e.Parts).Span)
	accountCalls(e)
	matches(e)
	pinnedCalls(e)
}

// accountCalls denies call data that makes its target run further calls.
func accountCalls(e *frame.Emitter) {
	if flag := frame.Part[EVM](e.Parts).AccountCalls; flag != nil {
		e.At(flag.Span)
		if flag.On {
			return
		}
	}
	next := e.NewLabel()
	e.Kind(vm.If, e.Field(derived.Runs), frame.Absent, next)
	e.DenyBy(keyAccountCalls.Rule, keyAccountCalls.Code, "the calldata makes the target run further calls, whose amounts no rule sees", e.Value(derived.Runs), next)
	e.Place(next)
}

// pinnedCalls judges a call of a contract that a token's rule pins: what it moves or approves by the rule's amounts; every
// other method only passes where the rule names it. Without data it is a native transfer.
func pinnedCalls(e *frame.Emitter) {
	done, cases := e.NewLabel(), tokenCases(e, pinned)
	if len(cases) == 0 {
		e.Place(done)
		return
	}
	e.At(frame.Part[EVM](e.Parts).Span)
	e.Kind(vm.If, e.Field(derived.Method), frame.Absent, done)
	e.Switch(e.Field(derived.TargetToken), done, cases...)
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		if !pinned(token) {
			continue
		}
		judge := e.NewLabel()
		e.Place(cases[0].To)
		cases = cases[1:]
		e.At(token.Addresses.Span)
		e.Kind(vm.Unless, e.Field(derived.CalldataAmount), frame.Absent, judge)
		method := e.Field(derived.Method)
		if token.Methods != nil {
			e.Allowing(token.Methods)
			e.Test(vm.OpIn, vm.If, method, e.Exactly(token.Methods.Texts()...), done)
		}
		rule := keyTokenMethods.RuleOf(token.Symbol)
		e.DenyBy(rule, keyTokenMethods.Code, "the method is none whose amount the token's rule can judge, and "+rule+" does not name it", e.Value(derived.Method), done)
		e.Place(judge)
		tokenAmount(e, 1, derived.CalldataAmount, token, done, "the declared calldata calls a method of the token, and is cut off", "the token amount in calldata")
	}
	e.Place(done)
}

// enrichment judges call data by what a trusted shim says of it: of every contract.call, and of every intent that declares
// some.
func enrichment(e *frame.Emitter) {
	done, bound, told := e.NewLabel(), e.NewLabel(), e.NewLabel()
	other, approve, judge := e.NewLabel(), e.NewLabel(), e.NewLabel()
	call, value := e.Field(derived.Call), e.Field(derived.CallAmount)
	e.At(frame.Part[EVM](e.Parts).Enrichment.Span)
	e.Kind(vm.Unless, e.Field(frame.SlotCalldata), frame.Absent, bound)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.CallAction), done)
	e.Place(bound)
	e.Kind(vm.If, call, vm.Kinds(vm.String), told)
	e.DenyBy(keyEnrichment.Rule, keyEnrichment.Code, "call data needs metadata.evm from a shim, with the selector and what it moves, and it is missing or malformed", e.Value(derived.Call), done)
	e.Place(told)
	e.Switch(call, other, vm.Case{Text: "transfer", To: judge}, vm.Case{Text: "approve", To: approve})
	e.Place(other)
	unknownSelector(e, done)
	e.Place(approve)
	e.At(frame.Part[EVM](e.Parts).Enrichment.Span)
	e.Kind(vm.If, value, vm.Kinds(vm.Invalid), judge)
	e.Test(vm.OpIn, vm.Unless, value, e.Exactly(unbounded), judge)
	e.DenyBy(frame.RuleUnbounded, errcode.TokenAmountExceeded, "the call approves 2^256-1, which is unlimited", e.Value(derived.CallAmount), judge)
	e.Place(judge)
	callByShim(e, done)
	e.Place(done)
}

// unbounded is 2^256-1, the amount that approves whatever there will ever be.
const unbounded = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

// unknownSelector decides on a method that moves no amount that the service knows of. One that runs further calls is denied
// as declared call data that does so.
func unknownSelector(e *frame.Emitter, done vm.Label) {
	if flag := frame.Part[EVM](e.Parts).UnknownSelector; flag != nil {
		e.At(flag.Span)
		if flag.On {
			if !frame.IsOn(frame.Part[EVM](e.Parts).AccountCalls) {
				e.Test(vm.OpIn, vm.Unless, e.Field(derived.Call), e.Exactly("run"), done)
				e.DenyBy(keyAccountCalls.Rule, keyAccountCalls.Code, "the call that the shim reports makes its target run further calls, whose amounts no rule sees", e.Value(derived.Call), done)
			} else {
				e.Jump(done)
			}
			return
		}
	}
	e.DenyBy(keySelector.Rule, keySelector.Code, "the call is of a method that moves and approves no amount that the service knows of", e.Value(derived.Call), done)
}

// callByShim judges what a shim says that a call moves or approves by the rule that pins the token.
func callByShim(e *frame.Emitter, done vm.Label) {
	cases := tokenCases(e, pinned)
	unpinned := e.NewLabel()
	if len(cases) > 0 {
		e.Switch(e.Field(derived.CallSymbol), unpinned, cases...)
	}
	e.Place(unpinned)
	e.DenyBy(frame.RuleNoToken, errcode.TokenNotAllowed, "no evm.token rule pins the token that the call moves or approves", e.Value(derived.CallToken), done)
	for _, token := range frame.Part[EVM](e.Parts).Tokens {
		if !pinned(token) {
			continue
		}
		e.Place(cases[0].To)
		cases = cases[1:]
		tokenAmount(e, 1, derived.CallAmount, token, done,
			"the shim's token_amount is not a string of digits below 2^256",
			"the token amount that the shim reports")
	}
}
