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
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot"
)

// A misfit says in words what of a write does not fit its attestation. It becomes data.reason.
type misfit string

// Error returns the words.
func (m misfit) Error() string { return string(m) }

func misfitf(format string, arguments ...any) error { return misfit(fmt.Sprintf(format, arguments...)) }

// fit holds a call against what its attestation says of the intent (decisions, section 6). The error is a misfit.
func fit(c *Call, intent *attest.Intent, chain uint64, terms *Terms) error {
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
		return fitToken(c, intent, declared, chain, terms)
	}
	return fitNative(c, intent, declared)
}

// fitNative holds a call of a native intent: the value to the declared amount, the data to the declared call data.
func fitNative(c *Call, intent *attest.Intent, declared amount.Amount) error {
	if c.Value.Cmp(declared) != 0 {
		return misfitf("the call's value is %s wei, and the intent declared %s", c.Value, declared)
	}
	if strings.ToLower(intent.Action) == slot.ApproveAction {
		return misfit("token.approve needs a token; the intent declared none")
	}
	read := c.read()
	if err := match(&read, intent, declared); err != nil {
		return err
	}
	if err := fitData(c.Data, intent.CalldataHash); err != nil {
		return err
	}
	return fitRecipient(recipientOf(c, &read), intent.To)
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

// fitToken holds a call of a token intent: a method that its action means, of at most the declared amount, on a
// contract that the policy pins. What was declared as call data is exactly the data. What was not is an everyday method
// in its exact form: neither a byte more, nor what else an action of the policy's own may mean.
func fitToken(c *Call, intent *attest.Intent, declared amount.Amount, chain uint64, terms *Terms) error {
	switch {
	case !terms.pins(intent.Token, intent.TargetAddress, chain):
		return misfitf("the policy's rule for token %q pins no contract %s, and without that the token can't be submitted; add the address to the rule", intent.Token, intent.TargetAddress)
	case intent.Decimals == nil:
		return misfitf("no rule of the policy judged the amount of token %q", intent.Token)
	case !c.Value.IsZero():
		return misfitf("a token intent carries no native value, and this call has %s wei", c.Value)
	}
	read := c.read()
	if err := match(&read, intent, declared); err != nil {
		return err
	}
	switch {
	case intent.CalldataHash != "":
		return fitData(c.Data, intent.CalldataHash)
	case !read.Exact():
		return misfitf("the call's data is not exactly the arguments of %s, with zeros in front of addresses and no byte more; declare it as calldata", read.Method.Signature)
	case !undeclared[strings.ToLower(intent.Action)] && !pays(&read):
		return misfitf("the %s of a %s has to be declared as calldata", read.Method.Name(), intent.Action)
	}
	return nil
}

// undeclared are the actions that say by themselves what a token's call does. Any other one means a payment alone where no
// call data was declared: what an approval can do has to have been in front of the policy.
var undeclared = map[string]bool{slot.TransferAction: true, slot.ApproveAction: true}

// pays reports whether a call is a plain transfer.
func pays(read *calldata.Call) bool {
	name := read.Method.Name()
	return name == "transfer" || name == "transferFrom"
}

// match asks the one judge of whether a call is what its intent describes, which authorize asks too, and puts what it
// answers into words.
func match(read *calldata.Call, intent *attest.Intent, declared amount.Amount) error {
	says := calldata.Intent{Action: strings.ToLower(intent.Action), Token: intent.Token != "", Amount: declared}
	if len(intent.To.List) > 0 {
		says.To = slices.Values(intent.To.List)
	}
	switch calldata.Match(read, &says) {
	case calldata.Fits:
		return nil
	case calldata.NativeData:
		return misfitf("a native wallet.transfer carries no data, and this one has %d bytes; declare a call as contract.call", read.Size)
	case calldata.OtherMethod:
		return misfitf("the call is %s, and a %s of a token calls %s", nameOf(read), intent.Action, methodsOf(says.Action))
	case calldata.CutOff:
		return misfitf("the arguments of %s are cut off; send all of them", read.Method.Signature)
	case calldata.LargerAmount:
		return misfitf("the call moves %s base units of the token, and the intent declared %s", read.Amount, declared)
	case calldata.OtherRecipient:
		return misfitf("the recipient is %s, and the intent declared %s", read.Party, strings.Join(intent.To.List, ", "))
	}
	return misfit("the call is not what the intent describes")
}

// nameOf names the method that data calls.
func nameOf(read *calldata.Call) string {
	switch {
	case read.Empty():
		return "without data"
	case read.Method != nil:
		return "of " + read.Method.Signature
	case read.HasSelector():
		return "of the method " + read.Selector.String()
	}
	return fmt.Sprintf("%d bytes, too few for a method", read.Size)
}

// methodsOf names the methods that an action means.
func methodsOf(action string) string {
	switch action {
	case slot.TransferAction:
		return "transfer or transferFrom"
	case slot.ApproveAction:
		return "approve or increaseAllowance"
	}
	return "a method whose amount a rule can judge"
}

// fitRecipient holds who receives, or may spend, to the declared `to`, where there is one.
func fitRecipient(recipient common.Address, declared attest.Recipients) error {
	if len(declared.List) == 0 || slices.Contains(declared.List, spell(recipient)) {
		return nil
	}
	return misfitf("the recipient is %s, and the intent declared %s", spell(recipient), strings.Join(declared.List, ", "))
}

// recipientOf returns who receives by a call: whom a token's method names, otherwise the target.
func recipientOf(c *Call, read *calldata.Call) common.Address {
	if read.Judged() && read.Method.HasParty() {
		return common.Address(read.Party)
	}
	return c.Target
}

// spell returns an address as intents spell it: 0x and 40 hexadecimal digits in lower case.
func spell(a common.Address) string { return "0x" + hex.EncodeToString(a[:]) }
