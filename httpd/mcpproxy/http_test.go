package mcpproxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// upstream is a server over HTTP whose answers a test chooses.
type upstream struct {
	*httptest.Server
	mu      sync.Mutex
	seen    []*http.Request
	bodies  []string
	answers func(w http.ResponseWriter, r *http.Request, body string)
}

// front is a proxy in front of an upstream.
func front(t *testing.T, w *world) (up *upstream, address string) {
	t.Helper()
	up = &upstream{answers: func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}}
	up.Server = httptest.NewServer(http.HandlerFunc(func(w_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if m, err := readMessage(body, true); err == nil && strings.HasPrefix(m.id, "sbailiff-") {
			w_.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w_, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.rawID, w.tools)
			return
		}
		up.mu.Lock()
		up.seen, up.bodies = append(up.seen, r), append(up.bodies, string(body))
		up.mu.Unlock()
		up.answers(w_, r, string(body))
	}))
	t.Cleanup(up.Close)
	target, _ := url.Parse(up.URL + "/mcp")
	handler, err := NewHandler(w.g, target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(handler)
	t.Cleanup(proxy.Close)
	return up, proxy.URL + "/mcp"
}

func (up *upstream) count() int {
	up.mu.Lock()
	defer up.mu.Unlock()
	return len(up.seen)
}

// post sends one message; headers are name, value, name, value.
func post(t *testing.T, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	return do(t, "POST", address, body, append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)...)
}

func do(t *testing.T, method, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response, string(text)
}

