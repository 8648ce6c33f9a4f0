package accounts

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// statementTolerance is how far the time of a statement may be from now.
const statementTolerance = 300

// ErrStatement says that a halt or a rotation needs a statement that an operator signed, or that the one that came is not good.
var ErrStatement = errors.New("statement")

// A signedStatement is what a statement has beside the text that was signed.
type signedStatement struct {
	action    string // for messages
	serial    uint64
	at        int64
	signature string
}

// checkStatement checks that an operator has signed a text, for this service and now.
func (a *Accounts) checkStatement(s signedStatement, operator [32]byte, text []byte) (*ledger.HaltStatement, error) {
	signature, err := base64.RawURLEncoding.Strict().DecodeString(s.signature)
	now := a.Clock().Unix()
	switch {
	case operator == [32]byte{}:
		return nil, fmt.Errorf("%w: no operator key is known here that could sign it; set SVC_OPERATOR_PUBLIC_KEY", ErrStatement)
	case s.signature == "":
		return nil, fmt.Errorf("%w: to %s takes the operator's signature; give --key", ErrStatement, s.action)
	case err != nil || len(signature) != 64:
		return nil, fmt.Errorf("%w: signature is not 64 bytes in canonical unpadded base64url", ErrStatement)
	case s.at > now+statementTolerance || s.at < now-statementTolerance:
		return nil, fmt.Errorf("%w: it was signed at %d, which is not within %d seconds of now, %d; sign it again", ErrStatement, s.at, statementTolerance, now)
	}
	if attest.VerifyPolicy(operator[:], text, signature) != nil {
		return nil, fmt.Errorf("%w: the signature does not verify with the operator's public key, for the issuer of this service; sign it with the key whose public part the service has, or the API key is pinned to", ErrStatement)
	}
	return &ledger.HaltStatement{Serial: s.serial, At: s.at, Signature: [64]byte(signature)}, nil
}

// RotationRequest replaces the operator's key. The present key signs attest.RotationText.
type RotationRequest struct {
	From      string `json:"from"` // the public keys, in unpadded base64url
	To        string `json:"to"`
	Serial    uint64 `json:"serial"`
	SignedAt  int64  `json:"signedAt"`  // Unix seconds
	Signature string `json:"signature"` // base64url
}

// OperatorView is which key the service's operator has.
type OperatorView struct {
	Issuer   string   `json:"issuer"`             // that statements are for
	Current  string   `json:"current"`            // unpadded base64url; empty where a hosted service has no operator
	Replaced []string `json:"replaced,omitempty"` // earlier keys, the oldest first
	Serial   uint64   `json:"serial"`             // of the latest rotation; the next one has a higher serial
}

// OperatorView returns which key the service's operator has.
func (a *Accounts) OperatorView(context.Context) (OperatorView, error) {
	operators, current := a.Ledger.Operators(), a.CurrentOperator()
	view := OperatorView{Issuer: a.Issuer, Serial: operators.Serial}
	if current != [32]byte{} {
		view.Current = attest.FormatOperatorKey(current[:])
	}
	for _, key := range operators.Keys {
		if key != current {
			view.Replaced = append(view.Replaced, attest.FormatOperatorKey(key[:]))
		}
	}
	return view, nil
}

// Rotate replaces the operator's key as its present key has signed, and returns the new state, which is durable and in force then
// (specification, rotation.1). The errors are those of the ledger, and ErrStatement.
func (a *Accounts) Rotate(ctx context.Context, request RotationRequest) (OperatorView, error) {
	operator := a.CurrentOperator()
	text := attest.RotationText(a.Issuer, request.From, request.To, request.SignedAt, request.Serial)
	signed, err := a.checkStatement(signedStatement{"replace the operator's key", request.Serial, request.SignedAt, request.Signature}, operator, text)
	if err != nil {
		return OperatorView{}, err
	}
	if request.From != attest.FormatOperatorKey(operator[:]) {
		return OperatorView{}, fmt.Errorf("%w: from is %.64q, and the operator's key is %s", ErrStatement, request.From, attest.FormatOperatorKey(operator[:]))
	}
	return a.rotate(ctx, operator, request.To, signed)
}

// PinOperator replaces the operator's key without a statement: for a key that is lost, by the owner of the data folder while no
// service runs on it. No route leads here. The key that is replaced is the present one, unless from names it.
func (a *Accounts) PinOperator(ctx context.Context, from, to string) (OperatorView, error) {
	operator := a.CurrentOperator()
	if operators := a.Ledger.Operators(); len(operators.Keys) > 0 {
		operator = operators.Keys[len(operators.Keys)-1]
	}
	if from != "" {
		public, err := attest.ParseOperatorKey(from)
		if err != nil {
			return OperatorView{}, fmt.Errorf("%w: from: %w", ledger.ErrInvalid, err)
		}
		operator = [32]byte(public)
	}
	if operator == [32]byte{} {
		return OperatorView{}, fmt.Errorf("%w: no operator key is known here that could be replaced; set SVC_OPERATOR_PUBLIC_KEY to the new one", ledger.ErrInvalid)
	}
	return a.rotate(ctx, operator, to, nil)
}

func (a *Accounts) rotate(ctx context.Context, from [32]byte, to string, signed *ledger.HaltStatement) (OperatorView, error) {
	public, err := attest.ParseOperatorKey(to)
	if err != nil {
		return OperatorView{}, fmt.Errorf("%w: to: %w", ledger.ErrInvalid, err)
	}
	if err := a.Ledger.RotateOperator(ctx, &ledger.Rotation{From: from, To: [32]byte(public), At: a.Clock().UnixNano(), Signed: signed}); err != nil {
		return OperatorView{}, err
	}
	if a.Log != nil {
		a.Log.Warn("the operator's key is replaced; set SVC_OPERATOR_PUBLIC_KEY to the new one", "from", attest.FormatOperatorKey(from[:]), "to", to, "signed", signed != nil)
	}
	return a.OperatorView(ctx)
}
