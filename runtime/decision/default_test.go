package decision

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
)

// TestDefaultInForce: a default policy that has errors by now is taken where it governed before, with a WARN, and nowhere
// else.
func TestDefaultInForce(t *testing.T) {
	by := newOperator(t)
	load := func(text string) *policies.Policy {
		t.Helper()
		policy, err := policies.LoadDefaultPolicy(grammar.NewSource("warranty.md", []byte(by.sign(t, text))), by.private.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		return policy
	}
	h := newTown(t, func(c *Config) { c.Service.Hosted, c.Policies.Default = false, load(slowPattern) })
	var refused *policies.InvalidPolicy
	if err := h.BindDefault(context.Background()); !errors.As(err, &refused) || len(refused.Diagnostics) == 0 {
		t.Fatalf("a text that was never in force is taken: %v", err)
	}
	// A release that had not these errors was started with it.
	earlier := &ledger.DefaultPolicy{PolicyHash: h.Policies.Config.Default.Digest, At: h.Clock().UnixNano()}
	if _, err := h.ledger.BindDefault(context.Background(), earlier); err != nil {
		t.Fatal(err)
	}
	if err := h.BindDefault(context.Background()); err != nil || !strings.Contains(h.log.String(), "code=E2082") {
		t.Errorf("a text in force: %v; the log says %q", err, h.log.String())
	}
	h.InForce.Store(load(bashPolicy))
	if err := h.BindDefault(context.Background()); err != nil || h.DefaultPolicy().Refused != nil {
		t.Error(err)
	}
	if _, err := policies.LoadDefaultPolicy(grammar.NewSource("", []byte(by.sign(t, "version: 2.0.0\n## tool_calls\n"))), by.private.Public().(ed25519.PublicKey)); !errors.As(err, &refused) {
		t.Errorf("a text that never compiled: %v", err)
	}
}

// TestDefaultUsed: a ledger of a release that did not record its default policy knows it by the decisions.
func TestDefaultUsed(t *testing.T) {
	by := newOperator(t)
	policy, err := policies.LoadDefaultPolicy(grammar.NewSource("warranty.md", []byte(by.sign(t, slowPattern))), by.private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	h := newTown(t, func(c *Config) { c.Service.Hosted, c.Policies.Default = false, policy })
	view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if _, fault := h.ask(h.key(view.APIKey), bashIntent); fault != nil {
		t.Fatal(fault)
	}
	if err := h.BindDefault(context.Background()); err != nil {
		t.Error(err)
	}
}