// TestRefusedRequests has requests of which nothing reaches the server.
func TestRefusedRequests(t *testing.T) {
	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "read"}
	with := func(changes ...string) []string {
		h := append([]string(nil), modern...)
		for i := 0; i < len(changes); i += 2 {
			for j := 0; j < len(h); j += 2 {
				if h[j] == changes[i] {
					h[j+1] = changes[i+1]
				}
			}
		}
		return h
	}
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		says    string
	}{
		"a foreign Host":           {call(1, "read", `{}`), []string{"Host", "evil.example"}, 403, "Host"},
		"a Host that begins well":  {call(1, "read", `{}`), []string{"Host", "localhost.evil.example"}, 403, "Host"},
		"a foreign Origin":         {call(1, "read", `{}`), []string{"Origin", "https://evil.example"}, 403, "Origin"},
		"no page's Origin":         {call(1, "read", `{}`), []string{"Origin", "null"}, 403, "Origin"},
		"two Origins":              {call(1, "read", `{}`), []string{"Origin", "http://localhost", "Origin", "https://evil.example"}, 403, "Origin"},
		"a batch":                  {`[` + call(1, "read", `{}`) + `]`, nil, 400, "batch"},
		"a compressed body":        {call(1, "read", `{}`), []string{"Content-Encoding", "gzip"}, 415, "plain"},
		"a method twice":           {call(1, "read", `{}`), []string{"Mcp-Method", "tools/call", "Mcp-Method", "ping"}, 400, "twice"},
		"another method":           {modernCall(1, `{}`, ""), with("Mcp-Method", "ping"), 400, "-32020"},
		"no method":                {modernCall(1, `{}`, ""), with("Mcp-Method", ""), 400, "-32020"},
		"another tool":             {modernCall(1, `{}`, ""), with("Mcp-Name", "write"), 400, "-32020"},
		"another tool, encoded":    {modernCall(1, `{}`, ""), with("Mcp-Name", "=?base64?d3JpdGU=?="), 400, "-32020"},
		"no tool":                  {modernCall(1, `{}`, ""), with("Mcp-Name", ""), 400, "-32020"},
		"another revision":         {modernCall(1, `{}`, ""), with("Mcp-Protocol-Version", "2025-11-25"), 400, "-32020"},
		"a method of the old era":  {call(1, "read", `{}`), []string{"Mcp-Method", "ping"}, 400, "-32020"},
		"a parameter of no tool":   {call(1, "read", `{"p":"a"}`), []string{"Mcp-Param-P", "a"}, 400, "-32020"},
		"a parameter of a read":    {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a"}}`, []string{"Mcp-Param-P", "a"}, 400, "-32020"},
		"a parameter that differs": {call(1, "bound", `{"p":{"q":"a"}}`), []string{"Mcp-Param-P", "b"}, 400, "-32020"},
		"a parameter that is not":  {call(1, "bound", `{}`), []string{"Mcp-Param-P", "b"}, 400, "-32020"},
		"an unknown method":        {`{"jsonrpc":"2.0","id":1,"method":"x"}`, nil, 200, "-32601"},
		"a call as a notification": {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}`, nil, 400, "MCP_METHOD_UNKNOWN"},
		"an answer to nothing":     {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, "not asked"},
	} {
		w := newWorld(t)
		w.tools = `{"tools":[{"name":"read"},{"name":"bound","inputSchema":{"properties":{"p":{"properties":{"q":{"x-mcp-header":"P","type":"string"}}}}}}]}`
		up, address := front(t, w)
		response, text := post(t, address, c.body, c.headers...)
		if response.StatusCode != c.status || !strings.Contains(text, c.says) || up.count() > 0 {
			t.Errorf("%s: %d %s, and the server saw %d requests", name, response.StatusCode, text, up.count())
		}
	}
}

// TestRefusedPaths has requests for something else than the server.
func TestRefusedPaths(t *testing.T) {
	w := newWorld(t)
	up, address := front(t, w)
	for _, path := range []string{"/", "/other", "?a=b", "/.well-known/oauth-protected-resource"} {
		if response, _ := post(t, address+path, call(1, "read", `{}`)); response.StatusCode != 404 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
	if response, _ := do(t, "PUT", address, ""); response.StatusCode != 405 || up.count() > 0 {
		t.Errorf("PUT: %d", response.StatusCode)
	}
}

// TestHeadersThatAgree has headers which say what the body says, in all spellings.
func TestHeadersThatAgree(t *testing.T) {
	for _, headers := range [][]string{
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "read"},
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?cmVhZA==?="},
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "read", "Mcp-Param-P", "7"},
		{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "read", "Origin", "http://localhost:3000"},
	} {
		w := newWorld(t)
		w.tools = `{"tools":[{"name":"read","inputSchema":{"properties":{"p":{"x-mcp-header":"P"}}}}]}`
		up, address := front(t, w)
		if response, text := post(t, address, modernCall(1, `{"p":7}`, ""), headers...); response.StatusCode != 200 || up.count() != 1 || up.bodies[0] != modernCall(1, `{"p":7}`, "") {
			t.Errorf("%v: %d %s", headers, response.StatusCode, text)
		}
	}
}

// TestCredentials hands a client's credentials to the upstream alone, and no other header to it.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	up, address := front(t, w)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	post(t, address, call(1, "read", `{}`), "Authorization", "Bearer secret", "Cookie", "a=b", "X-Forwarded-For", "1.2.3.4")
	got := up.seen[0].Header
	if got.Get("Authorization") != "Bearer secret" || got.Get("Cookie") != "" || got.Get("X-Forwarded-For") != "" {
		t.Errorf("the server gets %v", got)
	}
	up.answers = func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	if response, _ := post(t, address, call(1, "read", `{}`), "Authorization", "Bearer secret"); response.StatusCode != http.StatusBadGateway {
		t.Errorf("a redirect is answered %d", response.StatusCode)
	}
	up.answers = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusUnauthorized)
	}
	if response, _ := post(t, address, call(1, "read", `{}`)); response.StatusCode != 401 || response.Header.Get("WWW-Authenticate") == "" || response.Header.Get("Set-Cookie") != "" {
		t.Errorf("a challenge arrives as %d %v", response.StatusCode, response.Header)
	}
}

// TestStreams passes events on one by one, byte for byte, while the stream is open.
func TestStreams(t *testing.T) {
	w := newWorld(t)
	up, address := front(t, w)
	events := []string{
		": hello\nid: 1\nretry: 500\ndata:\n\n",
		"event: message\r\nid: 2\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:  \"method\":\"notifications/message\",\"params\":{\"data\":1.0}}\r\n\r\n",
		"data:{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ \"content\":[]}}\nid: 3\n\n",
	}
	next := make(chan bool)
	up.answers = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			<-next
			io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
		<-next
	}
	request, _ := http.NewRequest("POST", address, strings.NewReader(call(1, "read", `{}`)))
	request.Header.Set("Content-Type", "application/json")
	go func() { next <- true }()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := bufio.NewReader(response.Body)
	for i, e := range events {
		got := make([]byte, len(e))
		if _, err := io.ReadFull(body, got); err != nil || string(got) != e {
			t.Fatalf("event %d arrives as %q: %v", i, got, err)
		}
		next <- true
	}
	if rest, _ := io.ReadAll(body); len(rest) > 0 {
		t.Errorf("%q follows", rest)
	}
}

// TestStreamedMessages judges what is in a stream: requests of the server, foreign answers and what cannot be read do not
// arrive, and the server is told of its refused request.
func TestStreamedMessages(t *testing.T) {
	w := newWorld(t)
	up, address := front(t, w)
	told := make(chan string, 1)
	up.answers = func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, `"id":"s"`) {
			told <- body
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n")
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{\"stolen\":1}}\n\n")
		io.WriteString(w, "data: [{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"batch\":1}}]\n\n")
		io.WriteString(w, "event: other\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"inputRequests\":{}}}\n\n")
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"second\":1}}\n\n")
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}")
	}
	_, text := post(t, address, call(1, "read", `{}`))
	for _, bad := range []string{"sampling", "stolen", "batch", "inputRequests", "second", "notifications/message"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s arrives: %s", bad, text)
		}
	}
	if !strings.Contains(text, string(codeServerRequest)) || !strings.HasPrefix(text, "id: 1\n\n") {
		t.Errorf("%q", text)
	}
	if got := <-told; !strings.Contains(got, `"error":{"code":-32601`) {
		t.Errorf("the server is told %s", got)
	}
}

// TestBrokenAnswers has answers of which no part reaches the client but an error.
func TestBrokenAnswers(t *testing.T) {
	for name, answers := range map[string]func(w http.ResponseWriter){
		"another id": func(w http.ResponseWriter) { io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"stolen":1}}`) },
		"not JSON":   func(w http.ResponseWriter) { io.WriteString(w, `stolen`) },
		"a batch":    func(w http.ResponseWriter) { io.WriteString(w, `[{"jsonrpc":"2.0","id":1,"result":{"stolen":1}}]`) },
		"a request":  func(w http.ResponseWriter) { io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"stolen"}`) },
		"a name twice": func(w http.ResponseWriter) {
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"stolen":1,"stolen":2}}`)
		},
		"compressed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "stolen")
		},
		"broken off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"stolen`)
		},
		"a stream broken off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"jsonrpc":"2.0","id":1,"result":{"stolen":1}}`+"\n")
		},
		"a stream in two ways": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\r\"result\":{\"stolen\":1}}\n\n")
		},
		"too much": func(w http.ResponseWriter) { io.WriteString(w, `"`+strings.Repeat("stolen", maxMessage/6+1)) },
	} {
		w := newWorld(t)
		up, address := front(t, w)
		up.answers = func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			answers(w)
		}
		if response, text := post(t, address, call(1, "read", `{}`)); strings.Contains(text, "stolen") || !strings.Contains(text, string(codeServerGone)) {
			t.Errorf("%s: %d %.200s", name, response.StatusCode, text)
		}
	}
}

