package reopen

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// refusal returns cause as what a refused call answers.
func refusal(cause error) error {
	if errors.Is(cause, ledger.ErrUnavailable) && !errors.Is(cause, ledger.ErrUnknown) {
		return cause
	}
	return fmt.Errorf("%w: %v", ledger.ErrUnavailable, cause) //nolint:errorlint // the refused call itself is not unknown
}

// Submit implements ledger.Ledger. It adds one atomic load to what the inner ledger does.
func (l *Ledger) Submit(p *ledger.Plan) ledger.Ticket {
	now := l.current.Load()
	if now.cause != nil {
		return ledger.NewTicket(ledger.Outcome{Reservation: -1}, nil, refusal(now.cause))
	}
	ticket := now.session.inner.Submit(p)
	if ticket.Outcome().Result == ledger.Unknown {
		signal(l.nudge)
	}
	return ticket
}

// Peek implements ledger.Ledger.
func (l *Ledger) Peek(p *ledger.Plan) ledger.Outcome {
	now := l.current.Load()
	if now.cause != nil {
		return ledger.Outcome{Reservation: -1}
	}
	return now.session.inner.Peek(p)
}

// LookupKey implements ledger.Ledger. While the ledger is away it answers what was known before.
func (l *Ledger) LookupKey(hash [32]byte) (*ledger.Key, bool) {
	return l.current.Load().session.inner.LookupKey(hash)
}

// LookupKeyID implements ledger.Ledger. While the ledger is away it answers what was known before.
func (l *Ledger) LookupKeyID(id ledger.ID) (*ledger.Key, bool) {
	return l.current.Load().session.inner.LookupKeyID(id)
}

// Health implements ledger.Ledger.
func (l *Ledger) Health() error {
	now := l.current.Load()
	if now.cause != nil {
		return refusal(now.cause)
	}
	return now.session.inner.Health()
}

// enter returns the session that serves, with its calls held for reading, or why none does.
func (l *Ledger) enter() (*session, error) {
	now := l.current.Load()
	if now.cause == nil && now.session.calls.TryRLock() {
		if again := l.current.Load(); again == now {
			return now.session, nil
		}
		now.session.calls.RUnlock()
	}
	if now = l.current.Load(); now.cause != nil {
		return nil, refusal(now.cause)
	}
	return nil, fmt.Errorf("%w: it was just opened again", ledger.ErrUnavailable)
}

// call makes one call of the inner ledger.
func call[T any](l *Ledger, do func(ledger.Ledger) (T, error)) (T, error) {
	s, err := l.enter()
	if err != nil {
		var none T
		return none, err
	}
	defer s.calls.RUnlock()
	result, err := do(s.inner)
	l.look(err)
	return result, err
}

// look has the keeper look at the ledger where an error may mean that it has failed.
func (l *Ledger) look(err error) {
	if errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) {
		signal(l.nudge)
	}
}

// do is call for what has no result.
func (l *Ledger) do(f func(ledger.Ledger) error) error {
	_, err := call(l, func(in ledger.Ledger) (struct{}, error) { return struct{}{}, f(in) })
	return err
}

// Replay implements ledger.Ledger.
func (l *Ledger) Replay(ctx context.Context, key ledger.ID, lsn uint64) (ledger.ReplayedDecision, error) {
	return call(l, func(in ledger.Ledger) (ledger.ReplayedDecision, error) { return in.Replay(ctx, key, lsn) })
}

// CreateKey implements ledger.Ledger.
func (l *Ledger) CreateKey(ctx context.Context, key ledger.Key) error {
	return l.do(func(in ledger.Ledger) error { return in.CreateKey(ctx, key) })
}

// RevokeKey implements ledger.Ledger.
func (l *Ledger) RevokeKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error) {
	return call(l, func(in ledger.Ledger) (ledger.Key, error) { return in.RevokeKey(ctx, id, at) })
}

// ChangeKey implements ledger.Ledger.
func (l *Ledger) ChangeKey(ctx context.Context, change ledger.KeyChange) (ledger.Key, error) {
	return call(l, func(in ledger.Ledger) (ledger.Key, error) { return in.ChangeKey(ctx, change) })
}

// Keys implements ledger.Ledger.
func (l *Ledger) Keys(ctx context.Context) ([]ledger.Key, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.Key, error) { return in.Keys(ctx) })
}

// ResolveHold implements ledger.Ledger.
func (l *Ledger) ResolveHold(ctx context.Context, r ledger.Resolution) (ledger.Hold, error) {
	return call(l, func(in ledger.Ledger) (ledger.Hold, error) { return in.ResolveHold(ctx, r) })
}

// Hold implements ledger.Ledger.
func (l *Ledger) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	return call(l, func(in ledger.Ledger) (ledger.Hold, error) { return in.Hold(ctx, key, id, at) })
}

// Holds implements ledger.Ledger.
func (l *Ledger) Holds(ctx context.Context, key ledger.ID, at int64) ([]ledger.Hold, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.Hold, error) { return in.Holds(ctx, key, at) })
}

