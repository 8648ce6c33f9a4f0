package conform_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/differential"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/vm/form/evmaddr"
)

// TestNaive runs the kit against a second implementation, which is the oracle behind HTTP: it conforms to Core, and it does not
// conform to Limits, because it looks at a counter and advances it in two steps.
func TestNaive(t *testing.T) {
	n := &naive{keys: map[string]*naiveKey{}}
	server := httptest.NewServer(n)
	defer server.Close()
	n.url = server.URL
	config := conform.Config{URL: server.URL, Seed: seed.Value(t), Cases: 300, Levels: []conform.Level{conform.Core}, Workers: 2, Keys: n.key}
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if t.Log(text(t, report)); !report.Conforms() {
		t.Error("the naive implementation diverges at Core")
	}
	config.Levels = []conform.Level{conform.Limits}
	report, err = conform.Run(context.Background(), config)
	must(t, err)
	t.Log(text(t, report))
	if len(report.Divergences) == 0 || !strings.Contains(report.Divergences[0].What, "at once") {
		t.Error("that it decides without concurrency control is not found at Limits")
	}
}

// TestBusy runs the kit against a service that twice has no time to compile a policy: it conforms. One that has no time for the first
// policy ends the run.
func TestBusy(t *testing.T) {
	n := &naive{keys: map[string]*naiveKey{}}
	server := httptest.NewServer(n)
	defer server.Close()
	n.url = server.URL
	config := conform.Config{URL: server.URL, Seed: seed.Value(t), Cases: 50, Levels: []conform.Level{conform.Core}, Workers: 2, Keys: n.key}
	n.busy.Store(2)
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if !report.Conforms() || report.RateLimits["SVC_WARRANTY_COMPILE_TIME"] != 2 {
		t.Errorf("busy twice:\n%s", text(t, report))
	}
	config.Workers = 1
	n.busy.Store(5)
	if _, err := conform.Run(context.Background(), config); err == nil || !strings.Contains(err.Error(), "the service has no time to compile the policy") {
		t.Errorf("busy at the beginning: %v", err)
	}
}

// A naive is an implementation of the routes that Core needs.
type naive struct {
	url   string
	busy  atomic.Int64 // deployments until the next one has time; 0: all have
	mutex sync.Mutex   // guards the maps; a decision may be outdated when it is remembered
	keys  map[string]*naiveKey
}

type naiveKey struct {
	shim     bool
	operator string
	history  *differential.History
	subject  *differential.Subject
	hash     string
	replaced map[string]bool
	answers  map[string]map[string]any // by nonce and body
}

// key makes an API key.
func (n *naive) key(_ context.Context, shim bool) (string, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	secret := fmt.Sprintf("sk_svc_%064d", len(n.keys)+1)
	n.keys[secret] = &naiveKey{shim: shim, history: differential.NewHistory(), replaced: map[string]bool{}}
	return secret, nil
}

func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n.mutex.Lock()
	key := n.keys[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	n.mutex.Unlock()
	decides := strings.HasPrefix(r.URL.Path, "/v1/authorize")
	switch {
	case r.URL.Path == "/.well-known/svc-conformance.json":
		reply(w, 200, map[string]any{"issuer": "naive", "spec_version": "2.0.0", "jwks_uri": n.url + "/.well-known/jwks.json"})
	case decides && r.URL.Path != "/v1/authorize" && r.URL.Path != "/v1/authorize/test-run":
		refuse(w, 404, "ERROR", "SVC_NOT_FOUND")
	case decides && r.Method != http.MethodPost:
		refuse(w, 405, "ERROR", "SVC_METHOD_NOT_ALLOWED")
	case r.Header.Get("Authorization") == "":
		refuse(w, 401, "UNAUTHORIZED", "SVC_API_KEY_REQUIRED")
	case key == nil:
		refuse(w, 401, "UNAUTHORIZED", "SVC_API_KEY_INVALID")
	case r.URL.Path == "/v1/events":
		reply(w, 200, map[string]any{"events": []any{}})
	case r.URL.Path == "/v1/warranty/deploy":
		n.deploy(w, key, body)
	case decides && r.URL.RawQuery != "":
		refuse(w, 400, "DENIED", "SVC_VALIDATION_ERROR_SCHEMA")
	case decides && len(body) > 100_000:
		refuse(w, 413, "DENIED", "SVC_BODY_TOO_LARGE")
	case decides:
		n.decide(w, key, body, r.URL.Path != "/v1/authorize")
	default:
		refuse(w, 404, "ERROR", "SVC_NOT_FOUND")
	}
}

func reply(w http.ResponseWriter, status int, answer map[string]any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, word, code string) {
	reply(w, status, map[string]any{"status": word, "error_code": code, "message": "no"})
}

