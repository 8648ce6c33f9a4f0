package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/httpd/client"
	"bailiff/httpd/client/verify"
	"bailiff/runtime/attest"
	"bailiff/runtime/response"
)

// SignedRules are the response rules of the policy that the service enforces for an API key. The service signs them for the key's id.
// The proxy knows that id from the attestation of its first call that was allowed, which is for the commitment of that very call, so
// that a document for another key is not taken. The issuer is what the service calls itself when it is first asked.
type SignedRules struct {
	*response.Enforcer
	service *client.Client
	now     func() time.Time

	mu    sync.Mutex
	keys  *verify.Keys // nil until the issuer is known
	keyID string       // empty until it is known
}

// NewSignedRules returns the rules of the API key that a client of the service has. Nothing is fetched before it is needed.
func NewSignedRules(service *client.Client, now func() time.Time) *SignedRules {
	s := &SignedRules{service: service, now: now}
	s.Enforcer = response.NewEnforcer(s.fetch, now)
	return s
}

// Ready implements [Rules].
func (s *SignedRules) Ready(ctx context.Context, intent *Intent, d *Decision) error {
	if err := s.learn(ctx, intent, d); err != nil {
		return fmt.Errorf("%w: %w", response.ErrUnavailable, err)
	}
	return s.Enforcer.Ready(ctx, d.PolicyHash)
}

// learn takes the id of the API key from the attestation of an intent, once.
func (s *SignedRules) learn(ctx context.Context, intent *Intent, d *Decision) error {
	if _, keyID := s.trusted(); keyID != "" {
		return nil
	}
	if d.Attestation == "" {
		return errors.New("the service has not allowed a call yet, so the id of the API key is not known")
	}
	keys, err := s.keySet(ctx)
	if err != nil {
		return err
	}
	claims, err := keys.Verify(ctx, d.Attestation, verify.Expected{TxCommit: intent.TxCommit, AnyPolicy: true}, s.now())
	if err != nil {
		return fmt.Errorf("the attestation of the call does not verify: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keyID == "" {
		s.keyID = claims.KeyID
	}
	return nil
}

// keySet returns the keys of the service. What it calls itself is asked once.
func (s *SignedRules) keySet(ctx context.Context) (*verify.Keys, error) {
	if keys, _ := s.trusted(); keys != nil {
		return keys, nil
	}
	issuer, err := verify.Issuer(ctx, s.service)
	if err != nil {
		return nil, err
	}
	keys, err := verify.New(s.service, issuer)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = keys
	}
	return s.keys, nil
}

// trusted returns what is known.
func (s *SignedRules) trusted() (keys *verify.Keys, keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.keyID
}

// fetch is the enforcer's [response.Fetch].
func (s *SignedRules) fetch(ctx context.Context, now time.Time) (*attest.ResponsePolicy, error) {
	keys, keyID := s.trusted()
	if keyID == "" {
		return nil, errors.New("the id of the API key is not known")
	}
	token, err := s.service.ResponsePolicy(ctx)
	if err != nil {
		return nil, err
	}
	policy, err := keys.ResponsePolicy(ctx, token, keyID, now)
	if err != nil {
		return nil, fmt.Errorf("the document of the response rules does not verify: %w", err)
	}
	return policy, nil
}
