package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/vm/amount"
)

// The actions whose calls have a form of their own (decisions, sections 2 and 6), in lower case. Every other EVM
// action is held to its declared call data, as contract.call is.
const (
	actionTransfer = "wallet.transfer"
	actionApprove  = "token.approve"
	actionUserOp   = "erc4337.userop"
)

// A misfit says in words what of a write does not fit its attestation. It becomes data.reason.
type misfit string

// Error returns the words.
func (m misfit) Error() string { return string(m) }

func misfitf(format string, arguments ...any) error { return misfit(fmt.Sprintf(format, arguments...)) }

// fit holds a call against what its attestation says of the intent (decisions, section 6). The error is a misfit.
func fit(c *Call, intent *attest.Intent, terms *Terms) error {
	declared, err := amount.ParseBase(intent.AmountBase)
	switch {
	case err != nil:
		return misfit("the attestation's amount can't be read")
	case intent.TargetAddress == "":
		return misfit("the intent declared no targetAddress, and without one nothing can be submitted; authorize with targetAddress")
	case spell(c.Target) != intent.TargetAddress:
		return misfitf("the call goes to %s, and the intent declared %s", spell(c.Target), intent.TargetAddress)
	}
	if intent.Token != "" {
		return fitToken(c, intent, declared, terms)
	}
	return fitNative(c, intent, declared)
}

// fitNative holds a call of a native intent: the value to the declared amount, the data to the declared call data.
func fitNative(c *Call, intent *attest.Intent, declared amount.Amount) error {
	if c.Value.Cmp(declared) != 0 {
		return misfitf("the call's value is %s wei, and the intent declared %s", c.Value, declared)
	}
	switch strings.ToLower(intent.Action) {
	case actionApprove:
		return misfit("token.approve needs a token; the intent declared none")
	case actionTransfer:
		if len(c.Data) > 0 {
			return misfitf("a native wallet.transfer carries no data, and this one has %d bytes", len(c.Data))
		}
	}
	if err := fitData(c.Data, intent.CalldataHash); err != nil {
		return err
	}
	return fitRecipient(recipientOf(c), intent.To)
}

// fitData holds data to the call data that was declared; none declared means empty.
func fitData(data []byte, declared string) error {
	sum := sha256.Sum256(data)
	switch {
	case declared == "" && len(data) > 0:
		return misfitf("the call has %d bytes of data, and the intent declared no calldata", len(data))
	case declared != "" && hex.EncodeToString(sum[:]) != declared:
		return misfit("the call's data is not the calldata that the intent declared")
	}
	return nil
}

// fitToken holds a call of a token intent: a method that its action stands for, of at most the declared amount, on a
// contract that the policy pins.
func fitToken(c *Call, intent *attest.Intent, declared amount.Amount, terms *Terms) error {
	switch {
	case !terms.pins(intent.Token, intent.TargetAddress):
		return misfitf("the policy's rule for token %q pins no contract %s, and without that the token can't be submitted; add the address to the rule", intent.Token, intent.TargetAddress)
	case intent.Decimals == nil:
		return misfitf("no rule of the policy judged the amount of token %q", intent.Token)
	case !c.Value.IsZero():
		return misfitf("a token intent carries no native value, and this call has %s wei", c.Value)
	}
	t, ok := readTokenCall(c.Data)
	if !ok {
		return misfit("the call's data is no transfer, transferFrom or approve in its exact form")
	}
	if err := fitMethod(c, t, intent); err != nil {
		return err
	}
	if t.amount.Cmp(declared) > 0 {
		return misfitf("the call moves %s base units of the token, and the intent declared %s", t.amount, declared)
	}
	return fitRecipient(t.recipient, intent.To)
}

// fitMethod holds the method to the action. A wallet.transfer pays, a token.approve approves. A user operation may
// pay; it may approve, and any other action may do anything at all, only as declared byte by byte: what an approval
// can do has to have been in front of the policy. And what was declared as call data has been in front of it: then the
// data is exactly that, whatever the action.
func fitMethod(c *Call, t tokenCall, intent *attest.Intent) error {
	action := strings.ToLower(intent.Action)
	if t.method == transferFrom && t.from != c.Sender {
		return misfitf("transferFrom takes from %s, and the signer is %s", spell(t.from), spell(c.Sender))
	}
	switch {
	case action == actionTransfer && t.method == approve:
		return misfit("a wallet.transfer calls transfer or transferFrom, and this is an approve")
	case action == actionApprove && t.method != approve:
		return misfitf("a token.approve calls approve, and this is a %s", t.method)
	case intent.CalldataHash != "":
		return fitData(c.Data, intent.CalldataHash)
	case action == actionTransfer, action == actionApprove, action == actionUserOp && t.method != approve:
		return nil
	}
	return misfitf("the %s of a %s has to be declared as calldata", t.method, intent.Action)
}

// fitRecipient holds who receives, or may spend, to the declared `to`, where there is one.
func fitRecipient(recipient common.Address, declared attest.Recipients) error {
	if len(declared.List) == 0 || slices.Contains(declared.List, spell(recipient)) {
		return nil
	}
	return misfitf("the recipient is %s, and the intent declared %s", spell(recipient), strings.Join(declared.List, ", "))
}

// recipientOf returns who receives by a call: whom a token's method names, otherwise the target.
func recipientOf(c *Call) common.Address {
	if t, ok := readTokenCall(c.Data); ok {
		return t.recipient
	}
	return c.Target
}

// spell returns an address as intents spell it: 0x and 40 hexadecimal digits in lower case.
func spell(a common.Address) string { return "0x" + hex.EncodeToString(a[:]) }
