package decision

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/evidence"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const haltPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash, deploy.app\nrequire_approval: deploy.*\n"

// halting is a service with an operator, and a key that may run ls.
func halting(t *testing.T, edit ...func(*Config)) (h *town, by operator, secret string) {
	t.Helper()
	by = newOperator(t)
	h = newTown(t, append(edit, func(c *Config) {
		c.Service.Operator = [32]byte(by.private.Public().(ed25519.PublicKey))
	})...)
	secret = h.register()
	h.mustDeploy(secret, by, haltPolicy)
	return h, by, secret
}

// statement signs a halt.
func (h *town) statement(by operator, request accounts.HaltRequest) accounts.HaltRequest {
	request.SignedAt = h.Clock().Unix()
	text := attest.HaltText("svc-core", request.Action, request.KeyID, request.Reason, request.SignedAt, request.Serial)
	request.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(by.private, text))
	return request
}

// TestHaltBinds: a frozen service and a suspended key get one answer to all that allows something; reads go on.
func TestHaltBinds(t *testing.T) {
	for _, observe := range []bool{false, true} {
		for _, suspend := range []bool{false, true} {
			h, by, secret := halting(t, func(c *Config) { c.Observe = observe })
			var hold *holds.View
			if !observe {
				hold = h.openHold(secret)
			}
			request, want := accounts.HaltRequest{Action: accounts.Freeze}, errcode.Frozen
			if suspend {
				request, want = accounts.HaltRequest{Action: accounts.Suspend, KeyID: h.key(secret).ID.String()}, errcode.KeySuspended
			}
			hook := h.growing(secret)
			if view, err := h.admin().Halt(t.Context(), request); err != nil || !view.Halted {
				t.Fatal(view, err)
			}
			key := h.key(secret)
			h.wantNoChanges(key, hook, want)
			for _, testRun := range []bool{false, true} {
				var answer Answer
				fault := h.Decide(t.Context(), key, []byte(nonced("n", bashIntent)), Call{TestRun: testRun}, &answer)
				if fault == nil || fault.Code != want {
					t.Errorf("observing %v, test-run %v: %+v %v", observe, testRun, answer, fault)
				}
			}
			if _, fault := h.deploy(secret, by, haltPolicy+"# more\n"); fault == nil || fault.Code != want {
				t.Errorf("a deployment: %v", fault)
			}
			if hold != nil {
				if _, fault := h.resolve(secret, by, hold, "ALLOWED", h.Clock().Unix()); fault == nil || fault.Code != want {
					t.Errorf("a resolution: %v", fault)
				}
				if _, fault := h.Hold(t.Context(), key, hold.HoldID); fault != nil {
					t.Errorf("reading a hold: %v", fault)
				}
			}
			_, fault := h.Register(t.Context(), []byte(`{"email":"b@example.com"}`))
			if refused := fault != nil && fault.Code == errcode.Frozen; refused == suspend {
				t.Errorf("a registration: %v", fault)
			}
		}
	}
}

// growing gives a key a plan that has webhooks, and a webhook, which it returns.
func (h *town) growing(secret string) *accounts.WebhookView {
	h.t.Helper()
	if _, err := h.admin().SetPlan(context.Background(), h.key(secret).ID.String(), "growth"); err != nil {
		h.t.Fatal(err)
	}
	hook, fault := h.CreateWebhook(context.Background(), h.key(secret), []byte(webhookBody))
	if fault != nil {
		h.t.Fatal(fault)
	}
	return hook
}

