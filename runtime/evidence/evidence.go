// Package evidence makes bundles that prove one event without the service and its data: the event's record in the groups of the log that
// lead to a signed checkpoint, the policy that judged, the operator's decision about its hold, and the keys to verify all of it.
//
// It promises that a bundle whose parts do not belong together does not verify. A bundle cannot prove whose its keys are: compare
// them with those that the service publishes.
package evidence

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// Version is the version of the form of bundles.
const Version = 1

// MaxBytes bounds the text of a bundle.
const MaxBytes = 64 << 20

// PathBytes is how many bytes of groups a bundle has at most, where the first one is not larger.
const PathBytes = 1 << 20

// A Bundle is the evidence for one event.
type Bundle struct {
	Version    int             `json:"version"`
	LSN        uint64          `json:"lsn"`
	Event      json.RawMessage `json:"event"`  // as GET /v1/events shows it
	Groups     [][]byte        `json:"groups"` // of the log, from the one that has the record to the one that the checkpoint is of; base64
	Checkpoint string          `json:"checkpoint"`
	Policy     string          `json:"policy,omitempty"`   // the signed policy that judged; of decisions
	Operator   string          `json:"operator,omitempty"` // the public key that policy and approval are signed with
	Approval   *Approval       `json:"approval,omitempty"` // of a decision that an operator's resolution made
	JWKS       json.RawMessage `json:"jwks"`
	PQCKeys    json.RawMessage `json:"pqcKeys"`
}

// An Approval is an operator's resolution of a hold, as it was signed.
type Approval struct {
	HoldID     string    `json:"holdId"`
	IntentHash string    `json:"intentHash"`
	PolicyHash string    `json:"policyHash"`
	Decision   string    `json:"decision"` // ALLOWED or DENIED
	ResolvedAt time.Time `json:"resolvedAt"`
	Signature  string    `json:"signature"` // unpadded base64url
}

// Trust has the facts that a verifier knows from elsewhere. An empty field is taken from the bundle.
type Trust struct {
	JWKS, PQCKeys []byte // both or neither
	Operator      string
}

// Verified is what a bundle proves.
type Verified struct {
	Event      eventjson.Event
	Checkpoint attest.Checkpoint
	Groups     int
}

// ErrBundle says that a bundle does not prove its event.
var ErrBundle = errors.New("the bundle does not prove its event")

func broken(format string, arguments ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBundle}, arguments...)...)
}

