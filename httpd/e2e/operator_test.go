package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// operator signs policies and resolutions, with code of its own: what it signs is what the documents say, not what the
// product happens to do.
type operator struct{ private ed25519.PrivateKey }

func newOperator(t *testing.T) operator {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return operator{private}
}

func (o operator) public() string {
	return base64.RawURLEncoding.EncodeToString(o.private.Public().(ed25519.PublicKey))
}

// sign returns a policy with its signature block, and its policyHash.
func (o operator) sign(policy string) (signed, hash string) {
	sum := sha256.Sum256([]byte(policy))
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(o.private, []byte(policy)))
	return policy + "## signature\nsvc-sig: " + signature + "\n", hex.EncodeToString(sum[:])
}

// keep writes the private key to a file, as the operator's commands read it.
func (o operator) keep(s *site, name string) (path string) {
	s.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(o.private)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	return s.path(name)
}

// resolution returns the body that resolves a hold.
func (o operator) resolution(h held, decision string, at time.Time) string {
	text := fmt.Sprintf("svc-hold-resolution-v1\n%s\n%s\n%s\n%s\n%d", h.HoldID, h.IntentHash, h.PolicyHash, decision, at.Unix())
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(o.private, []byte(text)))
	return fmt.Sprintf(`{"decision":%q,"resolved_at":%d,"operator_signature":%q}`, decision, at.Unix(), signature)
}

// held is a hold as its key reads it.
type held struct {
	HoldID, Status, Method, AgentID, IntentHash, PolicyRule, PolicyHash, PolicyVersion string
	CreatedAt, ExpiresAt                                                               int64
	ResolvedAt                                                                         *int64
	Intent                                                                             json.RawMessage
}

// newHosted makes a site of a hosted service, which has no policy of its own. Its rate limits are lifted, but for those
// that settings of NAME=value set.
func newHosted(t *testing.T, settings ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.env = append(plainEnviron(), "SVC_HOSTED=true", "SVC_DATA_DIR="+s.path("data"), "SVC_LISTEN=127.0.0.1:0",
		"SVC_RATE_LIMIT_KEY=0", "SVC_RATE_LIMIT_IP=0", "SVC_RATE_LIMIT_HOLDS=0", "SVC_RATE_LIMIT_REGISTER=0", "SVC_RATE_LIMIT_DEPLOY=0")
	s.env = append(s.env, settings...)
	s.mayHaveSlots()
	return s
}

// reply is any answer of the service.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request with an API key, none where it is empty, and header fields of "Name: value".
func (r *running) send(method, path, key, body string, fields ...string) reply {
	r.t.Helper()
	got, err := r.try(method, path, key, body, fields...)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// try is send for a request that may stay without an answer.
func (r *running) try(method, path, key, body string, fields ...string) (reply, error) {
	request, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Add(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(text)}, err
}

// code is the answer's status and error_code, as in "403 SVC_API_KEY_SCOPE_INSUFFICIENT".
func (p reply) code() string {
	var body struct {
		Code string `json:"error_code"`
	}
	_ = json.Unmarshal([]byte(p.body), &body) // where there is none, the comparison shows it
	return strings.TrimSpace(fmt.Sprint(p.status, " ", body.Code))
}

// read decodes an answer that must have a status.
func read[T any](t *testing.T, p reply, status int) (value T) {
	t.Helper()
	if p.status != status {
		t.Fatalf("%d, not %d: %s", p.status, status, p.body)
	}
	if err := json.Unmarshal([]byte(p.body), &value); err != nil {
		t.Fatalf("%v: %s", err, p.body)
	}
	return value
}

// wants compares an answer's status and error_code.
func (p reply) wants(t *testing.T, what, want string) {
	t.Helper()
	if p.code() != want {
		t.Errorf("%s: %s, not %s: %s", what, p.code(), want, p.body)
	}
}

// registered is the answer to a registration.
type registered struct {
	APIKey    string    `json:"api_key"`
	KeyID     string    `json:"key_id"`
	Scopes    []string  `json:"scopes"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"created_at"`
}

// register registers an API key.
func (r *running) register() registered {
	r.t.Helper()
	return read[registered](r.t, r.send("POST", "/v1/keys/register", "", `{"email":"agent@example.com","organization":"Example"}`), 201)
}

// deployed is the answer to a deployment.
type deployed struct {
	PolicyHash    string `json:"policyHash"`
	PolicyVersion string `json:"policyVersion"`
	DeployedAt    int64  `json:"deployedAt"`
	Warnings      []struct{ Code, Message string }
}

// deployment is the body that deploys a policy.
func (o operator) deployment(policy string) string {
	signed, _ := o.sign(policy)
	body, err := json.Marshal(map[string]string{"warranty_md": signed, "operator_public_key": o.public()})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(body)
}

// deploy deploys a policy by the API.
func (r *running) deploy(key string, o operator, policy string) deployed {
	r.t.Helper()
	return read[deployed](r.t, r.send("POST", "/v1/warranty/deploy", key, o.deployment(policy)), 200)
}

// hold reads a hold.
func (r *running) hold(key, id string) held {
	r.t.Helper()
	return read[held](r.t, r.send("GET", "/v1/holds/"+id, key, ""), 200)
}

// resolve decides about a hold by the API.
func (r *running) resolve(key string, o operator, id, decision string) reply {
	r.t.Helper()
	return r.send("POST", "/v1/holds/"+id+"/resolution", key, o.resolution(r.hold(key, id), decision, time.Now()))
}

// tool returns a request for a tool's action. The rest is more of the intent: `"command":"ls"`.
func tool(action, rest string) string {
	if rest != "" {
		rest = "," + rest
	}
	return fmt.Sprintf(`{"framework":"custom","agentId":"agent-1","txCommit":"%s","intent":{"action":%q%s}}`, strings.Repeat("ab", 32), action, rest)
}
