package laws

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/kit/claims"
	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
)

// Service is a service in memory for one policy, with a key of each provenance.
type Service struct {
	authority *decision.Decider
	ledger    io.Closer
	agent     *ledger.Key
	shim      *ledger.Key
}

// now is the one time of these services. Counters need it only to be still.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NewService starts a service, or returns an error where the policy does not compile. The signer may be shared.
func NewService(text string, signer *attest.Signer) (*Service, error) {
	policy, err := policies.CompilePolicy(grammar.NewSource("policy", []byte(text)))
	if err != nil {
		return nil, err
	}
	return Serve(policy, signer, func() time.Time { return now })
}

// Serve starts a service for a policy, with a clock.
func Serve(policy *policies.Policy, signer *attest.Signer, clock clock.Clock) (s *Service, err error) {
	store := memory.New()
	s = &Service{ledger: store}
	s.authority, err = decision.New(decision.Config{Policies: policies.Config{Default: policy}, Service: service.Config{
		Ledger: store, Signer: signer, Environment: service.Production, Issuer: "svc-core",
		Clock: clock, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		return nil, err
	}
	admin := decision.NewAdmin(service.Config{Ledger: store, Environment: service.Production, Clock: clock, Random: rand.Reader})
	for _, key := range []struct {
		shim bool
		into **ledger.Key
	}{{false, &s.agent}, {true, &s.shim}} {
		view, err := admin.CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", Shim: key.shim})
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

// Close ends the service.
func (s *Service) Close() { _ = s.ledger.Close() }

// key is that of the agent, or of the shim.
func (s *Service) key(shim bool) *ledger.Key {
	if shim {
		return s.shim
	}
	return s.agent
}

// Ask answers a request of the agent's key or the shim's.
func (s *Service) Ask(body []byte, shim bool, call decision.Call) (*decision.Answer, *service.Failure) {
	answer := new(decision.Answer)
	fault := s.authority.Decide(context.Background(), s.key(shim), body, call, answer)
	return answer, fault
}

// Hold returns a hold of the agent's key or the shim's.
func (s *Service) Hold(shim bool, id string) (*ledger.Hold, *service.Failure) {
	return s.authority.HoldOf(context.Background(), s.key(shim), id)
}

// Resolve records the operator's decision about a hold.
func (s *Service) Resolve(hold *ledger.Hold, allow bool) *service.Failure {
	at := s.authority.Clock()
	_, fault := s.authority.RecordResolution(context.Background(), hold, ledger.Resolution{
		Key: hold.Key, Hold: hold.ID, Allow: allow, At: at.UnixNano(), Resolved: at.Unix(),
	})
	return fault
}

// Decide answers a request, as a line that says what both ways of asking must say alike.
func (s *Service) Decide(c *gen.Case, testRun bool) string {
	answer, fault := s.Ask(c.Bytes(), c.Shim, decision.Call{TestRun: testRun})
	if fault != nil {
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

// Decided is what authorize answered, as far as other spellings must have it answered alike.
type Decided struct {
	Status string
	Hold   string // the id of the hold of a PENDING
	Claims string // the claims of an ALLOWED, without what every attestation has of its own
}

// Authorize decides a request, with a counter's state as the requests before have left it.
func (s *Service) Authorize(c *gen.Case) (Decided, error) {
	answer, fault := s.Ask(c.Bytes(), c.Shim, decision.Call{})
	if fault != nil {
		return Decided{Status: "ERROR"}, nil
	}
	lasting, err := lastingClaims(answer.Attestation)
	return Decided{answer.Status, answer.HoldID, lasting}, err
}

// lastingClaims returns the claims of an attestation that are not its own; none has none.
func lastingClaims(token []byte) (string, error) {
	if token == nil {
		return "", nil
	}
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return "", errors.New("the attestation is not a compact JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var all map[string]any
	if err := json.Unmarshal(payload, &all); err != nil {
		return "", err
	}
	return claims.Lasting(all), nil
}

// ClaimsOfSpellings holds that a request and its respelling get the same claims where both are allowed, and the same
// hold where both are pending. authorize is Service.Authorize; its statuses, as pairs, are added to seen.
func ClaimsOfSpellings(b *gen.Batch, signer *attest.Signer, authorize func(*Service, *gen.Case) (Decided, error), seen map[string]int) string {
	service, err := NewService(b.Policy.Text(), signer)
	if err != nil {
		return ""
	}
	defer service.Close()
	r, speller := gen.NewRand(b.Seed), gen.NewSpeller(b.Policy)
	for _, c := range b.Cases {
		normal := &gen.Case{Body: speller.Normal(c.Body), Shim: c.Shim}
		body, changed := speller.Respell(r, normal.Body)
		other := &gen.Case{Body: body, Shim: c.Shim}
		was, errWas := authorize(service, normal)
		is, errIs := authorize(service, other)
		if err := errors.Join(errWas, errIs); err != nil {
			return err.Error()
		}
		seen[was.Status+" "+is.Status]++
		if was.Status == is.Status && was != is {
			return fmt.Sprintf("another spelling of %v is answered otherwise\n%s\n%+v\n%s\n%+v", changed, normal, was, other, is)
		}
	}
	return ""
}
