package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// resetting is an upstream over HTTP/2 that takes every request as a whole, and then resets its stream.
type resetting struct {
	code  http2.ErrCode
	taken atomic.Int32
}

// serve speaks HTTP/2 on a connection as far as it has to.
func (r *resetting) serve(_ *http.Server, c *tls.Conn, _ http.Handler) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, c)
	err := framer.WriteSettings()
	for err == nil {
		var frame http2.Frame
		if frame, err = framer.ReadFrame(); err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				r.taken.Add(1)
				err = framer.WriteRSTStream(frame.StreamID, r.code)
			}
		}
	}
}

// A write whose stream an upstream resets is not sent again, whatever the reset says, and a read is so a few times:
// the library takes some resets for a promise that nothing came of the request, and would go on until the time is over.
func TestResets(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeProtocol, http2.ErrCodeRefusedStream, http2.ErrCodeInternal} {
		r := &resetting{code: code}
		server := httptest.NewUnstartedServer(nil)
		server.EnableHTTP2 = true
		server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": r.serve}
		server.StartTLS()
		t.Cleanup(server.Close)
		b := newBench(t, func(c *Config) { c.Upstreams, c.Timeout = []Upstream{{RPC, chain, server.URL}}, time.Second })
		trusted := x509.NewCertPool()
		trusted.AddCert(server.Certificate())
		for _, u := range b.gateway.upstreams {
			u.transport.(*tripper).RoundTripper.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
		}
		raw := sign(t, dynamic(payee, 5, nil), chain)
		got := reason(t, b.send(raw, b.token(b.claims(raw))))
		if n := r.taken.Load(); n != 1 || !strings.Contains(got, "may have arrived, and its attestation is used up") {
			t.Errorf("%v: the write came %d times and is answered %q", code, n, got)
		}
		r.taken.Store(0)
		got = reason(t, b.do(RPC, "8453", `{"jsonrpc":"2.0","id":9,"method":"eth_blockNumber"}`, ""))
		if n := r.taken.Load(); n > 1+maxAgain || !strings.Contains(got, "SVC_UPSTREAM_UNAVAILABLE") {
			t.Errorf("%v: the read came %d times and is answered %q", code, n, got)
		}
	}
}

// TestAgain holds that a body is given so often and no more, and that of a write not once anything of it was taken.
func TestAgain(t *testing.T) {
	for _, write := range []bool{false, true} {
		give := again([]byte("body"), write, new(atomic.Bool))
		first, err := give()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := give(); err != nil {
			t.Errorf("write %v: nothing was taken, and it is not given again: %v", write, err)
		}
		if text, err := io.ReadAll(first); err != nil || string(text) != "body" {
			t.Errorf("write %v: it is given as %q, %v", write, text, err)
		}
		if _, err := give(); (err != nil) != write {
			t.Errorf("write %v: all of it was taken, and giving it again is answered %v", write, err)
		}
		for range maxAgain {
			_, err = give()
		}
		if err == nil {
			t.Errorf("write %v: it is given without a bound", write)
		}
	}
	for _, write := range []bool{false, true} {
		give, given := again(nil, write, new(atomic.Bool)), 0
		for _, err := give(); err == nil && given < 10; _, err = give() {
			given++
		}
		if given != 5 {
			t.Errorf("write %v: a body of which nothing is taken is given %d times, want 5", write, given)
		}
	}
}

// TestReadsAgain: a read that an upstream leaves without an answer on a connection that was used before is sent again, on another.
func TestReadsAgain(t *testing.T) {
	for _, with := range benches[:2] {
		b := with.make(t)
		var requests atomic.Int32
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) == 2 {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x01"}`)
		})
		b.node.answer.Store(&handler)
		for i := range 2 {
			if got := reason(t, b.do(RPC, "8453", `{"jsonrpc":"2.0","id":9,"method":"eth_blockNumber"}`, "")); got != "" {
				t.Errorf("%s: read %d: %s", with.name, i, got)
			}
		}
		if n := requests.Load(); n != 3 {
			t.Errorf("%s: %d requests for two reads, want 3", with.name, n)
		}
	}
}

// roundTrip is a transport of the library's that is a function.
type roundTrip func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOnlyReadsAreMarked: the library is told of a read that it may be sent again, and never of a write.
func TestOnlyReadsAreMarked(t *testing.T) {
	marked := false
	config := *bare
	config.Transport = func() http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			_, marked = r.Header["X-Idempotency-Key"]
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
	}
	u, err := config.openUpstream(Upstream{RPC, chain, "https://node.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true, false} {
		if _, _, err := u.post(t.Context(), nil, write, new(held)); err != nil || marked == write {
			t.Errorf("write %t: marked %t, %v", write, marked, err)
		}
	}
}
