package gateway

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/attest"
)

// handle answers every request in the same way.
func handle(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, body) }
}

// troubles are answers of upstreams, and what the client gets for them.
var troubles = []struct {
	name    string
	handler http.HandlerFunc
	want    string // of the reason; of the body where it begins with a brace
}{
	{"a result", handle(200, `{"id":1,"jsonrpc":"2.0","result":{"a":[1,1e400]}}`), `{"jsonrpc":"2.0","id":9,"result":{"a":[1,1e400]}}`},
	{"null", handle(200, `{"jsonrpc":"2.0","id":1,"result":null}`), `{"jsonrpc":"2.0","id":9,"result":null}`},
	{"an error", handle(200, `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}`), `{"jsonrpc":"2.0","id":9,"error":{"code":3,"message":"execution reverted","data":"0x"}}`},
	{"an error with HTTP 400", handle(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}`), `{"jsonrpc":"2.0","id":9,"error":{"code":-32602}}`},
	{"a result with HTTP 500", handle(500, `{"jsonrpc":"2.0","id":1,"result":1}`), "HTTP 500"},
	{"a result with HTTP 201", handle(201, `{"jsonrpc":"2.0","id":1,"result":1}`), "the upstream answered with HTTP 201"},
	{"no JSON with HTTP 418", handle(418, `<html>`), "the upstream answered with HTTP 418"},
	{"no JSON", handle(200, `<html>`), "not a JSON-RPC response"},
	{"nothing", handle(200, ``), "not a JSON-RPC response"},
	{"an array", handle(200, `[{"jsonrpc":"2.0","id":1,"result":1}]`), "not a JSON-RPC response"},
	{"another id", handle(200, `{"jsonrpc":"2.0","id":2,"result":1}`), "another request's"},
	{"no id", handle(200, `{"jsonrpc":"2.0","result":1}`), "no id"},
	{"no outcome", handle(200, `{"jsonrpc":"2.0","id":1}`), "neither result nor error"},
	{"two outcomes", handle(200, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`), "two outcomes"},
	{"two results", handle(200, `{"jsonrpc":"2.0","id":1,"result":1,"re\u0073ult":2}`), "two outcomes"},
	{"two ids", handle(200, `{"jsonrpc":"2.0","id":1,"result":1,"id":2}`), "another request's"},
	{"no error beside a result", handle(200, `{"id":1,"error":null,"result":1}`), `{"jsonrpc":"2.0","id":9,"result":1}`},
	{"no result beside an error", handle(200, `{"result" : null, "error" : {"code":1},"id":1}`), `{"jsonrpc":"2.0","id":9,"error":{"code":1}}`},
	{"an error that is none", handle(200, `{"jsonrpc":"2.0","id":1,"error":"no"}`), "error is not an object"},
	{"null as its only outcome", handle(200, `{"jsonrpc":"2.0","id":1,"error":null}`), "neither result nor error"},
	{"something behind", handle(200, `{"jsonrpc":"2.0","id":1,"result":1}{"jsonrpc":"2.0","id":1,"result":2}`), "not valid JSON"},
	{"invalid UTF-8", handle(200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}"), "not valid JSON"},
	{"a line end behind", handle(200, `{"jsonrpc":"2.0","id":1,"result":1}`+"\n"), `{"jsonrpc":"2.0","id":9,"result":1}`},
	{"cut off", handle(200, `{"jsonrpc":"2.0","id":1,"result":{"a":`), "not a JSON-RPC response"},
	{"too large", handle(200, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 5000)+`"}`), "too large"},
	{"too large, in chunks", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			fmt.Fprint(w, strings.Repeat(" ", 100))
			w.(http.Flusher).Flush()
		}
	}, "too large"},
	{"a redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, "HTTP 307"},
	{"slow", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "in time"},
	{"hangs up", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "connection to the upstream failed"},
}

