package httpd

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
)

// TestProfileEnds: a trace for a minute that is under way when the service ends keeps it from nothing, and is answered.
func TestProfileEnds(t *testing.T) {
	listener := fasthttputil.NewInmemoryListener()
	monitor := NewProfiler(slog.New(slog.DiscardHandler))
	go monitor.Serve(listener)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.Dial() },
	}}
	answered := make(chan error, 1)
	var measured []byte
	go func() {
		response, err := client.Get("http://monitor/debug/pprof/trace?seconds=60")
		if err == nil {
			measured, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		answered <- err
	}()
	for patience := time.Now().Add(30 * time.Second); !trace.IsEnabled(); time.Sleep(time.Millisecond) {
		if time.Now().After(patience) {
			t.Fatal("nothing is traced")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := monitor.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil || len(measured) == 0 {
		t.Errorf("%d bytes of a trace, %v", len(measured), err)
	}
}

// TestProfiler serves profiles and nothing else.
func TestProfiler(t *testing.T) {
	profiler := NewProfiler(slog.New(slog.DiscardHandler))
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/cmdline": 200, "/metrics": 404, "/healthz": 404} {
		recorder := httptest.NewRecorder()
		profiler.http.Handler.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		if recorder.Code != want {
			t.Errorf("%s: %d, want %d", path, recorder.Code, want)
		}
	}
}

// TestMonitorHosts: on a loopback address no other name is answered, and on others every name.
func TestMonitorHosts(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		profiler := NewProfiler(slog.New(slog.DiscardHandler))
		go profiler.Serve(listener)
		t.Cleanup(func() { _ = profiler.Shutdown(context.Background()) })
		port := listener.Addr().(*net.TCPAddr).Port
		for host, want := range map[string]int{
			"localhost": 200, "127.0.0.1": 200, "[::1]": 200, "localhost:1": 200, "[::1]:1": 200, "evil.example": 421, "evil.example:1": 421,
			"127.0.0.1.evil.example": 421, "localhost.evil.example:1": 421,
		} {
			if address == "0.0.0.0:0" {
				want = 200
			}
			request, _ := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/cmdline", port), nil)
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s asked for %s: %d, want %d", address, host, response.StatusCode, want)
			}
		}
	}
}

// TestServerTiming asks for the times of a decision's stages, and gets none without asking.
func TestServerTiming(t *testing.T) {
	w := newWorld(t)
	var ticks time.Duration
	decider := w.authority("version: 1.0.0\n\n## tool_calls\nallowed: bash\n", false)
	decider.Clock = func() time.Time { // every look at it takes a millisecond
		ticks += time.Millisecond
		return w.now.Add(ticks)
	}
	w.serve(w.config(decider))
	w.createKey("agent", accounts.NewKey{})
	stages := map[string]string{
		"/v1/authorize":          `^decode;dur=[1-9]\.000, evaluate;dur=[1-9]\.000, store;dur=[1-9]\.000, sign;dur=[1-9]\.000$`,
		"/v1/authorize/test-run": `^decode;dur=[1-9]\.000, evaluate;dur=[1-9]\.000, store;dur=[1-9]\.000$`,
	}
	for path, want := range stages {
		for asked, want := range map[string]string{"on": want, "off": "^$", "": "^$"} {
			response, body := w.send(w.request("POST " + path + "\nAuthorization: Bearer $agent\nServer-Timing: " + asked + "\n\n" + bashIntent))
			if got := response.Header.Get("Server-Timing"); response.StatusCode != 200 || !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s, asked %q: %d %q, want %s; %s", path, asked, response.StatusCode, got, want, body)
			}
		}
	}
}

