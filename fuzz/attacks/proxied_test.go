package attacks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"bailiff/httpd/client"
	"bailiff/httpd/mcpproxy"
)

// tools are what the server behind the proxy lists.
const tools = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[
{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string","x-mcp-header":"Path"}}}},
{"name":"delete_file","inputSchema":{"type":"object"}},{"name":"resources.read","inputSchema":{"type":"object"}}]}}`

// proxied sends a request to an MCP proxy before a server: lines of headers, an empty line, and the body. The answer is SENT where
// the server got a call, and REFUSED where it got none.
func proxied(t *testing.T, g *group) level {
	w := started(t, g.Policy)
	_, key, err := w.keyOf()
	if err != nil {
		t.Fatal(err)
	}
	service, err := client.New(client.Config{URL: "http://" + w.address, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	address, calls := toolServer(t)
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := mcpproxy.NewHandler(&mcpproxy.Guard{
		Server: "files", Principal: "key", Now: clock, Decide: mcpproxy.Ask(service, "custom", "agent-1"),
		Pins: mcpproxy.NewPins(mcpproxy.ServicePins(service, "files"), clock), Log: func(string, ...any) {},
	}, target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(handler)
	t.Cleanup(proxy.Close)
	return func(a *attack) (string, error) {
		before := calls.Load()
		head, body, _ := strings.Cut(a.value, "\n\n")
		r, err := http.NewRequest(http.MethodPost, proxy.URL+handler.Path(), strings.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for each := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSuffix(each, "\n"), ": ")
			if name == "Host" {
				r.Host = value
			} else if name != "" {
				r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
			}
		}
		response, err := w.client.Do(r)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return "", err
		}
		if calls.Load() > before {
			return "SENT", nil
		}
		return "REFUSED", nil
	}
}

// toolServer starts an MCP server, and counts the calls of its tools.
func toolServer(t *testing.T) (address string, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer.Header().Set("Content-Type", "application/json")
		_, rest, _ := strings.Cut(string(body), `"id":`)
		id := rest[:max(strings.IndexAny(rest+",", ",}"), 0)]
		if strings.Contains(string(body), `"tools/list"`) {
			_, _ = io.WriteString(answer, strings.Replace(tools, "ID", id, 1))
			return
		}
		calls.Add(1)
		_, _ = io.WriteString(answer, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[]}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, calls
}
