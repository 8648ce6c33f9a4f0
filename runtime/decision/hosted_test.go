package decision

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// town is a hosted service over a ledger in memory, whose time the test sets.
type town struct {
	*Decider
	t      *testing.T
	ledger *commit.Ledger
	time   atomic.Int64 // Unix nanoseconds
	log    bytes.Buffer
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newTown makes one; edit changes its configuration.
func newTown(t *testing.T, edit ...func(*Config)) *town {
	t.Helper()
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	h := &town{t: t, ledger: memory.New()}
	h.time.Store(noon.UnixNano())
	t.Cleanup(func() { h.ledger.Close() })
	config := Config{
		Service: service.Config{
			Ledger: h.ledger, Signer: signer, Environment: service.Production, Issuer: "svc-core", Hosted: true,
			Clock:  func() time.Time { return time.Unix(0, h.time.Load()).UTC() },
			Random: rand.Reader, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		},
		Policies: policies.Config{DeployURL: "https://api.example.com/v1/warranty/deploy"},
		Accounts: accounts.Config{CheckURL: func(context.Context, string, ledger.WebhookFormat) error { return nil }},
	}
	for _, change := range edit {
		change(&config)
	}
	if h.Decider, err = New(config); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *town) pass(d time.Duration) { h.time.Add(int64(d)) }

func (h *town) admin() *Admin {
	return NewAdmin(h.Service.Config)
}

// register registers a key and returns its secret.
func (h *town) register() string {
	h.t.Helper()
	view, fault := h.Register(context.Background(), []byte(`{"email":"a@example.com"}`))
	if fault != nil {
		h.t.Fatal(fault)
	}
	return view.APIKey
}

// key is the key of a secret, as it is now.
func (h *town) key(secret string) *ledger.Key {
	h.t.Helper()
	key, fault := h.Authenticate([]byte(secret), 0)
	if fault != nil {
		h.t.Fatal(fault)
	}
	return key
}

// operator is an operator key with what it is called.
type operator struct {
	private ed25519.PrivateKey
	public  string
}

func newOperator(t *testing.T) operator {
	t.Helper()
	private, err := attest.GenerateOperatorKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return operator{private, attest.FormatOperatorKey(private.Public().(ed25519.PublicKey))}
}

// sign signs the text of a policy.
func (o operator) sign(t *testing.T, policy string) string {
	t.Helper()
	signed, err := grammar.Join([]byte(policy), attest.SignPolicy(o.private, []byte(policy)))
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

// body is the JSON object of names and values.
func body(t *testing.T, pairs ...any) []byte {
	t.Helper()
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// deploy deploys a policy, signed by an operator.
func (h *town) deploy(secret string, by operator, policy string) (*policies.DeployView, *service.Failure) {
	h.t.Helper()
	return h.Deploy(context.Background(), h.key(secret), body(h.t, "warranty_md", by.sign(h.t, policy), "operator_public_key", by.public))
}

func (h *town) mustDeploy(secret string, by operator, policy string) *policies.DeployView {
	h.t.Helper()
	view, fault := h.deploy(secret, by, policy)
	if fault != nil {
		h.t.Fatal(fault)
	}
	return view
}

// request is the body of an authorize request with an intent.
func request(intent string) []byte {
	return []byte(`{"framework":"custom","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + intent + `}`)
}

func (h *town) ask(key *ledger.Key, intent string) (*Answer, *service.Failure) {
	answer := new(Answer)
	return answer, h.Decide(context.Background(), key, request(intent), Call{}, answer)
}

// codeOf is the code of a failure, "" where there is none.
func codeOf(fault *service.Failure) errcode.Code {
	if fault == nil {
		return ""
	}
	return fault.Code
}

// want fails the test unless a failure has a code.
func want(t *testing.T, fault *service.Failure, c errcode.Code) {
	t.Helper()
	if codeOf(fault) != c {
		t.Errorf("the answer is %q (%v), not %q", codeOf(fault), fault, c)
	}
}