// Read reads a bundle. The error wraps ErrBundle.
func Read(text []byte) (*Bundle, error) {
	if len(text) > MaxBytes {
		return nil, broken("it has %d bytes; at most %d are read", len(text), MaxBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	b := new(Bundle)
	if err := decoder.Decode(b); err != nil {
		return nil, broken("it is not a bundle: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, broken("something follows its JSON object")
	}
	if b.Version != Version {
		return nil, broken("it has version %d; this release reads version %d", b.Version, Version)
	}
	return b, nil
}

// Verify checks each part of a bundle against the others, and against what the caller trusts. The error wraps ErrBundle, and says
// which part does not fit.
func (b *Bundle) Verify(trust Trust) (*Verified, error) {
	record, end, err := commit.VerifyPath(b.Groups, b.LSN)
	if err != nil {
		return nil, broken("groups: %w", err)
	}
	checkpoint, err := b.openCheckpoint(trust)
	if err != nil {
		return nil, err
	}
	if checkpoint.Stream != end.Stream || checkpoint.LSN != end.LSN || checkpoint.Hash != end.Hash {
		return nil, broken("checkpoint: it is of record %d with the hash %x, and the groups end at %d with %x", checkpoint.LSN, checkpoint.Hash, end.LSN, end.Hash)
	}
	logged := record.View(b.LSN)
	if logged.Kind == 0 {
		return nil, broken("groups: record %d is not of an event", b.LSN)
	}
	view := eventjson.View(&logged)
	if err := sameEvent(&view, b.Event); err != nil {
		return nil, err
	}
	if trust.Operator != "" && trust.Operator != b.Operator {
		return nil, broken("operator: it is %q, and the trusted key is %q", b.Operator, trust.Operator)
	}
	if err := errors.Join(b.checkPolicy(&logged), b.checkApproval(&logged)); err != nil {
		return nil, err
	}
	return &Verified{view, checkpoint, len(b.Groups)}, nil
}

func (b *Bundle) openCheckpoint(trust Trust) (attest.Checkpoint, error) {
	jwks, pqcKeys := []byte(b.JWKS), []byte(b.PQCKeys)
	if trust.JWKS != nil {
		jwks, pqcKeys = trust.JWKS, trust.PQCKeys
	}
	verifier, err := attest.NewCheckpointVerifier(jwks, pqcKeys)
	if err != nil {
		return attest.Checkpoint{}, broken("jwks, pqcKeys: %w", err)
	}
	checkpoint, err := verifier.Open([]byte(b.Checkpoint))
	if err != nil {
		return checkpoint, broken("checkpoint: %w", err)
	}
	return checkpoint, nil
}

// sameEvent compares what a record says with what the bundle shows of it.
func sameEvent(view *eventjson.Event, shown []byte) error {
	want, err := json.Marshal(view)
	if err != nil {
		return broken("event: %w", err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, shown); err != nil || !bytes.Equal(got.Bytes(), want) {
		return broken("event: it is not what the record says: %s", want)
	}
	return nil
}

// judged reports whether a policy judged an event.
func judged(e *ledger.LoggedEvent) bool {
	return e.Kind.IsDecision() && e.Event.PolicyHash != [32]byte{}
}

// SignerOf returns which of the operator keys has signed a policy, as a bundle names it; the first where none has.
func SignerOf(policy string, operators ...[32]byte) string {
	framed, _ := grammar.Split(grammar.NewSource("policy", []byte(policy)))
	for _, key := range operators {
		if attest.VerifyPolicy(key[:], framed.Body, framed.Signature) == nil {
			return attest.FormatOperatorKey(key[:])
		}
	}
	return attest.FormatOperatorKey(operators[0][:])
}

func (b *Bundle) checkPolicy(e *ledger.LoggedEvent) error {
	if !judged(e) {
		if b.Policy != "" {
			return broken("policy: no policy judged this event")
		}
		return nil
	}
	framed, problems := grammar.Split(grammar.NewSource("policy", []byte(b.Policy)))
	operator, err := attest.ParseOperatorKey(b.Operator)
	hash := hex.EncodeToString(e.Event.PolicyHash[:])
	switch {
	case b.Policy == "":
		return broken("policy: it is missing; the record names %s", hash)
	case grammar.PolicyHash(framed.Body) != hash:
		return broken("policy: its hash is %s, and the record names %s", grammar.PolicyHash(framed.Body), hash)
	case problems.HasErrors() || framed.Signature == nil:
		return broken("policy: it is not signed")
	case err != nil:
		return broken("operator: %w", err)
	}
	if err := attest.VerifyPolicy(operator, framed.Body, framed.Signature); err != nil {
		return broken("policy: %w", err)
	}
	return nil
}

// Resolved returns what an operator's resolution made of a decision: ALLOWED, DENIED or, where it made nothing of it, "".
func Resolved(e *ledger.LoggedEvent) string {
	switch {
	case !e.Kind.IsDecision():
		return ""
	case e.HoldState == ledger.HoldUsed:
		return ledger.HoldAllowed.String()
	case e.Result == ledger.HoldDenied:
		return ledger.HoldRefused.String()
	}
	return ""
}

func (b *Bundle) checkApproval(e *ledger.LoggedEvent) error {
	want := Resolved(e)
	switch a := b.Approval; {
	case want == "" && a != nil:
		return broken("approval: no operator decided about this event")
	case want == "":
		return nil
	case a == nil:
		return broken("approval: it is missing; an operator decided about hold %s", e.Hold)
	case a.HoldID != e.Hold.String():
		return broken("approval: it is of hold %s, and the record names %s", a.HoldID, e.Hold)
	case a.PolicyHash != hex.EncodeToString(e.Event.PolicyHash[:]):
		return broken("approval: it is for the policy %s, and another one judged", a.PolicyHash)
	case a.Decision != want:
		return broken("approval: it says %s, and the record says that the operator decided %s", a.Decision, want)
	}
	operator, err := attest.ParseOperatorKey(b.Operator)
	if err != nil {
		return broken("operator: %w", err)
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(b.Approval.Signature)
	if err != nil {
		return broken("approval: its signature is not base64url: %w", err)
	}
	a := b.Approval
	text := attest.ResolutionText(a.HoldID, a.IntentHash, a.PolicyHash, a.Decision, a.ResolvedAt.Unix())
	if err := attest.VerifyPolicy(operator, text, signature); err != nil || a.ResolvedAt.Nanosecond() != 0 {
		return broken("approval: its signature does not verify with the operator's key")
	}
	return nil
}
