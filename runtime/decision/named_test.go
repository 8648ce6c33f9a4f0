package decision

import (
	"context"
	"crypto/ed25519"
	"strings"
	"testing"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

// numbered is a policy with a section `## deployment` of those lines.
func numbered(lines string) string {
	return strings.Replace(bashPolicy, "2.0.0", "2.4.0", 1) + "\n## deployment\n" + lines + "\n"
}

// TestNamedDeployment: a policy with keys binds to no other key, and a key that was named takes only policies that name it.
func TestNamedDeployment(t *testing.T) {
	h := newTown(t)
	by := newOperator(t)
	mine, other := h.register(), h.register()
	id, otherID := h.key(mine).ID.String(), h.key(other).ID.String()
	for _, step := range []struct {
		lines   string
		code    errcode.Code
		message string
	}{
		{"serial: 3", "", ""},
		{"serial: 4\nkeys: " + otherID, errcode.WarrantyNotNamed, id},
		{"serial: 4\nkeys: " + otherID + ", " + strings.ToUpper(id), "", ""},
		{"serial: 5", errcode.WarrantyNotNamed, "`keys`"},
		{"keys: *", errcode.WarrantyRollback, "has no serial"},
		{"keys: *\nserial: 4", errcode.WarrantyRollback, "`serial: 5`"},
		{"serial: 4\nkeys: " + otherID + ", " + strings.ToUpper(id), "", ""}, // in force
		{"keys: *\nserial: 5", "", ""},
	} {
		_, fault := h.deploy(mine, by, numbered(step.lines))
		if codeOf(fault) != step.code || fault != nil && !strings.Contains(fault.Message, step.message) {
			t.Errorf("%q: %v %v, not %s", step.lines, codeOf(fault), fault, step.code)
		}
	}
	h.RefuseRollback = false // whatever it says
	_, fault := h.deploy(mine, by, numbered("serial: 3"))
	if codeOf(fault) != errcode.WarrantyNotNamed {
		t.Errorf("%v", fault)
	}
	_, fault = h.deploy(mine, by, numbered("serial: 3\nkeys: *"))
	want(t, fault, errcode.WarrantyRollback)
	views, err := h.admin().Deployments(context.Background(), id)
	if err != nil || len(views) != 4 || views[3].Serial != 5 {
		t.Errorf("%+v %v", views, err)
	}
}

// defaults has a service take a policy as its default one, as a start would.
func (h *town) defaults(t *testing.T, by operator, text string) error {
	t.Helper()
	policy, err := policies.LoadPolicy(grammar.NewSource("warranty.md", []byte(by.sign(t, text))), by.private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	h.InForce.Store(policy)
	return h.BindDefault(context.Background())
}

// TestDefaultNamed: the default policy governs only the keys that it names, and counts as one that they had.
func TestDefaultNamed(t *testing.T) {
	by := newOperator(t)
	h := newTown(t, selfHosted(t, by))
	make := func() string {
		view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", Scopes: []string{"authorize", "warranty:deploy"}})
		if err != nil {
			t.Fatal(err)
		}
		return view.APIKey
	}
	named, other := make(), make()
	first := numbered("serial: 1\nkeys: " + h.key(named).ID.String())
	if err := h.defaults(t, by, first); err != nil {
		t.Fatal(err)
	}
	if answer, fault := h.ask(h.key(named), bashIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
	_, fault := h.ask(h.key(other), bashIntent)
	want(t, fault, errcode.NoPolicy)
	if !strings.Contains(fault.Message, h.key(other).ID.String()) {
		t.Error(fault.Message)
	}
	_, fault = h.deploy(named, by, bashPolicy)
	want(t, fault, errcode.WarrantyNotNamed)
	h.mustDeploy(other, by, bashPolicy)
	second := numbered("serial: 2")
	if err := h.defaults(t, by, second); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.log.String(), "named the keys that it was for") {
		t.Errorf("the log says %s", &h.log)
	}
	if err := h.defaults(t, by, first); err == nil || !strings.Contains(err.Error(), "`serial: 3`") {
		t.Errorf("going back: %v", err)
	}
	if err := h.defaults(t, by, numbered("keys: *")); err == nil || !strings.Contains(err.Error(), "has no serial") {
		t.Errorf("without a serial: %v", err)
	}
	if err := h.defaults(t, by, second); err != nil {
		t.Errorf("the same again: %v", err)
	}
}

// TestDefaultGoesBack: the default policy may go back, which is said, and a key may not deploy what it had by default.
func TestDefaultGoesBack(t *testing.T) {
	by := newOperator(t)
	h := newTown(t, selfHosted(t, by), func(c *Config) { c.Policies.RefuseRollback = true })
	view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", FullGrant: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{bashPolicy, testPolicy} {
		if err := h.defaults(t, by, text); err != nil {
			t.Fatal(err)
		}
	}
	_, fault := h.deploy(view.APIKey, by, bashPolicy)
	want(t, fault, errcode.WarrantyRollback)
	if !strings.Contains(fault.Message, "change a byte") {
		t.Error(fault.Message)
	}
	if strings.Contains(h.log.String(), "level=WARN") {
		t.Errorf("the log says %s", &h.log)
	}
	if err := h.defaults(t, by, bashPolicy); err != nil || !strings.Contains(h.log.String(), "in force before") {
		t.Errorf("%v, the log says %s", err, &h.log)
	}
	h.mustDeploy(view.APIKey, by, bashPolicy)
	h.ledger.Fail(ledger.ErrUnavailable)
	if err := h.defaults(t, by, testPolicy); err == nil {
		t.Error("without a store a default policy was bound")
	}
}

// TestSimulationNamed: a policy that names keys can be tried without a service.
func TestSimulationNamed(t *testing.T) {
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte(numbered("keys: 6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90"))))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSimulation(policy, newTown(t).Options, newTown(t).Clock)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	body := `{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":` + bashIntent + `}`
	if answer, fault := s.Decide([]byte(body), false, Call{}); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
}
