// Package verify checks attestations for those who act on them: that the service has signed them with both of its keys,
// that they are for this action, under this policy, now, and that each is used once. docs/verify.md says what a relying
// party has to check; this package does it in Go.
//
//	keys, err := verify.New(service, "svc-core")
//	claims, err := keys.Verify(ctx, attestation, verify.Expected{TxCommit: commit, PolicyHash: []string{hash}}, now)
//	if err == nil {
//		err = once.Use(claims, now)
//	}
//
// A [Keys] fetches the key sets of one service and keeps them. What it cannot check it refuses.
package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"bailiff/httpd/client"
	"bailiff/runtime/attest"
)

// How long key sets are used.
const (
	// Fresh is how long key sets are used without fetching them again, as their Cache-Control says.
	Fresh = 5 * time.Minute
	// Stale is how long they are used where they can't be fetched. Then nothing is verified any more: a key that was
	// withdrawn would still be trusted.
	Stale = time.Hour
	// Pause is between two tries to fetch, so that tokens with unknown keys cause no flood.
	Pause = 10 * time.Second
)

// The ways in which a good attestation is refused, beside those of [attest.Verifier.Verify].
var (
	// ErrKeys: there are no key sets that could be used.
	ErrKeys = errors.New("the key sets of the service can't be had")
	// ErrExpected: what is expected says too little to check anything.
	ErrExpected = errors.New("the expectations of the attestation are incomplete")
	// ErrCommitment: it is for another transaction, operation or tool call.
	ErrCommitment = errors.New("attestation is for another action")
	// ErrPolicy: it was decided under another policy.
	ErrPolicy = errors.New("attestation is under another policy")
	// ErrChain: it is for another chain.
	ErrChain = errors.New("attestation is for another chain")
	// ErrObserve: it was given while the service observed, when denials are given attestations as well.
	ErrObserve = errors.New("attestation was given while observing")
	// ErrUsed: it was used before.
	ErrUsed = errors.New("attestation was used before")
	// ErrCrowded: so many attestations are remembered that there is no room for another.
	ErrCrowded = errors.New("too many attestations are remembered")
)

// Expected is what a relying party knows of the action that it is about to carry out.
type Expected struct {
	// TxCommit or UserOpHash, exactly one: of the action itself, computed by who carries it out.
	TxCommit, UserOpHash string
	// PolicyHash are the policies that count. AnyPolicy takes whatever policy the service enforces for the key.
	PolicyHash []string
	AnyPolicy  bool
	// ChainID is the chain that the action is on, 0 where it is on none.
	ChainID uint64
	// RefuseObserve refuses what was allowed while the service observed.
	RefuseObserve bool
}

// Keys verifies the attestations of one service. It is safe for concurrent use.
type Keys struct {
	issuer  string
	service *client.Client
	turn    chan struct{} // holds a token while the members below are used
	kept    *attest.Verifier
	fetched time.Time // when kept was fetched
	tried   time.Time // when fetching was tried last
}

// New returns the keys of the service that a client asks, for attestations whose iss is issuer. Issuer and address are
// trusted as a pair: another service may have another issuer's name. Nothing is fetched before it is needed.
func New(service *client.Client, issuer string) (*Keys, error) {
	if issuer == "" {
		return nil, errors.New("the issuer to trust is empty; its name is in /.well-known/svc-conformance.json")
	}
	return &Keys{issuer: issuer, service: service.WithKey(""), turn: make(chan struct{}, 1)}, nil
}

