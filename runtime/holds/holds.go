// Package holds has the holds, which are intents that wait for a person's decision: reading them, waiting for them, and resolving
// them by the operator's signature. Decisions by passkey are in package approvals.
package holds

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// resolutionTolerance is how far resolved_at may lie from now, either way.
const resolutionTolerance = 300 * time.Second

// Holds are the intents that wait for a person's decision.
type Holds struct {
	*service.Service
	accounts *accounts.Accounts
	waits    *holdWaits
}

// New returns the holds of a service. At most so many requests wait for holds at once; 0: MaxWaits.
func New(s *service.Service, a *accounts.Accounts, most int) *Holds {
	h := &Holds{s, a, newHoldWaits(most, s.Watch(metrics.Waiting))}
	s.Gauge(metrics.Waiting, h.waits.most, h.Waiting)
	return h
}

// View is a hold as its key reads it (decisions, section 5). Times are Unix seconds.
type View struct {
	HoldID        string          `json:"holdId"`
	Status        string          `json:"status"` // PENDING, ALLOWED or DENIED
	Method        string          `json:"method"` // the intent's action
	AgentID       string          `json:"agentId"`
	IntentHash    string          `json:"intentHash"`
	PolicyRule    string          `json:"policyRule"`
	Entry         string          `json:"entry,omitempty"` // of the rule's list, which asks for a decision
	PolicyHash    string          `json:"policyHash"`
	PolicyVersion string          `json:"policyVersion"`
	CreatedAt     int64           `json:"createdAt"`
	ExpiresAt     int64           `json:"expiresAt"`
	ResolvedAt    *int64          `json:"resolvedAt"`           // null while PENDING
	Note          string          `json:"note,omitempty"`       // of who resolved it
	Intent        json.RawMessage `json:"intent"`               // the SHA-256 of its RFC 8785 form is intentHash
	MaxFeeBase    string          `json:"maxFeeBase,omitempty"` // the intent's maxFee in wei, which intentHash does not cover
	Policy        PolicyRef       `json:"policy"`
}

// PolicyRef refers to the policy that holds an intent.
type PolicyRef struct {
	Hash    string `json:"hash"`
	Version string `json:"version"`
}

// Hold returns a hold of a key. A missing, an expired and a foreign one, and a malformed id, take one way to one answer.
// It answers 503 where the store could not meter a use, since the use of the hold is unknown then.
func (a *Holds) Hold(ctx context.Context, key *ledger.Key, id string) (*View, *service.Failure) {
	hold, fault := a.HoldOf(ctx, key, id)
	if fault != nil {
		return nil, fault
	}
	return readHold(hold), nil
}

// HoldOf returns a hold of a key with its intent, as the ledger has it.
func (a *Holds) HoldOf(ctx context.Context, key *ledger.Key, id string) (*ledger.Hold, *service.Failure) {
	if err := a.Ledger.Health(); err != nil {
		return nil, a.StoreFault("a hold can't be read: uses can't be metered", err)
	}
	parsed, _ := ledger.ParseID(id) // the zero id names no hold
	hold, err := a.Ledger.Hold(ctx, key.ID, parsed, a.Clock().UnixNano())
	if err != nil {
		return nil, a.holdFault(err)
	}
	return &hold, nil
}

func (a *Holds) holdFault(err error) *service.Failure {
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return service.Fail(errcode.NotFound, "the API key has no such hold, or it has expired")
	case errors.Is(err, ledger.ErrApprover), errors.Is(err, ledger.ErrApproved), errors.Is(err, ledger.ErrOperator):
		return &service.Failure{Code: errcode.HoldSignature, Message: strings.TrimPrefix(err.Error(), "ledger: ")}
	case errors.Is(err, ledger.ErrHoldResolved):
		return service.Fail(errcode.HoldResolved, "the hold was resolved before; a decision is made once")
	}
	return a.StoreFault("a hold could not be read or resolved", err)
}

