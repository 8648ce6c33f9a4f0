package gateway

import (
	"encoding/hex"
	"errors"

	"bailiff/vm/form/calldata"
	"bailiff/vm/slot"
)

// A Declaration is how a transaction is declared to the policy: the intent that its gateway would hold it to.
type Declaration struct {
	Action        string `json:"action"`
	TargetAddress string `json:"targetAddress"`
	Token         string `json:"token,omitempty"`
	Amount        string `json:"amount"`
	AmountUnit    string `json:"amount_unit"` // always "base": nothing is rounded
	To            string `json:"to,omitempty"`
	Calldata      string `json:"calldata,omitempty"`
	MaxFee        string `json:"maxFee"` // the most that the gas may cost, in native units
}

// Declare describes the transaction as an intent. Token is empty, or names the token (a symbol or an address, as the
// policy's rules have it) that the transaction transfers or approves; without it a call is a contract.call with its data.
func (t *Transaction) Declare(token string) (*Declaration, error) {
	if t.Creation {
		return nil, errors.New("it creates a contract, which no gateway submits")
	}
	d := &Declaration{
		Action: slot.TransferAction, TargetAddress: spell(t.Target), Token: token, Amount: t.Value.String(), AmountUnit: "base", MaxFee: nativeUnits(t.MaxCost),
	}
	if token == "" {
		if len(t.Data) > 0 {
			d.Action, d.Calldata = slot.CallAction, "0x"+hex.EncodeToString(t.Data)
		}
		return d, nil
	}
	c := t.read()
	if !c.Exact() || !everyday[c.Method.Name()] {
		return nil, errors.New("its data is not a transfer, transferFrom, approve or increaseAllowance of a token; leave out the token, and it is declared as contract.call")
	}
	if c.Method.Kind == calldata.Allowance {
		d.Action = slot.ApproveAction
	}
	d.Amount, d.To = c.Amount.String(), c.Party.String()
	return d, nil
}

// everyday are the methods that token intents mean without call data.
var everyday = map[string]bool{"transfer": true, "transferFrom": true, "approve": true, "increaseAllowance": true}
