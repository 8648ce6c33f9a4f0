package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/strictjson"
	"bailiff/runtime/webhook"
	"bailiff/vm/errcode"
)

// WebhookView is the descriptor of a webhook (decisions, section 5).
type WebhookView struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Events    []string  `json:"events"`
	Format    string    `json:"format,omitempty"` // slack, ntfy or email; absent where it is signed JSON
	Secret    string    `json:"secret,omitempty"` // of the signatures; shown once, in the answer to the registration
	CreatedAt time.Time `json:"created_at"`
	Disabled  bool      `json:"disabled"`           // deliveries have failed for too long
	Operator  bool      `json:"operator,omitempty"` // the operator registered it; the holder of the key is not told of it
}

// CreateWebhook registers a receiver. The plan is looked at before the scope, so that an account learns first what it
// would have to pay for; a caller authenticates for no scope.
func (a *Accounts) CreateWebhook(ctx context.Context, key *ledger.Key, body []byte) (*WebhookView, *service.Failure) {
	switch p := planOf(key); {
	case !p.webhooks:
		return nil, service.Fail(errcode.TierInsufficient, "webhooks need the plan "+planGrowth+" or "+planEnterprise+"; the account has "+p.name)
	case !key.Scopes.Has(ledger.ScopeWebhooks):
		return nil, service.Fail(errcode.APIKeyScope, "the API key lacks the scope "+ledger.ScopeWebhooks.String())
	}
	return a.addWebhook(ctx, key, body, false)
}

// addWebhook registers a receiver that the key may have. E-mail is the operator's to send: an agent that has a key would choose who gets it.
func (a *Accounts) addWebhook(ctx context.Context, key *ledger.Key, body []byte, operator bool) (*WebhookView, *service.Failure) {
	hook := ledger.Webhook{Key: key.ID, Created: a.Clock().UnixNano(), Operator: operator}
	if fault := a.Halted(key); fault != nil && !operator {
		return nil, fault
	}
	if fault := a.readWebhook(ctx, body, &hook); fault != nil {
		return nil, fault
	}
	if hook.Format == ledger.EmailFormat && !operator {
		return nil, service.Fail(errcode.WebhookURL, "format: e-mail is for the operator to register, with: bailiff webhooks add mailto:ADDRESS --format email --key ID")
	}
	if _, err := io.ReadFull(a.Random, hook.ID[:]); err != nil {
		return nil, service.NoRandomness()
	}
	hook.ID = hook.ID.UUIDv4()
	if err := a.Ledger.CreateWebhook(ctx, hook); err != nil {
		return nil, a.webhookFault(err)
	}
	view := viewWebhook(&hook)
	view.Secret = webhook.FormatSecret(hook.Secret)
	return &view, nil
}

// readWebhook reads the webhook to register, and draws a secret where none is given.
func (a *Accounts) readWebhook(ctx context.Context, body []byte, hook *ledger.Webhook) *service.Failure {
	fault := service.ReadBody(body,
		strictjson.Text("url", true, ledger.MaxWebhookURL, &hook.URL),
		strictjson.List("events", true, func(value json.RawMessage) string { return readTopic(value, &hook.Topics) }),
		strictjson.Member{Name: "format", Read: func(value json.RawMessage) string { return readFormat(value, &hook.Format) }},
		strictjson.Member{Name: "secret", Read: func(value json.RawMessage) string { return readSecret(value, &hook.Secret) }},
	)
	switch {
	case fault != nil:
		return fault
	case a.CheckURL == nil:
		return service.Fail(errcode.WebhookURL, "this service delivers no webhooks")
	}
	if err := a.CheckURL(ctx, hook.URL, hook.Format); err != nil {
		return service.Fail(errcode.WebhookURL, "url: "+service.Reason(err, webhook.ErrURL))
	}
	if hook.Secret == nil {
		var err error
		if _, hook.Secret, err = webhook.NewSecret(a.Random); err != nil {
			return service.NoRandomness()
		}
	}
	return nil
}

func readTopic(value json.RawMessage, topics *ledger.Topics) (problem string) {
	name, problem := strictjson.String(value)
	if problem != "" {
		return problem
	}
	topic, err := ledger.ParseTopic(name)
	switch {
	case err != nil:
		return fmt.Sprintf("%.64q is not an event; use %s", name, strings.Join(ledger.AllTopics.Names(), ", "))
	case *topics&topic != 0:
		return "the event is there twice"
	}
	*topics |= topic
	return ""
}

