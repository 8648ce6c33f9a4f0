// Package decision decides intents: it takes each one through decoder, machine and ledger to an answer, by the policy that governs
// its API key. It puts together what the API does, without HTTP: accounts, policies, holds, events and decisions.
//
// It promises that nothing is answered before its record is durable, that an attestation is issued only for an ALLOWED that the
// ledger has carried out, and that any failure on the way ends in a refusal.
package decision

import (
	"errors"
	"fmt"
	"sync"

	"bailiff/runtime/accounts"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/intent"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
)

// MaxBody is the largest body of authorize and test-run, in bytes (decisions, section 3).
const MaxBody = intent.MaxBody

// Config is what a decider is made of. All of Service but Hosted, Operator, Guard and Metrics is required.
type Config struct {
	Service  service.Config
	Accounts accounts.Config // but Sync
	Policies policies.Config // with Default, unless the service is hosted
	Observe  bool            // SVC_MODE=OBSERVE: what the policy denies is approved, and recorded as what it is
	Options  intent.Options

	// EventDetail is how much of a request the record of its decision has (SVC_EVENT_DETAIL).
	EventDetail EventDetail
	// HoldWaits is how many requests may wait for holds at once. 0: holds.MaxWaits.
	HoldWaits int
	// HoldPages is what an id of a hold is put behind to make the address where approvers decide it; empty where there are none.
	HoldPages string
}

// Decider decides intents, and does whatever else the API does. It is safe for concurrent use.
type Decider struct {
	*service.Service
	*accounts.Accounts
	*holds.Holds
	*policies.Policies
	*events.Reader
	Config
	requests sync.Pool // of *Request
	unknown  frameworks

	malformed malformed
	heavy     *turns.Turns // of judging what may take long

	digestKey [32]byte    // of digests in records
	hide      intent.Hide // recordedValue, bound once
}

// New returns a decider, or an error that names a missing part.
func New(c Config) (*Decider, error) {
	switch s := &c.Service; {
	case s.Environment != service.Production && s.Environment != service.Test:
		return nil, fmt.Errorf("the environment is %q; it can be %s or %s", s.Environment, service.Production, service.Test)
	case s.Ledger == nil || s.Signer == nil || s.Issuer == "" || s.Clock == nil || s.Random == nil || s.Log == nil:
		return nil, errors.New("a decider needs a ledger, a signer, an issuer, a clock, randomness and a log")
	case s.Hosted && c.Policies.Default != nil:
		return nil, errors.New("a hosted service has no policy of its own: each API key has one")
	case !s.Hosted && c.Policies.Default == nil:
		return nil, errors.New("a self-hosted service needs a policy")
	case c.Policies.Mirror != nil && s.Environment != service.Test:
		return nil, fmt.Errorf("only the environment %s mirrors keys", service.Test)
	}
	return newDecider(c), nil
}

func newDecider(c Config) *Decider {
	a := &Decider{Service: service.New(c.Service), Config: c}
	a.Accounts = accounts.New(a.Service, c.Accounts)
	a.Holds = holds.New(a.Service, a.Accounts, c.HoldWaits)
	a.Policies = policies.New(a.Service, a.Accounts, c.Policies)
	a.Reader = events.New(a.Service, a.Accounts, a.DefaultText)
	if a.hide = a.recordedValue; a.Signer != nil {
		a.digestKey = a.Signer.DeriveKey(digestKeyLabel)
	}
	a.heavy = turns.New(turns.HalfOf(), turns.MaxWaiting, a.Long, a.Watch(metrics.Evaluating))
	a.Gauge(metrics.Evaluating, turns.HalfOf(), a.heavy.UnderWay)
	a.requests.New = func() any { return newRequest(a, c.Options) }
	return a
}
