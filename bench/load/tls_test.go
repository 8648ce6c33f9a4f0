//go:build linux

package load

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestTLS: both loops speak TLS, in the open one with answers of several records, and neither trusts a stranger's certificate.
func TestTLS(t *testing.T) {
	long := strings.Repeat("x", BufferBytes-1000)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "15384")
		for part := range 4 {
			_, _ = w.Write([]byte(long[part*len(long)/4 : (part+1)*len(long)/4]))
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	shot := func() *Shot {
		return &Shot{Request: Render("/", address, "key", "{}"), Status: "200", Latency: NewHistogram()}
	}
	one, err := Dial(address, &tls.Config{RootCAs: pool, ServerName: "example.com"}, shot())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = one.Close() })
	for one.Latency.TotalCount() == 0 { // on a busy machine there may be no answer in time
		if err := one.Loop(time.Now(), time.Now().Add(100*time.Millisecond), 20*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	one.Latency.Reset()
	if err := NewPace(200, 500*time.Millisecond).Drive([]*Client{one}, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if n := one.Latency.TotalCount(); n != 100 {
		t.Errorf("%d latencies, want 100", n)
	}
	stranger, err := Dial(address, &tls.Config{ServerName: "example.com"}, shot())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Close() })
	if err := stranger.Exchange(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger's certificate: %v", err)
	}
}
