package attacks

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	"bailiff/grammar"
	"bailiff/httpd"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/system"
	"bailiff/runtime/webhook"
)

const issuer = "svc-core"

// operator signs the policies of all services.
var operator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// signer is shared, since keys take a while to make.
var signer = sync.OnceValues(func() (*attest.Signer, error) {
	folder, err := os.MkdirTemp("", "attacks")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	return attest.LoadOrCreate(folder, rand.Reader)
})

// A wire is a service in memory, whose API answers on 127.0.0.1.
type wire struct {
	decider *decision.Decider
	admin   *decision.Admin
	ledger  ledger.Ledger
	server  *httpd.Server
	address string
	client  *http.Client
	keys    map[bool]string // shared API keys, by whether they are a shim's
	sent    *int            // how many requests the gateways have sent
}

// newWire starts a service: self-hosted with a policy, hosted without one.
func newWire(policy string) (*wire, error) {
	signs, err := signer()
	if err != nil {
		return nil, err
	}
	w := &wire{ledger: memory.New(), keys: map[bool]string{}, sent: new(int)}
	config := service.Config{
		Ledger: w.ledger, Signer: signs, Environment: service.Production, Issuer: issuer, Hosted: policy == "",
		Clock: clock, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	w.admin = decision.NewAdmin(config)
	made := decision.Config{Service: config, Accounts: accounts.Config{CheckURL: checkURL}}
	if policy != "" {
		loaded, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(policy)))
		if err != nil {
			return nil, err
		}
		loaded.Text, made.Policies.Default = []byte(policy), loaded
		made.Service.Operator = [32]byte(operator.Public().(ed25519.PublicKey))
	}
	if w.decider, err = decision.New(made); err != nil {
		return nil, err
	}
	return w, w.serve(signs, policy)
}

// checkURL judges addresses of webhooks as the service does, without asking a name server.
func checkURL(ctx context.Context, url string, _ ledger.WebhookFormat) error {
	return webhook.CheckURL(ctx, offline(), url, false)
}

// offline are calls to the machine that reach no network: names have the addresses of a table.
func offline() system.Calls {
	calls := system.Real(clock)
	calls.Resolve = resolve
	return calls
}

