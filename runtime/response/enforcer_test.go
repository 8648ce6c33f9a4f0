package response

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/attest"
)

// service is what an enforcer asks.
type service struct {
	now    time.Time
	asked  int
	signed attest.ResponsePolicy
	err    error
}

func (s *service) fetch(_ context.Context, keyID string, now time.Time) (*attest.ResponsePolicy, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	if keyID != "" && keyID != s.signed.KeyID {
		return nil, attest.ErrAudience
	}
	signed := s.signed
	return &signed, nil
}

func (s *service) sign(epoch uint64, at time.Time, rules string) {
	s.signed = attest.ResponsePolicy{KeyID: "k", Epoch: epoch, IssuedAt: at.Unix(), Rules: json.RawMessage(rules)}
}

const (
	nothing  = `{"version":1}`
	blocking = `{"version":1,"httpTools":["call"],"ruleset":"sof-response-rules-v1","block":["pii"]}`
	personal = `{"text":"ann@example.com"}`
)

// TestEnforcer: rules are fetched once while they are fresh; without valid ones nothing passes, covered or not.
func TestEnforcer(t *testing.T) {
	s := &service{now: noon, err: errors.New("down")}
	e := NewEnforcer(s.fetch, func() time.Time { return s.now })
	passes := func(step string, want error) {
		t.Helper()
		shown, err := e.Result("x", "call", json.RawMessage(personal))
		if !errors.Is(err, want) || want == nil && string(shown) != personal || want != nil && shown != nil {
			t.Errorf("%s: %s, %v; want %v", step, shown, err, want)
		}
	}
	passes("the service is down", ErrUnavailable)
	s.err = nil
	s.sign(2, s.now, nothing)
	passes("asked a moment ago", ErrUnavailable)
	if s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
	s.now = s.now.Add(Pause)
	s.sign(2, s.now, nothing)
	passes("the service is back", nil)
	s.now = s.now.Add(Fresh - time.Second)
	s.sign(3, s.now, blocking)
	passes("still fresh", nil)
	if s.asked != 2 {
		t.Errorf("asked %d times", s.asked)
	}
	s.now = s.now.Add(time.Second)
	passes("another policy", ErrRefused)

	s.now = s.now.Add(Fresh)
	s.sign(2, s.now, nothing)
	passes("a lower epoch", ErrRefused)
	s.now = s.now.Add(Fresh)
	s.sign(3, noon, nothing)
	passes("an older document of the epoch", ErrRefused)
	s.now = s.now.Add(Fresh)
	s.sign(9, s.now, nothing)
	s.signed.KeyID = "another"
	passes("another key", ErrRefused)
	s.now = time.Unix(e.signed.IssuedAt, 0).Add(attest.ResponsePolicySeconds*time.Second - 1)
	passes("just valid", ErrRefused)
	s.now = s.now.Add(1)
	passes("expired", ErrUnavailable)
	s.now = s.now.Add(Pause)
	s.sign(4, s.now, strings.Replace(nothing, "1", "2", 1))
	passes("rules that are not known", ErrUnavailable)
	s.now = s.now.Add(Pause)
	s.sign(5, s.now, nothing)
	passes("rules that are known", nil)
}

// TestEnforcerTogether: many results at once have the rules fetched once.
func TestEnforcerTogether(t *testing.T) {
	s := &service{now: noon}
	s.sign(1, noon, nothing)
	e := NewEnforcer(s.fetch, func() time.Time { return noon })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := e.Result("x", "call", json.RawMessage(personal)); err != nil {
				t.Error(err)
			}
		})
	}
	if all.Wait(); s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
}
