package ledger

import (
	"fmt"
	"time"
)

// A Replay makes an ALLOWED decision repeatable: the same request gets it again until its attestation expires, as long as
// the key's epoch and the policy that governs it stay (decisions, section 3, "request_nonce"). It is in the decision's record,
// so that a service that was restarted can sign the attestation anew.
type Replay struct {
	ID      [32]byte // of all that makes a request the same one, its body included
	Nonce   string   // the request's request_nonce; at most MaxNonce bytes
	Expires int64    // when the attestation expires: Unix nanoseconds, at most ReplayLife after the plan's time
	Claims  []byte   // of the attestation; at most MaxClaims bytes
}

// Bounds of replays. Texts are bytes.
const (
	MaxNonce   = 256
	MaxClaims  = 8 << 10
	ReplayLife = time.Minute // how long an attestation is good

	// MaxReplays is how many decisions of all keys can be asked for again; beyond it the oldest are forgotten first. Each takes
	// some 150 bytes of memory.
	MaxReplays = 1 << 19
)

// A ReplayedDecision is a decision that is answered again.
type ReplayedDecision struct {
	Result   Result
	Ending   Ending
	Observed bool
	Now      int64 // of the decision: Unix nanoseconds
	Replay   Replay
}

func (r *Replay) validate(at int64) error {
	switch {
	case len(r.Nonce) > MaxNonce || len(r.Claims) > MaxClaims:
		return fmt.Errorf("%w: replay with a nonce of %d bytes and claims of %d", ErrInvalid, len(r.Nonce), len(r.Claims))
	case r.Expires <= at || r.Expires > at+int64(ReplayLife):
		return fmt.Errorf("%w: replay that expires %s after the plan's time", ErrInvalid, time.Duration(r.Expires-at))
	}
	return nil
}