// wantNoChanges: a key that is stopped changes no webhook and pins no tool; the operator changes its webhooks.
func (h *town) wantNoChanges(key *ledger.Key, hook *accounts.WebhookView, want errcode.Code) {
	h.t.Helper()
	ctx := context.Background()
	_, created := h.CreateWebhook(ctx, key, []byte(webhookBody))
	_, pinned := h.MeetTools(ctx, key, listed("files", "read", `{"name":"read"}`))
	for what, fault := range map[string]*service.Failure{
		"a new webhook": created, "pinning": pinned, "removing a webhook": h.RemoveWebhook(ctx, key, hook.ID), "enabling a webhook": h.EnableWebhook(ctx, key, hook.ID),
	} {
		if codeOf(fault) != want {
			h.t.Errorf("%s while stopped: %v; want %s", what, fault, want)
		}
	}
	added, err := h.Admin().AddWebhookOf(ctx, key.ID.String(), []byte(webhookBody))
	if err != nil {
		h.t.Fatalf("the operator's webhook while stopped: %v", err)
	}
	if err := h.Admin().RemoveWebhookOf(ctx, key.ID.String(), added.ID); err != nil {
		h.t.Errorf("the operator removes it: %v", err)
	}
}

// TestHaltStatements: thawing and resuming take a statement of the operator for this service, this action and now, with a serial that was
// not used; freezing takes none.
func TestHaltStatements(t *testing.T) {
	h, by, secret := halting(t)
	id := h.key(secret).ID.String()
	thaw := accounts.HaltRequest{Action: accounts.Thaw, Serial: 1}
	signed := h.statement(by, thaw)
	change := func(edit func(*accounts.HaltRequest)) accounts.HaltRequest {
		request := signed
		edit(&request)
		return request
	}
	if _, err := h.admin().Halt(t.Context(), accounts.HaltRequest{Action: accounts.Freeze, Reason: "drill"}); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		request accounts.HaltRequest
		want    string
	}{
		"unsigned":          {thaw, "takes the operator's signature"},
		"by another":        {h.statement(newOperator(t), thaw), "does not verify"},
		"another action":    {change(func(r *accounts.HaltRequest) { r.Action = accounts.Resume; r.KeyID = id }), "does not verify"},
		"another reason":    {change(func(r *accounts.HaltRequest) { r.Reason = "x" }), "does not verify"},
		"another serial":    {change(func(r *accounts.HaltRequest) { r.Serial = 2 }), "does not verify"},
		"an hour ago":       {change(func(r *accounts.HaltRequest) { r.SignedAt -= 3600 }), "not within 300 seconds"},
		"no base64":         {change(func(r *accounts.HaltRequest) { r.Signature = "?" }), "64 bytes"},
		"unknown action":    {accounts.HaltRequest{Action: "stop"}, "it can be freeze, thaw"},
		"a key of a freeze": {accounts.HaltRequest{Action: accounts.Freeze, KeyID: id}, "leave out keyId"},
		"a bad reason":      {accounts.HaltRequest{Action: accounts.Freeze, Reason: "a\nb"}, "can't be shown"},
		"serial 0":          {h.statement(by, accounts.HaltRequest{Action: accounts.Thaw}), "serials begin with 1"},
	} {
		if view, err := h.admin().Halt(t.Context(), row.request); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %+v %v", name, view, err)
		}
	}
	if view, err := h.admin().HaltOf(t.Context(), ""); err != nil || !view.Halted || view.Reason != "drill" {
		t.Fatalf("%+v %v", view, err)
	}
	if view, err := h.admin().Halt(t.Context(), signed); err != nil || view.Halted {
		t.Fatalf("%+v %v", view, err)
	}
	if _, err := h.admin().Halt(t.Context(), signed); !errors.Is(err, ledger.ErrStatementSerial) {
		t.Errorf("the same statement again: %v", err)
	}
	if said := h.log.String(); strings.Count(said, "halt: freeze") != 1 || strings.Count(said, "halt: thaw") != 1 {
		t.Error(said)
	}
}

// decideAs asks for a decision with a whole request.
func (h *town) decideAs(key *ledger.Key, body string) (*Answer, *service.Failure) {
	answer := new(Answer)
	return answer, h.Decide(context.Background(), key, []byte(body), Call{}, answer)
}

