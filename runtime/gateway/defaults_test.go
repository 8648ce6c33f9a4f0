package gateway

import (
	"net/http"
	"testing"
	"time"

	"bailiff/runtime/ledger"
)

// TestDefaults: settings that are left out have their defaults, and settings that are given are in force.
func TestDefaults(t *testing.T) {
	b := newBench(t)
	g := b.gateway
	if g.timeout() != 20*time.Second || g.holdPatience != 5*time.Second || idleTimeout != 4*time.Second {
		t.Errorf("a request may take %s, and wait %s for room; a connection may be idle for %s", g.timeout(), g.holdPatience, idleTimeout)
	}
	if g.Answers.Most != 256<<20 || g.Answers.Share != 96<<20 {
		t.Errorf("answers have %d bytes, those of a source %d", g.Answers.Most, g.Answers.Share)
	}
	u := g.upstreams[place{RPC, chain}]
	if u.transport.(*wire).maxResponse != 32<<20 || cap(u.reads) != 512 || cap(u.writes) != 512 {
		t.Errorf("an answer has %d bytes, with %d reads and %d writes at once", u.transport.(*wire).maxResponse, cap(u.reads), cap(u.writes))
	}
	set := newBench(t, func(c *Config) { c.Timeout, c.MaxResponse, c.MaxInFlight, c.holdPatience = 1, 1, 1, 1 }).gateway
	u = set.upstreams[place{RPC, chain}]
	if set.timeout() != 1 || set.holdPatience != 1 || u.patience != 1 || u.transport.(*wire).maxResponse != 1 || cap(u.reads) != 1 || cap(u.writes) != 1 {
		t.Errorf("what is set is not in force: %+v", u)
	}
}

// TestPool: the pool for HTTPS keeps a connection for every read and write that may be under way, until it was idle for idleTimeout.
func TestPool(t *testing.T) {
	config := *bare
	config.MaxInFlight = 3
	u, err := config.openUpstream(Upstream{RPC, chain, "https://node.example"})
	if err != nil {
		t.Fatal(err)
	}
	pool := u.transport.(*tripper).RoundTripper.(*http.Transport)
	if pool.MaxIdleConns != 6 || pool.MaxIdleConnsPerHost != 6 || pool.IdleConnTimeout != idleTimeout || pool.TLSHandshakeTimeout != dialTimeout ||
		pool.MaxResponseHeaderBytes != maxHeaderBytes || !pool.ForceAttemptHTTP2 || pool.HTTP2.MaxReceiveBufferPerStream != unreadBytes || pool.Proxy == nil {
		t.Errorf("the pool is %+v", pool)
	}
}

// TestAttests: Attests reports whether the attestation of a credential is good.
func TestAttests(t *testing.T) {
	b := newBench(t)
	token := b.token(b.claims([]byte{1}))
	for name, c := range map[string]struct {
		Credential
		want bool
	}{
		"none": {Credential{}, false}, "a good one": {Credential{Receipt: [][]byte{[]byte(token)}}, true},
		"a bad one": {Credential{Receipt: [][]byte{[]byte(token[1:])}}, false},
	} {
		if got := b.gateway.Attests(c.Credential); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestTermsAreBounded: the terms of at most maxTerms policies are remembered, the last among them.
func TestTermsAreBounded(t *testing.T) {
	var known termsByHash
	for i := range 2*maxTerms + 1 {
		terms := &Terms{Hash: ledger.ID{1, byte(i), byte(i >> 8)}.String()}
		known.put(terms)
		if known.get(terms.Hash) != terms || len(known.known) > maxTerms {
			t.Fatalf("%d terms are remembered after %d", len(known.known), i+1)
		}
		if i == maxTerms-1 && len(known.known) != maxTerms {
			t.Errorf("%d terms are remembered of %d", len(known.known), i+1)
		}
	}
}