// CrowdedKeys implements ledger.Ledger.
func (l *Ledger) CrowdedKeys(at int64) ([]ledger.KeyGroups, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.KeyGroups, error) { return in.CrowdedKeys(at) })
}

// Latest implements ledger.Ledger.
func (l *Ledger) Latest(ctx context.Context) (int64, error) {
	return call(l, func(in ledger.Ledger) (int64, error) { return in.Latest(ctx) })
}

// SetClock implements ledger.Ledger.
func (l *Ledger) SetClock(ctx context.Context, at int64) error {
	return l.do(func(in ledger.Ledger) error { return in.SetClock(ctx, at) })
}

// OutdatedHolds implements ledger.Ledger.
func (l *Ledger) OutdatedHolds() (int, error) {
	return call(l, func(in ledger.Ledger) (int, error) { return in.OutdatedHolds() })
}

// PendingHolds implements ledger.Ledger.
func (l *Ledger) PendingHolds() (number int, oldest int64, err error) {
	number, err = call(l, func(in ledger.Ledger) (n int, err error) {
		n, oldest, err = in.PendingHolds()
		return n, err
	})
	return number, oldest, err
}

// ExpireHolds implements ledger.Ledger.
func (l *Ledger) ExpireHolds(ctx context.Context, at int64, limit int) (int, error) {
	return call(l, func(in ledger.Ledger) (int, error) { return in.ExpireHolds(ctx, at, limit) })
}

// Counter implements ledger.Ledger.
func (l *Ledger) Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (amount.Amount, error) {
	return call(l, func(in ledger.Ledger) (amount.Amount, error) { return in.Counter(ctx, key, counter, at) })
}

// Usage implements ledger.Ledger.
func (l *Ledger) Usage(ctx context.Context, key ledger.ID) ([]ledger.Usage, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.Usage, error) { return in.Usage(ctx, key) })
}

// Events implements ledger.Ledger.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	return call(l, func(in ledger.Ledger) (ledger.EventPage, error) { return in.Events(ctx, query) })
}

// Deploy implements ledger.Ledger.
func (l *Ledger) Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error) {
	return call(l, func(in ledger.Ledger) (ledger.Deployed, error) { return in.Deploy(ctx, d) })
}

// BindDefault implements ledger.Ledger.
func (l *Ledger) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (ledger.BoundDefault, error) {
	return call(l, func(in ledger.Ledger) (ledger.BoundDefault, error) { return in.BindDefault(ctx, d) })
}

// Policy implements ledger.Ledger.
func (l *Ledger) Policy(ctx context.Context, key ledger.ID) (ledger.StoredPolicy, error) {
	return call(l, func(in ledger.Ledger) (ledger.StoredPolicy, error) { return in.Policy(ctx, key) })
}

// Deployments implements ledger.Ledger.
func (l *Ledger) Deployments(ctx context.Context, key ledger.ID) ([]ledger.DeploymentView, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.DeploymentView, error) { return in.Deployments(ctx, key) })
}

// UseOnce implements ledger.Ledger.
func (l *Ledger) UseOnce(ctx context.Context, u *ledger.Use) error {
	return l.do(func(in ledger.Ledger) error { return in.UseOnce(ctx, u) })
}

// CreateWebhook implements ledger.Ledger.
func (l *Ledger) CreateWebhook(ctx context.Context, w ledger.Webhook) error {
	return l.do(func(in ledger.Ledger) error { return in.CreateWebhook(ctx, w) })
}

// EnableWebhook implements ledger.Ledger.
func (l *Ledger) EnableWebhook(ctx context.Context, key, id ledger.ID, at int64) error {
	return l.do(func(in ledger.Ledger) error { return in.EnableWebhook(ctx, key, id, at) })
}

// RemoveWebhook implements ledger.Ledger.
func (l *Ledger) RemoveWebhook(ctx context.Context, key, id ledger.ID, at int64) error {
	return l.do(func(in ledger.Ledger) error { return in.RemoveWebhook(ctx, key, id, at) })
}

// Webhooks implements ledger.Ledger.
func (l *Ledger) Webhooks(ctx context.Context, key ledger.ID) ([]ledger.Webhook, error) {
	return call(l, func(in ledger.Ledger) ([]ledger.Webhook, error) { return in.Webhooks(ctx, key) })
}

// Head implements ledger.Ledger.
func (l *Ledger) Head(ctx context.Context) (ledger.Head, error) {
	return call(l, func(in ledger.Ledger) (ledger.Head, error) { return in.Head(ctx) })
}

// Path implements ledger.Ledger.
func (l *Ledger) Path(ctx context.Context, lsn uint64, most int) (ledger.Path, error) {
	return call(l, func(in ledger.Ledger) (ledger.Path, error) { return in.Path(ctx, lsn, most) })
}

// Flush implements ledger.Ledger. What rode along when the ledger failed is lost, and not waited for.
func (l *Ledger) Flush(ctx context.Context) error {
	return l.do(func(in ledger.Ledger) error { return in.Flush(ctx) })
}
