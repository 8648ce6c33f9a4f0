package httpd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/gateway"
)

// clientHeaders are headers of a client's request that are none of the node's business. Some are secrets, some would speak
// for the client to the node, and some are for one connection alone (RFC 9110, section 7.6.1).
var clientHeaders = []string{
	"Connection: X-Foo",
	"X-Foo: from-the-client",
	"TE: trailers",
	"Cookie: session=from-the-client",
	"X-Forwarded-For: 203.0.113.9",
	"Proxy-Authorization: Basic from-the-client",
	"Authorization: Bearer from-the-client",
	"Svc-Receipt: from-the-client",
}

// nodeHeaders are all that a node is sent. Accept-Encoding is the library's own.
var nodeHeaders = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}

// A node gets nothing of the headers of a client's read, over plain HTTP and over HTTPS.
func TestGatewayHeaders(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan http.Header, 10)
			node := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent <- r.Header.Clone()
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
			}))
			defer node.Close()
			w := newWorld(t)
			config := w.config(w.authority("", false))
			config.Gateway = w.gatewayTo(node)
			w.serve(config)
			response, body := w.send(w.request("POST /rpc/1\nContent-Type: application/json\n" + strings.Join(clientHeaders, "\n") +
				"\n\n" + `{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":[]}`))
			if response.StatusCode != http.StatusOK || body != `{"jsonrpc":"2.0","id":7,"result":"0x1"}` || len(sent) != 1 {
				t.Fatalf("HTTP %d %s after %d requests to the node", response.StatusCode, body, len(sent))
			}
			checkNodeHeaders(t, <-sent)
		})
	}
}

// gatewayTo returns a gateway to a node of chain 1. Over plain HTTP it is spoken to as in production, over HTTPS through a
// transport that trusts it.
func (w *world) gatewayTo(node *httptest.Server) *gateway.Gateway {
	w.t.Helper()
	config := w.gateway().Config
	config.Upstreams = []gateway.Upstream{{Endpoint: gateway.RPC, Chain: 1, URL: node.URL}}
	config.Transport = nil
	if node.TLS != nil {
		config.Transport = func() http.RoundTripper { return node.Client().Transport }
	}
	g, err := gateway.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// checkNodeHeaders checks names and values: a header may not come under another name, either.
func checkNodeHeaders(t *testing.T, sent http.Header) {
	t.Helper()
	for _, line := range clientHeaders {
		name, value, _ := strings.Cut(line, ": ")
		if values := sent.Values(name); len(values) > 0 {
			t.Errorf("%s reaches the node: %q", name, values)
		}
		for other, values := range sent {
			if slices.Contains(values, value) {
				t.Errorf("the value of %s reaches the node as %s", name, other)
			}
		}
	}
	for name := range sent {
		if !slices.Contains(nodeHeaders, name) {
			t.Errorf("the node is sent %s: %q", name, sent[name])
		}
	}
}