// TestRequestsAreCounted counts answers by route and status, whatever paths clients make up.
func TestRequestsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("", false)))
	w.createKey("agent", accounts.NewKey{})
	for _, request := range []string{
		"GET /healthz", "HEAD /healthz", "POST /v1/authorize\n\n{}", "GET /v1/holds/a\nAuthorization: Bearer $agent",
		"GET /v1/holds/b\nAuthorization: Bearer $agent", "GET /made/up", "GET /made/up/too", "DELETE /v1/webhooks",
	} {
		w.send(w.request(request))
	}
	listener := fasthttputil.NewInmemoryListener()
	monitor := NewMonitor(w.metrics, nil, slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- monitor.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.Dial() }}}
	get := func(path string) (int, string) {
		response, err := client.Get("http://monitor" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	_, text := get("/metrics")
	for _, want := range []string{
		`bailiff_http_requests_total{route="/healthz",status="200"} 2`, `bailiff_http_requests_total{route="/v1/authorize",status="401"} 1`,
		`bailiff_http_requests_total{route="/v1/holds/{holdId}",status="404"} 2`, `bailiff_http_requests_total{route="other",status="404"} 2`,
		`bailiff_http_requests_total{route="/v1/webhooks",status="405"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "made/up") {
		t.Error("a path that a client made up is a label")
	}
	for path, want := range map[string]int{"/debug/pprof/": 404, "/debug/pprof/heap": 404, "/healthz": 200, "/v1/authorize": 404} {
		if status, body := get(path); status != want {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
	}
	client.CloseIdleConnections()
	if err := monitor.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve returned %v after Shutdown", err)
	}
}

// ask sends a request to a server in memory.
func ask(t *testing.T, listener *fasthttputil.InmemoryListener, raw string) (int, string) {
	t.Helper()
	connection, err := listener.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	response, body := exchange(t, connection, []byte(raw))
	return response.StatusCode, body
}

// TestInternal asks for what the test environment mirrors.
func TestInternal(t *testing.T) {
	w := newWorld(t)
	key := w.createKey("agent", accounts.NewKey{Plan: "growth"})
	keys, err := w.ledger.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hash := hex.EncodeToString(keys[0].Hash[:])
	server := NewInternal(w.authority("", false), nil, slog.New(slog.DiscardHandler))
	listener := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	for request, want := range map[string]int{
		"GET /v1/mirror/" + hash:                       200,
		"GET /v1/mirror/" + strings.Repeat("0", 64):    404,
		"GET /v1/mirror/" + strings.ToUpper(hash):      404,
		"GET /v1/mirror/" + hash[1:]:                   404,
		"GET /v1/mirror/" + hash + "0":                 404,
		"GET /v1/mirror/" + strings.Repeat("x", 64):    404,
		"POST /v1/mirror/" + hash:                      404,
		"GET /v1/authorize":                            404,
		"GET /v1/mirror/%" + strings.Repeat("0", 61+2): 404,
	} {
		status, body := ask(t, listener, request+" HTTP/1.1\r\nHost: h\r\n\r\n")
		if status != want {
			t.Errorf("%s: %d %s", request, status, body)
		}
		if status == 200 && (!strings.Contains(body, key.ID) || !strings.Contains(body, `"plan":"growth"`) || strings.Contains(body, key.APIKey)) {
			t.Errorf("%s: %s", request, body)
		}
	}
}

// TestAdminRoutes goes through the admin's routes.
func TestAdminRoutes(t *testing.T) {
	w := newWorld(t)
	server := NewAdmin(w.admin, nil, slog.New(slog.DiscardHandler))
	listener := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	call := func(method, path, body string) (int, string) {
		return ask(t, listener, string(w.request(method+" "+path+"\n\n"+body)))
	}
	status, body := call("POST", "/keys", `{"email":"a@example.com"}`)
	var key accounts.KeyView
	if err := json.Unmarshal([]byte(body), &key); err != nil || status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	for _, x := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/keys", "", 200, key.ID},
		{"PUT", "/keys/" + key.ID + "/plan", `{"plan":"growth"}`, 200, "webhooks:write"},
		{"PUT", "/keys/" + key.ID + "/plan", `{"plan":"golden"}`, 400, "golden"},
		{"PUT", "/keys/" + key.ID + "/plan", `{`, 400, ""},
		{"PUT", "/keys/" + key.ID + "/plan", `{"plan":"growth"}{}`, 400, "follows"},
		{"POST", "/keys", `{"email":"a@example.com","scope":"webhooks:write"}`, 400, "scope"},
		{"PUT", "/keys/" + key.ID + "/full-grant", "", 200, "warranty:deploy"},
		{"PUT", "/keys/x/y/plan", `{"plan":"growth"}`, 404, "no such admin route"},
		{"PUT", "/keys//plan", `{"plan":"growth"}`, 404, "no such admin route"},
		{"GET", "/usage", "", 200, `"month":"2026-11"`},
		{"GET", "/usage?month=2026-10", "", 200, "[]"}, // there was no key yet
		{"GET", "/usage?month=x", "", 400, ""},
		{"GET", "/events?limit=1", "", 200, `"more":true`},
		{"GET", "/events?key=" + key.ID, "", 200, `"event":"key.changed","keyId":"` + key.ID + `","timestamp":"2026-11-21T12:00:00Z","plan":"growth","scopes":["authorize","warranty:deploy","webhooks:write"]`},
		{"GET", "/events?key=x", "", 400, ""},
		{"GET", "/events?limit=x", "", 400, "limit"},
		{"GET", "/deployments/" + key.ID, "", 200, "[]"},
		{"GET", "/holds", "", 200, "[]"},
		{"GET", "/holds/3f0c", "", 404, "no hold that has not expired"},
		{"GET", "/holds/3f0", "", 400, "give 4 characters at least"},
		{"POST", "/holds/3f0c/resolution?key=" + key.ID, "{}", 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"POST", "/holds/3f0c/resolution?key=x", "{}", 400, ""},
		{"GET", "/backup?after=0", "", 200, `"last":true`},
		{"GET", "/backup?after=999", "", 200, `"groups":null`},
		{"GET", "/backup", "", 400, "LSN"},
		{"DELETE", "/keys/" + key.ID, "", 200, "revoked_at"},
		{"DELETE", "/keys/" + key.ID, "", 409, ""},
		{"DELETE", "/keys/x", "", 400, ""},
		{"DELETE", "/keys/", "", 404, "no such admin route"},
		{"DELETE", "/keys", "", 404, "no such admin route"},
		{"GET", "/nothing", "", 404, "no such admin route"},
	} {
		if status, body := call(x.method, x.path, x.body); status != x.status || !strings.Contains(body, x.contains) {
			t.Errorf("%s %s: %d %s", x.method, x.path, status, body)
		}
	}
}

// TestStoreFails closes the store: every route that needs it says 503, as documented, and nothing is allowed.
func TestStoreFails(t *testing.T) {
	w, c := newWorld(t), newChecker(t)
	w.serve(w.config(w.authority("", false)))
	w.createKey("agent", accounts.NewKey{Plan: "growth", FullGrant: true})
	w.sign("policy", "version: 1.0.0\n\n## tool_calls\nallowed: bash\n", false)
	deployment := "POST /v1/warranty/deploy\nAuthorization: Bearer $agent\n\n" + `{"warranty_md":"$policy","operator_public_key":"$operator"}`
	if response, body := w.send(w.request(deployment)); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	authorize := "POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent
	if response, body := w.send(w.request(authorize)); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	w.ledger.Close()
	id := ledger.ID{1}.UUIDv4().String()
	for _, request := range []string{
		authorize, strings.Replace(authorize, "authorize", "authorize/test-run", 1), deployment,
		"POST /v1/keys/register\n\n" + `{"email":"a@example.com"}`,
		"GET /v1/holds/" + id + "\nAuthorization: Bearer $agent",
		"POST /v1/holds/" + id + "/resolution\nAuthorization: Bearer $agent\n\n" + `{"decision":"ALLOWED","resolved_at":1,"operator_signature":"` + strings.Repeat("A", 86) + `"}`,
		"GET /v1/mcp/pins?server=files\nAuthorization: Bearer $agent",
		"POST /v1/mcp/pins\nAuthorization: Bearer $agent\n\n" + `{"server":"files","tools":[{"name":"read","definition":"{}"}]}`,
		"GET /v1/webhooks\nAuthorization: Bearer $agent",
		"POST /v1/webhooks\nAuthorization: Bearer $agent\n\n" + `{"url":"https://x.example","events":["intent.denied"]}`,
		"DELETE /v1/webhooks/" + id + "\nAuthorization: Bearer $agent",
		"GET /v1/events\nAuthorization: Bearer $agent",
		"GET /v1/events/checkpoint\nAuthorization: Bearer $agent",
	} {
		raw := w.request(request)
		response, body := w.send(raw)
		c.check(t, raw, response, body)
		if response.StatusCode != 503 || !strings.Contains(body, "SVC_STORE_UNAVAILABLE") {
			t.Errorf("%.40q: %d %s", request, response.StatusCode, body)
		}
	}
}

// TestTooManyWebhooks registers one webhook too many.
func TestTooManyWebhooks(t *testing.T) {
	w, c := newWorld(t), newChecker(t)
	w.serve(w.config(w.authority("", false)))
	w.createKey("agent", accounts.NewKey{Plan: "growth"})
	raw := w.request("POST /v1/webhooks\nAuthorization: Bearer $agent\n\n" + `{"url":"https://x.example","events":["intent.denied"]}`)
	for i := range ledger.MaxWebhooks + 1 {
		want := 201
		if i == ledger.MaxWebhooks {
			want = 409
		}
		response, body := w.send(raw)
		c.check(t, raw, response, body)
		if response.StatusCode != want {
			t.Errorf("webhook %d: %d %s", i+1, response.StatusCode, body)
		}
	}
}

// TestTooManyPinnedServers pins the tools of one MCP server too many.
func TestTooManyPinnedServers(t *testing.T) {
	w, c := newWorld(t), newChecker(t)
	w.serve(w.config(w.authority("", false)))
	w.createKey("agent", accounts.NewKey{})
	for i := range ledger.MaxPinnedServers + 1 {
		want, raw := 200, w.request("POST /v1/mcp/pins\nAuthorization: Bearer $agent\n\n"+fmt.Sprintf(`{"server":"s%d","tools":[{"name":"read","definition":"{}"}]}`, i))
		if i == ledger.MaxPinnedServers {
			want = 409
		}
		response, body := w.send(raw)
		c.check(t, raw, response, body)
		if response.StatusCode != want {
			t.Errorf("server %d: %d %s", i+1, response.StatusCode, body)
		}
	}
}
