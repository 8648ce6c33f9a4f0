package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/response"
)

// A signer is the part of the stand-in that signs: the documents that the proxy verifies, and the one attestation that it takes the
// id of its key from.
type signer struct {
	keys     *attest.Signer
	attested atomic.Bool
}

const standInIssuer, standInKey = "stand-in", "bench"

// standInPolicy is the hash of the policy under which the stand-in decides.
var standInPolicy = strings.Repeat("0", 64)

func newSigner(folder string) (*signer, error) {
	keys, err := attest.LoadOrCreate(filepath.Join(folder, "stand-in"), rand.Reader)
	return &signer{keys: keys}, err
}

// document answers a request for one of the signer's documents, and reports whether it was one.
func (s *signer) document(w http.ResponseWriter, r *http.Request) bool {
	var text []byte
	switch now := time.Now(); r.URL.Path {
	case "/.well-known/svc-conformance.json":
		text = fmt.Appendf(nil, `{"issuer":%q}`, standInIssuer)
	case "/.well-known/jwks.json":
		text = s.keys.JWKS(now)
	case "/.well-known/svc-pqc-keys.json":
		text = s.keys.PQCKeys(now)
	case "/v1/response-policy":
		text = s.rules(now)
	default:
		return false
	}
	_, _ = w.Write(text)
	return true
}

// rules is a response policy that has every result of the tool inspected.
func (s *signer) rules(now time.Time) []byte {
	rules := response.Rules{
		Version: response.Version, HTTPTools: []string{"bench.echo"}, Ruleset: response.RulesetV1,
		Block: []response.Class{response.Secret, response.PII, response.MaliciousURL, response.PromptInjection},
	}
	text, err := rules.Encode()
	if err != nil {
		panic(err) // they are constant
	}
	token, err := s.keys.IssueResponsePolicy(&attest.ResponsePolicy{
		KeyID: standInKey, Epoch: 1, IssuedAt: now.Unix(), Issuer: standInIssuer, PolicyHash: standInPolicy, Rules: json.RawMessage(text),
	})
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"responsePolicy":%q,"policyHash":%q}`, token, standInPolicy)
}

// attestation signs the first intent that it is given. The proxy reads no later one, so that signing is not measured.
func (s *signer) attestation(commit string) string {
	if s.attested.Swap(true) {
		return "x"
	}
	id, err := attest.NewTokenID(rand.Reader)
	if err != nil {
		panic(err)
	}
	token, err := s.keys.Issue(nil, &attest.Claims{
		Issuer: standInIssuer, Subject: "agent", ID: id, IssuedAt: time.Now().Unix(), TxCommit: commit, PolicyHash: standInPolicy, Framework: "mcp-proxy",
		KeyID: standInKey, Kind: attest.KindMCP, IntentHash: strings.Repeat("0", 64), Intent: attest.Intent{Action: "mcp.bench.echo"},
	})
	if err != nil {
		panic(err)
	}
	return string(token)
}
