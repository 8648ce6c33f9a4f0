package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// The operator registers webhooks for a key without having it, and whatever its scopes are.

// AsError returns a refusal as an error of the operator's commands. It wraps ledger.ErrNotFound, ledger.ErrUnavailable or
// ledger.ErrInvalid, by the status of the refusal's code.
func AsError(fault *service.Failure) error {
	kind := ledger.ErrInvalid
	switch errcode.Lookup(fault.Code).HTTP {
	case http.StatusNotFound:
		kind = ledger.ErrNotFound
	case http.StatusServiceUnavailable:
		kind = ledger.ErrUnavailable
	}
	return fmt.Errorf("%w: %s (%s)", kind, fault.Message, fault.Code)
}

// SendsWebhooks reports whether the events of a key are sent to its webhooks: always where the service is self-hosted, and else where
// the key's plan has webhooks.
func (a *Accounts) SendsWebhooks(key *ledger.Key) bool {
	p := planOf(key)
	return !a.Hosted || p.webhooks
}

// AddWebhookOf registers a receiver for the key of an id. The errors are those of [Accounts.KeyOf], and ledger.ErrInvalid.
func (a *Accounts) AddWebhookOf(ctx context.Context, keyID string, body json.RawMessage) (*WebhookView, error) {
	key, err := a.KeyOf(keyID)
	if err != nil {
		return nil, err
	}
	if !a.SendsWebhooks(key) {
		return nil, fmt.Errorf("%w: the plan %s of the key has no webhooks; give it another with: bailiff keys set-plan %s %s", ledger.ErrInvalid, key.Tier, keyID, planGrowth)
	}
	view, fault := a.addWebhook(ctx, key, body, true)
	if fault != nil {
		return nil, AsError(fault)
	}
	return view, nil
}

// WebhooksOf lists the receivers of the key of an id. The errors are those of [Accounts.KeyOf], and ledger.ErrInvalid.
func (a *Accounts) WebhooksOf(ctx context.Context, keyID string) ([]WebhookView, error) {
	key, err := a.KeyOf(keyID)
	if err != nil {
		return nil, err
	}
	views, fault := a.webhooks(ctx, key, true)
	if fault != nil {
		return nil, AsError(fault)
	}
	return views, nil
}

// RemoveWebhookOf is [Accounts.RemoveWebhook] for the key of an id, also while it is stopped, and of the operator's webhooks, too.
func (a *Accounts) RemoveWebhookOf(ctx context.Context, keyID, id string) error {
	return a.changeWebhookOf(ctx, keyID, id, a.Ledger.RemoveWebhook)
}

// EnableWebhookOf is [Accounts.EnableWebhook] in the same way.
func (a *Accounts) EnableWebhookOf(ctx context.Context, keyID, id string) error {
	return a.changeWebhookOf(ctx, keyID, id, a.Ledger.EnableWebhook)
}

func (a *Accounts) changeWebhookOf(ctx context.Context, keyID, id string, change func(context.Context, ledger.WebhookChange) error) error {
	key, err := a.KeyOf(keyID)
	if err != nil {
		return err
	}
	if fault := a.changeWebhook(ctx, key, id, change, true); fault != nil {
		return AsError(fault)
	}
	return nil
}
