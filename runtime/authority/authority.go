// Package authority is what the API does, without HTTP: it knows API keys, holds the policy in force, and takes each
// intent the one way through decoder, machine and ledger to an answer.
//
// It promises that nothing is answered before its record is durable, that an attestation is issued for no other
// decision than an ALLOWED that the ledger has carried out, and that whatever fails on the way ends in a refusal.
package authority

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
)

// The environments of the service (specification, "What the service does", 7).
const (
	Production = "production"
	Test       = "test"
)

// MaxBody is the largest body of authorize and test-run, in bytes (decisions, section 3).
const MaxBody = intent.MaxBody

// Config is what an authority is made of. Every field but Observe and Options is required.
type Config struct {
	Ledger      ledger.Ledger
	Signer      *attest.Signer
	Policy      *Policy // in force for every key (self-hosted)
	Environment string  // Production or Test
	Issuer      string  // the claim iss
	Observe     bool    // SVC_MODE=OBSERVE: what the policy denies is approved, and recorded as what it is
	Options     intent.Options
	Clock       Clock
	Random      io.Reader // for ids and API keys; cryptographically secure
	Log         *slog.Logger
}

// Authority decides intents. It is safe for concurrent use.
type Authority struct {
	Config
	policy  atomic.Pointer[Policy]
	workers sync.Pool // of *worker
	unknown frameworks
}

// New returns an authority, or what is missing for one.
func New(c Config) (*Authority, error) {
	if c.Environment != Production && c.Environment != Test {
		return nil, fmt.Errorf("the environment is %q; it can be %s or %s", c.Environment, Production, Test)
	}
	if c.Ledger == nil || c.Signer == nil || c.Policy == nil || c.Issuer == "" || c.Clock == nil || c.Random == nil || c.Log == nil {
		return nil, fmt.Errorf("an authority needs a ledger, a signer, a policy, an issuer, a clock, randomness and a log")
	}
	a := &Authority{Config: c}
	a.policy.Store(c.Policy)
	a.workers.New = func() any { return newWorker(c.Options) }
	return a, nil
}

// JWKS returns the document of the Ed25519 keys.
func (a *Authority) JWKS() []byte { return a.Signer.JWKS(a.Clock()) }

// PQCKeys returns the document of the ML-DSA-65 keys.
func (a *Authority) PQCKeys() []byte { return a.Signer.PQCKeys(a.Clock()) }
