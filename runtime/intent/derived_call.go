package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/address"
	"bailiff/vm/amount"
)

// A tokenCall is a call of a token contract that a shim's account of call data can tell of.
type tokenCall struct{ selector, name, party string } // party is the member that says who receives, or may spend

// The calls whose account has to be complete (docs/judging.md, "EVM").
var accountedCalls = [...]tokenCall{
	{"0xa9059cbb", "transfer", "recipient"},
	{"0x23b872dd", "transferFrom", "recipient"},
	{"0x095ea7b3", "approve", "spender"},
}

// otherCall stands for the call of any other selector.
const otherCall = "other"

// The members of metadata.evm that every token call has.
const (
	tokenTarget = "token_target"
	tokenAmount = "token_amount"
)

// call returns which call a shim says that the call data makes, and what is wrong with what it says.
func (in *Intent) call(from Provenance) (name, problem string) {
	account := in.evidence(callEvidence)
	switch {
	case from != Shim:
		return "", "only a shim's key can tell what call data does"
	case account == 0:
		return "", "metadata.evm is missing"
	}
	selector, _ := in.givenText(account, "selector")
	digits, ok := strings.CutPrefix(selector, "0x")
	if !ok || len(digits) != selectorDigits || !madeOf(digits, selectorDigits, isHex) {
		return "", "metadata.evm.selector must be 0x and 8 hexadecimal digits"
	}
	for i := range accountedCalls {
		if call := &accountedCalls[i]; equalFoldASCII(selector, call.selector) {
			return call.name, in.incomplete(account, call)
		}
	}
	return otherCall, ""
}

// incomplete says what the account of a token call lacks.
func (in *Intent) incomplete(account int32, call *tokenCall) string {
	if _, ok := in.address(account, tokenTarget); !ok {
		return "metadata.evm." + tokenTarget + " must be an address"
	}
	if _, ok := in.address(account, call.party); !ok {
		return "metadata.evm." + call.party + " must be an address"
	}
	if in.given(account, tokenAmount) == 0 {
		return "metadata.evm." + tokenAmount + " is missing"
	}
	return ""
}

// address returns a member that is an address, in lower case.
func (in *Intent) address(object int32, name string) (string, bool) {
	sent, _ := in.givenText(object, name)
	normal, err := address.Normalize(sent)
	return normal, err == nil
}

// callsToken reports whether the shim tells of a token call, and all of it.
func (in *Intent) callsToken(from Provenance) bool {
	name, problem := in.call(from)
	return problem == "" && name != otherCall
}

func derivedCall(in *Intent, from Provenance) vm.Value {
	name, problem := in.call(from)
	if problem != "" {
		return unreadable
	}
	return text(name)
}

func derivedCallToken(in *Intent, from Provenance) vm.Value {
	if !in.callsToken(from) {
		return vm.Value{}
	}
	token, _ := in.address(in.evidence(callEvidence), tokenTarget)
	return text(token)
}

// derivedCallAmount returns the amount without leading zeros, so that it can be compared as a text too.
func derivedCallAmount(in *Intent, from Provenance) vm.Value {
	if !in.callsToken(from) {
		return vm.Value{}
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
