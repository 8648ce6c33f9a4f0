package accounts

import (
	"context"
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
	if request.Signature != "" || !halt.Stop {
		if halt.Signed, err = a.checkStatement(request.signed(), operator, a.haltText(&request)); err != nil {
			return HaltView{}, err
		}
		halt.Operator = operator
	}
	return a.carryOut(ctx, &request, halt)
}

// HaltFromAfar is Halt for a statement that came over the network (specification, halt.7). The service's operator signs each, also to
// freeze and to suspend, and nothing is looked up before the signature has verified. A key that is pinned to another operator is not
// resumed: its own operator would do so, who has no say over what the service's operator has stopped.
func (a *Accounts) HaltFromAfar(ctx context.Context, request HaltRequest) (HaltView, error) {
	operator := a.CurrentOperator()
	signed, err := a.checkStatement(request.signed(), operator, a.haltText(&request))
	if err != nil {
		return HaltView{}, err
	}
	halt, owner, err := a.readHalt(&request)
	switch {
	case err != nil:
		return HaltView{}, err
	case !halt.Stop && owner != operator:
		return HaltView{}, fmt.Errorf("%w: the API key is pinned to another operator key; resume it on the machine of the service: bailiff keys resume", ErrStatement)
	}
	halt.Signed, halt.Operator = signed, operator
	return a.carryOut(ctx, &request, halt)
}

// carryOut records a halt that has been checked.
func (a *Accounts) carryOut(ctx context.Context, request *HaltRequest, halt *ledger.Halt) (HaltView, error) {
	if err := a.Ledger.Halt(ctx, halt); err != nil {
		return HaltView{}, err
	}
	if a.Log != nil {
		a.Log.Warn("halt: "+request.Action, "key", request.KeyID, "reason", request.Reason, "signed", halt.Signed != nil)
	}
	return a.HaltOf(ctx, request.KeyID)
}

func (a *Accounts) haltText(r *HaltRequest) []byte {
	return attest.HaltText(a.Issuer, r.Action, r.KeyID, r.Reason, r.SignedAt, r.Serial)
}

func (r *HaltRequest) signed() signedStatement {
	return signedStatement{r.Action, r.Serial, r.SignedAt, r.Signature}
}

// readHalt reads a request, and finds whose signature it takes: zeros where no operator is known.
func (a *Accounts) readHalt(request *HaltRequest) (halt *ledger.Halt, operator [32]byte, err error) {
	halt = &ledger.Halt{At: a.Clock().UnixNano(), Reason: request.Reason, Stop: request.Action == Freeze || request.Action == Suspend}
	if strings.ContainsFunc(request.Reason, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return nil, operator, fmt.Errorf("%w: the reason has a character that can't be shown", ledger.ErrInvalid)
	}
	operator = a.CurrentOperator()
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
