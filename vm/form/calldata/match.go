package calldata

import (
	"iter"

	"bailiff/vm/amount"
)

// The actions whose calls have a form of their own, in lower case (decisions, section 2, "Amounts and tokens").
const (
	TransferAction = "wallet.transfer"
	ApproveAction  = "token.approve"
)

// An Intent is what an intent says of its call, each value in its normal form.
type Intent struct {
	Action string        // lower case
	Token  bool          // it is about a token, and not about the native currency
	Amount amount.Amount // of a token intent, in base units

	// To yields who is to receive, or may spend; nil where the intent does not say.
	To iter.Seq[string]
}

// A Mismatch says in what a call is not the one that its intent describes.
type Mismatch uint8

// The mismatches, in the order in which they are looked for. The zero value is none.
const (
	Fits           Mismatch = iota
	NativeData              // a native wallet.transfer with data
	OtherMethod             // a token intent whose data does not call a method that its action means
	CutOff                  // such a method, and its arguments are malformed
	LargerAmount            // more than the intent declares
	OtherRecipient          // not the recipient or spender that the intent declares
	mismatchCount
)

// String returns the mismatch in a word, and "" for Fits.
func (m Mismatch) String() string {
	return [mismatchCount]string{"", "data", "method", "malformed", "amount", "recipient"}[m]
}

// Match holds a call against what an intent says of it (decisions, section 2, "An action is what its call data says").
// It judges native wallet.transfer and token intents; other native intents may carry any data.
func Match(c *Call, in *Intent) Mismatch {
	switch {
	case !in.Token && (in.Action != TransferAction || c.Empty()):
		return Fits
	case !in.Token:
		return NativeData
	case !standsFor(in.Action, c):
		return OtherMethod
	case c.Malformed:
		return CutOff
	case amount.Less(&in.Amount, &c.Amount):
		return LargerAmount
	case in.To != nil && !c.isFor(in.To):
		return OtherRecipient
	}
	return Fits
}

// standsFor reports whether a token intent with that action may make the call.
func standsFor(action string, c *Call) bool {
	if !c.Judged() {
		return false
	}
	name := c.Method.Name()
	switch action {
	case TransferAction:
		return name == "transfer" || name == "transferFrom"
	case ApproveAction:
		return name == "approve" || name == "increaseAllowance"
	}
	return true
}

// isFor reports whether all of to, one at least, are who receives or may spend by the call.
func (c *Call) isFor(to iter.Seq[string]) (all bool) {
	if !c.Method.HasParty() {
		return false
	}
	party := c.Party.String()
	for one := range to {
		if one != party {
			return false
		}
		all = true
	}
	return all
}
