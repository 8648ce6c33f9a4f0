// Package accounts manages the API keys of a service: it registers, authenticates, rotates, suspends and revokes them, and knows the
// plan, the usage, the webhooks and the deployments of each.
package accounts

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/webhook"
	"context"
)

// Config is what accounts need beside their service.
type Config struct {
	// Sync looks live keys up in the production service, when they are first used in the test environment; nil: none.
	Sync Syncer
	// CheckURL refuses the url of a webhook, with the reason, or returns nil. Without it every webhook is refused.
	CheckURL   func(ctx context.Context, url string, format ledger.WebhookFormat) error
	Deliveries *webhook.History // attempts to deliver, for the console; nil for none
}

// A Syncer takes keys over from the production service.
type Syncer interface {
	// Sync returns the key of a hash as it is after production was asked for it, nil where there is none there either. The known
	// key is what is here.
	Sync(hash [32]byte, known *ledger.Key) (*ledger.Key, *service.Failure)
}

// Accounts are the API keys of a service.
type Accounts struct {
	*service.Service
	Config
}

// New returns the accounts of a service.
func New(s *service.Service, c Config) *Accounts { return &Accounts{s, c} }

// Refresh looks a key up again whose epoch has moved.
func (a *Accounts) Refresh(key *ledger.Key) (*ledger.Key, *service.Failure) {
	fresh, found := a.Ledger.LookupKey(key.Hash)
	if !found || fresh.Revoked != 0 {
		return nil, service.BadKey()
	}
	return fresh, nil
}

// MayOperate reports whether an operator key may speak for an API key: the one that it is pinned to; without a pin, the
// service's own or, where the service is hosted, any.
func (a *Accounts) MayOperate(key *ledger.Key, operator [32]byte) bool {
	pinned, open := a.OperatorOf(key)
	return open || pinned == operator
}

// OperatorOf returns the operator key that an API key is pinned to; open says that the first deployment will pin one. It
// follows the rotations of the operator's key. It is zero, and matches no key, where a self-hosted service has none.
func (a *Accounts) OperatorOf(key *ledger.Key) (operator [32]byte, open bool) {
	if key.Operator != [32]byte{} {
		operators := a.Ledger.Operators()
		return operators.Current(key.Operator), false
	}
	if a.Hosted {
		return operator, true
	}
	return a.CurrentOperator(), false
}
