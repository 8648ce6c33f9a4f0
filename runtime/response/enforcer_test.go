package response

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/attest"
)

// service is what an enforcer asks.
type service struct {
	mu     sync.Mutex
	now    time.Time
	asked  int
	signed attest.ResponsePolicy
	err    error
	wait   chan struct{} // an answer comes when this is closed; nil: at once
}

func (s *service) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *service) fetch(context.Context, time.Time) (*attest.ResponsePolicy, error) {
	s.mu.Lock()
	s.asked++
	signed, err, wait := s.signed, s.err, s.wait
	s.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return &signed, err
}

// set changes what the service says, and the time.
func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// sign has the service sign rules now, under a policy that is named like its epoch.
func (s *service) sign(epoch uint64, rules string) {
	s.signed = attest.ResponsePolicy{KeyID: "k", Epoch: epoch, IssuedAt: s.now.Unix(), PolicyHash: fmt.Sprint(epoch), Rules: json.RawMessage(rules)}
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// settled waits until an enforcer fetches nothing.
func settled(e *Enforcer) {
	e.mu.Lock()
	running := e.attempt
	e.mu.Unlock()
	if running != nil {
		<-running.done
	}
}

const (
	nothing  = `{"version":1}`
	blocking = `{"version":1,"httpTools":["call"],"ruleset":"sof-response-rules-v1","block":["pii"]}`
	personal = `{"text":"ann@example.com"}`
)

// TestEnforcer: rules are fetched before the first call, and in the background while they are used; without valid ones nothing
// passes, covered or not.
func TestEnforcer(t *testing.T) {
	s := &service{now: noon, err: errors.New("down")}
	e := NewEnforcer(s.fetch, s.clock)
	passes := func(step string, want error) {
		t.Helper()
		ready := e.Ready(t.Context(), "")
		settled(e)
		shown, _, err := e.Result("x", "call", json.RawMessage(personal))
		if !errors.Is(err, want) || want == nil && string(shown) != personal || want != nil && shown != nil {
			t.Errorf("%s: %s, %v; want %v", step, shown, err, want)
		}
		if errors.Is(err, ErrUnavailable) != (ready != nil) || ready != nil && !errors.Is(ready, ErrUnavailable) {
			t.Errorf("%s: ready %v, and then %v", step, ready, err)
		}
		settled(e)
	}
	at := func(after time.Duration, epoch uint64, rules string) {
		s.set(func() { s.now = s.now.Add(after); s.sign(epoch, rules) })
	}
	passes("the service is down", ErrUnavailable)
	s.set(func() { s.err = nil })
	at(pause-1, 2, nothing)
	if passes("asked a moment ago", ErrUnavailable); s.count() != 1 {
		t.Errorf("asked %d times", s.count())
	}
	at(1, 2, nothing)
	passes("the service is back", nil)
	at(fresh-time.Second, 3, blocking)
	if passes("still fresh", nil); s.count() != 2 {
		t.Errorf("asked %d times", s.count())
	}
	at(time.Second, 3, blocking)
	passes("another policy", ErrRefused)
	at(fresh, 2, nothing)
	passes("a lower epoch", ErrRefused)
	at(fresh, 3, nothing)
	s.set(func() { s.signed.IssuedAt = noon.Unix() })
	passes("an older document of the epoch", ErrRefused)
	at(fresh, 9, nothing)
	s.set(func() { s.signed.KeyID = "another" })
	passes("another key", ErrRefused)
	s.set(func() { s.now = time.Unix(e.signed.IssuedAt, 0).Add(attest.ResponsePolicySeconds*time.Second - 1) })
	passes("just valid", ErrRefused)
	s.set(func() { s.now = s.now.Add(1) })
	passes("expired", ErrUnavailable)
	at(pause, 4, strings.Replace(nothing, "1", "2", 1))
	passes("rules that are not known", ErrUnavailable)
	at(pause, 5, nothing)
	passes("rules that are known", nil)
	at(fresh, 6, strings.Replace(nothing, "1", "2", 1))
	_ = e.Ready(t.Context(), "") // has them fetched in the background
	settled(e)
	passes("rules that are not known, in the place of valid ones", ErrUnavailable)
}

// TestEnforcerPolicy: before a call that was decided under another policy, rules are fetched that are not from before the decision.
func TestEnforcerPolicy(t *testing.T) {
	s := &service{now: noon}
	s.sign(1, nothing)
	e := NewEnforcer(s.fetch, s.clock)
	if err := e.Ready(t.Context(), "1"); err != nil || s.count() != 1 {
		t.Fatal(err, s.count())
	}
	s.set(func() { s.sign(2, blocking) })
	if err := e.Ready(t.Context(), "1"); err != nil || s.count() != 1 {
		t.Errorf("the same policy: %v, asked %d times", err, s.count())
	}
	if err := e.Ready(t.Context(), "2"); err != nil || s.count() != 2 {
		t.Errorf("another policy: %v, asked %d times", err, s.count())
	}
	if _, _, err := e.Result("x", "call", json.RawMessage(personal)); !errors.Is(err, ErrRefused) {
		t.Errorf("the rules before count: %v", err)
	}
	s.set(func() { s.err = errors.New("down") })
	if err := e.Ready(t.Context(), "3"); err != nil {
		// The rules of policy 2 are valid, and those of policy 3 cannot be had.
		t.Logf("%v", err)
	} else {
		t.Error("ready without the rules of the policy that decided")
	}
	if err := e.Ready(t.Context(), "2"); err != nil {
		t.Errorf("the rules at hand are of the policy: %v", err)
	}
}

// waiting is a context that tells when something waits for it.
type waiting struct {
	context.Context //nolint:containedctx // it is one
	asked           chan struct{}
}

func (w waiting) Done() <-chan struct{} {
	w.asked <- struct{}{}
	return w.Context.Done()
}

// TestEnforcerEarlier: an attempt that was under way before the decision does not count for its policy.
func TestEnforcerEarlier(t *testing.T) {
	s := &service{now: noon, wait: make(chan struct{})}
	s.sign(1, nothing)
	e := NewEnforcer(s.fetch, s.clock)
	_, _, _ = e.Result("x", "call", json.RawMessage(personal)) // starts an attempt
	for s.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	done, waits := make(chan error, 1), waiting{t.Context(), make(chan struct{}, 9)}
	s.set(func() { s.sign(2, blocking) })
	go func() { done <- e.Ready(waits, "2") }()
	<-waits.asked
	close(s.wait)
	if err := <-done; err != nil || s.count() != 2 {
		t.Errorf("%v, asked %d times", err, s.count())
	}
	if _, _, err := e.Result("x", "call", json.RawMessage(personal)); !errors.Is(err, ErrRefused) {
		t.Errorf("the rules before count: %v", err)
	}
}

// TestEnforcerWaits: a result waits for no service, and a call no longer than its context.
func TestEnforcerWaits(t *testing.T) {
	s := &service{now: noon, wait: make(chan struct{})}
	s.sign(1, nothing)
	e := NewEnforcer(s.fetch, s.clock)
	if _, _, err := e.Result("x", "call", json.RawMessage(personal)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without rules: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Ready(ctx, ""); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	close(s.wait)
	if err := e.Ready(t.Context(), ""); err != nil {
		t.Error(err)
	}
	wait := make(chan struct{})
	defer close(wait)
	s.set(func() { s.now, s.wait = s.now.Add(fresh), wait })
	for range 3 { // the service does not answer, and the rules at hand count until they expire
		if _, _, err := e.Result("x", "call", json.RawMessage(personal)); err != nil {
			t.Error(err)
		}
	}
}

// TestKeep: rules that nothing uses are fetched again before they expire, and not before they are late.
func TestKeep(t *testing.T) {
	s := &service{now: noon}
	s.sign(1, nothing)
	e := NewEnforcer(s.fetch, s.clock)
	keep := func() int { e.keep(); settled(e); return s.count() }
	if asked := keep(); asked != 0 {
		t.Errorf("asked %d times before the first use", asked)
	}
	if err := e.Ready(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.now = noon.Add(late - 1) })
	if asked := keep(); asked != 1 {
		t.Errorf("asked %d times before they are late", asked)
	}
	s.set(func() { s.now = noon.Add(late); s.sign(1, nothing) })
	if asked := keep(); asked != 2 {
		t.Errorf("asked %d times when they are late", asked)
	}
	s.set(func() { s.now = noon.Add(attest.ResponsePolicySeconds * time.Second) })
	if _, _, err := e.Result("x", "call", json.RawMessage(personal)); err != nil {
		t.Errorf("they were let expire: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Keep(ctx) // ends
}

// TestEnforcerTogether: many calls at once have the rules fetched once.
func TestEnforcerTogether(t *testing.T) {
	s := &service{now: noon, wait: make(chan struct{})}
	s.sign(1, nothing)
	e := NewEnforcer(s.fetch, s.clock)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := e.Ready(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	close(s.wait)
	all.Wait()
	if asked := s.count(); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