// benches make benches whose node is spoken to in one of the ways that there are.
var benches = []struct {
	name string
	make func(t *testing.T, adjust ...func(*Config)) *bench
	seen string // by the node, of the requests
}{
	{"http", func(t *testing.T, adjust ...func(*Config)) *bench { return newBench(t, adjust...) }, "HTTP/1.1, TLS false"},
	{"https", func(t *testing.T, adjust ...func(*Config)) *bench { return newTLSBench(t, false, adjust...) }, "HTTP/1.1, TLS true"},
	{"https with HTTP 2", func(t *testing.T, adjust ...func(*Config)) *bench { return newTLSBench(t, true, adjust...) }, "HTTP/2.0, TLS true"},
}

// newTLSBench returns a bench whose upstreams are spoken to over HTTPS. The transport is the gateway's own; all that is
// changed is whom it trusts.
func newTLSBench(t *testing.T, http2 bool, adjust ...func(*Config)) *bench {
	t.Helper()
	n := new(node)
	n.server = httptest.NewUnstartedServer(n)
	n.server.EnableHTTP2 = http2
	n.server.StartTLS()
	t.Cleanup(n.server.Close)
	b := newBench(t, append(adjust, func(c *Config) {
		for i := range c.Upstreams {
			c.Upstreams[i].URL = n.server.URL
		}
	})...)
	b.node = n
	trusted := x509.NewCertPool()
	trusted.AddCert(n.server.Certificate())
	for _, u := range b.gateway.upstreams {
		u.transport.(*tripper).RoundTripper.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
	}
	return b
}

// The rows below say something of a transport only where the requests go over it.
func TestUpstreamTransports(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":"%s, TLS %v"}`, r.Proto, r.TLS != nil)
	})
	for _, with := range benches {
		b := with.make(t)
		b.node.answer.Store(&handler)
		got := string(b.do(RPC, "8453", `{"jsonrpc":"2.0","id":9,"method":"eth_blockNumber"}`, "").Body)
		if want := `{"jsonrpc":"2.0","id":9,"result":"` + with.seen + `"}`; got != want {
			t.Errorf("%s: %s, want %s", with.name, got, want)
		}
	}
}

// Whatever an upstream does, the client gets a JSON-RPC answer under its id, which does not name the upstream. It is asked
// once: its redirects are followed nowhere.
func TestUpstreamTrouble(t *testing.T) {
	for _, with := range benches {
		for _, c := range troubles {
			t.Run(with.name+"/"+c.name, func(t *testing.T) {
				b := with.make(t, func(c *Config) { c.Timeout, c.MaxResponse = 500*time.Millisecond, 4096 })
				b.node.answer.Store(&c.handler)
				checkTrouble(t, b.do(RPC, "8453", `{"jsonrpc":"2.0","id":9,"method":"eth_blockNumber"}`, ""), c.want)
				if n := len(b.node.sent()); n != 1 {
					t.Errorf("%d requests were sent for one", n)
				}
			})
		}
	}
}

func checkTrouble(t *testing.T, got *Response, want string) {
	t.Helper()
	if strings.HasPrefix(want, "{") {
		if string(got.Body) != want {
			t.Errorf("%s, want %s", got.Body, want)
		}
		return
	}
	text := reason(t, got)
	if !strings.HasPrefix(text, "-32000 SVC_UPSTREAM_UNAVAILABLE: ") || !strings.Contains(text, want) || strings.Contains(text, "127.0.0.1") {
		t.Errorf("%q, want %q", text, want)
	}
	if !strings.Contains(string(got.Body), `"id":9`) {
		t.Errorf("%s does not carry the id", got.Body)
	}
}

func TestUpstreamUnreachable(t *testing.T) {
	b := newBench(t)
	b.node.server.Close()
	raw := sign(t, dynamic(payee, 5, nil), chain)
	got := reason(t, b.send(raw, b.token(b.claims(raw))))
	if !strings.Contains(got, "can't be reached; the write was not sent, and its attestation is used up") {
		t.Error(got)
	}
	if n, other := b.gateway.Failures(RPC, chain), b.gateway.Failures(RPC, 1)+b.gateway.Failures(Bundler, chain)+b.gateway.Failures(Bundler, 99); n != 1 || other != 0 {
		t.Errorf("%d failures are counted, and %d of others", n, other)
	}
}

