package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot"
)

// declaredCall reads the declared call data. A native intent carries its amount; a token intent carries nothing.
func (in *Intent) declaredCall() *calldata.Call {
	if !in.callRead && in.Has(slot.Calldata) {
		var value amount.Amount
		if !in.Has(slot.Token) {
			value, _ = in.amountBase(in.tokens)
		}
		in.declared, _ = calldata.ReadHex(in.Text(slot.Calldata), value) // whose form the decoder has checked
		in.callRead = true
	}
	if !in.callRead {
		return &noCall
	}
	return &in.declared
}

// noCall is what an intent without call data declares.
var noCall calldata.Call

// targetToken returns the token whose rule pins targetAddress on the intent's chain, or nil.
func (in *Intent) targetToken() *vm.Token {
	return in.tokens.pinned(in.Text(slot.TargetAddress), in.Text(slot.ChainID))
}

func derivedTargetToken(in *Intent, _ Provenance) vm.Value { return symbolOf(in.targetToken()) }

func symbolOf(token *vm.Token) vm.Value {
	if token == nil {
		return vm.Value{}
	}
	return text(token.Symbol)
}

// derivedStray is the token where that is given by the address of another contract than the target.
func derivedStray(in *Intent, _ Provenance) vm.Value {
	name := in.lower(in.Text(slot.Token))
	return textIf(strings.HasPrefix(name, "0x") && name != in.Text(slot.TargetAddress), name)
}

// derivedCalldataAmount returns the amount that a token call in calldata moves or lets others move, in base units. It is
// missing where calldata is absent or calls something else, and invalid where arguments are cut off.
func derivedCalldataAmount(in *Intent, _ Provenance) vm.Value {
	switch c := in.declaredCall(); {
	case !c.Judged():
		return vm.Value{}
	case c.Malformed:
		return unreadable
	default:
		return baseUnits(c.Amount)
	}
}

func baseUnits(a amount.Amount) vm.Value {
	return vm.Value{Kind: vm.String, Text: a.String(), BaseUnits: true}
}

// derivedMethod returns the selector of calldata that is not empty. One of less than four bytes is what there is.
func derivedMethod(in *Intent, _ Provenance) vm.Value {
	const selector = len("0x") + 2*len(calldata.Selector{})
	data := in.Text(slot.Calldata)
	return textIf(len(data) > len("0x"), in.lower(data[:min(len(data), selector)]))
}

// derivedRuns returns the method by which calldata makes the target run further calls. A multicall is one where a rule
// pins the target.
func derivedRuns(in *Intent, _ Provenance) vm.Value {
	c := in.declaredCall()
	if c.RunsCalls() || c.Method != nil && c.Method.Kind == calldata.Multicall && in.targetToken() != nil {
		return text(c.Method.Signature)
	}
	return vm.Value{}
}

// derivedMismatch says in what calldata is not the call that the intent describes (calldata.Match). Without calldata there
// is nothing to compare.
func derivedMismatch(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Calldata) {
		return vm.Value{}
	}
	says := calldata.Intent{Action: in.action, Token: in.Has(slot.Token)}
	says.Amount, _ = in.amountBase(in.tokens)
	if in.Has(slot.To) {
		says.To = in.Recipients()
	}
	mismatch := calldata.Match(in.declaredCall(), &says)
	return textIf(mismatch != calldata.Fits, mismatch.String())
}

// A movement is what an intent moves of a token that a rule knows, or lets others move.
type movement struct {
	token  *vm.Token
	amount vm.Value
}

// moved returns the movement by which a token's sums advance: of a token intent the declared amount, of any other what
// calldata moves of the token whose contract it calls, or else what a shim tells.
func (in *Intent) moved(from Provenance) movement {
	if in.Has(slot.Token) {
		value := vm.Value{Kind: vm.Invalid}
		if declared, ok := in.amountBase(in.tokens); ok {
			value = baseUnits(declared)
		}
		return movement{in.tokens.find(in.lower(in.Text(slot.Token)), in.Text(slot.ChainID)), value}
	}
	if token := in.targetToken(); token != nil && in.declaredCall().Judged() {
		return movement{token, derivedCalldataAmount(in, from)}
	}
	if !in.callsToken(from) {
		return movement{}
	}
	return movement{in.tokens.pinned(derivedCallToken(in, from).Text, in.Text(slot.ChainID)), derivedCallAmount(in, from)}
}

func derivedMoved(in *Intent, from Provenance) vm.Value { return symbolOf(in.moved(from).token) }

func derivedMovedAmount(in *Intent, from Provenance) vm.Value {
	if m := in.moved(from); m.token != nil {
		return m.amount
	}
	return vm.Value{}
}