// Verify checks an attestation at the time now, and returns its claims. It does not know whether it was used before: see
// [Once]. The error is one of package attest (attest.Step names them) or of this package.
func (k *Keys) Verify(ctx context.Context, token string, want Expected, now time.Time) (*attest.Claims, error) {
	if err := want.complete(); err != nil {
		return nil, err
	}
	verifier, err := k.verifier(ctx, now, false)
	if err != nil {
		return nil, err
	}
	claims, err := verifier.Verify(token, now)
	if errors.Is(err, attest.ErrUnknownKey) || errors.Is(err, attest.ErrPQC) { // the keys may have changed
		newer, fault := k.verifier(ctx, now, true)
		if fault == nil && newer != verifier {
			claims, err = newer.Verify(token, now)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := want.check(claims); err != nil {
		return nil, err
	}
	return claims, nil
}

func (e *Expected) complete() error {
	switch {
	case (e.TxCommit == "") == (e.UserOpHash == ""):
		return fmt.Errorf("%w: give TxCommit or UserOpHash, of the action that is carried out", ErrExpected)
	case len(e.PolicyHash) == 0 && !e.AnyPolicy:
		return fmt.Errorf("%w: give PolicyHash, or AnyPolicy", ErrExpected)
	}
	return nil
}

// check holds the claims against what is expected.
func (e *Expected) check(c *attest.Claims) error {
	switch {
	case c.TxCommit != e.TxCommit || c.UserOpHash != e.UserOpHash:
		return fmt.Errorf("%w: it is for %s%s, and %s%s is carried out", ErrCommitment, c.TxCommit, c.UserOpHash, e.TxCommit, e.UserOpHash)
	case !e.AnyPolicy && !slices.Contains(e.PolicyHash, c.PolicyHash):
		return fmt.Errorf("%w: %s", ErrPolicy, c.PolicyHash)
	case c.ChainID != e.ChainID:
		return fmt.Errorf("%w: it is for chain %d, and the action is on %d", ErrChain, c.ChainID, e.ChainID)
	case e.RefuseObserve && c.Mode != "":
		return ErrObserve
	}
	return nil
}

// verifier returns what the key sets verify; with anew they are fetched though they are fresh.
func (k *Keys) verifier(ctx context.Context, now time.Time, anew bool) (*attest.Verifier, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrKeys, ctx.Err())
	}
	if !anew && k.within(now, k.fetched, Fresh) {
		return k.kept, nil
	}
	var fault error
	if !k.within(now, k.tried, Pause) {
		fault = k.fetch(ctx, now)
	}
	if k.kept == nil || !k.within(now, k.fetched, Stale) {
		return nil, fmt.Errorf("%w: %w", ErrKeys, orEarlier(fault))
	}
	return k.kept, nil
}

// within reports whether a time has come, and is no longer ago than that. A clock that was set back makes it ask again.
func (k *Keys) within(now, then time.Time, long time.Duration) bool {
	age := now.Sub(then)
	return !then.IsZero() && age >= 0 && age < long
}

// orEarlier is the reason for the lack of keys.
func orEarlier(fault error) error {
	if fault == nil {
		return fmt.Errorf("fetching them failed a moment ago; try again in %v", Pause)
	}
	return fault
}

// fetch fetches both sets. What was kept stays where one of them can't be had.
func (k *Keys) fetch(ctx context.Context, now time.Time) error {
	k.tried = now
	_, jwks, err := k.service.Do(ctx, http.MethodGet, "/.well-known/jwks.json", nil)
	if err != nil {
		return err
	}
	_, pqc, err := k.service.Do(ctx, http.MethodGet, "/.well-known/svc-pqc-keys.json", nil)
	if err != nil {
		return err
	}
	verifier, err := attest.NewVerifier(k.issuer, jwks, pqc)
	if err != nil {
		return err
	}
	k.kept, k.fetched = verifier, now
	return nil
}

// reasons name the errors of this package, as docs/vectors does.
var reasons = map[string]error{
	"keys": ErrKeys, "expected": ErrExpected, "commitment": ErrCommitment, "policy": ErrPolicy, "chain": ErrChain,
	"observe": ErrObserve, "used": ErrUsed, "crowded": ErrCrowded,
}

// Reason names why an attestation was refused, as docs/verify.md names it: ok for nil, other for an error of elsewhere.
func Reason(err error) string {
	if err == nil {
		return "ok"
	}
	if step := attest.Step(err); step != "" {
		return step
	}
	for name, reason := range reasons {
		if errors.Is(err, reason) {
			return name
		}
	}
	return "other"
}
