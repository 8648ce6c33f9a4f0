package mcpproxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/httpd/client"
	"bailiff/runtime/attest"
	"bailiff/runtime/response"
)

// signing is a service that signs response policies and attestations.
type signing struct {
	t      *testing.T
	signer *attest.Signer
	other  *attest.Signer // whose keys the service does not list

	mu     sync.Mutex
	policy attest.ResponsePolicy
	by     *attest.Signer
	issuer string
	token  string // in place of a document, where it is not empty
	status int    // of the document; 0: 200
	asked  int
}

const policyHash = "abababababababababababababababababababababababababababababababab"

func newSigning(t *testing.T) (*signing, *SignedRules) {
	t.Helper()
	s := &signing{t: t, issuer: "svc-test"}
	var err error
	if s.signer, err = attest.LoadOrCreate(t.TempDir(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if s.other, err = attest.LoadOrCreate(t.TempDir(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	s.by = s.signer
	s.policy = attest.ResponsePolicy{
		KeyID: "key-1", Epoch: 5, IssuedAt: time.Now().Unix(), Issuer: s.issuer, PolicyHash: policyHash,
		Rules: json.RawMessage(`{"version":1,"httpTools":["files.read"],"ruleset":"sof-response-rules-v1","block":["pii"]}`),
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	service, err := client.New(client.Config{URL: server.URL, Key: "sk_svc_x"})
	if err != nil {
		t.Fatal(err)
	}
	return s, NewSignedRules(service, time.Now)
}

func (s *signing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text []byte
	switch r.URL.Path {
	case "/.well-known/svc-conformance.json":
		text = fmt.Appendf(nil, `{"issuer":%q}`, s.issuer)
	case "/.well-known/jwks.json":
		text = s.signer.JWKS(time.Now())
	case "/.well-known/svc-pqc-keys.json":
		text = s.signer.PQCKeys(time.Now())
	case "/v1/response-policy":
		s.asked++
		if s.status != 0 || r.Header.Get("Authorization") != "Bearer sk_svc_x" {
			w.WriteHeader(max(s.status, 401))
			return
		}
		token := s.token
		if token == "" {
			var err error
			if token, err = s.by.IssueResponsePolicy(&s.policy); err != nil {
				s.t.Error(err)
			}
		}
		text = fmt.Appendf(nil, `{"responsePolicy":%q,"policyHash":%q}`, token, s.policy.PolicyHash)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = w.Write(text)
}

// attestation is one of an intent, with a change.
func (s *signing) attestation(intent *Intent, change func(*attest.Claims)) string {
	s.t.Helper()
	id, err := attest.NewTokenID(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	claims := &attest.Claims{
		Issuer: "svc-test", Subject: "agent", ID: id, IssuedAt: time.Now().Unix(), TxCommit: intent.TxCommit, PolicyHash: policyHash,
		Framework: "mcp-proxy", KeyID: "key-1", Kind: attest.KindMCP, IntentHash: strings.Repeat("cd", 32), Intent: attest.Intent{Action: "mcp.files.read"},
	}
	change(claims)
	token, err := s.signer.Issue(nil, claims)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(token)
}

var someIntent = &Intent{Action: "mcp.files.read", TxCommit: strings.Repeat("ef", 32)}

func unchanged(*attest.Claims) {}

// ready asks for rules as the guard does.
func (s *signing) ready(rules *SignedRules, change func(*attest.Claims)) error {
	return rules.Ready(s.t.Context(), someIntent, &Decision{Status: statusAllowed, PolicyHash: policyHash, Attestation: s.attestation(someIntent, change)})
}

// TestSigned: the rules of a valid document count, and it is fetched once.
func TestSigned(t *testing.T) {
	s, rules := newSigning(t)
	for range 3 {
		if err := s.ready(rules, unchanged); err != nil {
			t.Fatal(err)
		}
	}
	if s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
	for result, want := range map[string]error{`{"a":"plain"}`: nil, `{"a":"ann@example.com"}`: response.ErrRefused} {
		if shown, _, err := rules.Result("files", "read", json.RawMessage(result)); !errors.Is(err, want) || want == nil && string(shown) != result {
			t.Errorf("%s: %s, %v", result, shown, err)
		}
	}
}

// TestSignedRefused: nothing passes with a document that is not one of this service, for this key, now.
func TestSignedRefused(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		spoil func(*signing)
		want  error
	}{
		"another key":           {func(s *signing) { s.policy.KeyID = "key-2" }, attest.ErrAudience},
		"another issuer":        {func(s *signing) { s.policy.Issuer = "another" }, attest.ErrIssuer},
		"expired":               {func(s *signing) { s.policy.IssuedAt = now.Add(-6 * time.Minute).Unix() }, attest.ErrExpired},
		"from the future":       {func(s *signing) { s.policy.IssuedAt = now.Add(time.Hour).Unix() }, attest.ErrNotYetValid},
		"another signer":        {func(s *signing) { s.by = s.other }, attest.ErrUnknownKey},
		"an attestation":        {func(s *signing) { s.token = s.attestation(someIntent, unchanged) }, attest.ErrHeader},
		"rules from tomorrow":   {func(s *signing) { s.policy.Rules = json.RawMessage(`{"version":2}`) }, response.ErrRules},
		"a service without any": {func(s *signing) { s.status = http.StatusNotFound }, nil},
		"a service that fails":  {func(s *signing) { s.status = http.StatusServiceUnavailable }, nil},
	} {
		s, rules := newSigning(t)
		c.spoil(s)
		if err := s.ready(rules, unchanged); !errors.Is(err, response.ErrUnavailable) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if shown, _, err := rules.Result("files", "other", json.RawMessage(`{}`)); !errors.Is(err, response.ErrUnavailable) || shown != nil {
			t.Errorf("%s: %s, %v", name, shown, err)
		}
	}
}

// TestSignedKey: the id of the key comes from the attestation of the proxy's own call, and from nothing else.
func TestSignedKey(t *testing.T) {
	for name, change := range map[string]func(*attest.Claims){
		"of another call":   func(c *attest.Claims) { c.TxCommit = strings.Repeat("00", 32) },
		"of another issuer": func(c *attest.Claims) { c.Issuer = "another" },
		"that has expired":  func(c *attest.Claims) { c.IssuedAt -= 120 },
		"of another key":    func(c *attest.Claims) { c.KeyID = "key-2" }, // for which the document is not
	} {
		s, rules := newSigning(t)
		if err := s.ready(rules, change); !errors.Is(err, response.ErrUnavailable) {
			t.Errorf("an attestation %s: %v", name, err)
		}
	}
	s, rules := newSigning(t)
	none := &Decision{Unreachable: true}
	if err := rules.Ready(t.Context(), someIntent, none); !errors.Is(err, response.ErrUnavailable) || s.asked != 0 {
		t.Errorf("without an attestation: %v, asked %d times", err, s.asked)
	}
	policy, err := s.signer.IssueResponsePolicy(&s.policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Ready(t.Context(), someIntent, &Decision{Attestation: policy}); !errors.Is(err, attest.ErrHeader) && !errors.Is(err, attest.ErrTooLarge) {
		t.Errorf("a response policy passes for an attestation: %v", err)
	}
	if err := s.ready(rules, unchanged); err != nil {
		t.Fatal(err)
	}
	if err := rules.Ready(t.Context(), someIntent, none); err != nil {
		t.Errorf("the key is known, and its rules are valid: %v", err)
	}
}

// TestSignedEpoch: a document of a lower epoch is not taken, though it is valid.
func TestSignedEpoch(t *testing.T) {
	s, rules := newSigning(t)
	if err := s.ready(rules, unchanged); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.policy.Epoch, s.policy.PolicyHash, s.policy.Rules = 4, strings.Repeat("01", 32), json.RawMessage(`{"version":1}`)
	s.mu.Unlock()
	err := rules.Ready(context.WithoutCancel(t.Context()), someIntent, &Decision{PolicyHash: strings.Repeat("01", 32)})
	if !errors.Is(err, response.ErrUnavailable) || !strings.Contains(err.Error(), "epoch 4") {
		t.Errorf("%v", err)
	}
	if _, _, err := rules.Result("files", "read", json.RawMessage(`{"a":"ann@example.com"}`)); !errors.Is(err, response.ErrRefused) {
		t.Errorf("the rules that were seen do not count any more: %v", err)
	}
}
