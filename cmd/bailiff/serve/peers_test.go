package serve

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/certificate"
	"bailiff/httpd"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
)

// TestPeers: an instance passes requests on to none but the instance that the database names, and takes them from instances of its store
// alone.
func TestPeers(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	domain := cmdsettings.PeerDomain("store")
	if err := certificate.Make(dir, "authority", "a"+domain, "b"+domain, "c"+cmdsettings.PeerDomain("another"), "a.example.com"); err != nil {
		t.Fatal(err)
	}
	if err := certificate.Make(other, "authority", "b"+domain); err != nil {
		t.Fatal(err)
	}
	at := func(dir, name string) *service {
		config, err := readPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
		if err == nil {
			err = trust(config, filepath.Join(dir, "authority.pem"))
		}
		if err != nil {
			t.Fatal(err)
		}
		r := &service{calls: system.Real(time.Now), peers: peers{domain: domain}}
		r.certificates.peer.Store(config)
		return r
	}
	owner := at(dir, "a"+domain)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	standby, err := httpd.NewStandby(tls.NewListener(plain, &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: owner.takePeer}), httpd.StandbyConfig{
		Passed: true, Log: slog.New(slog.DiscardHandler), Clock: time.Now, Random: rand.NewChaCha8([32]byte{}), Metrics: metrics.New(), Checks: func() []httpd.Check { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Shutdown(context.Background()) //nolint:errcheck // the test is over
	for _, row := range []struct {
		what string
		from *service
		to   string // name of the instance
		good bool
	}{
		{"another instance of the store", at(dir, "b"+domain), "a", true},
		{"an instance of another store", at(dir, "c"+cmdsettings.PeerDomain("another")), "a", false},
		{"a client with a certificate of the same authority", at(dir, "a.example.com"), "a", false},
		{"a certificate of another authority", at(other, "b"+domain), "a", false},
		{"who expects another instance there", at(dir, "b"+domain), "b", false},
		{"who shows no certificate", func() *service {
			r := at(dir, "b"+domain)
			bare := r.certificates.peer.Load().Clone()
			bare.Certificates = nil
			r.certificates.peer.Store(bare)
			return r
		}(), "a", false},
	} {
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return row.from.dialPeer(ctx, httpd.Instance{Name: row.to, Peer: plain.Addr().String()})
		}}
		response, err := (&http.Client{Transport: transport}).Get("http://bailiff/v1/warranty")
		if (err == nil) != row.good {
			t.Errorf("%s: %v", row.what, err)
		}
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "waits while another one decides") {
				t.Errorf("%s: %d %s", row.what, response.StatusCode, body)
			}
		}
	}
}
