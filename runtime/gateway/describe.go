package gateway

import (
	"encoding/hex"
	"errors"
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
}

// Declare describes the transaction as an intent. Token is empty, or names the token (a symbol or an address, as the
// policy's rules have it) that the transaction transfers or approves; without it a call is a contract.call with its data.
func (t *Transaction) Declare(token string) (*Declaration, error) {
	if t.Creation {
		return nil, errors.New("it creates a contract, which no gateway submits")
	}
	d := &Declaration{Action: actionTransfer, TargetAddress: spell(t.Target), Token: token, Amount: t.Value.String(), AmountUnit: "base"}
	if token == "" {
		if len(t.Data) > 0 {
			d.Action, d.Calldata = "contract.call", "0x"+hex.EncodeToString(t.Data)
		}
		return d, nil
	}
	c, ok := readTokenCall(t.Data)
	if !ok {
		return nil, errors.New("its data is no transfer, transferFrom or approve of a token")
	}
	if c.method == approve {
		d.Action = actionApprove
	}
	d.Amount, d.To = c.amount.String(), spell(c.recipient)
	return d, nil
}
