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
	// fresh is how long rules are used before a use of them has them fetched again, in the background.
	fresh = 30 * time.Second
	// late is the age at which Keep has rules fetched again that are not used. They expire a minute after that.
	late = 4 * time.Minute
	// pause is between an attempt to fetch rules that failed and the next.
	pause = time.Second
	// keepEvery is how often Keep looks.
	keepEvery = 10 * time.Second
	// fetchTime bounds an attempt.
	fetchTime = 10 * time.Second
)

// ErrUnavailable means that there are no valid rules, so nothing passes.
var ErrUnavailable = errors.New("there are no valid response rules")

// A Fetch returns a new response policy of the service, verified at a time for the API key in use.
type Fetch func(ctx context.Context, now time.Time) (*attest.ResponsePolicy, error)

// An Enforcer enforces the rules of one API key, and keeps them fresh. It is safe for concurrent use.
type Enforcer struct {
	fetch Fetch
	now   func() time.Time

	mu      sync.Mutex // never held while rules are fetched
	rules   *Rules
	signed  *attest.ResponsePolicy // what rules are from
	attempt *attempt               // the one under way; nil for none
	fetched time.Time              // when the last attempt ended that did not fail
	failed  time.Time              // when the last attempt ended, where it failed
	fault   error                  // why
}

// An attempt is one request for rules.
type attempt struct{ done chan struct{} } // closed when it has ended

// NewEnforcer returns an enforcer without rules, which fetches them when it is first used.
func NewEnforcer(fetch Fetch, now func() time.Time) *Enforcer {
	return &Enforcer{fetch: fetch, now: now}
}

// Ready returns when there are valid rules for the result of a call that was decided under a policy: where the rules at hand are of
// another policy, they are fetched first. It is called before the call is made. An empty hash means any policy. The error wraps
// ErrUnavailable.
func (e *Enforcer) Ready(ctx context.Context, policyHash string) error {
	for asked := false; ; {
		e.mu.Lock()
		now := e.now()
		valid := e.valid(now)
		switch {
		case valid && (policyHash == "" || e.signed.PolicyHash == policyHash || asked && e.fault == nil):
			e.refresh(now)
			e.mu.Unlock()
			return nil
		case asked || e.attempt == nil && since(now, e.failed, pause):
			err := e.unavailable()
			e.mu.Unlock()
			return err
		}
		running := e.attempt
		if running == nil { // one that was under way may have been answered before the decision
			running, asked = e.start(), true
		}
		e.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
		}
	}
}

// Result enforces the rules on the result of a tool of a server, or on the object of an error. An empty tool is one that is not known.
// It waits for nothing. The error wraps ErrRefused or ErrUnavailable.
func (e *Enforcer) Result(server, tool string, result json.RawMessage) (json.RawMessage, Findings, error) {
	e.mu.Lock()
	now := e.now()
	e.refresh(now)
	if !e.valid(now) {
		err := e.unavailable()
		e.mu.Unlock()
		return nil, Findings{}, err
	}
	rules := e.rules
	e.mu.Unlock()
	return rules.Apply(server, tool, result, now)
}

// Keep has the rules fetched again before they expire, though nothing uses them, until ctx ends: a call may take longer than the
// rules are valid.
func (e *Enforcer) Keep(ctx context.Context) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.keep()
		case <-ctx.Done():
			return
		}
	}
}

func (e *Enforcer) keep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now(); e.signed != nil && !e.issuedWithin(now, late) {
		e.refresh(now)
	}
}

// refresh starts an attempt where the rules are not fresh. The caller holds the lock.
func (e *Enforcer) refresh(now time.Time) {
	if e.attempt == nil && !since(now, e.failed, pause) && (!e.valid(now) || !since(now, e.fetched, fresh)) {
		e.start()
	}
}

// start starts an attempt. The caller holds the lock, and no attempt is under way.
func (e *Enforcer) start() *attempt {
	started := &attempt{done: make(chan struct{})}
	e.attempt = started
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		signed, err := e.fetch(ctx, e.now())
		e.mu.Lock()
		defer e.mu.Unlock()
		if err == nil {
			err = e.take(signed)
		}
		if e.attempt, e.fault = nil, err; err != nil {
			e.failed = e.now()
		} else {
			e.fetched = e.now()
		}
		close(started.done)
	}()
	return started
}

// take takes up rules that were fetched. Those of a lower epoch than one that was seen are refused. Of the same epoch the newest count.
func (e *Enforcer) take(signed *attest.ResponsePolicy) error {
	if e.signed != nil {
		switch {
		case signed.KeyID != e.signed.KeyID:
			return fmt.Errorf("they are for the key %.64q, and %.64q is used", signed.KeyID, e.signed.KeyID)
		case signed.Epoch < e.signed.Epoch:
			return fmt.Errorf("they are of epoch %d, and those of epoch %d were seen", signed.Epoch, e.signed.Epoch)
		case signed.Epoch == e.signed.Epoch && signed.IssuedAt < e.signed.IssuedAt:
			return nil
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

// valid reports whether there are rules that have not expired.
func (e *Enforcer) valid(now time.Time) bool {
	return e.rules != nil && e.issuedWithin(now, attest.ResponsePolicySeconds*time.Second)
}

// unavailable is why there are no valid rules.
func (e *Enforcer) unavailable() error {
	switch {
	case e.fault != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, e.fault)
	case e.signed == nil:
		return fmt.Errorf("%w: they were not fetched yet", ErrUnavailable)
	}
	return fmt.Errorf("%w: they have expired; set the clock of this machine by the service's", ErrUnavailable)
}

// issuedWithin reports whether the rules were signed no longer ago than that.
func (e *Enforcer) issuedWithin(now time.Time, long time.Duration) bool {
	if e.signed == nil {
		return false
	}
	age := now.Sub(time.Unix(e.signed.IssuedAt, 0))
	return age >= -attest.ClockSkew && age < long
}

// since reports whether a time has come, and is no longer ago than that. A clock that was set back makes it ask again.
func since(now, then time.Time, long time.Duration) bool {
	age := now.Sub(then)
	return !then.IsZero() && age >= 0 && age < long
}
