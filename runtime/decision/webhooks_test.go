package decision

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
	"bailiff/runtime/webhook"
	"bailiff/vm/errcode"
)

// paying makes a key whose plan has webhooks.
func (h *town) paying() *ledger.Key {
	h.t.Helper()
	view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", Plan: "growth"})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.key(view.APIKey)
}

const webhookBody = `{"url":"https://example.com/hook","events":["intent.allowed","hold.resolved"]}`

// TestWebhooks: the secret is shown once, and each key has its own.
func TestWebhooks(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	key, other := h.paying(), h.paying()
	made, fault := h.CreateWebhook(ctx, key, []byte(webhookBody))
	if fault != nil || made.URL != "https://example.com/hook" || strings.Join(made.Events, " ") != "intent.allowed hold.resolved" || made.Disabled || !made.CreatedAt.Equal(noon) {
		t.Fatalf("%+v %v", made, fault)
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(made.Secret, "whsec_")); err != nil || len(raw) != 32 {
		t.Error(made.Secret)
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	given, fault := h.CreateWebhook(ctx, key, []byte(`{"url":"https://example.com/2","events":["policy.deployed"],"secret":"`+secret+`"}`))
	if fault != nil || given.Secret != secret {
		t.Errorf("%+v %v", given, fault)
	}
	list, fault := h.Webhooks(ctx, key)
	if fault != nil || len(list) != 2 || list[0].ID != made.ID || list[0].Secret != "" {
		t.Errorf("%+v %v", list, fault)
	}
	if list, fault := h.Webhooks(ctx, other); fault != nil || list == nil || len(list) != 0 {
		t.Errorf("%+v %v", list, fault)
	}
	for _, id := range []string{"", "x", strings.ToUpper(made.ID), "00000000-0000-4000-8000-000000000000"} {
		want(t, h.RemoveWebhook(ctx, key, id), errcode.NotFound)
	}
	want(t, h.RemoveWebhook(ctx, other, made.ID), errcode.NotFound)
	want(t, h.RemoveWebhook(ctx, key, made.ID), "")
	want(t, h.RemoveWebhook(ctx, key, made.ID), errcode.NotFound)
	for range ledger.MaxWebhooks - 1 {
		if _, fault := h.CreateWebhook(ctx, key, []byte(webhookBody)); fault != nil {
			t.Fatal(fault)
		}
	}
	_, fault = h.CreateWebhook(ctx, key, []byte(webhookBody))
	want(t, fault, errcode.TooManyWebhooks)
	h.ledger.Fail(errors.New("the disk is gone"))
	_, fault = h.CreateWebhook(ctx, other, []byte(webhookBody))
	want(t, fault, errcode.StoreUnavailable)
	_, fault = h.Webhooks(ctx, other)
	want(t, fault, errcode.StoreUnavailable)
	want(t, h.RemoveWebhook(ctx, other, made.ID), errcode.StoreUnavailable)
}

// TestWebhookFormats: a webhook says its format, and e-mail is the operator's to register.
func TestWebhookFormats(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	key := h.paying()
	body := func(format string) []byte {
		return []byte(`{"url":"https://example.com/hook","events":["intent.pending"],"format":"` + format + `"}`)
	}
	for format, shown := range map[string]string{"standard": "", "slack": "slack", "ntfy": "ntfy"} {
		if view, fault := h.CreateWebhook(ctx, key, body(format)); fault != nil || view.Format != shown {
			t.Errorf("%s: %v %+v", format, fault, view)
		}
	}
	_, fault := h.CreateWebhook(ctx, key, body("email"))
	if want(t, fault, errcode.WebhookURL); !strings.Contains(fault.Message, "for the operator to register") {
		t.Error(fault)
	}
	_, fault = h.CreateWebhook(ctx, key, body("teams"))
	want(t, fault, errcode.ValidationSchema)
	if view, err := h.Admin().AddWebhookOf(ctx, key.ID.String(), body("email")); err != nil || view.Format != "email" {
		t.Errorf("%v %+v", err, view)
	}
}

// TestOperatorsWebhooks: the holder of a key neither sees nor changes what the operator has registered for it.
func TestOperatorsWebhooks(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	key := h.paying()
	id := key.ID.String()
	alarm, err := h.Admin().AddWebhookOf(ctx, id, []byte(webhookBody))
	if err != nil || !alarm.Operator {
		t.Fatalf("%+v %v", alarm, err)
	}
	own, fault := h.CreateWebhook(ctx, key, []byte(webhookBody))
	if fault != nil || own.Operator {
		t.Fatalf("%+v %v", own, fault)
	}
	if list, fault := h.Webhooks(ctx, key); fault != nil || len(list) != 1 || list[0].ID != own.ID {
		t.Errorf("the key's list: %+v %v", list, fault)
	}
	if list, fault := h.WebhookReports(ctx, key, false); fault != nil || len(list) != 1 || list[0].ID != own.ID {
		t.Errorf("the key's console: %+v %v", list, fault)
	}
	want(t, h.RemoveWebhook(ctx, key, alarm.ID), errcode.NotFound)
	want(t, h.EnableWebhook(ctx, key, alarm.ID), errcode.NotFound)
	if list, err := h.Admin().WebhooksOf(ctx, id); err != nil || len(list) != 2 || !list[0].Operator || list[1].Operator {
		t.Errorf("the operator's list: %+v %v", list, err)
	}
	for _, hook := range []string{alarm.ID, own.ID} {
		if err := h.Admin().RemoveWebhookOf(ctx, id, hook); err != nil {
			t.Error(err)
		}
	}
}

// TestWebhookRefused: plan, scope, body, address, in this order.
func TestWebhookRefused(t *testing.T) {
	h, ctx := newTown(t), context.Background()
	bad := errors.New("it is a private address")
	h.CheckURL = func(ctx context.Context, url string, _ ledger.WebhookFormat) error {
		if strings.Contains(url, "private") {
			return bad
		}
		if strings.HasPrefix(url, "http:") {
			return webhook.CheckURL(ctx, system.Real(nil), url, false)
		}
		return nil
	}
	free, full := h.key(h.register()), &ledger.Key{Tier: "developer", Scopes: ledger.AllScopes}
	for _, key := range []*ledger.Key{free, full} {
		_, fault := h.CreateWebhook(ctx, key, []byte(`nonsense`))
		want(t, fault, errcode.TierInsufficient)
	}
	_, fault := h.CreateWebhook(ctx, &ledger.Key{Tier: "growth", Scopes: ledger.ScopeAuthorize}, []byte(`nonsense`))
	want(t, fault, errcode.APIKeyScope)
	key := h.paying()
	const events = `"events":["intent.denied"]`
	for _, row := range []struct {
		body    string
		code    errcode.Code
		message string
	}{
		{`nonsense`, errcode.ValidationSchema, "JSON object"},
		{`{` + events + `}`, errcode.ValidationSchema, "url is missing"},
		{`{"url":"` + strings.Repeat("x", 2049) + `",` + events + `}`, errcode.ValidationSchema, "url has 2049 bytes"},
		{`{"url":"https://example.com"}`, errcode.ValidationSchema, "events is missing"},
		{`{"url":"https://example.com","events":[]}`, errcode.ValidationSchema, "events is empty"},
		{`{"url":"https://example.com","events":null}`, errcode.ValidationSchema, "events is not an array"},
		{`{"url":"https://example.com","events":["intent.*"]}`, errcode.ValidationSchema, "is not an event"},
		{`{"url":"https://example.com","events":[1]}`, errcode.ValidationSchema, "events [0]: is not a string"},
		{`{"url":"https://example.com","events":["intent.denied","intent.denied"]}`, errcode.ValidationSchema, "there twice"},
		{`{"url":"https://example.com","secret":"abc",` + events + `}`, errcode.ValidationSchema, "secret can't be used"},
		{`{"url":"https://example.com","secret":"whsec_AAAA",` + events + `}`, errcode.ValidationSchema, "secret can't be used: it has 3 bytes"},
		{`{"url":"http://example.com",` + events + `}`, errcode.WebhookURL, "url: it must start with https://"},
		{`{"url":"https://private.example.com",` + events + `}`, errcode.WebhookURL, "private address"},
	} {
		_, fault := h.CreateWebhook(ctx, key, []byte(row.body))
		if codeOf(fault) != row.code || !strings.Contains(fault.Message, row.message) {
			t.Errorf("%.80s: %v %v", row.body, codeOf(fault), fault)
		}
	}
	h.CheckURL = nil
	_, fault = h.CreateWebhook(ctx, key, []byte(webhookBody))
	want(t, fault, errcode.WebhookURL)
}
