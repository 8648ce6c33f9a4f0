package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// How API keys begin.
const (
	livePrefix = "sk_svc_"
	testPrefix = "sk_svc_test_"
)

// TestRegister: a key comes with the scopes and the plan that the service gives, and can do nothing before a policy is
// deployed.
func TestRegister(t *testing.T) {
	h := newTown(t)
	view, fault := h.Register(context.Background(), []byte(`{"email":"a@example.com","organization":"Example Ltd"}`))
	if fault != nil {
		t.Fatal(fault)
	}
	raw, _ := json.Marshal(view)
	for _, wanted := range []string{`"api_key":"sk_svc_`, `"key_id":"`, `"scopes":["authorize","warranty:deploy"]`, `"plan":"developer"`, `"created_at":"2026-11-21T12:00:00Z"`} {
		if !bytes.Contains(raw, []byte(wanted)) {
			t.Errorf("%s lacks %s", raw, wanted)
		}
	}
	key := h.key(view.APIKey)
	if key.Organization != "Example Ltd" || key.Environment != service.Production {
		t.Errorf("%+v", key)
	}
	for _, testRun := range []bool{false, true} {
		want(t, h.Decide(context.Background(), key, request(bashIntent), Call{TestRun: testRun}, new(Answer)), errcode.NoPolicy)
	}
	want(t, h.Decide(context.Background(), key, []byte(`{}`), Call{}, new(Answer)), errcode.ValidationSchema) // comes before
	if _, fault := h.Authenticate([]byte(view.APIKey), ledger.ScopeWebhooks); codeOf(fault) != errcode.APIKeyScope {
		t.Error(fault)
	}
}

// TestRegisterRefuses holds the body to its form.
func TestRegisterRefuses(t *testing.T) {
	h := newTown(t)
	for _, row := range []struct{ body, message string }{
		{``, "a JSON object is expected"},
		{`[]`, "a JSON object is expected"},
		{`{"email":"a@example.com"`, "not valid JSON"},
		{`{}`, "email is missing"},
		{`{"email":""}`, "email is empty"},
		{`{"email":null}`, "email is not a string"},
		{`{"email":["a@example.com"]}`, "email is not a string"},
		{`{"email":"a"}`, "not an e-mail address"},
		{`{"email":"Ann <a@example.com>"}`, "not an e-mail address"},
		{`{"email":"a@example.com","email":"b@example.com"}`, "email is there twice"},
		{`{"email":"a@example.com","e\u006dail":"a@example.com"}`, "email is there twice"},
		{`{"Email":"a@example.com"}`, `"Email" is not a field`},
		{`{"email":"a@example.com","scopes":["webhooks:write"]}`, `"scopes" is not a field`},
		{`{"email":"a@example.com"} {}`, "something follows"},
		{`{"email":"a@example.com"}x`, "something follows"},
		{`{"email":"a@example.com","organization":"` + strings.Repeat("x", ledger.MaxKeyText+1) + `"}`, "organization has 257 bytes"},
		{`{"email":"a@example.com","organization":"\ud800"}`, "organization has half"},
		{`{"email":"a@example.com","organization":"\ud800\u0041"}`, "organization has half"},
		{`{"email":"a@example.com","organization":"\udc00\udc00"}`, "organization has half"},
		{`{"email":"a@example.com","organization":"\\\udc00"}`, "organization has half"},
		{"{\"email\":\"a@example.com\",\"organization\":\"\xff\"}", "not valid UTF-8"},
		{`{"email":"a@example.com","organization":"\u001b[2J"}`, "organization has a character that can't be shown"},
		{`{"email":"a@example.com","organization":"a\u202eb"}`, "organization has a character that can't be shown"},
		{`{"email":"a\u202e@example.com"}`, `email: "a\u202e@example.com" is not an e-mail address`},
		{`{"email":"` + strings.Repeat("a", 250) + `@example.com"}`, "email has 262 bytes"},
	} {
		_, fault := h.Register(context.Background(), []byte(row.body))
		if codeOf(fault) != errcode.ValidationSchema || !strings.Contains(fault.Message, row.message) {
			t.Errorf("%s: %v, not %s", row.body, fault, row.message)
		}
	}
	if _, fault := h.Register(context.Background(), []byte(`{"email":"a@example.com","organization":"\ud83d\ude00 \u00a0\\ud800 �"}`)); fault != nil {
		t.Error(fault)
	}
}

// TestRegisterClosed: a self-hosted service refuses registrations.
func TestRegisterClosed(t *testing.T) {
	h := newHouse(t, rand.Reader)
	_, fault := h.Register(context.Background(), []byte(`{"email":"a@example.com"}`))
	want(t, fault, errcode.RegistrationClosed)
}

