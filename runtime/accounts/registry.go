package accounts

import (
	"bailiff/runtime/clock"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

// NewKey is a request for an API key.
type NewKey struct {
	Email        string   `json:"email"`
	Organization string   `json:"organization"`
	Scopes       []string `json:"scopes"`     // none: authorize alone (decisions, section 1)
	FullGrant    bool     `json:"full_grant"` // all scopes, as keys have that are older than scopes; not with Scopes
	Plan         string   `json:"plan"`       // none: developer where the service is hosted, else enterprise, which confers nothing then; those that are named confer webhooks:write, but for developer
	Shim         bool     `json:"shim"`       // the key's provenance is a trusted shim
	Legacy       bool     `json:"legacy"`     // a key of the old form sk_svc_test_…; in the test environment only
}

// KeyView is an API key as it is shown: without the secret, which the client alone has.
type KeyView struct {
	APIKey      string    `json:"api_key,omitempty"` // the secret, when the key has just been made; never again
	ID          string    `json:"key_id"`
	Email       string    `json:"email"`
	Account     string    `json:"organization,omitempty"`
	Scopes      []string  `json:"scopes"`
	Plan        string    `json:"plan"`
	Environment string    `json:"environment"`
	Provenance  string    `json:"provenance"` // agent or shim
	CreatedAt   time.Time `json:"created_at"`
	RevokedAt   time.Time `json:"revoked_at,omitzero"`
	SuspendedAt time.Time `json:"suspended_at,omitzero"`
}

// CreateKey makes an API key and records it. The secret is in the view, once: the ledger holds its hash alone. An
// error that wraps ledger.ErrInvalid names the fault of the request.
func (a *Accounts) CreateKey(ctx context.Context, request NewKey) (KeyView, error) {
	key, prefix, err := a.newKey(&request)
	if err != nil {
		return KeyView{}, err
	}
	secret, err := mint(a.Random, prefix, &key)
	if err != nil {
		return KeyView{}, err
	}
	if err := a.Ledger.CreateKey(ctx, key); err != nil {
		return KeyView{}, err
	}
	view := viewKey(&key)
	view.APIKey = secret
	return view, nil
}

// newKey is the key that is asked for, and how its secret begins.
func (a *Accounts) newKey(request *NewKey) (key ledger.Key, prefix string, err error) {
	prefix = keyPrefix
	switch {
	case !isEmail(request.Email):
		return key, "", fmt.Errorf("%w: %+.64q is not an e-mail address", ledger.ErrInvalid, request.Email)
	case !isPlain(request.Organization):
		return key, "", fmt.Errorf("%w: organization has a character that can't be shown", ledger.ErrInvalid)
	case request.FullGrant && len(request.Scopes) > 0:
		return key, "", fmt.Errorf("%w: the full grant is all scopes: name none beside it", ledger.ErrInvalid)
	case request.Legacy && a.Environment != service.Test:
		return key, "", fmt.Errorf("%w: keys of the form %s… are of the environment %s alone", ledger.ErrInvalid, testKeyPrefix, service.Test)
	case request.Legacy:
		prefix = testKeyPrefix
	}
	scopes, err := parseScopes(request.Scopes)
	if err != nil {
		return key, "", err
	}
	p := a.defaultPlan()
	if request.Plan != "" {
		if p, err = parsePlan(request.Plan); err != nil {
			return key, "", err
		}
		if p.webhooks {
			scopes |= ledger.ScopeWebhooks
		}
	}
	if request.FullGrant {
		scopes = ledger.AllScopes
	}
	return ledger.Key{
		Email: request.Email, Organization: request.Organization, Environment: a.Environment, Tier: p.name, Scopes: scopes,
		Shim: request.Shim, Created: a.Clock().UnixNano(),
	}, prefix, nil
}

// SetPlan gives the key of an id a plan, and confers or takes the webhook scope. The errors are those of ledger.ParseID
// and of the ledger, and ledger.ErrInvalid for a plan that does not exist.
func (a *Accounts) SetPlan(ctx context.Context, id, name string) (KeyView, error) {
	p, err := parsePlan(name)
	if err != nil {
		return KeyView{}, err
	}
	return a.change(ctx, id, func(change *ledger.KeyChange) {
		change.Tier, change.Scopes = p.name, p.scopes(change.Scopes)
	})
}

// ScopeChange says which scopes a key is given, and which it loses.
type ScopeChange struct {
	Add    []string `json:"add"`
	Remove []string `json:"remove"` // also of those that are added
}

// ChangeScopes changes the scopes of the key of an id. The errors are those of ledger.ParseID, ledger.ParseScope and of
// the ledger, and ledger.ErrInvalid where no scope would be left.
func (a *Accounts) ChangeScopes(ctx context.Context, id string, want ScopeChange) (KeyView, error) {
	add, err := ScopesNamed(want.Add)
	if err != nil {
		return KeyView{}, err
	}
	remove, err := ScopesNamed(want.Remove)
	if err != nil {
		return KeyView{}, err
	}
	return a.change(ctx, id, func(change *ledger.KeyChange) { change.Scopes = (change.Scopes | add) &^ remove })
}

// GrantAll gives the key of an id all scopes, as keys have that are older than scopes.
func (a *Accounts) GrantAll(ctx context.Context, id string) (KeyView, error) {
	return a.change(ctx, id, func(change *ledger.KeyChange) { change.Scopes = ledger.AllScopes })
}

// change changes what edit changes of a key.
func (a *Accounts) change(ctx context.Context, id string, edit func(*ledger.KeyChange)) (KeyView, error) {
	parsed, err := ledger.ParseID(id)
	if err != nil {
		return KeyView{}, err
	}
	key, found := a.Ledger.LookupKeyID(parsed)
	if !found {
		return KeyView{}, fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, id)
	}
	change := ledger.KeyChange{ID: parsed, At: a.Clock().UnixNano(), Tier: key.Tier, Scopes: key.Scopes}
	edit(&change)
	if change.Scopes == 0 { // it had those of its plan alone
		return KeyView{}, fmt.Errorf("%w: the key would have no scope left; revoke it instead", ledger.ErrInvalid)
	}
	changed, err := a.Ledger.ChangeKey(ctx, change)
	if err != nil {
		return KeyView{}, err
	}
	return viewKey(&changed), nil
}

