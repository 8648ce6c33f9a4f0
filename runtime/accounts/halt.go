package accounts

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
)

// What an operator can do with a halt (specification, halt.1).
const (
	Freeze  = "freeze"
	Thaw    = "thaw"
	Suspend = "suspend"
	Resume  = "resume"
)

// HaltRequest stops a key or the service, or lets it go on.
type HaltRequest struct {
	Action string `json:"action"`          // Freeze, Thaw, Suspend or Resume
	KeyID  string `json:"keyId,omitempty"` // of Suspend and Resume
	Reason string `json:"reason,omitempty"`

	// The operator's statement, over attest.HaltText. Thaw and Resume need it; without, Serial is 0.
	Serial    uint64 `json:"serial,omitempty"`
	SignedAt  int64  `json:"signedAt,omitempty"`  // Unix seconds
	Signature string `json:"signature,omitempty"` // base64url
}

// HaltView is how far the service or a key is stopped.
type HaltView struct {
	Issuer string    `json:"issuer"`          // that statements are for
	KeyID  string    `json:"keyId,omitempty"` // absent: the whole service
	Halted bool      `json:"halted"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Serial uint64    `json:"serial"` // of the latest statement; the next one has a higher serial
}

// statementTolerance is how far the time of a statement may be from now.
const statementTolerance = 300

// ErrStatement says that a halt needs a statement that an operator signed, or that the one that came is not good.
var ErrStatement = errors.New("statement")

// HaltOf returns how far the key of an id is stopped; the service for "".
func (a *Accounts) HaltOf(_ context.Context, keyID string) (view HaltView, err error) {
	view = HaltView{Issuer: a.Issuer, KeyID: keyID}
	state := a.Ledger.Frozen()
	if keyID != "" {
		key, err := a.KeyOf(keyID)
		if err != nil {
			return view, err
		}
		state = key.Halt
	}
	view.Halted, view.Reason, view.Serial = state.Stopped(), state.Reason, state.Serial
	if state.Stopped() {
		view.Since = clock.Moment(state.Since)
	}
	return view, nil
}

// KeyOf returns the key of an id. The errors are those of ledger.ParseID, and ledger.ErrNotFound.
func (a *Accounts) KeyOf(id string) (*ledger.Key, error) {
	parsed, err := ledger.ParseID(id)
	if err != nil {
		return nil, err
	}
	key, found := a.Ledger.LookupKeyID(parsed)
	if !found {
		return nil, fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, id)
	}
	return key, nil
}

// Halt carries out a halt, and returns the new state, which is durable and in force then. The errors are those of
// ledger.ParseID and of the ledger, and ErrStatement.
func (a *Accounts) Halt(ctx context.Context, request HaltRequest) (HaltView, error) {
	halt, operator, err := a.readHalt(&request)
	if err != nil {
		return HaltView{}, err
	}
	if halt.Signed != nil || !halt.Stop {
		if halt.Signed, err = a.checkStatement(&request, operator); err != nil {
			return HaltView{}, err
		}
	}
	if err := a.Ledger.Halt(ctx, halt); err != nil {
		return HaltView{}, err
	}
	if a.Log != nil {
		a.Log.Warn("halt: "+request.Action, "key", request.KeyID, "reason", request.Reason, "signed", halt.Signed != nil)
	}
	return a.HaltOf(ctx, request.KeyID)
}

// readHalt reads a request, and finds whose signature it takes: zeros where no operator is known.
func (a *Accounts) readHalt(request *HaltRequest) (halt *ledger.Halt, operator [32]byte, err error) {
	halt = &ledger.Halt{At: a.Clock().UnixNano(), Reason: request.Reason, Stop: request.Action == Freeze || request.Action == Suspend}
	if request.Signature != "" {
		halt.Signed = &ledger.HaltStatement{}
	}
	if strings.ContainsFunc(request.Reason, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return nil, operator, fmt.Errorf("%w: the reason has a character that can't be shown", ledger.ErrInvalid)
	}
	operator = a.Operator
	switch request.Action {
	case Freeze, Thaw:
		if request.KeyID != "" {
			return nil, operator, fmt.Errorf("%w: %s is about the whole service; leave out keyId", ledger.ErrInvalid, request.Action)
		}
	case Suspend, Resume:
		key, err := a.KeyOf(request.KeyID)
		if err != nil {
			return nil, operator, err
		}
		halt.Key = key.ID
		if pinned, open := a.OperatorOf(key); !open {
			operator = pinned
		}
	default:
		return nil, operator, fmt.Errorf("%w: action is %.32q; it can be %s, %s, %s or %s", ledger.ErrInvalid, request.Action, Freeze, Thaw, Suspend, Resume)
	}
	return halt, operator, nil
}

// checkStatement checks that an operator has signed a halt, for this service and now.
func (a *Accounts) checkStatement(request *HaltRequest, operator [32]byte) (*ledger.HaltStatement, error) {
	signature, err := base64.RawURLEncoding.Strict().DecodeString(request.Signature)
	now := a.Clock().Unix()
	switch {
	case operator == [32]byte{}:
		return nil, fmt.Errorf("%w: no operator key is known here that could sign it; set SVC_OPERATOR_PUBLIC_KEY", ErrStatement)
	case request.Signature == "":
		return nil, fmt.Errorf("%w: to %s takes the operator's signature; give --key", ErrStatement, request.Action)
	case err != nil || len(signature) != 64:
		return nil, fmt.Errorf("%w: signature is not 64 bytes in canonical unpadded base64url", ErrStatement)
	case request.SignedAt > now+statementTolerance || request.SignedAt < now-statementTolerance:
		return nil, fmt.Errorf("%w: it was signed at %d, which is not within %d seconds of now, %d; sign it again", ErrStatement, request.SignedAt, statementTolerance, now)
	}
	text := attest.HaltText(a.Issuer, request.Action, request.KeyID, request.Reason, request.SignedAt, request.Serial)
	if attest.VerifyPolicy(operator[:], text, signature) != nil {
		return nil, fmt.Errorf("%w: the signature does not verify with the operator's public key; sign it with the key whose public part the service has, or the API key is pinned to", ErrStatement)
	}
	return &ledger.HaltStatement{Serial: request.Serial, At: request.SignedAt, Signature: [64]byte(signature)}, nil
}