// A node with an untrusted certificate is sent nothing, and a write says so.
func TestUpstreamNotTrusted(t *testing.T) {
	b := newBench(t)
	node := httptest.NewUnstartedServer(b.node)
	node.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	node.StartTLS()
	defer node.Close()
	config := b.gateway.Config
	config.Upstreams = []Upstream{{RPC, chain, node.URL}}
	var log bytes.Buffer
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	var err error
	if b.gateway, err = New(config); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		raw := sign(t, dynamic(payee, 5, nil), chain)
		got := reason(t, b.send(raw, b.token(b.claims(raw))))
		if !strings.Contains(got, "certificate is not to be trusted; the write was not sent, and its attestation is used up") || len(b.node.sent()) > 0 {
			t.Errorf("%s; the node was sent %q", got, b.node.sent())
		}
	}
	if strings.Count(log.String(), "gave no answer") != 1 || !strings.Contains(log.String(), "not to be trusted") || strings.Contains(log.String(), node.Listener.Addr().String()) {
		t.Errorf("the log says, of three writes in one second: %s", &log)
	}
}

// An upstream that hangs keeps its own requests waiting, and no others; a write that finds no place keeps its
// attestation.
func TestOneSlowUpstream(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxInFlight, c.Timeout = 2, 500*time.Millisecond })
	hang := make(chan struct{})
	slow := &node{}
	var now, most atomic.Int32
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	slow.answer.Store(&handler)
	server := newServer(t, slow)
	defer close(hang)
	config := b.gateway.Config
	config.Upstreams = []Upstream{{RPC, chain, b.node.server.URL}, {RPC, 1, server}}
	var err error
	if b.gateway, err = New(config); err != nil {
		t.Fatal(err)
	}
	const body = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := reason(t, b.do(RPC, "1", body, "")); !strings.Contains(got, "in time") && !strings.Contains(got, "too many requests") {
				t.Errorf("the slow one: %q", got)
			}
		})
	}
	for len(slow.sent()) < 2 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		started := time.Now()
		if got := reason(t, b.do(RPC, "8453", body, "")); got != "" || time.Since(started) > 250*time.Millisecond {
			t.Errorf("the fast one: %q after %s", got, time.Since(started))
		}
	}
	group.Wait()
	if most.Load() > 3 { // one that was given up may end a moment after the next has begun
		t.Errorf("%d requests at once went to an upstream with room for 2", most.Load())
	}
}

