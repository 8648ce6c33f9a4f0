package serve

import (
	"context"
	"crypto/tls"
	"errors"
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
	"bailiff/httpd/peers"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
)

// TestPeers: an instance passes requests on to none but the instance that the database names, and takes them from instances of its store
// alone.
func TestPeers(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	domain := cmdsettings.PeerDomain("store")
	if err := certificate.Make(dir, "authority", "a"+domain, "b"+domain, "c"+cmdsettings.PeerDomain("another"), "a.example.com", "*"+domain); err != nil {
		t.Fatal(err)
	}
	if err := certificate.Make(other, "authority", "b"+domain); err != nil {
		t.Fatal(err)
	}
	owner := peerAt(t, dir, domain, "a"+domain)
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
	defer standby.Shutdown(context.Background())
	bare := peerAt(t, dir, domain, "b"+domain)
	config := bare.certificates.peer.Load().Clone()
	config.Certificates = nil
	bare.certificates.peer.Store(config)
	for _, row := range []struct {
		what string
		from *service
		to   string // name of the instance
		good bool
	}{
		{"another instance of the store", peerAt(t, dir, domain, "b"+domain), "a", true},
		{"an instance of another store", peerAt(t, dir, domain, "c"+cmdsettings.PeerDomain("another")), "a", false},
		{"a client with a certificate of the same authority", peerAt(t, dir, domain, "a.example.com"), "a", false},
		{"a certificate for all instances", peerAt(t, dir, domain, "*"+domain), "a", false},
		{"a certificate of another authority", peerAt(t, other, domain, "b"+domain), "a", false},
		{"who expects another instance there", peerAt(t, dir, domain, "b"+domain), "b", false},
		{"who shows no certificate", bare, "a", false},
	} {
		status, body, err := askPeerFor(row.from, peers.Instance{Name: row.to, Peer: plain.Addr().String()})
		if (err == nil) != row.good {
			t.Errorf("%s: %v", row.what, err)
		}
		if err == nil && (status != http.StatusServiceUnavailable || !strings.Contains(body, "waits while another one decides")) {
			t.Errorf("%s: %d %s", row.what, status, body)
		}
	}
}

// TestAmongPeers: an instance does not start with a certificate that its own authorities did not sign, since no other one would take it. One that has
// expired, with its authority, stops no start.
func TestAmongPeers(t *testing.T) {
	dir, other, old := t.TempDir(), t.TempDir(), t.TempDir()
	name := "a" + cmdsettings.PeerDomain("store")
	err := errors.Join(certificate.Make(dir, "authority", name), certificate.Make(other, "authority", name),
		certificate.MakeFor(old, "authority", time.Now().AddDate(-2, 0, 0), time.Now().AddDate(-1, 0, 0), name))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		of, authorities string
		good            bool
	}{{dir, dir, true}, {dir, other, false}, {old, old, true}, {old, dir, false}} {
		s := &cmdsettings.Settings{PeerCert: filepath.Join(row.of, name+".pem"), PeerKey: filepath.Join(row.of, name+".key"), PeerCA: filepath.Join(row.authorities, "authority.pem")}
		pairs, faults := ReadPairs(s)
		switch {
		case row.good && (len(pairs) != 1 || len(faults) != 0):
			t.Errorf("%+v: a certificate by its authority: %v", row, faults)
		case !row.good && (len(pairs) != 0 || len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "SVC_PEER_CERT, _KEY, _CA: the other instances would refuse this certificate: ")):
			t.Errorf("%+v: a certificate by another authority: %v, %v", row, pairs, faults)
		}
	}
}

// TestPeersWithoutTLS: without certificates no API key leaves the machine, whatever address the database has.
func TestPeersWithoutTLS(t *testing.T) {
	alone := &service{calls: system.Real(time.Now)}
	if _, err := alone.dialPeer(context.Background(), peers.Instance{Name: "a", Peer: "192.0.2.1:1"}); err == nil || !strings.Contains(err.Error(), "API keys would travel without TLS") {
		t.Errorf("another machine: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := alone.dialPeer(context.Background(), peers.Instance{Name: "a", Peer: listener.Addr().String()})
	if err != nil {
		t.Fatalf("this machine: %v", err)
	}
	conn.Close()
}

// peerAt is an instance with a certificate.
func peerAt(t *testing.T, dir, domain, name string) *service {
	t.Helper()
	config, err := readPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
	if err == nil {
		err = trust(config, filepath.Join(dir, "authority.pem"))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &service{calls: system.Real(time.Now), peers: peering{domain: domain}}
	r.certificates.peer.Store(config)
	return r
}

// askPeerFor has an instance ask another one.
func askPeerFor(from *service, to peers.Instance) (status int, body string, err error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return from.dialPeer(ctx, to) }}
	response, err := (&http.Client{Transport: transport}).Get("http://bailiff/v1/warranty")
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