// TestRegisterFails: without a store nothing is registered, and no secret leaves.
func TestRegisterFails(t *testing.T) {
	h := newTown(t)
	h.ledger.Fail(errors.New("the disk is gone"))
	view, fault := h.Register(context.Background(), []byte(`{"email":"a@example.com"}`))
	want(t, fault, errcode.StoreUnavailable)
	if view != nil {
		t.Error(view)
	}
}

// TestEnumeration: no answer reveals whether a key is malformed, unknown or revoked.
func TestEnumeration(t *testing.T) {
	h := newTown(t)
	secret := h.register()
	if _, err := h.ledger.RevokeKey(context.Background(), h.key(secret).ID, noon.UnixNano()); err != nil {
		t.Fatal(err)
	}
	var first *service.Failure
	for _, token := range []string{secret, livePrefix + strings.Repeat("0", 64), livePrefix, "", "x", strings.Repeat("x", 10_000), "Bearer " + secret} {
		_, fault := h.Authenticate([]byte(token), ledger.ScopeAuthorize)
		want(t, fault, errcode.APIKeyInvalid)
		if first == nil {
			first = fault
		}
		if fault.Message != first.Message {
			t.Errorf("%.80q: %s, and not %s", token, fault.Message, first.Message)
		}
	}
	_, fault := h.Authenticate([]byte(testPrefix+strings.Repeat("0", 64)), 0)
	want(t, fault, errcode.APIKeyWrongEnv)
}

// TestAdminKeys: plans confer and take the webhook scope; old keys carry the full grant; test keys have their own form.
func TestAdminKeys(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	admin := h.admin()
	for _, row := range []struct {
		request accounts.NewKey
		plan    string
		scopes  ledger.Scopes
	}{
		{accounts.NewKey{}, "developer", ledger.ScopeAuthorize},
		{accounts.NewKey{Plan: "pro"}, "growth", ledger.ScopeAuthorize | ledger.ScopeWebhooks},
		{accounts.NewKey{Plan: "enterprise", Scopes: []string{"warranty:deploy"}}, "enterprise", ledger.ScopeDeploy | ledger.ScopeWebhooks},
		{accounts.NewKey{FullGrant: true}, "developer", ledger.AllScopes},
	} {
		row.request.Email = "a@example.com"
		view, err := admin.CreateKey(ctx, row.request)
		if err != nil || view.Plan != row.plan || strings.Join(view.Scopes, " ") != row.scopes.String() {
			t.Errorf("%+v: %+v %v", row.request, view, err)
		}
	}
	for _, request := range []accounts.NewKey{
		{Plan: "gold"}, {FullGrant: true, Scopes: []string{"authorize"}}, {Legacy: true}, {Scopes: []string{"admin"}}, {Organization: "\x1b[2J"},
	} {
		request.Email = "a@example.com"
		if view, err := admin.CreateKey(ctx, request); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%+v: %+v %v", request, view, err)
		}
	}
	id := h.key(h.register()).ID.String()
	for _, row := range []struct {
		plan   string
		scopes ledger.Scopes
	}{{"pro", ledger.AllScopes}, {"developer", ledger.ScopeAuthorize | ledger.ScopeDeploy}, {"enterprise", ledger.AllScopes}} {
		view, err := admin.SetPlan(ctx, id, row.plan)
		if err != nil || strings.Join(view.Scopes, " ") != row.scopes.String() {
			t.Errorf("%s: %+v %v", row.plan, view, err)
		}
	}
	hooks, err := admin.CreateKey(ctx, accounts.NewKey{Email: "a@example.com", Plan: "growth", Scopes: []string{"webhooks:write"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.SetPlan(ctx, hooks.ID, "developer"); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "revoke it instead") {
		t.Error(err) // it would have no scope left
	}
	if _, err := admin.SetPlan(ctx, id, "gold"); !errors.Is(err, ledger.ErrInvalid) {
		t.Error(err)
	}
	if _, err := admin.SetPlan(ctx, strings.Repeat("0", 8)+"-0000-0000-0000-000000000000", "pro"); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
	if view, err := admin.GrantAll(ctx, id); err != nil || len(view.Scopes) != 3 {
		t.Errorf("%+v %v", view, err)
	}
	legacy := newTown(t, func(c *Config) { c.Service.Environment = service.Test })
	view, err := legacy.admin().CreateKey(ctx, accounts.NewKey{Email: "a@example.com", Legacy: true})
	if err != nil || !strings.HasPrefix(view.APIKey, testPrefix) {
		t.Fatal(view, err)
	}
	legacy.key(view.APIKey)
}
