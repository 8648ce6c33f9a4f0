// Package service has what the packages that answer requests share (accounts, policies, holds, events, decision): ledger, signer,
// clock, randomness and log, and the answers that are not decisions.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
	"bailiff/runtime/turns"
	"bailiff/vm/errcode"
)

// The environments of the service (specification, modes.3).
const (
	Production = "production"
	Test       = "test"
)

// Config is what a service is made of.
type Config struct {
	Environment string // Production or Test
	// Hosted opens registration, and has a key's own policy alone govern it. Otherwise the service is self-hosted.
	Hosted bool
	// Operator is the Ed25519 public key of the service's operator, whose statements thaw it. A self-hosted service accepts deployments
	// and resolutions by this key alone, or by the one that has replaced it (CurrentOperator), and neither where it is zero; a hosted one
	// by the key that an API key is pinned to.
	Operator [32]byte

	Ledger  ledger.Ledger
	Signer  *attest.Signer // nil: nothing is signed
	Issuer  string         // the claim iss
	Clock   clock.Clock
	Guard   *clock.Guarded // of which Clock is; nil: it is never in doubt
	Timers  system.Timers  // nil: the machine's
	Random  io.Reader      // for ids, secrets and API keys; cryptographically secure
	Log     *slog.Logger
	Metrics *metrics.Metrics // nil: nothing is counted
}

// Service is what everything that answers requests shares.
type Service struct {
	Config
	// Long has a place for each piece of work that keeps a processor busy for long: half as many as there are processors, so that
	// the other half is there for all that takes a moment.
	Long chan struct{}

	latest  atomic.Int64 // Unix second of the last line by Trouble
	without atomic.Int64 // troubles since then without a line of their own
}

// New returns a service.
func New(c Config) *Service {
	return &Service{Config: c, Long: make(chan struct{}, turns.HalfOf())}
}

// CurrentOperator returns the operator key that counts: the one of Config.Operator, or the one that has replaced it since. It is zero
// where the operator's key was replaced and Config.Operator is none that the operator had: then it is unknown who that is.
func (s *Service) CurrentOperator() [32]byte {
	operators := s.Ledger.Operators()
	if len(operators.Keys) > 0 && !slices.Contains(operators.Keys, s.Operator) {
		return [32]byte{}
	}
	return operators.Current(s.Operator)
}

// Timeout is [context.WithTimeout] by the service's timers.
func (s *Service) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return s.Timers.Timeout(ctx, s.Clock, d)
}

// Watch returns what counts and logs how a budget is used.
func (s *Service) Watch(b metrics.Budget) *turns.Watch {
	return turns.NewWatch(b, s.Log, s.Clock, s.Metrics)
}

// Gauge has a budget counted: how much there is, and how much of it is used.
func (s *Service) Gauge(b metrics.Budget, most int, used func() int) {
	if err := s.Metrics.Use(b, float64(most), func() float64 { return float64(used()) }); err != nil {
		s.Log.Error("a budget can't be counted", "error", err)
	}
}

// ClockFault returns why nothing is decided while the clock is in doubt, nil where it is not.
func (s *Service) ClockFault() *Failure {
	if s.Guard != nil && s.Guard.Doubt() != nil {
		return clockUnconfirmed()
	}
	return nil
}

// Trouble logs what every request meets while the store fails, at most one line a second: a full disk would be filled by lines
// about it. A line says how many errors before it had none.
func (s *Service) Trouble(what string, err error) {
	second := s.Clock().Unix()
	if last := s.latest.Load(); second == last || !s.latest.CompareAndSwap(last, second) {
		s.without.Add(1)
		return
	}
	s.Log.Error(what, "error", err, "alsoBefore", s.without.Swap(0))
}

// StoreFault is the failure of a step that the ledger did not carry out.
func (s *Service) StoreFault(what string, err error) *Failure {
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrKeyRevoked) {
		return BadKey() // the key was revoked meanwhile
	}
	if errors.Is(err, ledger.ErrHalted) {
		return s.HaltFault(nil)
	}
	s.Log.Error(what, "error", err)
	if errors.Is(err, ledger.ErrInvalid) {
		return Fail(errcode.Internal, "the service failed; nothing was recorded")
	}
	if errors.Is(err, ledger.ErrUnknown) {
		return Fail(errcode.StoreUnavailable, "the store failed, and it is unknown whether this was recorded; look, and ask again later")
	}
	return Fail(errcode.StoreUnavailable, "the store failed, and nothing was recorded; ask again later")
}

// JWKS returns the document of the Ed25519 keys.
func (s *Service) JWKS() []byte { return s.Signer.JWKS(s.Clock()) }

// PQCKeys returns the document of the ML-DSA-65 keys.
func (s *Service) PQCKeys() []byte { return s.Signer.PQCKeys(s.Clock()) }

// VerifyAttestation verifies an attestation as a relying party does, with the keys that the service publishes, and returns its claims.
// It does not use the attestation up, nor say whether it was used.
func (s *Service) VerifyAttestation(token string) (*attest.Claims, error) {
	verifier, err := attest.NewVerifier(s.Issuer, s.JWKS(), s.PQCKeys())
	if err != nil {
		return nil, fmt.Errorf("the verifier could not be made: %w", err)
	}
	return verifier.Verify(token, s.Clock())
}