// ResolveHold records the operator's decision about a hold: signed by the operator key that the API key is pinned to, over
// [ResolutionText].
func (a *Holds) ResolveHold(ctx context.Context, key *ledger.Key, id string, body []byte) (*View, *service.Failure) {
	if fault := a.Halted(key); fault != nil {
		return nil, fault
	}
	var request resolution
	if fault := request.read(body); fault != nil {
		return nil, fault
	}
	hold, fault := a.HoldOf(ctx, key, id)
	switch {
	case fault != nil:
		return nil, fault
	case hold.State != ledger.HoldPending:
		return nil, a.holdFault(ledger.ErrHoldResolved)
	}
	now := a.Clock()
	if fault := a.checkResolution(key, hold, &request, now); fault != nil {
		return nil, fault
	}
	return a.RecordResolution(ctx, hold, ledger.Resolution{
		Key: key.ID, Hold: hold.ID, Allow: request.allow, At: now.UnixNano(), Resolved: request.resolvedAt, Signature: request.signature, Operator: request.operator, Note: request.note,
	})
}

// RecordResolution records a decision about a hold, and wakes who waits for it.
func (a *Holds) RecordResolution(ctx context.Context, hold *ledger.Hold, q ledger.Resolution) (*View, *service.Failure) {
	resolved, err := a.Ledger.ResolveHold(ctx, q)
	if err != nil {
		return nil, a.holdFault(err)
	}
	hold.State, hold.Resolved, hold.Note, hold.Approvers = resolved.State, resolved.Resolved, resolved.Note, resolved.Approvers
	if hold.State != ledger.HoldPending {
		a.waits.wake(hold)
	}
	return readHold(hold), nil
}

// resolution is the body of a resolution.
type resolution struct {
	decision   string
	allow      bool
	resolvedAt int64
	signature  [ed25519.SignatureSize]byte
	operator   [32]byte // whose signature it is
	note       string   // for the agent; not signed
}

func (r *resolution) read(body []byte) *service.Failure {
	var signature string
	fault := service.ReadBody(body,
		strictjson.Text("decision", true, 16, &r.decision),
		strictjson.Integer("resolved_at", &r.resolvedAt),
		strictjson.Text("operator_signature", true, 256, &signature),
		strictjson.Text("note", false, ledger.MaxResolutionNote, &r.note),
	)
	if fault != nil {
		return fault
	}
	r.allow = r.decision == ledger.Allowed.String()
	if !r.allow && r.decision != ledger.Denied.String() {
		return service.Fail(errcode.ValidationSchema, "decision is neither ALLOWED nor DENIED")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || len(raw) != len(r.signature) || base64.RawURLEncoding.EncodeToString(raw) != signature {
		return service.Fail(errcode.ValidationSchema, "operator_signature is not 64 bytes in canonical unpadded base64url")
	}
	copy(r.signature[:], raw)
	return nil
}

// checkResolution checks who has decided, and that it was now.
func (a *Holds) checkResolution(key *ledger.Key, hold *ledger.Hold, r *resolution, now time.Time) *service.Failure {
	if off := r.resolvedAt - now.Unix(); off > int64(resolutionTolerance/time.Second) || off < -int64(resolutionTolerance/time.Second) {
		return service.Fail(errcode.ValidationSchema, fmt.Sprintf("resolved_at is not within %d seconds of now, %d", resolutionTolerance/time.Second, now.Unix()))
	}
	r.operator, _ = a.accounts.OperatorOf(key)
	message := attest.ResolutionText(hold.ID.String(), hex.EncodeToString(hold.IntentHash[:]), hex.EncodeToString(hold.PolicyHash[:]), r.decision, r.resolvedAt)
	if attest.VerifyPolicy(r.operator[:], message, r.signature[:]) != nil {
		return service.Fail(errcode.HoldSignature, "operator_signature does not verify with the operator public key that the API key is pinned to")
	}
	return nil
}

func readHold(hold *ledger.Hold) *View {
	view := &View{
		HoldID: hold.ID.String(), Status: hold.State.String(), Method: hold.Method, AgentID: hold.AgentID,
		IntentHash: hex.EncodeToString(hold.IntentHash[:]), PolicyRule: hold.Rule, Entry: mask.Text(hold.Entry),
		PolicyHash: hex.EncodeToString(hold.PolicyHash[:]), PolicyVersion: hold.PolicyVersion,
		CreatedAt: clock.Seconds(hold.Created), ExpiresAt: clock.Seconds(hold.Expires), Intent: hold.Intent, Note: hold.Note,
	}
	view.Policy = PolicyRef{view.PolicyHash, view.PolicyVersion}
	if hold.Fee.Declared {
		view.MaxFeeBase = hold.Fee.Amount.String()
	}
	if hold.Resolved != 0 {
		view.ResolvedAt = new(clock.Seconds(hold.Resolved))
	}
	return view
}
