package httpd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/peers"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ratelimit"
)

// standIn sends requests as Envoy's external authorization filter does over HTTP/1.1: with the client's method and host, the client's path
// behind a prefix, and no body. Header names are in lower case. Of the client's other headers it sends those that its configuration allows;
// a header that it adds itself replaces the client's.
type standIn struct {
	*world
	prefix string
	allow  []string          // of the client's headers, beside authorization
	add    map[string]string // by name in lower case
}

// newEnvoy is configured as docs/envoy.md says.
func newEnvoy(w *world) *standIn {
	return &standIn{w, "/envoy/https", []string{"x-request-id"}, map[string]string{"authorization": "Bearer " + w.said["agent"]}}
}

// A header is one of the client's, with its name in lower case, as Envoy has it.
type header struct{ name, value string }

// check is the message about a request, and what the service answers.
func (e *standIn) check(method, authority, path string, client ...header) (*http.Response, string) {
	e.t.Helper()
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "%s %s%s HTTP/1.1\r\nhost: %s\r\ncontent-length: 0\r\n", method, e.prefix, path, authority)
	for _, h := range client {
		if _, added := e.add[h.name]; !added && (h.name == "authorization" || slices.Contains(e.allow, h.name)) {
			fmt.Fprintf(&raw, "%s: %s\r\n", h.name, h.value)
		}
	}
	for name, value := range e.add {
		fmt.Fprintf(&raw, "%s: %s\r\n", name, value)
	}
	raw.WriteString("x-envoy-internal: true\r\nx-forwarded-for: 10.9.8.7\r\nx-envoy-expected-rq-timeout-ms: 1000\r\n\r\n")
	response, body := e.send(raw.Bytes())
	e.hold(response, body, authority, path)
	return response, body
}

var envoyDenial = regexp.MustCompile(`^\{"status":"(DENIED|PENDING)","error_code":"SVC_[A-Z_]+"\}\n$`)

// hold holds an answer to what the door promises: 200 or 403, and nothing in it of the request, the policy or the key.
func (e *standIn) hold(response *http.Response, body string, parts ...string) {
	e.t.Helper()
	switch response.StatusCode {
	case 200:
		if body != "" {
			e.t.Errorf("%q: %q", parts, body)
		}
	case 403:
		if response.Request == nil && body != "" && !envoyDenial.MatchString(body) { // empty for HEAD
			e.t.Errorf("%q: %q", parts, body)
		}
	default:
		e.t.Errorf("%q: %d %s", parts, response.StatusCode, body)
	}
	for name, values := range response.Header {
		if !slices.Contains([]string{"Cache-Control", "Content-Length", "Content-Type", "Date", "Server", "X-Request-Id", "X-Bailiff-Attestation", "Connection"}, name) {
			e.t.Errorf("%q: the answer has %s", parts, name)
		}
		for _, part := range parts {
			if text := strings.Join(values, "\n"); len(part) > 3 && (strings.Contains(text, part) || strings.Contains(body, part)) {
				e.t.Errorf("the answer repeats %q: %s: %s, %s", part, name, text, body)
			}
		}
	}
}

// expect sends what a client asks Envoy for, and expects that it is let through, or that it is denied with a code.
func (e *standIn) expect(code, method, authority, path string, client ...header) {
	e.t.Helper()
	response, body := e.check(method, authority, path, client...)
	if code == "" && response.StatusCode != 200 || code != "" && (response.StatusCode != 403 || method != "HEAD" && !strings.Contains(body, `"`+code+`"`)) {
		e.t.Errorf("%s %s%s %.200q: %d %s, not %q", method, authority, path, client, response.StatusCode, body, code)
	}
}

