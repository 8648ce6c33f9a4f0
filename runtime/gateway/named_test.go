package gateway

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"
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
