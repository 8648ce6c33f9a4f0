package decision

import (
	"context"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/policies"
	"bailiff/runtime/response"
	"bailiff/vm/errcode"
)

const responseRules = "version: 2.3.0\n\n## mcp\nallowed_tools: web.fetch, api.call\nresponse.web_fetch_tools: Web.Fetch\nresponse.http_tools: api.call\n" +
	"response.deterministic_ruleset: sof-response-rules-v1\nresponse.block_classes: secret\nresponse.redact_classes: pii\nresponse.observe_classes: malicious_url\n" +
	"response.observe_until: 2026-11-22T00:00:00Z\nresponse.scanner.required: true\nresponse.scanner.profile: p-1\nresponse.scanner.classes: prompt_injection\nresponse.scanner.min_confidence: 0.85\n" +
	"\n## custom\nresponse.deny_string: \"BEGIN \\\"KEY\\\"\"\n"

// readSigned verifies a document for a key, as at a time.
func (h *town) readSigned(secret string, at time.Time) (token string, p *attest.ResponsePolicy) {
	h.t.Helper()
	view, fault := h.ResponsePolicy(context.Background(), h.key(secret))
	if fault != nil {
		h.t.Fatal(fault)
	}
	verifier, err := h.Signer.Verifier(h.Issuer)
	if err != nil {
		h.t.Fatal(err)
	}
	if p, err = verifier.VerifyResponsePolicy(view.ResponsePolicy, h.key(secret).ID.String(), at); err != nil {
		h.t.Fatal(err)
	}
	if p.PolicyHash != view.PolicyHash || p.Epoch != h.key(secret).Epoch {
		h.t.Errorf("%+v, the key is of epoch %d", p, h.key(secret).Epoch)
	}
	return view.ResponsePolicy, p
}

// TestResponsePolicy: a key gets all the rules of its policy, signed for it; another deployment has a higher epoch.
func TestResponsePolicy(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	_, fault := h.ResponsePolicy(context.Background(), h.key(secret))
	want(t, fault, errcode.NoPolicy)
	deployed := h.mustDeploy(secret, by, responseRules)
	_, first := h.readSigned(secret, h.Clock())
	const all = `{"version":1,"webFetchTools":["web.fetch"],"httpTools":["api.call"],"ruleset":"sof-response-rules-v1","block":["secret"],"redact":["pii"],` +
		`"observe":["malicious_url"],"observeUntil":1795305600,"denyString":"BEGIN \"KEY\"","scanner":{"required":true,"profile":"p-1","classes":["prompt_injection"],"minConfidence":"0.85"}}`
	if string(first.Rules) != all || first.PolicyHash != deployed.PolicyHash {
		t.Errorf("%s", first.Rules)
	}
	if _, err := response.ParseRules(first.Rules); err != nil {
		t.Error(err)
	}
	h.mustDeploy(secret, by, bashPolicy)
	_, second := h.readSigned(secret, h.Clock())
	if second.Epoch <= first.Epoch || string(second.Rules) != `{"version":1}` {
		t.Errorf("%+v %s", second, second.Rules)
	}
}

// TestResponsePolicyOfAProgram: where the stored program alone is loaded the rules are read from the stored text.
func TestResponsePolicyOfAProgram(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, responseRules)
	_, before := h.readSigned(secret, h.Clock())
	h.Programs.Forget(h.key(secret).PolicyHash)
	h.Responses = policies.Responses{}
	if _, after := h.readSigned(secret, h.Clock()); string(after.Rules) != string(before.Rules) {
		t.Errorf("%s, and before %s", after.Rules, before.Rules)
	}
	if policy, _, _ := h.Of(context.Background(), h.key(secret), 0); policy.Response != nil {
		t.Error("the policy was compiled, and shows nothing")
	}
}

// TestResponsePolicyKept: a document is signed once while it is fresh, again after that, and never handed out for another epoch.
func TestResponsePolicyKept(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret, other := h.register(), h.register()
	h.mustDeploy(secret, by, responseRules)
	h.mustDeploy(other, by, responseRules)
	now := h.Clock()
	h.Clock = func() time.Time { return now }
	first, _ := h.readSigned(secret, now)
	now = now.Add(policies.ResponseFresh - 1)
	if again, _ := h.readSigned(secret, now); again != first {
		t.Error("it was signed anew")
	}
	if foreign, _ := h.readSigned(other, now); foreign == first {
		t.Error("another key got it")
	}
	now = now.Add(1)
	if later, _ := h.readSigned(secret, now); later == first {
		t.Error("it is handed out for longer than it is fresh")
	}
	h.mustDeploy(secret, by, responseRules+"\n# again\n")
	if _, p := h.readSigned(secret, now); p.Epoch != h.key(secret).Epoch {
		t.Errorf("%+v", p)
	}
}

// TestResponsesBounded: what is kept is bounded.
func TestResponsesBounded(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, bashPolicy)
	key := *h.key(secret)
	var r policies.Responses
	for i := range 40 {
		key.ID[0] = byte(i)
		r.Put(key.ID, &policies.SignedRules{Token: strings.Repeat("x", policies.MaxResponses/8)})
		sum := 0
		for _, s := range r.Kept {
			sum += s.Size()
		}
		if sum != r.Bytes || sum > policies.MaxResponses {
			t.Fatalf("%d bytes are kept, and counted as %d", sum, r.Bytes)
		}
	}
	if len(r.Kept) == 0 {
		t.Error("nothing is kept")
	}
}