// TestHaltsFromAfar: over the network the service's operator signs for every key, and a key's own operator does not resume
// what the service's has suspended.
func TestHaltsFromAfar(t *testing.T) {
	h, by, secret := halting(t)
	customer := newOperator(t)
	other := h.register()
	h.mustDeploy(other, customer, haltPolicy)
	id := h.key(other).ID.String()
	refused := func(what string, request accounts.HaltRequest) {
		t.Helper()
		if view, err := h.admin().HaltFromAfar(t.Context(), request); !errors.Is(err, accounts.ErrStatement) {
			t.Errorf("%s: %+v %v", what, view, err)
		}
	}
	refused("an unsigned freeze", accounts.HaltRequest{Action: accounts.Freeze, Serial: 1})
	refused("a suspension by the key's operator", h.statement(customer, accounts.HaltRequest{Action: accounts.Suspend, KeyID: id, Serial: 1}))
	if view, err := h.admin().HaltFromAfar(t.Context(), h.statement(by, accounts.HaltRequest{Action: accounts.Suspend, KeyID: id, Serial: 1})); err != nil || !view.Halted {
		t.Fatal(view, err)
	}
	refused("a resumption by the key's operator", h.statement(customer, accounts.HaltRequest{Action: accounts.Resume, KeyID: id, Serial: 2}))
	refused("a resumption by the service's", h.statement(by, accounts.HaltRequest{Action: accounts.Resume, KeyID: id, Serial: 2}))
	if _, fault := h.decideAs(h.key(other), nonced("n", bashIntent)); fault == nil || fault.Code != errcode.KeySuspended {
		t.Errorf("the suspended key: %v", fault)
	}
	if answer, fault := h.decideAs(h.key(secret), nonced("n", bashIntent)); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("another key: %+v %v", answer, fault)
	}
}

// TestNoRepetitionAfterAHalt: an ALLOWED that was given before a halt is not repeated while it lasts, nor afterwards.
func TestNoRepetitionAfterAHalt(t *testing.T) {
	for _, suspend := range []bool{false, true} {
		h, by, secret := halting(t)
		stop, on := accounts.HaltRequest{Action: accounts.Freeze}, accounts.HaltRequest{Action: accounts.Thaw, Serial: 1}
		if id := h.key(secret).ID.String(); suspend {
			stop, on = accounts.HaltRequest{Action: accounts.Suspend, KeyID: id}, accounts.HaltRequest{Action: accounts.Resume, KeyID: id, Serial: 1}
		}
		body := nonced("n", bashIntent)
		for _, replayed := range []bool{false, true} {
			if got, fault := h.decideAs(h.key(secret), body); fault != nil || got.Status != "ALLOWED" || got.Replayed != replayed {
				t.Fatalf("before: %+v %v", got, fault)
			}
		}
		if _, err := h.admin().Halt(t.Context(), stop); err != nil {
			t.Fatal(err)
		}
		if got, fault := h.decideAs(h.key(secret), body); fault == nil {
			t.Errorf("suspended %v: %+v", suspend, got)
		}
		if _, err := h.admin().Halt(t.Context(), h.statement(by, on)); err != nil {
			t.Fatal(err)
		}
		if got, fault := h.decideAs(h.key(secret), body); fault != nil || got.Replayed {
			t.Errorf("suspended %v: afterwards: %+v %v", suspend, got, fault)
		}
	}
}