// Reads are public: however many of them wait for a slow node, a write finds a place.
func TestReadsHoldUpNoWrite(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxInFlight, c.Timeout = 2, 5*time.Second })
	hang := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if sent := b.node.sent(); !strings.Contains(sent[len(sent)-1], "eth_sendRawTransaction") {
			<-hang
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"0x01"}`)
	})
	b.node.answer.Store(&handler)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { b.do(RPC, "8453", `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`, "") })
	}
	for len(b.node.sent()) < 2 {
		time.Sleep(time.Millisecond)
	}
	raw := sign(t, dynamic(payee, 5, nil), chain)
	if got := reason(t, b.send(raw, b.token(b.claims(raw)))); got != "" {
		t.Errorf("a write behind slow reads: %s", got)
	}
	close(hang)
	group.Wait()
}

// Neither what is logged nor what is answered holds an attestation, or the upstream's address and the account in it.
func TestSecretsStay(t *testing.T) {
	var log bytes.Buffer
	b := newBench(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		address, _ := url.Parse(c.Upstreams[0].URL)
		address.User, address.Path = url.UserPassword("user", "hunter2"), "/v3/hunter3"
		c.Upstreams[0].URL = address.String()
	})
	raw := sign(t, dynamic(payee, 5, nil), chain)
	good, late, spare := b.token(b.claims(raw)), b.claims(raw), b.token(b.claims(raw))
	late.IssuedAt -= attest.LifetimeSeconds
	var answers []string
	say := func(r *Response) { answers = append(answers, string(r.Code), r.Message, string(r.Body)) }
	say(b.send(flip(raw, 20), good))
	say(b.send(raw, good))
	say(b.send(raw, good))
	say(b.send(raw, b.token(late)))
	say(b.send(raw, good[:len(good)-2]))
	b.node.server.Close()
	say(b.send(raw, spare))
	all := log.String() + strings.Join(answers, "\n")
	if strings.Count(log.String(), "write refused") < 2 {
		t.Errorf("logged: %s", log.String())
	}
	for _, secret := range []string{good[:40], good[len(good)-80:], spare[len(spare)-80:], "hunter", "127.0.0.1", "dXNlcjpodW50ZXIy"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q got out:\n%s", secret, all)
		}
	}
}

// unanswered are upstreams that leave a write without an answer, by what the client is told.
var unanswered = map[string]http.HandlerFunc{
	"in time":                           func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"connection to the upstream failed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"not a JSON-RPC response":           func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
	"HTTP 307": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	},
	"too large": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", 5000)) },
}

// A write that an upstream leaves without an answer may have arrived: its attestation is gone, and nothing is sent again.
// A transport is most inclined to send again what it sent over a connection that was used before, so there is one.
func TestUnansweredWrites(t *testing.T) {
	for _, with := range benches {
		for want, handler := range unanswered {
			t.Run(with.name+"/"+want, func(t *testing.T) {
				b := with.make(t, func(c *Config) { c.Timeout, c.MaxResponse = 500*time.Millisecond, 4096 })
				if got := reason(t, b.do(RPC, "8453", `{"jsonrpc":"2.0","id":9,"method":"eth_blockNumber"}`, "")); got != "" {
					t.Fatal(got)
				}
				b.node.answer.Store(&handler)
				checkUnanswered(t, b, want)
			})
		}
	}
}

func checkUnanswered(t *testing.T, b *bench, want string) {
	t.Helper()
	before := len(b.node.sent())
	raw := sign(t, dynamic(payee, 5, nil), chain)
	token := b.token(b.claims(raw))
	first, second := reason(t, b.send(raw, token)), reason(t, b.send(raw, token))
	if !strings.HasPrefix(first, "-32000 SVC_UPSTREAM_UNAVAILABLE: ") || !strings.Contains(first, want) || !strings.Contains(first, "may have arrived, and its attestation is used up") {
		t.Errorf("%q, want %q", first, want)
	}
	if n := len(b.node.sent()) - before; n != 1 || !strings.Contains(second, "used before") {
		t.Errorf("again: %q; %d sent", second, n)
	}
}

// TestUpstreamURLs: an upstream has to be an http or https URL. The error does not show the URL, which may contain a secret.
func TestUpstreamURLs(t *testing.T) {
	for text, opens := range map[string]bool{
		"http://node.example": true, "https://node.example/v3/secret": true, "http://[::1]:8545/": true,
		"": false, "node.example": false, "ftp://node.example/secret": false, "http:///secret": false, "https:secret": false, "http://node.example/%zz": false,
		"http://node.example/?secret x": false, "https://node.example/?secret x": false, "ftp:///?a b": false, "wss://node.example": false,
	} {
		u, err := bare.openUpstream(Upstream{RPC, chain, text})
		if (err == nil) != opens || (u != nil) != opens {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "the upstream of /rpc/8453") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s is refused with %q", text, err)
		}
	}
}

// TestPlain: the faster transport is for plain HTTP to names that the library would not translate.
func TestPlain(t *testing.T) {
	for where, want := range map[url.URL]bool{
		{Scheme: "http", Host: "node.example"}: true, {Scheme: "http", Host: "node\u007f"}: true,
		{Scheme: "https", Host: "node.example"}: false, {Scheme: "http", Host: "node\u0080"}: false, {Scheme: "http", Host: "b\u00fccher.example"}: false,
	} {
		if got := plain(&where); got != want {
			t.Errorf("%+v: %t", where, got)
		}
	}
}

// TestTransportOfAnother: Config.Transport makes the transport of every upstream, whatever its scheme.
func TestTransportOfAnother(t *testing.T) {
	given := http.NewFileTransport(http.Dir(t.TempDir()))
	config := *bare
	config.Transport = func() http.RoundTripper { return given }
	for _, text := range []string{"http://node.example", "https://node.example"} {
		u, err := config.openUpstream(Upstream{RPC, chain, text})
		if err != nil {
			t.Fatal(err)
		}
		if over, ok := u.transport.(*tripper); !ok || over.RoundTripper != given {
			t.Errorf("%s goes over %T", text, u.transport)
		}
	}
}
