package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/httpd/strict"
	"bailiff/runtime/policies"
)

// The internal endpoint, by which a test environment gets a live key's record and policy from production (specification,
// "Authentication", 2). Both sides show a certificate, and trust no other authority than the one they were given.

const (
	// mirrorTimeout bounds a fetch: a client of the test environment waits for it.
	mirrorTimeout = 5 * time.Second
	// maxMirrorBytes bounds an answer: a policy of 256 KiB, escaped.
	maxMirrorBytes = 2 << 20
)

// MutualTLS is the set-up of one side: its own certificate, and whose certificates it takes.
func MutualTLS(certFile, keyFile, caFile string) (*tls.Config, error) {
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, open to others than its owner; run chmod 600 %s", keyFile, info.Mode().Perm(), keyFile)
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificates in PEM", caFile)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// listenMutual listens for those who have a certificate.
func (r *service) listenMutual() (net.Listener, error) {
	s := r.settings
	config, err := MutualTLS(s.InternalCert, s.InternalKey, s.InternalCA)
	if err != nil {
		return nil, err
	}
	plain, err := strict.Listen(string(s.InternalListen))
	if err != nil {
		return nil, err
	}
	return tls.NewListener(strict.NewRetryingListener(plain, r.slots, r.clock, r.log), config), nil
}

// mirror fetches keys from the production service; it is an policies.Mirror.
type mirror struct {
	base   string
	client *http.Client
}

// newMirror returns the mirror that the settings name, nil where they name none.
func newMirror(s *cmdsettings.Settings) (policies.Mirror, error) {
	if s.MirrorURL == "" {
		return nil, nil
	}
	config, err := MutualTLS(s.MirrorCert, s.MirrorKey, s.MirrorCA)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: false}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &mirror{string(s.MirrorURL), &http.Client{Timeout: mirrorTimeout, Transport: transport, CheckRedirect: stay}}, nil
}

// Fetch implements policies.Mirror: it asks by the hash, so that the key itself stays here.
func (m *mirror) Fetch(ctx context.Context, hash [32]byte) (*policies.MirrorRecord, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+"/v1/mirror/"+hex.EncodeToString(hash[:]), nil)
	if err != nil {
		return nil, err
	}
	response, err := m.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMirrorBytes+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, policies.ErrNotMirrored
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the production service answered %s", response.Status)
	case len(text) > maxMirrorBytes:
		return nil, errors.New("the production service's answer is too large")
	}
	record := new(policies.MirrorRecord)
	return record, json.Unmarshal(text, record)
}
