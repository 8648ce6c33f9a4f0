// Package authority is what the API does, without HTTP: it knows API keys and the policy that governs each, and takes
// every intent the one way through decoder, machine and ledger to an answer. It registers keys, deploys policies, reads
// and resolves holds, keeps webhooks, and shows a key its events.
//
// It promises that nothing is answered before its record is durable, that an attestation is issued for no other
// decision than an ALLOWED that the ledger has carried out, and that whatever fails on the way ends in a refusal.
package authority

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

// The environments of the service (specification, "What the service does", 7).
const (
	Production = "production"
	Test       = "test"
)

// MaxBody is the largest body of authorize and test-run, in bytes (decisions, section 3).
const MaxBody = intent.MaxBody

// Config is what an authority is made of. Ledger, Signer, Environment, Issuer, Clock, Random and Log are required, and
// so is Policy unless Hosted.
type Config struct {
	Ledger      ledger.Ledger
	Signer      *attest.Signer
	Environment string // Production or Test
	Issuer      string // the claim iss
	Observe     bool   // SVC_MODE=OBSERVE: what the policy denies is approved, and recorded as what it is
	Options     intent.Options
	Clock       Clock
	Random      io.Reader // for ids, secrets and API keys; cryptographically secure
	Log         *slog.Logger
	Metrics     *metrics.Metrics // nil: nobody counts

	// Hosted opens registration, and has a key's own policy alone govern it. Otherwise the service is self-hosted.
	Hosted bool
	// Policy governs every key that has deployed none of its own, where the service is self-hosted; nil where Hosted.
	Policy *Policy
	// Operator is the Ed25519 public key that Policy is signed with. A self-hosted service accepts deployments and
	// resolutions by this key alone. Zero where Hosted; a self-hosted service that has none accepts neither.
	Operator [32]byte

	// RefuseRollback refuses to deploy a policy that was replaced before (SVC_REFUSE_ROLLBACK).
	RefuseRollback bool
	// Shims are the trusted shims; nil: none.
	Shims *TrustedShims
	// DeployURL is the address of the deploy route, the aud of activations. Empty refuses every activation.
	DeployURL string

	// Mirror looks live keys up in the production service, when they are first used in the test environment; nil: none.
	Mirror Mirror
	// CheckURL refuses the url of a webhook, with the reason, or returns nil. Without it every webhook is refused.
	CheckURL func(ctx context.Context, url string) error
}

// Authority decides intents, and does whatever else the API does. It is safe for concurrent use.
type Authority struct {
	Config
	policies policies
	mirrored mirrored
	workers  sync.Pool // of *worker
	unknown  frameworks
	troubles troubles
}

// New returns an authority, or what is missing for one.
func New(c Config) (*Authority, error) {
	switch {
	case c.Environment != Production && c.Environment != Test:
		return nil, fmt.Errorf("the environment is %q; it can be %s or %s", c.Environment, Production, Test)
	case c.Ledger == nil || c.Signer == nil || c.Issuer == "" || c.Clock == nil || c.Random == nil || c.Log == nil:
		return nil, errors.New("an authority needs a ledger, a signer, an issuer, a clock, randomness and a log")
	case c.Hosted && (c.Policy != nil || c.Operator != [32]byte{}):
		return nil, errors.New("a hosted service has no policy and no operator key of its own: each API key has them")
	case !c.Hosted && c.Policy == nil:
		return nil, errors.New("a self-hosted service needs a policy")
	case c.Mirror != nil && c.Environment != Test:
		return nil, fmt.Errorf("only the environment %s mirrors keys", Test)
	}
	return newAuthority(c), nil
}

func newAuthority(c Config) *Authority {
	a := &Authority{Config: c}
	a.workers.New = func() any { return newWorker(c.Options) }
	return a
}

// JWKS returns the document of the Ed25519 keys.
func (a *Authority) JWKS() []byte { return a.Signer.JWKS(a.Clock()) }

// PQCKeys returns the document of the ML-DSA-65 keys.
func (a *Authority) PQCKeys() []byte { return a.Signer.PQCKeys(a.Clock()) }
