package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/certificate"
)

// TestMutual: the internal endpoint tells a client nothing without a certificate, or with one of another authority.
func TestMutual(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(certificate.Make(dir, "ca", "server", "client"), certificate.Make(dir, "others", "stranger")); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	read := func(s *cmdsettings.Settings) []pair {
		pairs, faults := ReadPairs(s)
		if err := errors.Join(faults...); err != nil {
			t.Fatal(err)
		}
		return pairs
	}
	r := &service{log: slog.New(slog.DiscardHandler), clock: time.Now, settings: &cmdsettings.Settings{
		InternalListen: "127.0.0.1:0", InternalCert: at("server.pem"), InternalKey: at("server.key"), InternalCA: at("ca.pem"),
	}}
	r.certificates.use(read(r.settings))
	listener, err := r.listenMutual()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Write([]byte("secret"))
			connection.Close()
		}
	}()
	for name, row := range map[string]struct {
		cert  string
		most  uint16
		wants string
	}{
		"a client":        {"client", tls.VersionTLS13, "secret"},
		"a stranger":      {"stranger", tls.VersionTLS13, ""},
		"nobody":          {"", tls.VersionTLS13, ""},
		"an old protocol": {"client", tls.VersionTLS12, ""},
	} {
		config := read(&cmdsettings.Settings{MirrorCert: at("client.pem"), MirrorKey: at("client.key"), MirrorCA: at("ca.pem")})[0].Config
		config.MinVersion, config.MaxVersion, config.Certificates = row.most, row.most, nil
		if row.cert != "" {
			pair, err := tls.LoadX509KeyPair(at(row.cert+".pem"), at(row.cert+".key"))
			if err != nil {
				t.Fatal(err)
			}
			// Sent whatever authorities the server names, as a client that means ill would.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		if got := hear(listener.Addr().String(), config); got != row.wants {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// hear returns what a listener says to a new connection.
func hear(address string, config *tls.Config) string {
	connection, err := tls.Dial("tcp", address, config)
	if err != nil {
		return ""
	}
	defer connection.Close()
	text, _ := io.ReadAll(connection) // ends with an error where the listener refuses
	return string(text)
}