func readFormat(value json.RawMessage, format *ledger.WebhookFormat) (problem string) {
	name, problem := strictjson.String(value)
	if problem != "" {
		return problem
	}
	var err error
	if *format, err = ledger.ParseWebhookFormat(name); err != nil {
		return service.Reason(err, ledger.ErrInvalid)
	}
	return ""
}

// readSecret reads a secret that the client gives.
func readSecret(value json.RawMessage, secret *[]byte) (problem string) {
	wire, problem := strictjson.String(value)
	if problem != "" {
		return problem
	}
	raw, err := webhook.ParseSecret(wire)
	if err != nil {
		return "can't be used: " + service.Reason(err, webhook.ErrSecret)
	}
	*secret = raw
	return ""
}

// Webhooks lists the receivers of a key, oldest first, without their secrets and without those of the operator, whose addresses may be
// secrets.
func (a *Accounts) Webhooks(ctx context.Context, key *ledger.Key) ([]WebhookView, *service.Failure) {
	return a.webhooks(ctx, key, false)
}

func (a *Accounts) webhooks(ctx context.Context, key *ledger.Key, operator bool) ([]WebhookView, *service.Failure) {
	hooks, fault := a.hooksOf(ctx, key, operator)
	if fault != nil {
		return nil, fault
	}
	views := make([]WebhookView, len(hooks))
	for i := range hooks {
		views[i] = viewWebhook(&hooks[i])
	}
	return views, nil
}

// hooksOf returns the receivers of a key that its holder, or the operator, is told of.
func (a *Accounts) hooksOf(ctx context.Context, key *ledger.Key, operator bool) ([]ledger.Webhook, *service.Failure) {
	hooks, err := a.Ledger.Webhooks(ctx, key.ID)
	if err != nil {
		return nil, a.StoreFault("webhooks could not be read", err)
	}
	if !operator {
		hooks = slices.DeleteFunc(hooks, func(w ledger.Webhook) bool { return w.Operator })
	}
	return hooks, nil
}

// RemoveWebhook removes a receiver of a key, and what waits to be delivered to it.
func (a *Accounts) RemoveWebhook(ctx context.Context, key *ledger.Key, id string) *service.Failure {
	return a.changeWebhook(ctx, key, id, a.Ledger.RemoveWebhook, false)
}

// EnableWebhook has a receiver that was disabled told again of what happens from now on.
func (a *Accounts) EnableWebhook(ctx context.Context, key *ledger.Key, id string) *service.Failure {
	return a.changeWebhook(ctx, key, id, a.Ledger.EnableWebhook, false)
}

// changeWebhook does something to one webhook of a key.
func (a *Accounts) changeWebhook(ctx context.Context, key *ledger.Key, id string, change func(context.Context, ledger.WebhookChange) error, operator bool) *service.Failure {
	parsed, _ := ledger.ParseID(id) // the zero id names no webhook
	err := change(ctx, ledger.WebhookChange{Key: key.ID, ID: parsed, At: a.Clock().UnixNano(), Operator: operator})
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return service.Fail(errcode.NotFound, "the API key has no such webhook")
	case errors.Is(err, ledger.ErrHalted):
		return a.HaltFault(key)
	case err != nil:
		return a.webhookFault(err)
	}
	return nil
}

func (a *Accounts) webhookFault(err error) *service.Failure {
	if errors.Is(err, ledger.ErrTooMany) {
		return service.Fail(errcode.TooManyWebhooks, fmt.Sprintf("the API key has %d webhooks; remove one first", ledger.MaxWebhooks))
	}
	return a.StoreFault("a webhook could not be changed", err)
}

func viewWebhook(hook *ledger.Webhook) WebhookView {
	view := WebhookView{ID: hook.ID.String(), URL: hook.URL, Events: hook.Topics.Names(), CreatedAt: clock.Moment(hook.Created), Disabled: hook.Disabled != 0, Operator: hook.Operator}
	if hook.Format != ledger.StandardFormat {
		view.Format = hook.Format.String()
	}
	return view
}
