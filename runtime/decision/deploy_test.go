package decision

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

// TestDeploy: a policy is in force from the answer on, and only for its key.
func TestDeploy(t *testing.T) {
	h := newTown(t)
	secret, other, by := h.register(), h.register(), newOperator(t)
	view := h.mustDeploy(secret, by, bashPolicy)
	if view.PolicyHash != grammar.PolicyHash([]byte(bashPolicy)) || view.PolicyVersion != "2.0.0" || view.DeployedAt != noon.Unix() || len(view.Warnings) != 0 {
		t.Errorf("%+v", view)
	}
	if raw, _ := json.Marshal(view); !bytes.Contains(raw, []byte(`"warnings":[]`)) {
		t.Errorf("%s", raw)
	}
	answer, fault := h.ask(h.key(secret), bashIntent)
	if fault != nil || answer.Status != "ALLOWED" || answer.PolicyHash != view.PolicyHash {
		t.Errorf("%+v %v", answer, fault)
	}
	_, fault = h.ask(h.key(other), bashIntent)
	want(t, fault, errcode.NoPolicy)
	if got := h.mustDeploy(secret, by, "version: 2.0.0\n\n## custom\ndeny_if.metadata.a: equals b\n").Warnings; len(got) == 0 || got[0].Code != "W2001" || got[0].Line != 1 {
		t.Errorf("%+v", got)
	}
}

// TestDeployRefuses is every refusal that needs no trusted shim.
func TestDeployRefuses(t *testing.T) {
	h := newTown(t)
	by, other := newOperator(t), newOperator(t)
	pinned := h.register()
	h.mustDeploy(pinned, by, bashPolicy)
	signed := by.sign(t, bashPolicy)
	observing := "version: 2.3.0\n\n## mcp\nallowed_tools: web.fetch\nresponse.web_fetch_tools: web.fetch\n" +
		"response.deterministic_ruleset: sof-response-rules-v1\nresponse.observe_classes: pii\nresponse.observe_until: %s\n"
	until := func(d time.Duration) string { return fmt.Sprintf(observing, noon.Add(d).Format(time.RFC3339)) }
	for name, row := range map[string]struct {
		body    []byte
		code    errcode.Code
		message string
	}{
		"no policy":        {body(t, "operator_public_key", by.public), errcode.ValidationSchema, "warranty_md is missing"},
		"no key":           {body(t, "warranty_md", signed), errcode.ValidationSchema, "operator_public_key is missing"},
		"a field too many": {body(t, "warranty_md", signed, "operator_public_key", by.public, "force", "yes"), errcode.ValidationSchema, `"force"`},
		"no operator key":  {body(t, "warranty_md", signed, "operator_public_key", "x"), errcode.ValidationSchema, "operator_public_key"},
		"a weak key":       {body(t, "warranty_md", signed, "operator_public_key", strings.Repeat("A", 43)), errcode.ValidationSchema, "small order"},
		"too large":        {append(bytes.Repeat([]byte(" "), policies.MaxDeployBody), '{', '}'), errcode.BodyTooLarge, "larger"},
		"unsigned":         {body(t, "warranty_md", bashPolicy, "operator_public_key", by.public), errcode.WarrantySignature, "no `## signature`"},
		"modified":         {body(t, "warranty_md", strings.Replace(signed, "bash", "dash", 1), "operator_public_key", by.public), errcode.WarrantySignature, "does not verify"},
		"another's":        {body(t, "warranty_md", signed, "operator_public_key", other.public), errcode.WarrantySignature, "does not verify"},
		"broken block":     {body(t, "warranty_md", bashPolicy+"## signature\nsvc-sig: x\n", "operator_public_key", by.public), errcode.WarrantySignature, "error"},
		"not text":         {body(t, "warranty_md", by.sign(t, "\ufeff"+bashPolicy), "operator_public_key", by.public), errcode.WarrantyInvalid, "error"},
		"pinned":           {body(t, "warranty_md", other.sign(t, bashPolicy), "operator_public_key", other.public), errcode.WarrantyOperator, "pinned"},
		"pinned, invalid":  {body(t, "warranty_md", other.sign(t, "version: 2.0.0\n"), "operator_public_key", other.public), errcode.WarrantyOperator, "pinned"},
		"invalid":          {body(t, "warranty_md", by.sign(t, "version: 2.0.0\n\n## tool_calls\nallow: bash\n"), "operator_public_key", by.public), errcode.WarrantyInvalid, "the first finding: section `tool_calls`"},
		"observing":        {body(t, "warranty_md", by.sign(t, until(30*24*time.Hour+time.Second)), "operator_public_key", by.public), errcode.WarrantyInvalid, "days ahead"},
	} {
		_, fault := h.Deploy(context.Background(), h.key(pinned), row.body)
		if codeOf(fault) != row.code || !strings.Contains(fault.Message, row.message) {
			t.Errorf("%s: %v %v, not %s %s", name, codeOf(fault), fault, row.code, row.message)
			continue
		}
		var reports []grammar.Report
		if fault.Diagnostics != nil && (json.Unmarshal(fault.Diagnostics, &reports) != nil || len(reports) == 0) {
			t.Errorf("%s: %s", name, fault.Diagnostics)
		}
		if row.code == errcode.WarrantyInvalid && (len(reports) == 0 || reports[0].Line == 0) {
			t.Errorf("%s: no diagnostics: %s", name, fault.Diagnostics)
		}
	}
	if hash := h.key(pinned).PolicyHash; fmt.Sprintf("%x", hash) != grammar.PolicyHash([]byte(bashPolicy)) {
		t.Error("a refusal has changed the policy")
	}
	h.mustDeploy(pinned, by, until(30*24*time.Hour))
}