// TestSessions keeps the requests of a session together, and apart from other clients that know its id.
func TestSessions(t *testing.T) {
	w := newWorld(t)
	w.g.AllowServerRequests = true
	up, address := front(t, w)
	up.answers = func(w http.ResponseWriter, r *http.Request, body string) {
		switch {
		case strings.Contains(body, "initialize"):
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "S")
			io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		case r.Method == "GET":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":1}}\n\n")
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
	post(t, address, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, "Authorization", "a")
	post(t, address, call(1, "read", `{}`), "Mcp-Session-Id", "S", "Authorization", "a") // its answer comes by the other stream
	if _, text := do(t, "GET", address, "", "Mcp-Session-Id", "S", "Authorization", "b", "Accept", "text/event-stream"); strings.Contains(text, "late") {
		t.Errorf("another client gets the answer: %s", text)
	}
	if _, text := do(t, "GET", address, "", "Mcp-Session-Id", "S", "Authorization", "a", "Accept", "text/event-stream"); !strings.Contains(text, "late") || !strings.Contains(text, "roots/list") {
		t.Errorf("the session's own stream: %s", text)
	}
	if response, _ := post(t, address, `{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`, "Mcp-Session-Id", "S", "Authorization", "a"); response.StatusCode != 202 {
		t.Errorf("the answer to the server's question: %d", response.StatusCode)
	}
	before := up.count()
	if response, _ := post(t, address, `{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`, "Mcp-Session-Id", "S", "Authorization", "a"); response.StatusCode != 400 || up.count() != before {
		t.Errorf("a second answer: %d", response.StatusCode)
	}
}

func TestLocalHosts(t *testing.T) {
	for host, local := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:8790": true, "127.0.0.2": true, "[::1]:1": true, "[::1]": true,
		"": false, "localhost.evil.example": false, "evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1": false, "0.0.0.0": false, "2130706433": false,
	} {
		if localHost(host) != local {
			t.Errorf("%q: %v", host, !local)
		}
	}
}

// TestUpstreams has addresses of servers.
func TestUpstreams(t *testing.T) {
	for address, good := range map[string]bool{
		"http://127.0.0.1:1/mcp": true, "https://a.example": true,
		"ftp://a.example": false, "/mcp": false, "https://user:pass@a.example": false, "http://a.example/#x": false,
	} {
		u, _ := url.Parse(address)
		if _, err := NewHandler(&Guard{}, u); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}
