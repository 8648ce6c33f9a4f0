package commit

import (
	"context"

	"bailiff/runtime/ledger"
)

// ChangeKey implements ledger.Ledger.
func (l *Ledger) ChangeKey(context.Context, ledger.KeyChange) (ledger.Key, error) {
	return ledger.Key{}, ledger.ErrUnavailable
}

// Deploy implements ledger.Ledger.
func (l *Ledger) Deploy(context.Context, *ledger.Deployment) (ledger.Deployed, error) {
	return ledger.Deployed{}, ledger.ErrUnavailable
}

// Policy implements ledger.Ledger.
func (l *Ledger) Policy(context.Context, ledger.ID) (ledger.StoredPolicy, error) {
	return ledger.StoredPolicy{}, ledger.ErrUnavailable
}

// Deployments implements ledger.Ledger.
func (l *Ledger) Deployments(context.Context, ledger.ID) ([]ledger.DeploymentView, error) {
	return nil, ledger.ErrUnavailable
}

// UseOnce implements ledger.Ledger.
func (l *Ledger) UseOnce(context.Context, *ledger.Use) error { return ledger.ErrUnavailable }

// ExpireHolds implements ledger.Ledger.
func (l *Ledger) ExpireHolds(context.Context, int64, int) (int, error) {
	return 0, ledger.ErrUnavailable
}

// CreateWebhook implements ledger.Ledger.
func (l *Ledger) CreateWebhook(context.Context, ledger.Webhook) error { return ledger.ErrUnavailable }

// RemoveWebhook implements ledger.Ledger.
func (l *Ledger) RemoveWebhook(context.Context, ledger.ID, ledger.ID, int64) error {
	return ledger.ErrUnavailable
}

// Webhooks implements ledger.Ledger.
func (l *Ledger) Webhooks(context.Context, ledger.ID) ([]ledger.Webhook, error) {
	return nil, ledger.ErrUnavailable
}

// Due implements ledger.Ledger.
func (l *Ledger) Due(context.Context, int64, int) ([]ledger.Delivery, int64, error) {
	return nil, 0, ledger.ErrUnavailable
}

// SettleDelivery implements ledger.Ledger.
func (l *Ledger) SettleDelivery(ledger.DeliveryResult) error { return ledger.ErrUnavailable }

// Outboxed implements ledger.Ledger.
func (l *Ledger) Outboxed() <-chan struct{} { return nil }

// Head implements ledger.Ledger.
func (l *Ledger) Head(context.Context) (ledger.Head, error) {
	return ledger.Head{}, ledger.ErrUnavailable
}