// parseScopes returns the scopes that an operator names: none mean authorize.
func parseScopes(names []string) (ledger.Scopes, error) {
	if len(names) == 0 {
		return ledger.ScopeAuthorize, nil
	}
	return ScopesNamed(names)
}

// ScopesNamed returns the scopes of these names.
func ScopesNamed(names []string) (scopes ledger.Scopes, err error) {
	for _, name := range names {
		scope, err := ledger.ParseScope(name)
		if err != nil {
			return 0, err
		}
		scopes |= scope
	}
	return scopes, nil
}

// Good reports whether a secret is that of an API key that can authorize in the admin's environment.
func (a *Accounts) Good(secret string) bool {
	hash := sha256.Sum256([]byte(secret))
	key, found := a.Ledger.LookupKey(hash)
	return found && key.Revoked == 0 && key.Environment == a.Environment && key.Scopes.Has(ledger.ScopeAuthorize)
}

// Keys lists all API keys in the order of their creation, revoked ones included.
func (a *Accounts) Keys(ctx context.Context) ([]KeyView, error) {
	keys, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]KeyView, len(keys))
	for i := range keys {
		views[i] = viewKey(&keys[i])
	}
	return views, nil
}

// RevokeKey revokes the key of that id. The errors are those of ledger.ParseID and of the ledger.
func (a *Accounts) RevokeKey(ctx context.Context, id string) (KeyView, error) {
	parsed, err := ledger.ParseID(id)
	if err != nil {
		return KeyView{}, err
	}
	key, err := a.Ledger.RevokeKey(ctx, parsed, a.Clock().UnixNano())
	if err != nil {
		return KeyView{}, err
	}
	return viewKey(&key), nil
}

func viewKey(key *ledger.Key) KeyView {
	view := KeyView{
		ID: key.ID.String(), Email: key.Email, Account: key.Organization, Scopes: key.Scopes.Names(), Plan: key.Tier,
		Environment: key.Environment, Provenance: string(Provenance(key)), CreatedAt: clock.Moment(key.Created),
	}
	if key.Revoked != 0 {
		view.RevokedAt = clock.Moment(key.Revoked)
	}
	if key.Halt.Stopped() {
		view.SuspendedAt = clock.Moment(key.Halt.Since)
	}
	return view
}

// Provenance is who sends the requests of a key.
func Provenance(key *ledger.Key) intent.Provenance {
	if key.Shim {
		return intent.Shim
	}
	return intent.Agent
}
