package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve returns a client of a server that answers by handle.
func serve(t *testing.T, config Config, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config.URL = server.URL
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// says answers everything in one way.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestAnswers holds each answer of a service, and of what is not one, to what the caller gets. The clients in other
// languages are held to the same file.
func TestAnswers(t *testing.T) {
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var tests []struct {
		Name, Body, Want string // ALLOWED, DENIED, PENDING, refused or unreachable
		Status           int
	}
	if err := json.Unmarshal(text, &tests); err != nil || len(tests) == 0 {
		t.Fatal(err)
	}
	for _, test := range tests {
		c := serve(t, Config{MaxAnswer: 4096}, says(test.Status, test.Body))
		answer, err := c.Authorize(t.Context(), &Request{})
		if got := outcome(answer, err); got != test.Want {
			t.Errorf("%s: %s (%v), want %s", test.Name, got, err, test.Want)
		}
		var refused *Refused
		if errors.As(err, &refused) && (refused.Status != test.Status || refused.RetryAfter != 7*time.Second) {
			t.Errorf("%s: %+v", test.Name, refused)
		}
	}
}

// outcome names what a caller got.
func outcome(answer *Answer, err error) string {
	var refused *Refused
	var gone *Unreachable
	switch {
	case errors.As(err, &refused):
		return "refused"
	case errors.As(err, &gone):
		return "unreachable"
	case err != nil:
		return "request"
	}
	return answer.Status
}

func TestTestRun(t *testing.T) {
	const body = `{"status":"DENIED","intent_attestation":null,"policyHash":"x","test_run":true,"observe_mode_active":true}`
	c := serve(t, Config{}, says(200, body))
	if answer, err := c.TestRun(t.Context(), &Request{}); err != nil || answer.Status != Denied || !answer.ObserveActive {
		t.Errorf("%+v, %v", answer, err)
	}
	if answer, err := c.Authorize(t.Context(), &Request{}); outcome(answer, err) != "unreachable" {
		t.Errorf("the answer of a test run passed for a decision: %+v, %v", answer, err)
	}
}

// TestNoRedirect holds that the key goes to no second host.
func TestNoRedirect(t *testing.T) {
	var second atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { second.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := serve(t, Config{Key: "sk_svc_x"}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, status)
		})
		if answer, err := c.Authorize(t.Context(), &Request{}); outcome(answer, err) != "unreachable" {
			t.Errorf("%d: %+v, %v", status, answer, err)
		}
	}
	if second.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestNoPlainProxy holds that a proxy from the environment sees no request of plain HTTP: it could answer as the service.
func TestNoPlainProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	request := httptest.NewRequest(http.MethodPost, "http://bailiff.example/", nil)
	if proxy, err := transport("").Proxy(request); proxy != nil || err != nil {
		t.Errorf("plain HTTP goes to the proxy %v, %v", proxy, err)
	}
	if transport("/run/x").Proxy != nil {
		t.Error("a socket has a proxy")
	}
}

// TestRetry holds that a request whose answer is lost is sent again only where it has a nonce, with the same bytes.
func TestRetry(t *testing.T) {
	for _, test := range []struct {
		nonce string
		sent  int
	}{{"", 1}, {"n-1", 2}} {
		var bodies []string
		c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			if len(bodies) == 1 {
				connection, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					_ = connection.Close()
				}
				return
			}
			says(200, `{"status":"ALLOWED","intent_attestation":"a","policyHash":"x","replayed":true,"request_nonce":"n-1"}`)(w, r)
		})
		answer, err := c.Authorize(t.Context(), &Request{RequestNonce: test.nonce, Intent: Intent{Action: "bash"}})
		if len(bodies) != test.sent || test.sent == 2 && (err != nil || !answer.Replayed || bodies[0] != bodies[1]) {
			t.Errorf("nonce %q: %d bodies %q, %+v, %v", test.nonce, len(bodies), bodies, answer, err)
		}
		if test.sent == 1 && outcome(answer, err) != "unreachable" {
			t.Errorf("nonce %q: %+v, %v", test.nonce, answer, err)
		}
	}
}

