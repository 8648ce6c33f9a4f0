package response

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/runtime/attest"
)

const (
	// Fresh is how long rules are used before they are fetched again.
	Fresh = 30 * time.Second
	// Pause is between two attempts to fetch rules.
	Pause = time.Second
	// fetchTime bounds an attempt.
	fetchTime = 10 * time.Second
)

// ErrUnavailable means that there are no valid rules, so nothing passes.
var ErrUnavailable = errors.New("there are no valid response rules")

// A Fetch returns a new response policy of the service, verified at a time for the API key; keyID is empty for the first one.
type Fetch func(ctx context.Context, keyID string, now time.Time) (*attest.ResponsePolicy, error)

// An Enforcer enforces the rules of one API key, and keeps them fresh. The first document says for which key it is; later ones have to
// be for the same. It is safe for concurrent use.
type Enforcer struct {
	fetch Fetch
	now   func() time.Time

	mu     sync.Mutex // held while rules are fetched: one request at a time
	rules  *Rules
	signed *attest.ResponsePolicy // what rules are from
	tried  time.Time              // when the last attempt to fetch ended
	fault  error                  // of the last attempt
}

// NewEnforcer returns an enforcer without rules, which fetches them when it is first used.
func NewEnforcer(fetch Fetch, now func() time.Time) *Enforcer {
	return &Enforcer{fetch: fetch, now: now}
}

// Result enforces the rules on the result of a tool of a server, or on the object of an error. An empty tool is one that is not known.
// The error wraps ErrRefused or ErrUnavailable.
func (e *Enforcer) Result(server, tool string, result json.RawMessage) (json.RawMessage, error) {
	rules, err := e.current()
	if err != nil {
		return nil, err
	}
	return rules.Apply(server, tool, result, e.now())
}

// current returns rules that are valid now, fetched anew where they are not fresh.
func (e *Enforcer) current() (*Rules, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if (e.rules == nil || !e.within(now, Fresh)) && !e.triedSince(now) {
		e.fault = e.renew(now)
		now = e.now()
		e.tried = now
	}
	if e.rules == nil || !e.within(now, attest.ResponsePolicySeconds*time.Second) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, orExpired(e.fault))
	}
	return e.rules, nil
}

// orExpired is why there are no valid rules.
func orExpired(fault error) error {
	if fault == nil {
		return errors.New("they have expired; set the clock of this machine by the service's")
	}
	return fault
}

// within reports whether the rules were signed no longer ago than that.
func (e *Enforcer) within(now time.Time, long time.Duration) bool {
	if e.signed == nil {
		return false
	}
	age := now.Sub(time.Unix(e.signed.IssuedAt, 0))
	return age >= -attest.ClockSkew && age < long
}

// triedSince reports whether an attempt ended a moment ago.
func (e *Enforcer) triedSince(now time.Time) bool {
	age := now.Sub(e.tried)
	return !e.tried.IsZero() && age >= 0 && age < Pause
}

// renew fetches rules. Those of a lower epoch than one that was seen are refused, and so are older ones of the same.
func (e *Enforcer) renew(now time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	keyID := ""
	if e.signed != nil {
		keyID = e.signed.KeyID
	}
	signed, err := e.fetch(ctx, keyID, now)
	if err != nil {
		return err
	}
	if e.signed != nil {
		switch {
		case signed.KeyID != e.signed.KeyID:
			return fmt.Errorf("they are for the key %.64q, and %.64q is used", signed.KeyID, e.signed.KeyID)
		case signed.Epoch < e.signed.Epoch:
			return fmt.Errorf("they are of epoch %d, and those of epoch %d were seen", signed.Epoch, e.signed.Epoch)
		case signed.Epoch == e.signed.Epoch && signed.IssuedAt < e.signed.IssuedAt:
			return errors.New("they are older than those that were seen")
		}
	}
	rules, err := ParseRules(signed.Rules)
	if err != nil {
		e.rules, e.signed = nil, signed // what was in force before is no longer
		return err
	}
	e.rules, e.signed = rules, signed
	return nil
}
