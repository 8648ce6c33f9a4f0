package httpd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/httpd/console"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/system"
)

// testCommit is the commit that the tests' server is bound to.
const testCommit = "0123456789abcdef0123456789abcdef01234567"

// world is a service in memory, with a clock that is still and randomness that repeats.
type world struct {
	t               *testing.T
	now             time.Time
	random          io.Reader
	ledger          ledger.Ledger
	admin           *decision.Admin
	signer          *attest.Signer
	operator        ed25519.PrivateKey // $operator is its public key
	stranger        ed25519.PrivateKey // $stranger
	said            map[string]string  // what $NAME means: keys' secrets, policies, ids
	listener        net.Listener
	metrics         *metrics.Metrics
	confirm         commit.Confirmer // of config
	console         *console.Console // of visitConsole
	operatorConsole *OperatorConsole // of visitOperator
	operatorLog     bytes.Buffer     // of visitOperator
	passed          bool             // requests come to a standby, which passes them on
	passing         *passing         // that standby
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), said: map[string]string{}}
	w.random = rand.NewChaCha8([32]byte{1})
	w.ledger = memory.New()
	t.Cleanup(func() { w.ledger.Close() })
	w.admin = decision.NewAdmin(service.Config{Ledger: w.ledger, Environment: service.Production, Clock: w.clock, Random: w.random})
	signer, err := attest.LoadOrCreate(t.TempDir(), w.random)
	if err != nil {
		t.Fatal(err)
	}
	w.signer = signer
	w.operator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	w.stranger = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	w.said["stranger"] = base64.RawURLEncoding.EncodeToString(w.stranger.Public().(ed25519.PublicKey))
	w.said["operator"] = base64.RawURLEncoding.EncodeToString(w.operator.Public().(ed25519.PublicKey))
	w.metrics = metrics.New()
	return w
}

func (w *world) clock() time.Time { return w.now }

// authority returns a decider: hosted without a policy, self-hosted with one.
func (w *world) authority(policy string, observe bool) *decision.Decider {
	w.t.Helper()
	config := decision.Config{
		Service: service.Config{
			Ledger: w.ledger, Signer: w.signer, Environment: service.Production, Issuer: "svc-core", Hosted: policy == "",
			Clock: w.clock, Random: w.random, Log: slog.New(slog.DiscardHandler),
		},
		Observe: observe,
		Accounts: accounts.Config{CheckURL: func(_ context.Context, url string, _ ledger.WebhookFormat) error {
			if !strings.HasPrefix(url, "https://") {
				return fmt.Errorf("is not https")
			}
			return nil
		}},
	}
	if !config.Service.Hosted {
		loaded, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(policy)))
		if err != nil {
			w.t.Fatal(err)
		}
		loaded.Text, config.Policies.Default = []byte(policy), loaded
		config.Service.Operator = [32]byte(w.operator.Public().(ed25519.PublicKey))
	}
	decider, err := decision.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return decider
}

// node is an Ethereum node that knows one answer.
type node struct{}