// TestAnsweredOnce holds that an answer of the service, even a 503, is not asked for a second time.
func TestAnsweredOnce(t *testing.T) {
	var asked int
	c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) { asked++; says(503, `{}`)(w, r) })
	if answer, err := c.Authorize(t.Context(), &Request{RequestNonce: "n"}); outcome(answer, err) != "unreachable" || asked != 1 {
		t.Errorf("asked %d times: %+v, %v", asked, answer, err)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, Config{Timeout: 50 * time.Millisecond}, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	if answer, err := c.Authorize(t.Context(), &Request{RequestNonce: "n"}); outcome(answer, err) != "unreachable" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// TestNotUTF8 holds that what JSON cannot carry is not sent in another form.
func TestNotUTF8(t *testing.T) {
	c := serve(t, Config{}, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, intent := range []Intent{
		{Command: "rm \xff"},
		{Paths: []string{"a", "\xff"}},
		{To: Recipients{"\xff"}},
		{Metadata: map[string]any{"a": []any{map[string]string{"\xff": ""}}}},
		{Metadata: map[string]any{"a": []any{&struct{ B string }{"\xff"}}}},
		{Arguments: json.RawMessage("{\"a\":\"\xff\"}")},
	} {
		if answer, err := c.Authorize(t.Context(), &Request{Intent: intent}); outcome(answer, err) != "request" {
			t.Errorf("%+v: %+v, %v", intent, answer, err)
		}
	}
}

// TestBytes holds that what is sent is what the caller wrote: nothing is escaped that a hash would cover.
func TestBytes(t *testing.T) {
	var body string
	c := serve(t, Config{Key: "sk_svc_x"}, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text) + r.Header.Get("Authorization") + r.Header.Get("User-Agent")
	})
	_, _ = c.Authorize(t.Context(), &Request{Framework: "f", AgentID: "a", Intent: Intent{
		Action: "bash", Command: "a && b > c", To: Recipients{"x"}, Arguments: json.RawMessage(`{"n":1.50}`),
	}})
	const want = `{"framework":"f","agentId":"a","intent":{"action":"bash","to":"x","command":"a && b > c","arguments":{"n":1.50}}}` +
		"Bearer sk_svc_xbailiff-client"
	if body != want {
		t.Errorf("sent %s\nwant %s", body, want)
	}
}

func TestConfig(t *testing.T) {
	for _, config := range []Config{
		{URL: "ftp://x"}, {URL: "bailiff.example"}, {URL: "http://"}, {URL: "https://a:b@x"}, {URL: "http://x/?k=1"}, {URL: "http://x/#a"},
		{URL: "unix:relative"}, {URL: "unix:/a", Unix: "/b"}, {Key: "a b"}, {Key: "a\n"}, {Key: strings.Repeat("k", maxKeyBytes+1)},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%+v was accepted", config)
		}
	}
	c, err := New(Config{URL: "https://x/api/"})
	if err != nil || c.Base() != "https://x/api" {
		t.Errorf("%v, %v", c, err)
	}
}

// TestUnix asks through a socket, named in both ways.
func TestUnix(t *testing.T) {
	folder, err := os.MkdirTemp("", "bailiff-client-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: says(200, `{"status":"ALLOWED","intent_attestation":"a","policyHash":"x"}`), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	for _, config := range []Config{{Unix: path}, {URL: "unix:" + path}, {URL: "unix://" + path}} {
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := c.Authorize(t.Context(), &Request{}); err != nil || answer.Status != Allowed {
			t.Errorf("%+v: %+v, %v", config, answer, err)
		}
	}
}

func TestHold(t *testing.T) {
	var waits []string
	answers := []string{"PENDING", "PENDING", "ALLOWED"}
	c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		waits = append(waits, r.URL.Query().Get("wait"))
		says(200, `{"holdId":"h","status":"`+answers[min(len(waits)-1, 2)]+`"}`)(w, r)
	})
	if hold, err := c.Hold(t.Context(), "h", 0); err != nil || hold.Status != Pending || len(waits) != 1 || waits[0] != "" {
		t.Errorf("%+v, %v after %q", hold, err, waits)
	}
	if hold, err := c.Hold(t.Context(), "h", 10*time.Second); err != nil || hold.Status != Allowed || len(waits) != 3 || waits[1] == "" {
		t.Errorf("%+v, %v after %q", hold, err, waits)
	}
	if hold, err := c.Hold(t.Context(), "other", 0); err == nil {
		t.Errorf("the hold of another id was taken: %+v", hold)
	}
}

