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
	"sync/atomic"

	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/webhook"
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
	Clock       clock.Clock
	Guard       *clock.Guarded // what Clock is of; nil: it is never in doubt
	Random      io.Reader      // for ids, secrets and API keys; cryptographically secure
	Log         *slog.Logger
	Metrics     *metrics.Metrics // nil: nobody counts
	Deliveries  *webhook.History // attempts to deliver, for the console; nil for none

	// Hosted opens registration, and has a key's own policy alone govern it. Otherwise the service is self-hosted.
	Hosted bool
	// Policy governs every key that has deployed none of its own until ReplaceDefault, where the service is self-hosted; nil
	// where Hosted.
	Policy *Policy
	// Operator is the Ed25519 public key that Policy is signed with. A self-hosted service accepts deployments and
	// resolutions by this key alone. Zero where Hosted; a self-hosted service that has none accepts neither.
	Operator [32]byte

	// EventDetail is how much of a request the record of its decision has (SVC_EVENT_DETAIL).
	EventDetail EventDetail
	// RefuseRollback refuses to deploy a policy that was replaced before (SVC_REFUSE_ROLLBACK).
	RefuseRollback bool
	// Deployments is how many policies a key may have compiled in a time (SVC_RATE_LIMIT_DEPLOY). Zero is no limit.
	Deployments ratelimit.Window
	// HoldWaits is how many requests may wait for holds at once. 0: MaxHoldWaits.
	HoldWaits int
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
	inForce   atomic.Pointer[Policy]      // the default policy; nil where Hosted
	replacing atomic.Pointer[replacement] // of the default policy, while it is under way
	replaced  sync.Mutex                  // held by ReplaceDefault
	policies  policies
	responses responses
	mirrored  mirrored
	requests  sync.Pool // of *Request
	unknown   frameworks
	troubles  troubles

	malformed  malformed
	compiles   *turns            // of deployments
	loads      *turns            // of stored policies
	largeLoads *turns            // of those with large texts
	heavy      *turns            // of judging what may take long
	pages      *turns            // of reading pages of events
	holdWaits  *holdWaits        // of requests for holds
	deployed   *ratelimit.Memory // counts for Deployments

	digestKey [32]byte    // of digests in records
	hide      intent.Hide // recordedValue, bound once
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
	a := &Authority{Config: c, deployed: ratelimit.NewMemory(maxDeployers)}
	a.inForce.Store(c.Policy)
	if a.hide = a.recordedValue; c.Signer != nil {
		a.digestKey = c.Signer.DeriveKey(digestKeyLabel)
	}
	a.watchBudgets()
	a.requests.New = func() any { return newRequest(a, c.Options) }
	return a
}

// watchBudgets makes what bounds compiling, loading, judging and reading events, with its metrics.
func (a *Authority) watchBudgets() {
	watching := func(b metrics.Budget) *watch {
		return &watch{budget: b, name: b.String(), log: a.Log, clock: a.Clock, metrics: a.Metrics}
	}
	// What keeps a processor busy for long shares half of them, so that the other half is there for all that takes a moment.
	long := make(chan struct{}, halfOf())
	a.compiles = newTurns(halfOf(), 0, long, watching(metrics.Compiling))
	a.loads = newTurns(2*halfOf(), maxWaiting, nil, watching(metrics.Loading))
	a.largeLoads = newTurns(1, maxWaiting, long, watching(metrics.Loading))
	a.heavy = newTurns(halfOf(), maxWaiting, long, watching(metrics.Evaluating))
	a.pages = newTurns(halfOf(), maxWaiting, long, watching(metrics.Paging))
	a.policies.watch, a.policies.lingers = watching(metrics.Programs), watching(metrics.Lingering)
	a.holdWaits = newHoldWaits(a.HoldWaits, watching(metrics.Waiting))
	for budget, row := range map[metrics.Budget]struct {
		most int
		used func() int
	}{
		metrics.Compiling: {halfOf(), a.compiles.underWay}, metrics.Evaluating: {halfOf(), a.heavy.underWay},
		metrics.Loading:  {2*halfOf() + 1, func() int { return a.loads.underWay() + a.largeLoads.underWay() }},
		metrics.Programs: {maxIdle, a.policies.kept}, metrics.Paging: {halfOf(), a.pages.underWay},
		metrics.Waiting:   {a.holdWaits.most, a.holdWaits.waiting},
		metrics.Lingering: {maxLingering, a.policies.stillUsed},
	} {
		if err := a.Metrics.Use(budget, float64(row.most), func() float64 { return float64(row.used()) }); err != nil {
			a.Log.Error("a budget can't be counted", "error", err)
		}
	}
}

// JWKS returns the document of the Ed25519 keys.
func (a *Authority) JWKS() []byte { return a.Signer.JWKS(a.Clock()) }

// PQCKeys returns the document of the ML-DSA-65 keys.
func (a *Authority) PQCKeys() []byte { return a.Signer.PQCKeys(a.Clock()) }
