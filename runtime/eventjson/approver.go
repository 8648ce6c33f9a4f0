package eventjson

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// Approval is a passkey's decision about a hold (specification, approvals.8). Bytes are unpadded base64url.
type Approval struct {
	Approver          string `json:"approver"`
	Credential        string `json:"credentialId"`
	Serial            uint64 `json:"serial"` // of the statement that confirmed the device
	Nonce             string `json:"nonce"`  // 64 hex digits
	Summary           string `json:"summary"`
	AuthenticatorData string `json:"authenticatorData"`
	ClientData        string `json:"clientDataJSON"`
	Signature         string `json:"signature"`
}

func approvalOf(a *ledger.Approval) *Approval {
	if a == nil {
		return nil
	}
	return &Approval{
		Approver: a.Name, Credential: encode(a.Credential), Serial: a.Serial, Nonce: hex.EncodeToString(a.Nonce[:]), Summary: a.Summary,
		AuthenticatorData: encode(a.AuthenticatorData), ClientData: encode(a.ClientData), Signature: encode(a.Signature),
	}
}

// Approver is an operator's statement about an approver (specification, approvals.3): as an event has it, and as the admin socket
// takes it. Bytes are unpadded base64url.
type Approver struct {
	Action     string `json:"action"` // confirm, suspend, resume or remove
	Serial     uint64 `json:"serial"`
	SignedAt   int64  `json:"signedAt"` // Unix seconds
	Operator   string `json:"operatorPublicKey,omitempty"`
	Signature  string `json:"signature,omitempty"`
	Name       string `json:"approver"`
	Credential string `json:"credentialId,omitempty"` // of other actions than confirm absent for all devices of the approver

	// Of confirm.
	PublicKey     string            `json:"publicKey,omitempty"` // COSE
	Keys          []string          `json:"keyIds,omitempty"`    // absent: every key of the operator
	Sections      []string          `json:"sections,omitempty"`
	Amounts       map[string]string `json:"amounts,omitempty"` // the highest by asset, in base units
	WithoutAmount bool              `json:"withoutAmount,omitempty"`
	ExpiresAt     int64             `json:"expiresAt,omitempty"` // Unix seconds
}

// Rotation replaces the key of the service's operator (specification, rotation.1): as an event has it.
type Rotation struct {
	From      string `json:"from"` // the public keys, in unpadded base64url
	To        string `json:"to"`
	Serial    uint64 `json:"serial,omitempty"`
	SignedAt  int64  `json:"signedAt,omitempty"`  // Unix seconds
	Signature string `json:"signature,omitempty"` // base64url, by From; absent where the owner of the data folder asked
}

func rotationOf(r *ledger.Rotation) *Rotation {
	if r == nil {
		return nil
	}
	view := &Rotation{From: encode(r.From[:]), To: encode(r.To[:])}
	if s := r.Signed; s != nil {
		view.Serial, view.SignedAt, view.Signature = s.Serial, s.At, encode(s.Signature[:])
	}
	return view
}

// ApproverOf returns the form of a statement, nil for nil.
func ApproverOf(s *ledger.ApproverStatement) *Approver {
	if s == nil {
		return nil
	}
	view := &Approver{
		Action: s.Action.String(), Serial: s.Serial, SignedAt: s.SignedAt, Operator: encode(s.Operator[:]), Signature: encode(s.Signature[:]),
		Name: s.Name, Credential: encode(s.Credential), PublicKey: encode(s.PublicKey), Sections: s.Sections, WithoutAmount: s.WithoutAmount, ExpiresAt: s.Expires,
	}
	for _, key := range s.Keys {
		view.Keys = append(view.Keys, key.String())
	}
	for _, a := range s.Amounts {
		if view.Amounts == nil {
			view.Amounts = map[string]string{}
		}
		view.Amounts[a.Asset] = a.Amount.String()
	}
	return view
}

// Statement returns the statement of a form. Errors wrap ledger.ErrInvalid; the signature may be missing.
func (a *Approver) Statement() (*ledger.ApproverStatement, error) {
	action, err := ledger.ParseApproverAction(a.Action)
	if err != nil {
		return nil, err
	}
	s := &ledger.ApproverStatement{Action: action, Serial: a.Serial, SignedAt: a.SignedAt, Name: a.Name, Grant: ledger.Grant{
		Sections: slices.Sorted(slices.Values(a.Sections)), WithoutAmount: a.WithoutAmount, Expires: a.ExpiresAt,
	}}
	var operator, signature []byte
	for _, part := range []struct {
		name, text string
		into       *[]byte
		size       int // 0: any
	}{
		{"operatorPublicKey", a.Operator, &operator, len(s.Operator)},
		{"signature", a.Signature, &signature, len(s.Signature)},
		{"credentialId", a.Credential, &s.Credential, 0},
		{"publicKey", a.PublicKey, &s.PublicKey, 0},
	} {
		if *part.into, err = base64.RawURLEncoding.Strict().DecodeString(part.text); err != nil || part.text != "" && part.size > 0 && len(*part.into) != part.size {
			return nil, fmt.Errorf("%w: %s is not in unpadded base64url, or not of its size", ledger.ErrInvalid, part.name)
		}
	}
	copy(s.Operator[:], operator)
	copy(s.Signature[:], signature)
	for _, text := range slices.Sorted(slices.Values(a.Keys)) {
		key, err := ledger.ParseID(text)
		if err != nil {
			return nil, err
		}
		s.Keys = append(s.Keys, key)
	}
	for _, asset := range slices.Sorted(maps.Keys(a.Amounts)) {
		most, err := amount.ParseBase(a.Amounts[asset])
		if err != nil {
			return nil, fmt.Errorf("%w: the amount of %.64q is %.64q; give base units", ledger.ErrInvalid, asset, a.Amounts[asset])
		}
		s.Amounts = append(s.Amounts, ledger.AssetAmount{Asset: asset, Amount: most})
	}
	return s, s.Validate()
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