// pagePolicy is the policy of docs/envoy.md.
func pagePolicy(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/envoy.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```warranty\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/envoy.md has no policy")
	}
	return string(block[1])
}

const (
	schemaCode = "SVC_VALIDATION_ERROR_SCHEMA"
	listCode   = "SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST"
	toolCode   = "SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED"
)

// TestEnvoy asks under the policy of docs/envoy.md: hosts and paths of it are let through, in the spellings that mean the same, and
// nothing else is.
func TestEnvoy(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority(pagePolicy(t), false)))
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	e := newEnvoy(w)
	for _, path := range []string{"/public/", "/public/a", "/public/a?x=1&x=2&explain=true", "/public/a;v=1", "/public/%C3%A9%20", "/public/?/../admin"} {
		for _, host := range []string{"shop.example", "SHOP.example", "shop.example.", "shop.example:443"} {
			e.expect("", "GET", host, path)
		}
		e.expect("", "HEAD", "shop.example", path)
	}
	e.expect(listCode, "GET", "shop.example", "/")
	e.expect(listCode, "GET", "shop.example", "/publicity")
	e.expect(listCode, "GET", "shop.example", "/PUBLIC/a")
	for _, host := range []string{"evil.example", "a.shop.example", "shop.example.evil.example", "shop.example-evil.example", "127.0.0.1", "0x7f.1", "[::1]", "localhost"} {
		e.expect(toolCode, "GET", host, "/public/a")
	}
	for _, host := range []string{"user@shop.example", "evil.example@shop.example", "shop.example@evil.example", "shop.example:x", "shop.example,evil.example", "shop.example/public", "shop.example#", "shop.example:443:80"} {
		e.expect(schemaCode, "GET", host, "/public/a")
	}
	for _, path := range []string{
		"/public/../admin", "/public/./a", "/public/%2e%2e/admin", "/public/..;/admin", "/public/%2e%2e;x/admin", "/public/%252e%252e/admin", "/public/..%2fadmin", "/public/..%5cadmin", `/public/..\admin`,
		"/public//admin", "//public/a", "/public/%C0%AE%C0%AE/admin", "/public/%61", "/public/%c3%a9", "/public/a%00", "/public/%3f", "/public/#", "/public/\xff", "/public/%zz",
		"http://evil.example/public/a", "*", "", "evil.example:443", "@evil.example/public/a", ":443/public/a",
	} {
		e.expect(schemaCode, "GET", "shop.example", path)
	}
	for _, method := range []string{"CONNECT", "TRACE", "PROPFIND", "get", "GETX"} {
		e.expect(schemaCode, method, "shop.example", "/public/a")
	}
	e.expect(toolCode, "DELETE", "shop.example", "/public/a")
	long := "/public/" + strings.Repeat("a", 20_000)
	e.expect("", "GET", "shop.example", long)
	e.expect(listCode, "GET", "shop.example", "/"+long[len("/public/"):])
	if response, _ := e.send([]byte("GET /envoy/https" + long + long + " HTTP/1.1\r\nhost: shop.example\r\n\r\n")); response.StatusCode != 431 {
		t.Errorf("a path beyond the room for headers: %d", response.StatusCode) // it can't be told whose it is
	}
	e.prefix = "/envoy/http"
	e.expect("SVC_POLICY_VIOLATION_CUSTOM_RULE", "GET", "shop.example", "/public/a")
	for _, prefix := range []string{"/envoy", "/envoy/", "/envoy/ftp", "/envoy/HTTPS", "/envoy//https", "/envoy/%68ttps", "/envoy/https/../https"} {
		e.prefix = prefix
		if response, _ := e.check("GET", "shop.example", "/public/a"); response.StatusCode != 403 {
			t.Errorf("%s: %d", prefix, response.StatusCode)
		}
	}
}

// TestEnvoyHeaders: what a client sends reaches neither key, nor agent, nor address, nor answer, in whatever spelling.
func TestEnvoyHeaders(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: http\n\n## custom\nallow_only.agentId: envoy, agent-1\nallow_only.host: shop.example\nallow_only.path: /a\n", false)))
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	e := newEnvoy(w)
	names := []string{"authorization", "x-bailiff-agent", "x_bailiff_agent", "x-original-url", "x-rewrite-url", "x-envoy-original-path", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-http-method-override", "x-request-id"}
	lies := []header{}
	for _, name := range names {
		lies = append(lies, header{name, "/admin-evil"})
	}
	e.expect("", "GET", "shop.example", "/a", lies...)
	e.allow = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "x-bailiff-agent" })
	e.expect("", "GET", "shop.example", "/a", lies...)
	e.expect(listCode, "GET", "shop.example", "/b", header{"x-original-url", "/a"}, header{"x-rewrite-url", "/a"})
	response, _ := e.check("GET", "shop.example", "/a", header{"x-request-id", "chosen-by-the-client"})
	if id := response.Header.Get("X-Request-Id"); len(id) != madeRequestID || strings.Contains(id, "client") {
		t.Errorf("the answer's id is %q", id)
	}
	e.add["x-bailiff-agent"] = "agent-1"
	e.expect("", "GET", "shop.example", "/a", lies...)
	e.add["x-bailiff-agent"] = "agent-2"
	e.expect(listCode, "GET", "shop.example", "/a", header{"x-bailiff-agent", "agent-1"})

}

// TestEnvoyRaw sends what Envoy itself would not write: fields twice, odd keys, framing that two readers cut in two places.
func TestEnvoyRaw(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: http\nhttp.allowed_hosts: shop.example\n", false)))
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	w.createKey("deployer", accounts.NewKey{Scopes: []string{"warranty:deploy"}})
	e := newEnvoy(w)
	head := "GET /envoy/https/a HTTP/1.1\r\n"
	good := "authorization: Bearer " + w.said["agent"] + "\r\n"
	for sent, code := range map[string]string{
		head + "host: shop.example\r\n" + good + "\r\n":                                                             "",
		head + "host: shop.example\r\n" + good + "x-bailiff-agent: agent-1\r\nx-bailiff-agent: agent-1\r\n\r\n":     schemaCode,
		head + "host: shop.example\r\n" + good + "x-bailiff-agent: agent-\xff\r\n\r\n":                              schemaCode,
		head + "host: shop.example\r\n\r\n":                                                                         "SVC_API_KEY_REQUIRED",
		head + "host: shop.example\r\n" + good + good + "\r\n":                                                      "SVC_API_KEY_INVALID",
		head + "host: shop.example\r\nauthorization: Bearer sk_svc_x\r\n\r\n":                                       "SVC_API_KEY_INVALID",
		head + "host: shop.example\r\nauthorization: Basic " + w.said["agent"] + "\r\n\r\n":                         "SVC_API_KEY_INVALID",
		head + "host: shop.example\r\nauthorization: Bearer " + w.said["deployer"] + "\r\n\r\n":                     "SVC_API_KEY_SCOPE_INSUFFICIENT",
		head + "host: shop.example\r\nx-bailiff-key: " + w.said["agent"] + "\r\n\r\n":                               "SVC_API_KEY_REQUIRED",
		head + "host: shop.example\r\n" + good + "transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n": schemaCode,
		"POST /envoy/https/a HTTP/1.1\r\nhost: shop.example\r\n" + good + "content-length: 2\r\n\r\n{}":             "",
		"POST /envoy/https/a HTTP/1.1\r\nhost: shop.example\r\n" + good + "content-length: 500000\r\n\r\n{}":        "SVC_BODY_TOO_LARGE",
		"GET /envoy/https/a HTTP/3.0\r\nhost: shop.example\r\n" + good + "\r\n":                                     schemaCode,
		"CONNECT /envoy/https/a HTTP/1.1\r\nhost: shop.example\r\n" + good + "\r\n":                                 schemaCode,
	} {
		response, body := e.send([]byte(sent))
		e.hold(response, body, sent)
		if code == "" && response.StatusCode != 200 || code != "" && !strings.Contains(body, `"`+code+`"`) {
			t.Errorf("%q: %d %s, not %q", sent, response.StatusCode, body, code)
		}
	}
	for _, sent := range []string{ // Envoy writes no such requests, and they are refused before it is known for whom they are
		head + "host: shop.example\r\nhost: evil.example\r\n" + good + "\r\n",
		head + "host: evil.example\r\nHost: shop.example\r\n" + good + "\r\n",
		head + good + "\r\n",
		head + "host: shop.example\r\nhost : evil.example\r\n" + good + "\r\n",
		head + "host: shop.example\r\n" + good + "content-length: 2\r\ncontent-length: 3\r\n\r\nab",
		head + "host:\r\n" + good + "\r\n",
	} {
		if response, body := e.send([]byte(sent)); response.StatusCode != 400 || strings.Contains(body, "evil") {
			t.Errorf("%q: %d %s", sent, response.StatusCode, body)
		}
	}
	for _, target := range []string{"http://svc.example/envoy/https/a", "/Envoy/https/a", "/%65nvoy/https/a", "/envoyx/https/a", "//envoy/https/a", "/v1/../envoy/https/a"} {
		if response, _ := e.send([]byte("GET " + target + " HTTP/1.1\r\nhost: shop.example\r\n" + good + "\r\n")); response.StatusCode != 404 {
			t.Errorf("another spelling of the door, %s: %d", target, response.StatusCode)
		}
	}
}

// TestEnvoyAuthorizes: where the operator says so, an answer has the attestation of its decision, limits count, and what waits for a
// person is denied until it is approved. Otherwise nothing of that happens.
func TestEnvoyAuthorizes(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: http\n\n## execution_limits\nmax_tool_calls_per_hour: 2\n", false))
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	e := newEnvoy(w)
	for range 3 {
		if response, _ := e.check("GET", "shop.example", "/a"); response.StatusCode != 200 || response.Header.Get("X-Bailiff-Attestation") != "" {
			t.Errorf("by default: %d %v", response.StatusCode, response.Header)
		}
	}
	config.EnvoyAuthorizes = true
	w.serve(config)
	verifier, err := w.signer.Verifier("svc-core")
	if err != nil {
		t.Fatal(err)
	}
	commit := sha256.Sum256([]byte(`{"action":"http","method":"GET","url":"https://shop.example/a?b=c"}`))
	for range 2 {
		response, body := e.check("GET", "shop.example", "/a?b=c", header{"x-request-id", "seven"})
		claims, err := verifier.Verify(response.Header.Get("X-Bailiff-Attestation"), w.now)
		if err != nil || response.StatusCode != 200 || claims.Subject != "envoy" || claims.Framework != "envoy" || claims.TxCommit != hex.EncodeToString(commit[:]) {
			t.Errorf("%d %s: %+v, %v", response.StatusCode, body, claims, err)
		}
	}
	e.expect("SVC_LOOP_LIMIT_EXCEEDED", "GET", "shop.example", "/a?b=c", header{"x-request-id", "seven"})
	if n := w.recorded("seven"); n != 3 {
		t.Errorf("%d decisions are recorded with Envoy's id, want 3", n)
	}
	config.Authority = w.authority("version: 2.0.0\n\n## tool_calls\nallowed: http\nrequire_approval: http\n", false)
	w.serve(config)
	if response, body := e.check("GET", "shop.example", "/a"); response.StatusCode != 403 || !strings.Contains(body, `"PENDING"`) {
		t.Errorf("held: %d %s", response.StatusCode, body)
	}
}

// TestEnvoyFails: limits, a store that fails and a ledger that fails are a 403, with nothing of it in the headers.
func TestEnvoyFails(t *testing.T) {
	w := newWorld(t)
	const policy = "version: 2.0.0\n\n## tool_calls\nallowed: http\n"
	config := w.config(w.authority(policy, false))
	config.Limits.Key = ratelimit.Window{Limit: 1, Per: time.Minute}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	e := newEnvoy(w)
	e.expect("", "GET", "shop.example", "/a")
	e.expect("SVC_RATE_LIMITED", "GET", "shop.example", "/a")
	config.Stores = Stores{brokenStore{}, brokenStore{}, brokenStore{}}
	w.serve(config)
	e.expect("SVC_RATE_LIMIT_STORE_UNAVAILABLE", "GET", "shop.example", "/a")
	healthy := w.ledger
	w.ledger = brokenLedger{healthy}
	config = w.config(w.authority(policy, false))
	w.ledger = healthy
	config.EnvoyAuthorizes = true
	w.serve(config)
	w.ledger.Close()
	response, body := e.check("GET", "shop.example", "/a")
	if response.StatusCode != 403 || !strings.Contains(body, "UNAVAILABLE") {
		t.Errorf("a ledger that fails: %d %s", response.StatusCode, body)
	}
}

// A lateLedger decides, and then says how the write of each decision ended.
type lateLedger struct {
	ledger.Ledger
	ended error
}

// errLate is what a store's ledger says that waited for the store in vain.
var errLate = fmt.Errorf("%w: %w", ledger.ErrUnknown, context.DeadlineExceeded)

func (l lateLedger) Submit(p *ledger.Plan) ledger.Ticket {
	ticket := l.Ledger.Submit(p)
	_ = ticket.Wait(context.Background())
	return ledger.NewTicket(ticket.Outcome(), nil, l.ended)
}

// serveLate serves a policy over a ledger whose writes end so.
func (w *world) serveLate(policy string, ended error) {
	w.t.Helper()
	healthy := w.ledger
	w.ledger = lateLedger{healthy, ended}
	config := w.config(w.authority(policy, false))
	w.ledger = healthy
	config.EnvoyAuthorizes, config.AuthZENAuthorizes = true, true
	w.serve(config)
}

// TestEnvoyTimesOut: a store that does not answer in time, no instance that decides in time, and one that never answers are a 403.
func TestEnvoyTimesOut(t *testing.T) {
	const policy = "version: 2.0.0\n\n## tool_calls\nallowed: http\n"
	w := newWorld(t)
	w.serve(w.config(w.authority(policy, false)))
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	e := newEnvoy(w)
	w.serveLate(policy, errLate)
	e.expect("SVC_STORE_UNAVAILABLE", "GET", "shop.example", "/a")
	w.serveLate(policy, nil)
	e.expect("", "GET", "shop.example", "/a") // it was denied for that alone

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p := newPassing(t, silent.Addr().String(), nil)
	w.listener = p.listener
	gone := make(chan struct{})
	p.peer.Store(&peers.Instance{Name: "a", Peer: silent.Addr().String(), Gone: gone})
	go func() {
		if connection, err := silent.Accept(); err == nil {
			_, _ = connection.Read(make([]byte, 1)) // the request was sent
			p.peer.Store(nil)
			close(gone)
		}
	}()
	e.expect("SVC_STORE_UNAVAILABLE", "GET", "shop.example", "/a")
	p.server.config.Pass.Patience = 20 * time.Millisecond
	e.expect("SVC_STORE_UNAVAILABLE", "GET", "shop.example", "/a")
}
