package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/calldata"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// What a shim says that call data does, as @evm.call has it.
const (
	toldTransfer = "transfer" // it moves an amount of a token
	toldApprove  = "approve"  // it lets others move one
	toldRun      = "run"      // it makes its target run further calls
	toldOther    = "other"
)

// The members of metadata.evm that every token call has.
const (
	tokenTarget = "token_target"
	tokenAmount = "token_amount"
)

// call returns what a shim says that the call data does, and what is wrong with what it says.
func (in *Intent) call(from Provenance) (does, problem string) {
	account := in.evidence(callEvidence)
	switch {
	case from != Shim:
		return "", "only a shim's key can tell what call data does"
	case account == 0:
		return "", "metadata.evm is missing"
	}
	method, ok := in.toldMethod()
	switch {
	case !ok:
		return "", "metadata.evm.selector must be 0x and 8 hexadecimal digits"
	case method == nil:
		return toldOther, ""
	case method.Kind == calldata.Runs:
		return toldRun, ""
	case method.Kind == calldata.Allowance:
		return toldApprove, in.incomplete(account, method, "spender")
	case method.Kind.Judged():
		return toldTransfer, in.incomplete(account, method, "recipient")
	}
	return toldOther, ""
}

// toldMethod returns the row of the method that a shim names, nil where the table does not have it. It reports false where
// there is no selector.
func (in *Intent) toldMethod() (*calldata.Method, bool) {
	named, _ := in.givenText(in.evidence(callEvidence), "selector")
	if !strings.HasPrefix(named, "0x") {
		return nil, false
	}
	selector, err := calldata.ParseSelector(named)
	return calldata.Lookup(selector), err == nil
}

// incomplete says what the account of a token call lacks; party is the member that says who receives, or may spend.
func (in *Intent) incomplete(account int32, method *calldata.Method, party string) string {
	if _, ok := in.address(account, tokenTarget); !ok {
		return "metadata.evm." + tokenTarget + " must be an address"
	}
	if _, ok := in.address(account, party); !ok && method.HasParty() {
		return "metadata.evm." + party + " must be an address"
	}
	if _, fixed := method.FixedAmount(); !fixed && in.given(account, tokenAmount) == 0 {
		return "metadata.evm." + tokenAmount + " is missing"
	}
	return ""
}

// address returns a member that is an address, in lower case.
func (in *Intent) address(object int32, name string) (string, bool) {
	sent, _ := in.givenText(object, name)
	normal, err := evmaddr.Normalize(sent)
	return normal, err == nil
}

// callsToken reports whether the shim tells of a token call, and all of it.
func (in *Intent) callsToken(from Provenance) bool {
	does, problem := in.call(from)
	return problem == "" && (does == toldTransfer || does == toldApprove)
}

func derivedCall(in *Intent, from Provenance) vm.Value {
	does, problem := in.call(from)
	if problem != "" {
		return unreadable
	}
	return text(does)
}

func derivedCallToken(in *Intent, from Provenance) vm.Value {
	if !in.callsToken(from) {
		return vm.Value{}
	}
	token, _ := in.address(in.evidence(callEvidence), tokenTarget)
	return text(token)
}

func derivedCallSymbol(in *Intent, from Provenance) vm.Value {
	return symbolOf(in.tokens.pinned(derivedCallToken(in, from).Text, in.Text(slot.ChainID)))
}

// derivedCallAmount returns the amount without leading zeros, so that it can be compared as a text too.
func derivedCallAmount(in *Intent, from Provenance) vm.Value {
	if !in.callsToken(from) {
		return vm.Value{}
	}
	method, _ := in.toldMethod()
	if fixed, ok := method.FixedAmount(); ok {
		return baseUnits(fixed)
	}
	digits, _ := in.givenText(in.evidence(callEvidence), tokenAmount)
	significant := strings.TrimLeft(digits, "0")
	if significant == "" && digits != "" {
		significant = "0"
	}
	if _, err := amount.ParseBase(significant); err != nil {
		return unreadable
	}
	return vm.Value{Kind: vm.String, Text: significant, BaseUnits: true}
}