// TestRotation: policies that the operator's earlier key has deployed go on, also in a service that is made anew, and nothing new is deployed,
// resolved or thawed by it.
func TestRotation(t *testing.T) {
	h, by, secret := halting(t)
	next := newOperator(t)
	hold := h.openHold(secret)
	text := func(o operator) string { return attest.FormatOperatorKey(o.private.Public().(ed25519.PublicKey)) }
	request := accounts.RotationRequest{From: text(by), To: text(next), Serial: 1, SignedAt: h.Clock().Unix()}
	signed := func(o operator, r accounts.RotationRequest) accounts.RotationRequest {
		r.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(o.private, attest.RotationText("svc-core", r.From, r.To, r.SignedAt, r.Serial)))
		return r
	}
	late := request
	late.SignedAt -= 3600
	for what, r := range map[string]accounts.RotationRequest{"unsigned": request, "by the new key": signed(next, request), "an hour ago": signed(by, late)} {
		if _, err := h.admin().Rotate(t.Context(), r); !errors.Is(err, accounts.ErrStatement) {
			t.Errorf("%s: %v", what, err)
		}
	}
	view, err := h.admin().Rotate(t.Context(), signed(by, request))
	if err != nil || view.Current != text(next) || len(view.Replaced) != 1 || view.Replaced[0] != text(by) {
		t.Fatalf("%+v %v", view, err)
	}
	if got, fault := h.decideAs(h.key(secret), nonced("n", bashIntent)); fault != nil || got.Status != "ALLOWED" {
		t.Errorf("by the policy of before: %+v %v", got, fault)
	}
	if _, fault := h.deploy(secret, by, haltPolicy+"# more\n"); fault == nil || fault.Code != errcode.WarrantyOperator {
		t.Errorf("deploying by the key of before: %v", fault)
	}
	if _, fault := h.resolve(secret, by, hold, "ALLOWED", h.Clock().Unix()); fault == nil || fault.Code != errcode.HoldSignature {
		t.Errorf("resolving by the key of before: %v", fault)
	}
	if _, fault := h.resolve(secret, next, hold, "ALLOWED", h.Clock().Unix()); fault != nil {
		t.Errorf("resolving: %v", fault)
	}
	if _, err := h.admin().Halt(t.Context(), h.statement(by, accounts.HaltRequest{Action: accounts.Freeze, Serial: 1})); !errors.Is(err, accounts.ErrStatement) {
		t.Errorf("a freeze that the key of before has signed: %v", err)
	}
	if first := h.evidenceOf(secret); first.Operator != text(by) {
		t.Errorf("evidence under the policy of before names the operator %s", first.Operator)
	}
	h.mustDeploy(secret, next, haltPolicy+"# more\n")
	if got, fault := h.decideAs(h.key(secret), nonced("m", bashIntent)); fault != nil || got.Status != "ALLOWED" {
		t.Errorf("by the new policy: %+v %v", got, fault)
	}
	if last := h.evidenceOf(secret); last.Operator != text(next) {
		t.Errorf("evidence under the new policy names the operator %s", last.Operator)
	}
}

// evidenceOf returns the evidence of the latest decision of a key.
func (h *town) evidenceOf(secret string) *evidence.Bundle {
	h.t.Helper()
	page, err := h.Ledger.Events(h.t.Context(), ledger.EventQuery{Key: h.key(secret).ID, Decision: ledger.Allowed, Limit: 100})
	if err != nil || len(page.Events) == 0 {
		h.t.Fatal(page, err)
	}
	admin := h.Admin()
	bundle, err := admin.Evidence(h.t.Context(), strconv.FormatUint(page.Events[len(page.Events)-1].LSN, 10), "")
	if err != nil {
		h.t.Fatal(err)
	}
	return bundle
}

// TestNothingIsAllowedAfterAFreeze asks without a pause while the service is frozen: once the call has returned, no answer is ALLOWED.
func TestNothingIsAllowedAfterAFreeze(t *testing.T) {
	for _, suspend := range []bool{false, true} {
		h, _, secret := halting(t)
		key := h.key(secret)
		var frozen atomic.Bool
		var allowed, refused atomic.Int64
		var clients sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		for range 8 {
			clients.Go(func() {
				answer := new(Answer)
				for ctx.Err() == nil {
					before := frozen.Load()
					*answer = Answer{}
					fault := h.Decide(t.Context(), key, []byte(nonced("", bashIntent)), Call{}, answer)
					switch {
					case fault != nil:
						refused.Add(1)
					case before && answer.Status == ledger.Allowed.String():
						t.Error("ALLOWED after the freeze had returned")
						return
					default:
						allowed.Add(1)
					}
				}
			})
		}
		for allowed.Load() < 200 {
			if t.Failed() {
				break
			}
		}
		request := accounts.HaltRequest{Action: accounts.Freeze}
		if suspend {
			request = accounts.HaltRequest{Action: accounts.Suspend, KeyID: key.ID.String()}
		}
		if _, err := h.admin().Halt(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		frozen.Store(true)
		for start := refused.Load(); refused.Load() < start+200 && !t.Failed(); {
			continue
		}
		stop()
		clients.Wait()
	}
}
