package gateway

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
)

// TestSetDefault: an attestation fits the default policy that is in force, and none that the ledger has replaced.
func TestSetDefault(t *testing.T) {
	b := newBench(t)
	bind := func(terms *Terms) {
		t.Helper()
		d := &ledger.DefaultPolicy{At: issuedAt.UnixNano()}
		if _, err := hex.Decode(d.PolicyHash[:], []byte(terms.Hash)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ledger.BindDefault(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
	nonce := uint64(0)
	sent := func(hash string) string {
		t.Helper()
		nonce++
		data := dynamic(payee, 5, nil)
		data.Nonce = nonce
		raw := sign(t, data, chain)
		claims := b.claims(raw)
		claims.PolicyHash = hash
		before := len(b.node.sent())
		response := b.send(raw, b.token(claims))
		if len(b.node.sent()) > before {
			return "sent"
		}
		return reason(t, response)
	}
	first := b.terms
	next, err := ParseTerms([]byte(policy + "\n# the next one\n"))
	if err != nil {
		t.Fatal(err)
	}
	bind(first)
	if got := sent(first.Hash); got != "sent" {
		t.Errorf("under the first policy: %s", got)
	}
	bind(next)
	if got := sent(first.Hash); !strings.Contains(got, "is being replaced") {
		t.Errorf("while the first policy is being replaced: %s", got)
	}
	b.gateway.SetDefault(next)
	if got := sent(first.Hash); !strings.Contains(got, "the attestation is of policy "+first.Hash) {
		t.Errorf("an attestation of the first policy: %s", got)
	}
	if got := sent(next.Hash); got != "sent" {
		t.Errorf("under the next policy: %s", got)
	}
}