func (w *wire) serve(signs *attest.Signer, policy string) error {
	verifier, err := signs.Verifier(issuer)
	if err != nil {
		return err
	}
	var text []byte // of the default policy, which a hosted service has none of
	if policy != "" {
		text = []byte(policy)
	}
	gate, err := gateway.New(gateway.Config{
		Verifier: verifier, Ledger: w.ledger, BootPolicy: text, Environment: service.Production, Calls: system.Real(clock), Log: slog.New(slog.DiscardHandler),
		Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: 8453, URL: "http://node.example"}, {Endpoint: gateway.Bundler, Chain: 8453, URL: "http://bundler.example"}},
		Transport: func() http.RoundTripper { return node{w.sent} },
	})
	if err != nil {
		return err
	}
	w.server, err = httpd.New(httpd.Config{
		Authority: w.decider, Log: slog.New(slog.DiscardHandler), Clock: clock, Random: rand.Reader, Gateway: gate, Metrics: metrics.New(),
		Stores: httpd.Stores{Keys: ratelimit.NewMemory(100), Sources: ratelimit.NewMemory(100), Registrations: ratelimit.NewMemory(100)},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.address, w.client = listener.Addr().String(), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	go func() { _ = w.server.Serve(listener) }()
	return nil
}

// node is a node of a chain that takes everything, and counts it.
type node struct{ sent *int }

// RoundTrip implements http.RoundTripper.
func (n node) RoundTrip(*http.Request) (*http.Response, error) {
	*n.sent++
	return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`)))}, nil
}

func (w *wire) close() {
	w.client.CloseIdleConnections()
	_ = w.server.Shutdown(context.Background())
	_ = w.ledger.Close()
}

// newKey makes an API key.
func (w *wire) newKey(shim bool, scopes ...string) (string, error) {
	view, err := w.admin.CreateKey(context.Background(), accounts.NewKey{Email: "agent@example.com", Shim: shim, Scopes: scopes})
	return view.APIKey, err
}

// An answered is an answer of the API.
type answered struct {
	HTTP        int
	Status      string `json:"status"`
	Code        string `json:"error_code"`
	Rule        string `json:"matched_rule"`
	PolicyHash  string `json:"policyHash"`
	Attestation string `json:"intent_attestation"`
	HoldID      string `json:"holdId"`
	text        string
}

// post sends a body to a route.
func (w *wire) post(path, key string, body []byte, headers ...string) (*answered, error) {
	r, err := http.NewRequest(http.MethodPost, "http://"+w.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	got := &answered{HTTP: response.StatusCode, text: string(text)}
	if len(text) > 0 && text[0] == '{' {
		_ = json.Unmarshal(text, got) // an answer of another shape has none of these members
	}
	return got, nil
}

// authorize asks for a decision, and returns it as the corpus writes it.
func (w *wire) authorize(key string, body []byte) (string, *answered, error) {
	got, err := w.post("/v1/authorize", key, body)
	if err != nil {
		return "", nil, err
	}
	status := got.Status
	if got.PolicyHash == "" {
		status = "ERROR"
	}
	if want := map[string]int{"ALLOWED": 200, "PENDING": 202, "DENIED": 403}[status]; want != 0 && want != got.HTTP {
		return "", nil, fmt.Errorf("%s comes with the status %d", status, got.HTTP)
	}
	if (status == "ALLOWED") != (got.Attestation != "") {
		return "", nil, fmt.Errorf("%s comes with the attestation %q", status, got.Attestation)
	}
	return spell(status, got.Code, got.Rule), got, nil
}

// answer takes the steps before the attack, and the attack, over HTTP.
func (w *wire) answer(c *class, g *group, a *attack) (string, error) {
	keys := w.keys
	if len(g.Before) > 0 || len(keys) == 0 {
		keys = map[bool]string{}
		for _, shim := range []bool{false, true} {
			key, err := w.newKey(shim)
			if err != nil {
				return "", err
			}
			keys[shim] = key
		}
		if len(g.Before) == 0 {
			w.keys = keys
		}
	}
	for i, s := range g.Before {
		got, answer, err := w.authorize(keys[s.Shim], request(s.Intent, s.Top, a.value))
		if err != nil {
			return "", err
		}
		if !meets(got, c.answer(s.Expect)) {
			return "", fmt.Errorf("step %d is answered %s, expected %s", i+1, got, c.answer(s.Expect))
		}
		if s.Then != "" {
			if err := w.resolve(keys[s.Shim], answer.HoldID, s.Then == "approve"); err != nil {
				return "", err
			}
		}
	}
	got, _, err := w.authorize(keys[g.Shim], g.body(a.value))
	return got, err
}

// holdOf returns what the operator signs about a hold.
func (w *wire) holdOf(key, id string) (intentHash, policyHash string, err error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+w.address+"/v1/holds/"+id, nil)
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := w.client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	var hold struct{ IntentHash, PolicyHash string }
	err = json.NewDecoder(response.Body).Decode(&hold)
	return hold.IntentHash, hold.PolicyHash, err
}

// resolve decides a hold with the operator's signature.
func (w *wire) resolve(key, id string, allow bool) error {
	intentHash, policyHash, err := w.holdOf(key, id)
	if err != nil {
		return err
	}
	decision := map[bool]string{true: "ALLOWED", false: "DENIED"}[allow]
	text := attest.ResolutionText(id, intentHash, policyHash, decision, now.Unix())
	body := fmt.Sprintf(`{"decision":%q,"resolved_at":%d,"operator_signature":%q}`, decision, now.Unix(),
		base64.RawURLEncoding.EncodeToString(ed25519.Sign(operator, text)))
	got, err := w.post("/v1/holds/"+id+"/resolution", key, []byte(body))
	if err == nil && got.HTTP != http.StatusOK {
		err = fmt.Errorf("the hold is not resolved: %s", got.text)
	}
	return err
}

// TestDecisions runs every case whose answer is a decision, in the library and over HTTP.
func TestDecisions(t *testing.T) {
	for _, c := range read(t) {
		t.Run(c.Name, func(t *testing.T) {
			for i := range c.Groups {
				if g := &c.Groups[i]; g.Kind == "" {
					runDecisions(t, c, g)
				}
			}
		})
	}
}

func runDecisions(t *testing.T, c *class, g *group) {
	l, err := newLibrary(g.Policy)
	if err != nil {
		t.Errorf("%s/%s: %v", c.Name, g.Name, err)
		return
	}
	defer l.close()
	w, err := newWire(g.Policy)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, a := range c.cases(t, g) {
		inside, err := l.answer(c, g, &a)
		if err != nil {
			t.Errorf("%s, %q: %v", a.id, a.value, err)
			continue
		}
		outside, err := w.answer(c, g, &a)
		if err != nil {
			t.Errorf("%s, %q over HTTP: %v", a.id, a.value, err)
			continue
		}
		judge(t, &a, inside, outside)
		if what, _ := l.compare(g, &a); what != "" {
			t.Errorf("%s: machine and oracle differ in their %s: %q", a.id, what, a.value)
		}
	}
}

// judge holds both answers to the expected one.
func judge(t *testing.T, a *attack, inside, outside string) {
	t.Helper()
	if !meets(inside, a.expect) {
		t.Errorf("%s: expected %s, and it is %s: %q\n\t%s", a.id, a.expect, inside, a.value, a.why)
	}
	if inside != outside {
		t.Errorf("%s: the library says %s, and the service %s: %q", a.id, inside, outside, a.value)
	}
}
