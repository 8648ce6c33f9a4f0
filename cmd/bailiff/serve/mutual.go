package serve

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"bailiff/httpd/strict"
	"bailiff/runtime/policies"
)

// The internal endpoint, by which a test environment gets a live key's record and policy from production (specification,
// test-environment.1). Both sides show a certificate, and trust no other authority than the one they were given.

const (
	// mirrorTimeout bounds a fetch: a client of the test environment waits for it.
	mirrorTimeout = 5 * time.Second
	// maxMirrorBytes bounds an answer: a policy of 256 KiB, escaped.
	maxMirrorBytes = 2 << 20
)

// listenMutual listens for those who have a certificate.
func (r *service) listenMutual() (net.Listener, error) {
	plain, err := strict.Listen(string(r.settings.InternalListen))
	if err != nil {
		return nil, err
	}
	return tls.NewListener(strict.NewRetryingListener(plain, r.slots, r.clock, r.log), showing(&r.certificates.internal)), nil
}

// mirror fetches keys from the production service; it is a policies.Mirror.
type mirror struct {
	base   string
	client atomic.Pointer[http.Client]
}

// newMirror returns the mirror that the settings name, nil where they name none.
func (r *service) newMirror() *mirror {
	if r.settings.MirrorURL == "" {
		return nil
	}
	m := &mirror{base: string(r.settings.MirrorURL)}
	m.use(r.certificates.mirror.Load())
	return m
}

// use has the mirror show another certificate from now on.
func (m *mirror) use(config *tls.Config) {
	transport := &http.Transport{TLSClientConfig: config.Clone(), MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: false}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if before := m.client.Swap(&http.Client{Timeout: mirrorTimeout, Transport: transport, CheckRedirect: stay}); before != nil {
		before.CloseIdleConnections()
	}
}

// Fetch implements policies.Mirror: it asks by the hash, so that the key itself stays here.
func (m *mirror) Fetch(ctx context.Context, hash [32]byte) (*policies.MirrorRecord, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+"/v1/mirror/"+hex.EncodeToString(hash[:]), nil)
	if err != nil {
		return nil, err
	}
	response, err := m.client.Load().Do(request)
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
