package events

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/evidence"
	"bailiff/runtime/ledger"
)

// Evidence returns the bundle that proves the event of an id: its place in the log, or the id of a decision. keyID narrows the
// search for a decision to a key; it may be empty. The policy is missing where the ledger does not have its text any more: that of a
// default policy that was replaced. ledger.ErrNotFound where there is no such event.
func (a *Reader) Evidence(ctx context.Context, id, keyID string) (*evidence.Bundle, error) {
	if a.Signer == nil {
		return nil, fmt.Errorf("%w: no service runs on this data, and it is the service that signs; start it", ledger.ErrUnavailable)
	}
	if err := a.Ledger.Flush(ctx); err != nil { // deferred events are found, too
		return nil, err
	}
	event, err := a.findEvent(ctx, id, keyID)
	if err != nil {
		return nil, err
	}
	event.Slot = nil // it is no part of the record
	path, err := a.Ledger.LogOf(event.Key).Path(ctx, event.LSN, evidence.PathBytes)
	if err != nil {
		return nil, err
	}
	signer := a.Signer
	end := path.End
	checkpoint, err := signer.SignCheckpoint(attest.Checkpoint{Stream: end.Stream, LSN: end.LSN, Hash: end.Hash, At: a.Clock().Truncate(time.Second)})
	if err != nil {
		return nil, err
	}
	view, err := json.Marshal(eventjson.View(event))
	if err != nil {
		return nil, err
	}
	bundle := &evidence.Bundle{
		Version: evidence.Version, LSN: event.LSN, Event: view, Groups: path.Groups, Checkpoint: string(checkpoint),
		JWKS: a.JWKS(), PQCKeys: a.PQCKeys(),
	}
	if !event.Kind.IsDecision() {
		return bundle, nil
	}
	if bundle.Policy, err = a.policyText(ctx, event); err != nil {
		return nil, err
	}
	if key, found := a.Ledger.LookupKeyID(event.Key); found {
		operator, _ := a.accounts.OperatorOf(key)
		bundle.Operator = evidence.SignerOf(bundle.Policy, append([][32]byte{operator}, a.Ledger.Operators().Keys...)...)
	}
	bundle.Approval, err = a.approval(ctx, event)
	return bundle, err
}

// findEvent finds an event.
func (a *Reader) findEvent(ctx context.Context, id, keyID string) (*ledger.LoggedEvent, error) {
	query := ledger.EventQuery{Limit: 1, Examine: Examined}
	var err error
	if keyID != "" {
		if query.Key, err = ledger.ParseID(keyID); err != nil {
			return nil, err
		}
	}
	lsn, notANumber := strconv.ParseUint(id, 10, 64)
	switch {
	case notANumber == nil && (lsn == 0 || lsn > MaxCursor):
		return nil, fmt.Errorf("%w: no event is at %d", ledger.ErrNotFound, lsn)
	case notANumber == nil:
		query.After, query.Examine = lsn-1, 1
	default:
		if query.Plan, err = ledger.ParseID(id); err != nil {
			return nil, fmt.Errorf("%w: %.64q is neither the lsn of an event nor the id of a decision", ledger.ErrInvalid, id)
		}
	}
	found, err := a.search(ctx, query)
	begins := a.Ledger.LogOf(query.Key).Beginning().After.LSN
	switch {
	case err != nil:
		return nil, err
	case notANumber == nil && lsn <= begins:
		return nil, fmt.Errorf("%w: event %d; the record begins at %d", ledger.ErrDropped, lsn, begins+1)
	case found == nil && begins != 0:
		return nil, fmt.Errorf("%w: no event has the id %s; retention has dropped those before record %d", ledger.ErrNotFound, id, begins+1)
	case found == nil || notANumber == nil && found.LSN != lsn:
		return nil, fmt.Errorf("%w: no event has the id %s", ledger.ErrNotFound, id)
	}
	return found, nil
}

// search returns the first event that a query asks for, nil where there is none. One that looks at a single record does not go on.
func (a *Reader) search(ctx context.Context, query ledger.EventQuery) (*ledger.LoggedEvent, error) {
	for {
		page, err := a.Ledger.LogOf(query.Key).Events(ctx, query)
		switch {
		case err != nil:
			return nil, err
		case len(page.Events) > 0:
			return &page.Events[0], nil
		case !page.More || query.Examine == 1:
			return nil, nil
		}
		query.Continue(&page)
	}
}

// policyText returns the signed text of the policy that judged a decision: one that its key has deployed, or the default policy in
// force. "" where neither is it.
func (a *Reader) policyText(ctx context.Context, event *ledger.LoggedEvent) (string, error) {
	wanted := event.Event.PolicyHash
	if text, ok := a.defaultText(wanted); ok {
		return text, nil
	}
	deployments, err := a.Ledger.Deployments(ctx, event.Key)
	if err != nil {
		return "", err
	}
	for _, deployment := range deployments {
		if deployment.PolicyHash != wanted {
			continue
		}
		stored, err := a.Ledger.DeployedPolicy(ctx, event.Key, deployment.LSN)
		if err != nil {
			return "", err
		}
		return string(stored.Text), nil
	}
	return "", nil
}

// approval returns the operator's resolution that made a decision, nil where none did.
func (a *Reader) approval(ctx context.Context, event *ledger.LoggedEvent) (*evidence.Approval, error) {
	decision := evidence.Resolved(event)
	if decision == "" {
		return nil, nil
	}
	query := ledger.EventQuery{Key: event.Key, Hold: event.Hold, Limit: 1, Examine: Examined}
	var approval evidence.Approval
	for {
		found, err := a.search(ctx, query)
		switch {
		case err != nil:
			return nil, err
		case (found == nil || found.LSN >= event.LSN) && approval.HoldID == "" && a.Ledger.LogOf(event.Key).Beginning().After.LSN != 0:
			return nil, fmt.Errorf("%w: the resolution of hold %s", ledger.ErrDropped, event.Hold)
		case found == nil || found.LSN >= event.LSN:
			return nil, fmt.Errorf("%w: the log has no resolution of hold %s", ledger.ErrCorrupt, event.Hold)
		case found.HoldState == ledger.HoldPending && found.Kind == ledger.Decided:
			approval.HoldID, approval.IntentHash = event.Hold.String(), hex.EncodeToString(found.IntentHash[:])
			approval.PolicyHash = hex.EncodeToString(found.Event.PolicyHash[:])
		case found.Kind == ledger.HoldResolved && approval.HoldID == "":
			return nil, errors.New("the hold was resolved before it was opened")
		case found.Kind == ledger.HoldResolved:
			approval.Decision, approval.ResolvedAt = found.HoldState.String(), time.Unix(found.Resolved, 0).UTC()
			approval.Signature = base64.RawURLEncoding.EncodeToString(found.Signature[:])
			return &approval, nil
		}
		query.After = found.LSN
	}
}
