package gateway

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
)

// TestDefaultNamesOthers: the default policy has no terms for a key that it does not name.
func TestDefaultNamesOthers(t *testing.T) {
	named := "version: 2.4.0\n" + policy[strings.Index(policy, "\n")+1:]
	for _, row := range []struct {
		keys string
		ok   bool
	}{{"*", true}, {"6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90", false}} {
		b := newBench(t, func(c *Config) { c.BootPolicy = []byte(named + "\n## deployment\nkeys: " + row.keys + "\n") })
		if terms, err := b.gateway.termsOf(context.Background(), &b.key); (err == nil) != row.ok {
			t.Errorf("keys: %s: %+v %v", row.keys, terms, err)
		}
	}
}

// TestTermsInTurn: the terms of one policy are read at a time, and those that are known are there at once.
func TestTermsInTurn(t *testing.T) {
	b := newBench(t)
	key := b.key
	key.PolicyHash = [32]byte{1}
	b.gateway.parsing <- struct{}{}
	soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if terms, err := b.gateway.termsOf(soon, &key); err == nil || !strings.Contains(err.Error(), "are being read") {
		t.Errorf("%+v, %v", terms, err)
	}
	known := &Terms{Hash: hex.EncodeToString(key.PolicyHash[:])}
	b.gateway.terms.put(known)
	if terms, err := b.gateway.termsOf(context.Background(), &key); terms != known || err != nil {
		t.Errorf("%+v, %v", terms, err)
	}
	<-b.gateway.parsing
	key.PolicyHash = [32]byte{2}
	if _, err := b.gateway.termsOf(context.Background(), &key); err == nil || len(b.gateway.parsing) != 0 {
		t.Errorf("%v, and %d turns are kept", err, len(b.gateway.parsing))
	}
}

// TestTermsAreReadOnce: a policy is read and compiled for the first write under it; those that wait meanwhile share its terms.
func TestTermsAreReadOnce(t *testing.T) {
	text := []byte(policy)
	terms, err := ParseTerms(text)
	if err != nil {
		t.Fatal(err)
	}
	kept := &noted{policy: func() (ledger.StoredPolicy, error) { return ledger.StoredPolicy{Text: text}, nil }}
	g := &Gateway{Config: Config{Ledger: kept, Calls: system.Real(time.Now)}, parsing: make(chan struct{}, 1)}
	key := &ledger.Key{PolicyHash: [32]byte(common.FromHex(terms.Hash))}
	for range 2 {
		if got, err := g.termsOf(t.Context(), key); err != nil || got.Hash != terms.Hash || kept.reads != 1 {
			t.Errorf("%+v, %v after %d reads", got, err, kept.reads)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		g := &Gateway{Config: Config{Ledger: kept, Calls: system.Real(time.Now)}, parsing: make(chan struct{}, 1)}
		g.parsing <- struct{}{}
		go func() {
			if got, err := g.termsOf(t.Context(), key); err != nil || got != terms || kept.reads != 1 {
				t.Errorf("meanwhile: %+v, %v after %d reads", got, err, kept.reads)
			}
		}()
		synctest.Wait()
		g.terms.put(terms)
		<-g.parsing
		synctest.Wait()
	})
}