func (n *naive) deploy(w http.ResponseWriter, key *naiveKey, body []byte) {
	var request struct {
		Text     string `json:"warranty_md"`
		Operator string `json:"operator_public_key"`
	}
	_ = json.Unmarshal(body, &request)
	if n.busy.Add(-1) >= 0 {
		refuse(w, 400, "ERROR", "SVC_WARRANTY_COMPILE_TIME")
		return
	}
	framed, found := grammar.Split(grammar.NewSource("warranty.md", []byte(request.Text)))
	public, err := attest.ParseOperatorKey(request.Operator)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	switch {
	case err != nil || found.HasErrors() || !framed.Signed || attest.VerifyPolicy(public, framed.Body, framed.Signature) != nil:
		refuse(w, 400, "ERROR", "SVC_WARRANTY_SIGNATURE_INVALID")
		return
	case key.operator != "" && key.operator != request.Operator:
		refuse(w, 403, "ERROR", "SVC_WARRANTY_OPERATOR_KEY_MISMATCH")
		return
	}
	subject, err := differential.NewSubject(framed.Body)
	hash := grammar.PolicyHash(framed.Body)
	switch {
	case err != nil:
		refuse(w, 400, "ERROR", "SVC_WARRANTY_INVALID")
		return
	case key.replaced[hash]:
		refuse(w, 409, "ERROR", "SVC_WARRANTY_ROLLBACK")
		return
	}
	if key.hash != hash {
		key.replaced[key.hash] = true
	}
	key.operator, key.subject, key.hash, key.answers = request.Operator, subject, hash, map[string]map[string]any{}
	reply(w, 200, map[string]any{"policyHash": hash, "policyVersion": "2.4.0", "deployedAt": time.Now().Unix(), "warnings": []any{}})
}

// decide looks, and then remembers.
func (n *naive) decide(w http.ResponseWriter, key *naiveKey, body []byte, testRun bool) {
	request := differential.Request{Body: body, Shim: key.shim, TestRun: true, PolicyHash: key.hash, At: time.Now()}
	n.mutex.Lock()
	before := key.answers[string(body)]
	e := key.history.Decide(key.subject, request)
	n.mutex.Unlock()
	if e.Status == oracle.Error {
		refuse(w, 400, "DENIED", e.Code)
		return
	}
	if before != nil && !testRun {
		before["replayed"] = true
		reply(w, 200, before)
		return
	}
	time.Sleep(time.Millisecond) // in which others look as well
	request.TestRun = testRun
	n.mutex.Lock()
	defer n.mutex.Unlock()
	later := key.history.Decide(key.subject, request)
	answer := map[string]any{"status": e.Status, "intent_attestation": nil, "policyHash": key.hash, "message": "it is decided"}
	if e.Code != "" {
		answer["error_code"], answer["matched_rule"] = e.Code, e.Rule
	}
	var sent map[string]any
	_ = json.Unmarshal(body, &sent)
	nonce, _ := sent["request_nonce"].(string)
	if nonce != "" {
		answer["request_nonce"] = nonce
	}
	status := map[string]int{oracle.Allowed: 200, oracle.Pending: 202, oracle.Denied: 403}[e.Status]
	switch {
	case testRun:
		status, answer["test_run"], answer["observe_mode_active"] = 200, true, false
	case e.Status == oracle.Allowed:
		if answer["intent_attestation"] = unsigned(sent, &e, key.hash); nonce != "" {
			key.answers[string(body)] = answer
		}
	case e.Status == oracle.Pending:
		if later.Opened {
			later.Hold.ID = newUUID()
		}
		answer["holdId"], answer["expiresAt"], answer["policyRule"] = later.Hold.ID, later.Hold.Expires.Unix(), e.Rule
	}
	reply(w, status, answer)
}

// unsigned is an attestation in all but its signatures.
func unsigned(sent map[string]any, e *differential.Expected, hash string) string {
	inner, _ := sent["intent"].(map[string]any)
	action, _ := inner["action"].(string)
	if action == "" {
		action, _ = sent["action"].(string)
	}
	now := time.Now().Unix()
	claims := map[string]any{
		"iss": "naive", "aud": "svc", "sub": evmaddr.FoldLiterals(fmt.Sprint(sent["agentId"])), "jti": newUUID(), "iat": now, "exp": now + 60,
		"policyHash": hash, "framework": sent["framework"], "decision": "ALLOWED", "intentHash": e.IntentHash, "intent": map[string]any{"action": strings.ToLower(action)},
	}
	for _, name := range []string{"txCommit", "userOpHash", "chainId"} {
		if value, ok := sent[name]; ok {
			claims[name] = value
		}
	}
	payload, _ := json.Marshal(claims)
	return "e30." + base64.RawURLEncoding.EncodeToString(payload) + "." + base64.RawURLEncoding.EncodeToString(make([]byte, ed25519.SignatureSize))
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