// RoundTrip implements http.RoundTripper.
func (node) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`))}, nil
}

// gateway returns a gateway to chain 1.
func (w *world) gateway() *gateway.Gateway {
	w.t.Helper()
	verifier, err := w.signer.Verifier("svc-core")
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{
		Verifier: verifier, Ledger: w.ledger, Environment: service.Production, Calls: system.Real(w.clock), Log: slog.New(slog.DiscardHandler),
		Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: 1, URL: "http://node.example"}, {Endpoint: gateway.Bundler, Chain: 1, URL: "http://bundler.example"}},
		Transport: func() http.RoundTripper { return node{} },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// config is what the tests' servers are made of.
func (w *world) config(decider *decision.Decider) Config {
	return Config{
		Authority: decider, Log: slog.New(slog.DiscardHandler), Clock: w.clock, Random: rand.NewChaCha8([32]byte{2}), Commit: testCommit,
		CommitTime: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Contact: "ops@svc.example", PublicURL: "https://svc.example", Stores: Stores{ratelimit.NewMemory(1000), ratelimit.NewMemory(1000), ratelimit.NewMemory(1000)}, Metrics: w.metrics,
		Confirm: w.confirm,
		Ready:   func() []Check { return []Check{{"ledger", true, "it takes decisions"}} },
	}
}

// serve starts a server, which takes the place of the one before.
func (w *world) serve(config Config) *Server {
	w.t.Helper()
	config.Passed = w.passed
	server, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.listener = listener
	go func() { _ = server.Serve(anywhere{listener}) }()
	w.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	if w.passed {
		w.passing = newPassing(w.t, listener.Addr().String(), w.signer)
		w.listener = w.passing.listener
	}
	return server
}

// anywhere is a listener whose clients have no address, as if they came over a Unix socket.
type anywhere struct{ net.Listener }

func (l anywhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return nameless{c}, nil
}

type nameless struct{ net.Conn }

func (nameless) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// createKey makes an API key that $name means.
func (w *world) createKey(name string, request accounts.NewKey) accounts.KeyView {
	w.t.Helper()
	request.Email = name + "@example.com"
	key, err := w.admin.CreateKey(context.Background(), request)
	if err != nil {
		w.t.Fatal(err)
	}
	w.said[name], w.said[name+".id"] = key.APIKey, key.ID
	return key
}

// sign signs a policy and has $name mean it, as it is inside a JSON string.
func (w *world) sign(name, policy string, stranger bool) {
	key := w.operator
	if stranger {
		key = w.stranger
	}
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(policy)))
	quoted, err := json.Marshal(policy + "## signature\nsvc-sig: " + signature + "\n")
	if err != nil {
		w.t.Fatal(err)
	}
	w.said[name] = string(quoted[1 : len(quoted)-1])
}

// resolve signs a resolution of the hold that $hold means, and has $name mean its JSON.
func (w *world) resolve(name, hold, decision string) {
	w.t.Helper()
	id, err := ledger.ParseID(w.said[hold])
	if err != nil {
		w.t.Fatal(err)
	}
	keys, err := w.ledger.Keys(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range keys {
		found, err := w.ledger.Hold(context.Background(), keys[i].ID, id, w.now.UnixNano())
		if err != nil {
			continue
		}
		text := attest.ResolutionText(w.said[hold], fmt.Sprintf("%x", found.IntentHash), fmt.Sprintf("%x", found.PolicyHash), decision, w.now.Unix())
		w.said[name] = fmt.Sprintf(`{"decision":%q,"resolved_at":%d,"operator_signature":%q}`, decision, w.now.Unix(),
			base64.RawURLEncoding.EncodeToString(ed25519.Sign(w.operator, text)))
		return
	}
	w.t.Fatalf("there is no hold $%s", hold)
}

// send writes a request as it is and reads the answer.
func (w *world) send(raw []byte) (*http.Response, string) {
	w.t.Helper()
	connection, err := net.Dial("tcp", w.listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer connection.Close()
	return exchange(w.t, connection, raw)
}

// exchange writes a request as it is to a connection and reads the answer.
func exchange(t *testing.T, connection net.Conn, raw []byte) (*http.Response, string) {
	t.Helper()
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	go func(c net.Conn) { _, _ = c.Write(raw) }(connection)
	method, _, _ := strings.Cut(string(raw), " ")
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer to %.200q: %v", raw, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

var said = regexp.MustCompile(`\$[A-Za-z][A-Za-z0-9_.]*`)

// request builds a request from a golden file: the first line is method and path, lines up to an empty one are
// headers, the rest is the body. $NAME means what was said under that name. A body length is added, and the body is
// sent as one chunk where a header says that it comes in chunks.
func (w *world) request(input string) []byte {
	input = said.ReplaceAllStringFunc(input, func(name string) string {
		if value, ok := w.said[name[1:]]; ok {
			return value
		}
		return name
	})
	head, body, _ := strings.Cut(input, "\n\n")
	lines := strings.Split(head, "\n")
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "%s HTTP/1.1\r\nHost: localhost\r\n", lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(&raw, "%s\r\n", line)
	}
	body = strings.TrimSuffix(body, "\n")
	if strings.Contains(head, "Transfer-Encoding: chunked") {
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	if body != "" && !strings.Contains(head, "no-length") {
		fmt.Fprintf(&raw, "Content-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&raw, "\r\n%s", body)
	return raw.Bytes()
}

var token = regexp.MustCompile(`"intent_attestation":"([^"]+)"`)

var responsePolicy = regexp.MustCompile(`"responsePolicy":"([^"]+)"`)

// shownHeaders are the headers that golden files show.
var shownHeaders = []string{"Allow", "Cache-Control", "Content-Type", "RateLimit", "RateLimit-Policy", "Retry-After", "WWW-Authenticate"}

// describe is an answer as golden files show it. An attestation is verified and shown by its claims.
func (w *world) describe(response *http.Response, body string) string {
	w.t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, response.StatusCode)
	for _, name := range shownHeaders {
		for _, value := range response.Header.Values(name) {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	claimed := ""
	body = token.ReplaceAllStringFunc(body, func(member string) string {
		verifier, err := w.signer.Verifier("svc-core")
		if err != nil {
			w.t.Fatal(err)
		}
		claims, err := verifier.Verify(token.FindStringSubmatch(member)[1], w.now)
		if err != nil {
			w.t.Errorf("the attestation does not verify: %v", err)
			return member
		}
		claimed = fmt.Sprintf("attested: kind %s, action %s, amountBase %q, txCommit %.8s…, mode %q\n",
			claims.Kind, claims.Intent.Action, claims.Intent.AmountBase, claims.TxCommit, claims.Mode)
		return `"intent_attestation":"…"`
	})
	body = responsePolicy.ReplaceAllStringFunc(body, func(member string) string {
		verifier, err := w.signer.Verifier("svc-core")
		if err != nil {
			w.t.Fatal(err)
		}
		p, err := verifier.VerifyResponsePolicy(responsePolicy.FindStringSubmatch(member)[1], "", w.now)
		if err != nil {
			w.t.Errorf("the response policy does not verify: %v", err)
			return member
		}
		claimed = fmt.Sprintf("signed: epoch %d, rules %s\n", p.Epoch, p.Rules)
		return `"responsePolicy":"…"`
	})
	fmt.Fprintf(&out, "%s\n%s", strings.TrimSuffix(body, "\n"), claimed)
	return out.String()
}

// stored lists what the ledger has of decisions, counters and holds since the start.
func (w *world) stored() string {
	w.t.Helper()
	page, err := w.ledger.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		w.t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range page.Events {
		if !e.Kind.IsDecision() {
			fmt.Fprintln(&out, e.Kind)
			continue
		}
		fmt.Fprintf(&out, "%s %s %s %s %s", e.Ending.Decision, e.Event.Endpoint, e.Event.Action, e.Ending.Code, e.Ending.Rule)
		if e.Event.Value != "" {
			fmt.Fprintf(&out, " value %q", e.Event.Value)
		}
		for _, c := range e.Counters {
			fmt.Fprintf(&out, " %s[%s]=%s", c.Counter.Limit, c.Counter.Group, c.Value.String())
		}
		if e.HoldState != 0 {
			fmt.Fprintf(&out, " hold %s", e.HoldState)
		}
		fmt.Fprintln(&out)
	}
	return regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n")
}
