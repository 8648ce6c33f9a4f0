package evm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/runtime/system"
)

const issuer = "svc-core"

// now is the one time of these services.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A Service is authorize and the gateways for one policy, with an upstream that keeps what it is sent.
type Service struct {
	authority *decision.Decider
	gateway   *gateway.Gateway
	verifier  *attest.Verifier
	signer    *attest.Signer
	store     io.Closer
	key       *ledger.Key
	hash      string // of the policy
	sent      []byte // the last body that went upstream; nil: none
}

// NewService starts a service, or says why the policy can't be used. The signer may be shared.
func NewService(policy *Policy, signer *attest.Signer) (*Service, error) {
	loaded, err := policies.CompilePolicy(grammar.NewSource("policy", []byte(policy.Text)))
	if err != nil {
		return nil, err
	}
	verifier, err := signer.Verifier(issuer)
	if err != nil {
		return nil, err
	}
	store, clock, log := memory.New(), func() time.Time { return now }, slog.New(slog.DiscardHandler)
	s := &Service{verifier: verifier, signer: signer, store: store}
	if s.authority, err = decision.New(decision.Config{Policies: policies.Config{Default: loaded}, Service: service.Config{
		Ledger: store, Signer: signer, Environment: service.Production, Issuer: issuer, Clock: clock, Random: rand.Reader, Log: log,
	}}); err != nil {
		return nil, err
	}
	config := gateway.Config{
		Verifier: verifier, Ledger: store, BootPolicy: []byte(policy.Text), Environment: service.Production, Calls: system.Real(clock), Log: log,
		Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: ChainID, URL: "http://node.example"}, {Endpoint: gateway.Bundler, Chain: ChainID, URL: "http://bundler.example"}},
		Transport: func() http.RoundTripper { return upstream{s} }, MaxFees: policy.maxFees(),
	}
	if s.gateway, err = gateway.New(config); err != nil {
		return nil, err
	}
	terms, err := gateway.ParseTerms([]byte(policy.Text))
	if err != nil {
		return nil, err
	}
	s.hash = terms.Hash
	return s, s.createKey(decision.NewAdmin(service.Config{Ledger: store, Environment: service.Production, Clock: clock, Random: rand.Reader}))
}

func (s *Service) createKey(admin *decision.Admin) error {
	view, err := admin.CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com"})
	if err != nil {
		return err
	}
	key, fault := s.authority.Authenticate([]byte(view.APIKey), ledger.ScopeAuthorize)
	if fault != nil {
		return fault
	}
	s.key = key
	return nil
}

// Close ends the service.
func (s *Service) Close() { _ = s.store.Close() }

// upstream is the node and the bundler.
type upstream struct{ *Service }

// RoundTrip keeps the body.
func (u upstream) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	u.sent = body
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`)),
	}, nil
}

// A Door is a way to get an attestation.
type Door struct {
	Name   string
	attest func(*Service, *Plan) (token []byte, refusal string)
	judges bool // what is declared is held to the policy
}

// The doors: authorize, as agents have it, and one that attests whatever is declared, so that the gateway is alone.
var (
	Authorize = Door{"authorize", authorize, true}
	Attest    = Door{"gateway", attested, false}
)

func authorize(s *Service, p *Plan) ([]byte, string) {
	var answer decision.Answer
	if fault := s.authority.Decide(context.Background(), s.key, p.Body(), decision.Call{}, &answer); fault != nil {
		return nil, string(fault.Code) + ": " + fault.Message
	}
	if answer.Attestation == nil {
		return nil, answer.Status + " " + answer.Rule + " " + string(answer.Message)
	}
	return append([]byte(nil), answer.Attestation...), ""
}

func attested(s *Service, p *Plan) ([]byte, string) {
	claims := &attest.Claims{
		Issuer: issuer, Subject: "attacker", IssuedAt: now.Unix(), PolicyHash: s.hash, ChainID: ChainID, Framework: "custom", KeyID: s.key.ID.String(),
		Kind: attest.KindEVM, IntentHash: strings.Repeat("0", 64), Intent: p.Claims(),
	}
	_, _ = rand.Read(claims.ID[:])
	if claims.TxCommit = p.Commitment; p.Op != nil {
		claims.TxCommit, claims.UserOpHash = "", p.Commitment
	}
	token, err := s.signer.Issue(nil, claims)
	if err != nil {
		return nil, err.Error()
	}
	return token, ""
}

// Forward takes a plan to the gateway with what attests it. It returns what was attested and the bytes that went upstream, or why
// nothing did.
func (s *Service) Forward(p *Plan, attest func(*Service, *Plan) ([]byte, string)) (claims *attest.Claims, write []byte, refusal string) {
	token, refusal := attest(s, p)
	if refusal != "" {
		return nil, nil, refusal
	}
	claims, err := s.verifier.Verify(string(token), now)
	if err != nil {
		return nil, nil, err.Error()
	}
	s.sent = nil
	response := s.submit(p, token)
	if s.sent == nil {
		return claims, nil, response
	}
	write, err = paramOf(s.sent, p.Op == nil)
	if err != nil {
		return claims, nil, err.Error()
	}
	return claims, write, ""
}

// submit presents the attestation with the write, and returns what the gateway answers.
func (s *Service) submit(p *Plan, token []byte) string {
	endpoint, body := gateway.RPC, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x%s"]}`, hex.EncodeToString(p.Raw))
	if p.Op != nil {
		endpoint, body = gateway.Bundler, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[%s,"%s"]}`, p.Op, spell(p.EntryPoint))
	}
	request, refused := s.gateway.Parse(endpoint, fmt.Sprint(ChainID), []byte(body))
	if refused != nil {
		return refused.Message
	}
	response := s.gateway.Serve(context.Background(), request, gateway.Credential{Authorization: [][]byte{append([]byte("Bearer "), token...)}})
	defer response.Release()
	return response.Message + string(response.Body)
}

// paramOf returns the first parameter of a request: a transaction's bytes, or an operation's text.
func paramOf(body []byte, hexadecimal bool) ([]byte, error) {
	var request struct{ Params []json.RawMessage }
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("%s went upstream: %w", body, err)
	}
	if len(request.Params) == 0 {
		return nil, fmt.Errorf("%s went upstream, without a parameter", body)
	}
	if !hexadecimal {
		return request.Params[0], nil
	}
	var text string
	err := json.Unmarshal(request.Params[0], &text)
	return common.FromHex(text), err
}
