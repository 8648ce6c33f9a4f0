package laws

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bailiff/fuzz/gen"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/authority"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
)

// Service is a service in memory for one policy, with a key of each provenance.
type Service struct {
	authority *authority.Authority
	ledger    io.Closer
	agent     *ledger.Key
	shim      *ledger.Key
}

// now is the one time of these services. Counters need it only to stand still.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NewService starts a service, or returns an error where the policy does not compile. The signer may be shared.
func NewService(text string, signer *attest.Signer) (*Service, error) {
	policy, err := authority.CompilePolicy(grammar.NewSource("policy", []byte(text)))
	if err != nil {
		return nil, err
	}
	store, clock := memory.New(), func() time.Time { return now }
	s := &Service{ledger: closer(func() { store.Close() })}
	s.authority, err = authority.New(authority.Config{
		Ledger: store, Signer: signer, Policy: policy, Environment: authority.Production, Issuer: "svc-core",
		Clock: clock, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	admin := &authority.Admin{Ledger: store, Environment: authority.Production, Clock: clock, Random: rand.Reader}
	for _, key := range []struct {
		shim bool
		into **ledger.Key
	}{{false, &s.agent}, {true, &s.shim}} {
		view, err := admin.CreateKey(context.Background(), authority.NewKey{Email: "a@example.com", Shim: key.shim})
		if err != nil {
			return nil, err
		}
		found, fault := s.authority.Authenticate([]byte(view.APIKey), ledger.ScopeAuthorize)
		if fault != nil {
			return nil, fault
		}
		*key.into = found
	}
	return s, nil
}

type closer func()

func (c closer) Close() error { c(); return nil }

// Close ends the service.
func (s *Service) Close() { _ = s.ledger.Close() }

// Decide answers a request, as a line that says what both ways of asking must say alike.
func (s *Service) Decide(c *gen.Case, testRun bool) string {
	key := s.agent
	if c.Shim {
		key = s.shim
	}
	var answer authority.Answer
	if fault := s.authority.Decide(context.Background(), key, c.Bytes(), testRun, &answer); fault != nil {
		return fmt.Sprintf("%s: %s", fault.Code, fault.Message)
	}
	return fmt.Sprintf("%s %s %s %s", answer.Status, answer.Rule, answer.Code, answer.PolicyHash)
}

// TestRunSaysTheSame holds that on the same state of the ledger a test-run says what authorize says. decide is Service.Decide; its
// statuses, as they occurred, are added to seen.
func TestRunSaysTheSame(b *gen.Batch, signer *attest.Signer, decide func(*Service, *gen.Case, bool) string, seen map[string]int) string {
	service, err := NewService(b.Policy.Text(), signer)
	if err != nil {
		return ""
	}
	defer service.Close()
	for _, c := range b.Cases {
		simulated := decide(service, c, true)
		said := decide(service, c, false)
		if simulated != said {
			return fmt.Sprintf("a test-run says: %s\nauthorize says:  %s\n%s", simulated, said, c)
		}
		seen[firstWord(said)]++
	}
	return ""
}

func firstWord(text string) string {
	for i := range len(text) {
		if text[i] == ' ' || text[i] == ':' {
			return text[:i]
		}
	}
	return text
}
