package decision

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// The claims of an attestation and its life have room in a ledger's record.
const (
	_ = uint(ledger.MaxClaims - attest.MaxTokenBytes)
	_ = uint(int64(ledger.ReplayLife) - attest.LifetimeSeconds*int64(time.Second))
)

// repeatable has the ledger keep all that it takes to answer the same request again, where the request has a nonce (decisions,
// section 3, "request_nonce").
func (r *Request) repeatable(claims *attest.Claims) {
	nonce := r.in.Text(slot.RequestNonce)
	if claims == nil || nonce == "" || r.TestRun {
		return
	}
	r.claimed = attest.AppendClaims(r.claimed[:0], claims) // without mode, which is not known yet
	r.replay = ledger.Replay{
		ID: requestID(r.body, r.observe), Nonce: nonce, Claims: r.claimed,
		Expires: (claims.IssuedAt + attest.LifetimeSeconds) * int64(time.Second),
	}
	r.plan.Replay = &r.replay
}

// requestID names a request by its bytes. A decision under observation does not answer an enforced request.
func requestID(body []byte, observe bool) (id [32]byte) {
	sum := sha256.New()
	if observe {
		sum.Write([]byte{1})
	} else {
		sum.Write([]byte{0})
	}
	sum.Write(body)
	sum.Sum(id[:0])
	return id
}

// again answers by the decision that the same request got before, once that is durable. Its attestation is signed anew: the
// claims are the same, the signatures need not be.
func (a *Decider) again(ctx context.Context, r *Request, ticket ledger.Ticket, moment time.Time) *service.Failure {
	err := ticket.Wait(ctx)
	var first ledger.ReplayedDecision
	if err == nil {
		first, err = a.Ledger.Replay(ctx, r.key.ID, ticket.Outcome().LSN)
	}
	if err == nil && first.Replay.ID != r.replay.ID {
		err = errors.New("the record is of another request")
	}
	moment = a.lap(r, metrics.StageStore, moment)
	if err != nil {
		a.Trouble("a decision could not be read to answer it again", err)
		return service.Unavailable()
	}
	token, err := a.signAgain(r, &first, moment)
	if err != nil {
		a.Log.Error("an attestation could not be signed again", "error", err)
		return service.Fail(errcode.Internal, "the attestation could not be signed again; ask with a new intent")
	}
	outcome := ledger.Outcome{Result: first.Result, Ending: first.Ending, Observed: first.Observed, Reservation: -1, Now: first.Now}
	fault, _ := r.answer(&outcome, token)
	r.to.Replayed = fault == nil
	return fault
}

func (a *Decider) signAgain(r *Request, first *ledger.ReplayedDecision, moment time.Time) (token []byte, err error) {
	claims, err := attest.ParseClaims(first.Replay.Claims)
	if err != nil {
		return nil, err
	}
	claims.Mode = mode(first.Observed)
	token, _, err = a.sign(r, claims, moment)
	return token, err
}