// TestHoldOver holds that a wait ends: with its time, with the caller's context, and with an answer that will not change.
func TestHoldOver(t *testing.T) {
	pending := serve(t, Config{}, says(200, `{"holdId":"h","status":"PENDING"}`))
	if hold, err := pending.Hold(t.Context(), "h", 1500*time.Millisecond); err != nil || hold.Status != Pending {
		t.Errorf("%+v, %v", hold, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pending.Hold(ctx, "h", time.Hour); err == nil {
		t.Error("a context that is over did not end the wait")
	}
	asked := 0
	gone := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) { asked++; says(404, `{}`)(w, r) })
	if _, err := gone.Hold(t.Context(), "h", time.Hour); err == nil || asked != 1 {
		t.Errorf("a hold that is gone was asked for %d times: %v", asked, err)
	}
}

func TestSubmit(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{200, `{"jsonrpc":"2.0","id":1,"result":"0xab"}`, "result"},
		{200, `{"jsonrpc":"2.0","id":1,"result":null}`, "result"},
		{200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":{"reason":"why"}}}`, "rpc"},
		{200, `{"jsonrpc":"2.0","id":2,"result":"0xab"}`, "unreachable"},
		{200, `{"jsonrpc":"2.0","id":1}`, "unreachable"},
		{200, `{}`, "unreachable"},
		{401, `{"error_code":"X"}`, "refused"},
		{503, `{"error_code":"X"}`, "unreachable"},
	} {
		sent := 0
		c := serve(t, Config{Key: "sk_svc_x"}, func(w http.ResponseWriter, r *http.Request) {
			sent++
			if r.Header.Get("Svc-Receipt") != "a.b.c" || r.Header.Get("Authorization") != "" || r.URL.Path != "/rpc/8453" {
				t.Errorf("%s with %v", r.URL.Path, r.Header)
			}
			says(test.status, test.body)(w, r)
		})
		result, err := c.Submit(t.Context(), RPC, 8453, "a.b.c", "eth_sendRawTransaction", "0x02")
		got := "result"
		var failure *RPCError
		switch {
		case errors.As(err, &failure):
			got = "rpc"
		case err != nil:
			got = outcome(nil, err)
		}
		if got != test.want || sent != 1 {
			t.Errorf("%s: %s (%s, %v), sent %d times", test.body, got, result, err, sent)
		}
	}
}

// TestResponsePolicy reads the document, which only a 200 with one has.
func TestResponsePolicy(t *testing.T) {
	for _, test := range []struct {
		status             int
		body, want, failed string
	}{
		{200, `{"responsePolicy":"a.b.c","policyHash":"x"}`, "a.b.c", ""},
		{200, `{"policyHash":"x"}`, "", "unreachable"},
		{200, `{"responsePolicy":1}`, "", "unreachable"},
		{200, `<html>`, "", "unreachable"},
		{404, `{"error_code":"SVC_NOT_FOUND"}`, "", "refused"},
		{409, `{"error_code":"SVC_POLICY_MISSING","responsePolicy":"a.b.c"}`, "", "refused"},
		{503, `{"responsePolicy":"a.b.c"}`, "", "unreachable"},
		{302, ``, "", "unreachable"},
	} {
		c := serve(t, Config{Key: "sk_svc_x"}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/response-policy" || r.Header.Get("Authorization") != "Bearer sk_svc_x" {
				t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
			}
			says(test.status, test.body)(w, r)
		})
		got, err := c.ResponsePolicy(t.Context())
		failed := ""
		if err != nil {
			failed = outcome(nil, err)
		}
		if got != test.want || failed != test.failed {
			t.Errorf("%d %s: %q, %v", test.status, test.body, got, err)
		}
	}
}