// selfHosted makes a service self-hosted, under an operator.
func selfHosted(t *testing.T, by operator) func(*Config) {
	return func(c *Config) {
		policy, err := policies.LoadPolicy(grammar.NewSource("warranty.md", []byte(by.sign(t, testPolicy))), by.private.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		c.Service.Hosted, c.Policies.Default, c.Service.Operator = false, policy, [32]byte(by.private[32:])
	}
}

// TestSelfHostedDeploy: a key is the service's operator's before its first deployment; then its own policy governs it.
func TestSelfHostedDeploy(t *testing.T) {
	by, other := newOperator(t), newOperator(t)
	h := newTown(t, selfHosted(t, by))
	view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", Scopes: []string{"authorize", "warranty:deploy"}})
	if err != nil {
		t.Fatal(err)
	}
	boot, fault := h.ask(h.key(view.APIKey), bashIntent)
	if fault != nil || boot.PolicyHash != h.Policies.Config.Default.Hash {
		t.Errorf("%+v %v", boot, fault)
	}
	_, fault = h.deploy(view.APIKey, other, bashPolicy)
	want(t, fault, errcode.WarrantyOperator)
	h.mustDeploy(view.APIKey, by, bashPolicy)
	own, fault := h.ask(h.key(view.APIKey), bashIntent)
	if fault != nil || own.PolicyHash != grammar.PolicyHash([]byte(bashPolicy)) {
		t.Errorf("%+v %v", own, fault)
	}
	h.Operator = [32]byte{} // a service without an operator key
	fresh, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", FullGrant: true})
	if err != nil {
		t.Fatal(err)
	}
	_, fault = h.deploy(fresh.APIKey, other, bashPolicy)
	want(t, fault, errcode.WarrantyOperator)
}

// TestFirstDeployment: of two first deployments at once by different operators one wins, and the other gets the mismatch.
func TestFirstDeployment(t *testing.T) {
	h := newTown(t)
	for range 50 {
		secret := h.register()
		key := h.key(secret)
		operators := []operator{newOperator(t), newOperator(t)}
		codes := make([]errcode.Code, len(operators))
		var group sync.WaitGroup
		for i, by := range operators {
			group.Go(func() {
				text := body(t, "warranty_md", by.sign(t, bashPolicy), "operator_public_key", by.public)
				for codes[i] = errcode.WarrantyBusy; codes[i] == errcode.WarrantyBusy; {
					_, fault := h.Deploy(context.Background(), key, text)
					codes[i] = codeOf(fault)
				}
			})
		}
		group.Wait()
		winner := 0
		if codes[0] != "" {
			winner = 1
		}
		if codes[winner] != "" || codes[1-winner] != errcode.WarrantyOperator {
			t.Fatal(codes)
		}
		if _, fault := h.deploy(secret, operators[winner], bashPolicy); fault != nil {
			t.Error("the winner is not pinned: ", fault)
		}
	}
}

// TestRollback: going back is said, and refused where the service says so.
func TestRollback(t *testing.T) {
	const second = "version: 2.0.0\n\n## tool_calls\nallowed: bash, http\n"
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	for _, row := range []struct {
		policy   string
		rollback bool
	}{{bashPolicy, false}, {bashPolicy, false}, {second, false}, {bashPolicy, true}, {bashPolicy, false}, {second, true}} {
		view := h.mustDeploy(secret, by, row.policy)
		said := len(view.Warnings) == 1 && view.Warnings[0].Code == string(errcode.WarrantyRollback)
		if said != row.rollback {
			t.Errorf("%+v: %+v", row, view)
		}
		if logged := strings.Contains(h.log.String(), "a key went back") && strings.Contains(h.log.String(), view.PolicyHash); logged != row.rollback {
			t.Errorf("%+v: the log is %q", row, h.log.String())
		}
		h.log.Reset()
	}
	log, err := h.admin().Deployments(context.Background(), h.key(secret).ID.String())
	if err != nil || len(log) != 6 || !log[3].Rollback || log[2].Rollback {
		t.Errorf("%+v %v", log, err)
	}
	h.RefuseRollback = true
	_, fault := h.deploy(secret, by, bashPolicy)
	want(t, fault, errcode.WarrantyRollback)
	h.mustDeploy(secret, by, second)
}

// TestDeployFails: without a store nothing is deployed.
func TestDeployFails(t *testing.T) {
	h := newTown(t)
	key, by := h.key(h.register()), newOperator(t)
	h.ledger.Fail(errors.New("the disk is gone"))
	_, fault := h.Deploy(context.Background(), key, body(t, "warranty_md", by.sign(t, bashPolicy), "operator_public_key", by.public))
	want(t, fault, errcode.StoreUnavailable)
}

// TestRevokedDeploys: a key that was revoked under way deploys nothing.
func TestRevokedDeploys(t *testing.T) {
	h := newTown(t)
	key, by := h.key(h.register()), newOperator(t)
	if _, err := h.ledger.RevokeKey(context.Background(), key.ID, noon.UnixNano()); err != nil {
		t.Fatal(err)
	}
	_, fault := h.Deploy(context.Background(), key, body(t, "warranty_md", by.sign(t, bashPolicy), "operator_public_key", by.public))
	want(t, fault, errcode.APIKeyInvalid)
}

// TestHotSwap: while policies are deployed, each request is judged by exactly one: what comes of it is what the policy of
// the hash that the answer names makes of it.
func TestHotSwap(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	if _, err := h.admin().SetPlan(context.Background(), h.key(secret).ID.String(), "growth"); err != nil {
		t.Fatal(err)
	}
	const other = "version: 2.0.0\n\n## tool_calls\nallowed: http\n"
	statuses := map[string]string{grammar.PolicyHash([]byte(bashPolicy)): "ALLOWED", grammar.PolicyHash([]byte(other)): "DENIED"}
	h.mustDeploy(secret, by, bashPolicy)
	var swaps atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for seen := map[string]bool{}; len(seen) < 2 || swaps.Load() < 60; {
				key, fault := h.Authenticate([]byte(secret), ledger.ScopeAuthorize)
				if fault != nil {
					t.Error(fault)
					return
				}
				answer, fault := h.ask(key, bashIntent)
				if fault != nil || answer.Status != statuses[answer.PolicyHash] {
					t.Errorf("%+v %v", answer, fault)
					return
				}
				seen[answer.PolicyHash] = true
				if swaps.Load() >= 600 {
					t.Error("one of the policies was never seen")
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			h.mustDeploy(secret, by, []string{other, bashPolicy}[swaps.Add(1)%2])
			time.Sleep(time.Millisecond) // a key's owner who does nothing but deploy is told to come again
			if swaps.Load()%7 == 0 {
				h.Programs.Drop(1 << 62)
			}
		}
	}
}

// TestPoliciesAreDropped: a policy that is not used for an hour is forgotten, and loaded again when it is; its stored
// program is used where it is one, and the text where it is not.
func TestPoliciesAreDropped(t *testing.T) {
	h := newTown(t)
	secret, by := h.register(), newOperator(t)
	h.mustDeploy(secret, by, bashPolicy)
	allowed := func() {
		t.Helper()
		if answer, fault := h.ask(h.key(secret), bashIntent); fault != nil || answer.Status != "ALLOWED" {
			t.Errorf("%+v %v", answer, fault)
		}
	}
	allowed()
	for _, row := range []struct {
		pass time.Duration
		left int
	}{{59 * time.Minute, 1}, {2 * time.Minute, 0}} {
		h.pass(row.pass)
		if left := h.DropUnused(h.Clock()); left != row.left {
			t.Errorf("after %s: %d left", row.pass, left)
		}
	}
	allowed()
	h.pass(50 * time.Minute)
	allowed() // a use prolongs
	h.pass(50 * time.Minute)
	if left := h.DropUnused(h.Clock()); left != 1 {
		t.Errorf("%d left", left)
	}
}

// TestOpenPolicy: what is stored is checked before it judges.
func TestOpenPolicy(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, bashPolicy)
	good, err := h.ledger.Policy(context.Background(), h.key(secret).ID)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := policies.CompilePolicy(grammar.NewSource("", []byte(bashPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	other, err := policies.CompilePolicy(grammar.NewSource("", []byte(approvalPolicy)))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		edit func(*ledger.StoredPolicy)
		good bool
	}{
		"as it is": {func(*ledger.StoredPolicy) {}, true},
		"before revisions": {func(p *ledger.StoredPolicy) {
			p.Machine = vm.MachineVersion
			p.Program, _ = other.Program.MarshalBinary()
		}, true},
		"another machine":  {func(p *ledger.StoredPolicy) { p.Machine++; p.Program, _ = other.Program.MarshalBinary() }, true},
		"no program":       {func(p *ledger.StoredPolicy) { p.Program = nil }, true},
		"a broken program": {func(p *ledger.StoredPolicy) { p.Program = p.Program[:len(p.Program)-1] }, true},
		"another hash":     {func(p *ledger.StoredPolicy) { p.PolicyHash[0]++ }, false},
		"another text": {func(p *ledger.StoredPolicy) {
			p.Text = []byte(by.sign(t, "version: 2.0.0\n\n## tool_calls\nallowed: http\n"))
		}, false},
		"another operator": {func(p *ledger.StoredPolicy) { copy(p.Operator[:], newOperator(t).private[32:]) }, false},
		"unsigned":         {func(p *ledger.StoredPolicy) { p.Text = []byte(bashPolicy) }, false},
	} {
		stored := good
		row.edit(&stored)
		policy, err := policies.OpenPolicy(&stored)
		if (err == nil) != row.good || err == nil && (policy.Hash != grammar.PolicyHash([]byte(bashPolicy)) || policy.Version != "2.0.0" || policy.Program.Hash() != compiled.Program.Hash()) {
			t.Errorf("%s: %+v %v", name, policy, err)
		}
	}
}

// TestHotPath: finding the policy of a key allocates nothing.
func TestHotPath(t *testing.T) {
	h := newTown(t)
	secret := h.register()
	h.mustDeploy(secret, newOperator(t), bashPolicy)
	key, token := h.key(secret), []byte(secret)
	h.ask(key, bashIntent)
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		if policy, _, _ := h.Of(ctx, key, noon.UnixNano()); policy == nil {
			t.Error("no policy")
		}
	}); n > 0 {
		t.Errorf("%v allocations for the policy", n)
	}
	if n := testing.AllocsPerRun(100, func() { h.Authenticate(token, ledger.ScopeAuthorize) }); n > 0 {
		t.Errorf("%v allocations for the key", n)
	}
}
