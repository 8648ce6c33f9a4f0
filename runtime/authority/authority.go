// Package authority is what the API does, without HTTP: it knows API keys and the policy that governs each, and takes
// every intent the one way through decoder, machine and ledger to an answer. It registers keys, deploys policies, reads
// and resolves holds, keeps webhooks, and shows a key its events.
//
// It promises that nothing is answered before its record is durable, that an attestation is issued for no other
// decision than an ALLOWED that the ledger has carried out, and that whatever fails on the way ends in a refusal.
package authority

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bailiff/runtime/accounts"
	"bailiff/runtime/holds"
	"bailiff/runtime/intent"
	"bailiff/runtime/metrics"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
)

// MaxBody is the largest body of authorize and test-run, in bytes (decisions, section 3).
const MaxBody = intent.MaxBody

// Config is what an authority is made of. All of Service but Hosted, Operator, Guard and Metrics is required, and Policy unless
// the service is hosted.
type Config struct {
	Service  service.Config
	Accounts accounts.Config // but Sync
	Observe  bool            // SVC_MODE=OBSERVE: what the policy denies is approved, and recorded as what it is
	Options  intent.Options

	// Policy governs every key that has deployed none of its own until ReplaceDefault, where the service is self-hosted; nil
	// where Hosted.
	Policy *Policy
	// EventDetail is how much of a request the record of its decision has (SVC_EVENT_DETAIL).
	EventDetail EventDetail
	// RefuseRollback refuses to deploy a policy that was replaced before (SVC_REFUSE_ROLLBACK).
	RefuseRollback bool
	// Deployments is how many policies a key may have compiled in a time (SVC_RATE_LIMIT_DEPLOY). Zero is no limit.
	Deployments ratelimit.Window
	// HoldWaits is how many requests may wait for holds at once. 0: holds.MaxWaits.
	HoldWaits int
	// Shims are the trusted shims; nil: none.
	Shims *TrustedShims
	// DeployURL is the address of the deploy route, the aud of activations. Empty refuses every activation.
	DeployURL string

	// Mirror looks live keys up in the production service, when they are first used in the test environment; nil: none.
	Mirror Mirror
}

// Authority decides intents, and does whatever else the API does. It is safe for concurrent use.
type Authority struct {
	*service.Service
	*accounts.Accounts
	*holds.Holds
	Config
	inForce   atomic.Pointer[Policy]      // the default policy; nil where Hosted
	replacing atomic.Pointer[replacement] // of the default policy, while it is under way
	replaced  sync.Mutex                  // held by ReplaceDefault
	policies  policies
	responses responses
	mirrored  mirrored
	requests  sync.Pool // of *Request
	unknown   frameworks

	malformed  malformed
	compiles   *turns.Turns      // of deployments
	loads      *turns.Turns      // of stored policies
	largeLoads *turns.Turns      // of those with large texts
	heavy      *turns.Turns      // of judging what may take long
	pages      *turns.Turns      // of reading pages of events
	deployed   *ratelimit.Memory // counts for Deployments

	digestKey [32]byte    // of digests in records
	hide      intent.Hide // recordedValue, bound once
}

// New returns an authority, or what is missing for one.
func New(c Config) (*Authority, error) {
	switch s := &c.Service; {
	case s.Environment != service.Production && s.Environment != service.Test:
		return nil, fmt.Errorf("the environment is %q; it can be %s or %s", s.Environment, service.Production, service.Test)
	case s.Ledger == nil || s.Signer == nil || s.Issuer == "" || s.Clock == nil || s.Random == nil || s.Log == nil:
		return nil, errors.New("an authority needs a ledger, a signer, an issuer, a clock, randomness and a log")
	case s.Hosted && (c.Policy != nil || s.Operator != [32]byte{}):
		return nil, errors.New("a hosted service has no policy and no operator key of its own: each API key has them")
	case !s.Hosted && c.Policy == nil:
		return nil, errors.New("a self-hosted service needs a policy")
	case c.Mirror != nil && s.Environment != service.Test:
		return nil, fmt.Errorf("only the environment %s mirrors keys", service.Test)
	}
	return newAuthority(c), nil
}

func newAuthority(c Config) *Authority {
	a := &Authority{Service: service.New(c.Service), Config: c, deployed: ratelimit.NewMemory(maxDeployers)}
	if c.Mirror != nil {
		c.Accounts.Sync = a
	}
	a.Accounts = accounts.New(a.Service, c.Accounts)
	a.Holds = holds.New(a.Service, a.Accounts, c.HoldWaits)
	a.inForce.Store(c.Policy)
	if a.hide = a.recordedValue; a.Signer != nil {
		a.digestKey = a.Signer.DeriveKey(digestKeyLabel)
	}
	a.watchBudgets()
	a.requests.New = func() any { return newRequest(a, c.Options) }
	return a
}

// watchBudgets makes what bounds compiling, loading, judging and reading events, with its metrics.
func (a *Authority) watchBudgets() {
	a.compiles = turns.New(turns.HalfOf(), 0, a.Long, a.Watch(metrics.Compiling))
	a.loads = turns.New(2*turns.HalfOf(), turns.MaxWaiting, nil, a.Watch(metrics.Loading))
	a.largeLoads = turns.New(1, turns.MaxWaiting, a.Long, a.Watch(metrics.Loading))
	a.heavy = turns.New(turns.HalfOf(), turns.MaxWaiting, a.Long, a.Watch(metrics.Evaluating))
	a.pages = turns.New(turns.HalfOf(), turns.MaxWaiting, a.Long, a.Watch(metrics.Paging))
	a.policies.watch, a.policies.lingers = a.Watch(metrics.Programs), a.Watch(metrics.Lingering)
	a.Gauge(metrics.Compiling, turns.HalfOf(), a.compiles.UnderWay)
	a.Gauge(metrics.Evaluating, turns.HalfOf(), a.heavy.UnderWay)
	a.Gauge(metrics.Loading, 2*turns.HalfOf()+1, func() int { return a.loads.UnderWay() + a.largeLoads.UnderWay() })
	a.Gauge(metrics.Programs, maxIdle, a.policies.kept)
	a.Gauge(metrics.Paging, turns.HalfOf(), a.pages.UnderWay)
	a.Gauge(metrics.Lingering, maxLingering, a.policies.stillUsed)
}

// JWKS returns the document of the Ed25519 keys.
func (a *Authority) JWKS() []byte { return a.Signer.JWKS(a.Clock()) }

// PQCKeys returns the document of the ML-DSA-65 keys.
func (a *Authority) PQCKeys() []byte { return a.Signer.PQCKeys(a.Clock()) }
