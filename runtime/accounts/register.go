package accounts

import (
	"context"
	"fmt"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// RegisteredKey is the answer to a registration (decisions, section 5).
type RegisteredKey struct {
	APIKey    string    `json:"api_key"` // the secret; shown once
	ID        string    `json:"key_id"`
	Scopes    []string  `json:"scopes"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"created_at"`
}

// Register issues an API key to any client: of the smallest plan, with the scopes that the service gives. It needs a
// policy before it can authorize anything.
func (a *Accounts) Register(ctx context.Context, body []byte) (*RegisteredKey, *service.Failure) {
	if !a.Hosted {
		return nil, service.Fail(errcode.RegistrationClosed, "this service is self-hosted: its operator makes API keys with `bailiff keys create`")
	}
	if fault := a.Halted(nil); fault != nil {
		return nil, fault
	}
	key := ledger.Key{
		Environment: a.Environment, Tier: planDeveloper, Scopes: ledger.ScopeAuthorize | ledger.ScopeDeploy, Created: a.Clock().UnixNano(),
	}
	fault := service.ReadBody(body,
		strictjson.Text("email", true, maxEmail, &key.Email),
		strictjson.Text("organization", false, ledger.MaxKeyText, &key.Organization),
	)
	if fault == nil && !isEmail(key.Email) {
		fault = service.Fail(errcode.ValidationSchema, fmt.Sprintf("email: %+.64q is not an e-mail address", key.Email))
	}
	if fault == nil && !isPlain(key.Organization) {
		fault = service.Fail(errcode.ValidationSchema, "organization has a character that can't be shown")
	}
	if fault != nil {
		return nil, fault
	}
	secret, err := mint(a.Random, keyPrefix, &key)
	if err != nil {
		a.Log.Error("a key could not be made", "error", err)
		return nil, service.NoRandomness()
	}
	if err := a.Ledger.CreateKey(ctx, key); err != nil {
		return nil, a.StoreFault("a key could not be registered", err)
	}
	return &RegisteredKey{APIKey: secret, ID: key.ID.String(), Scopes: key.Scopes.Names(), Plan: key.Tier, CreatedAt: clock.Moment(key.Created)}, nil
}
