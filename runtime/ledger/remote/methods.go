package remote

import (
	"context"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// methods are those that a process answers: of a ledger, but for those whose last result is no error there. Each method of Ledger asks the
// one of its name.
type methods struct{ ledger.Ledger }

func (m methods) Submit(ctx context.Context, p *ledger.Plan) (ledger.Outcome, error) {
	ticket := m.Ledger.Submit(p)
	return ticket.Outcome(), ticket.Wait(ctx)
}

// Submit implements ledger.Ledger. It returns when the record is durable, since the other process answers no sooner.
func (l *Ledger) Submit(p *ledger.Plan) ledger.Ticket {
	var out ledger.Outcome
	if err := l.ask(context.Background(), "Submit", []any{&out}, p); err != nil {
		return ledger.NewTicket(ledger.Outcome{Reservation: -1}, nil, err)
	}
	return ledger.NewTicket(out, nil, nil)
}

func (m methods) Peek(_ context.Context, p *ledger.Plan) (ledger.Outcome, error) {
	return m.Ledger.Peek(p), nil
}

// Peek implements ledger.Ledger.
func (l *Ledger) Peek(p *ledger.Plan) (out ledger.Outcome) {
	if err := l.ask(context.Background(), "Peek", []any{&out}, p); err != nil {
		return ledger.Outcome{Reservation: -1}
	}
	return out
}

// A found is a key, or none.
type found struct {
	Key ledger.Key
	OK  bool
}

func foundKey(key *ledger.Key, ok bool) (f found, err error) {
	if f.OK = ok; ok {
		f.Key = *key
	}
	return f, nil
}

func (m methods) LookupKey(_ context.Context, hash [32]byte) (found, error) {
	return foundKey(m.Ledger.LookupKey(hash))
}

// LookupKey returns the key whose secret has a hash, or why that is not known.
func (l *Ledger) LookupKey(ctx context.Context, hash [32]byte) (key *ledger.Key, ok bool, err error) {
	var f found
	err = l.ask(ctx, "LookupKey", []any{&f}, hash)
	return &f.Key, f.OK, err
}

func (m methods) LookupKeyID(_ context.Context, id ledger.ID) (found, error) {
	return foundKey(m.Ledger.LookupKeyID(id))
}

// LookupKeyID returns the key of an id, or why that is not known.
func (l *Ledger) LookupKeyID(ctx context.Context, id ledger.ID) (key *ledger.Key, ok bool, err error) {
	var f found
	err = l.ask(ctx, "LookupKeyID", []any{&f}, id)
	return &f.Key, f.OK, err
}

// Replay implements ledger.Ledger.
func (l *Ledger) Replay(ctx context.Context, key ledger.ID, lsn uint64) (answer ledger.ReplayedDecision, err error) {
	err = l.ask(ctx, "Replay", []any{&answer}, key, lsn)
	return answer, err
}

// Keys implements ledger.Ledger.
func (l *Ledger) Keys(ctx context.Context) (answer []ledger.Key, err error) {
	err = l.ask(ctx, "Keys", []any{&answer})
	return answer, err
}

// CreateKey implements ledger.Ledger.
func (l *Ledger) CreateKey(ctx context.Context, key ledger.Key) error {
	return l.ask(ctx, "CreateKey", nil, key)
}

// RevokeKey implements ledger.Ledger.
func (l *Ledger) RevokeKey(ctx context.Context, id ledger.ID, at int64) (answer ledger.Key, err error) {
	err = l.ask(ctx, "RevokeKey", []any{&answer}, id, at)
	return answer, err
}

// ChangeKey implements ledger.Ledger.
func (l *Ledger) ChangeKey(ctx context.Context, change ledger.KeyChange) (answer ledger.Key, err error) {
	err = l.ask(ctx, "ChangeKey", []any{&answer}, change)
	return answer, err
}

// Deploy implements ledger.Ledger.
func (l *Ledger) Deploy(ctx context.Context, d *ledger.Deployment) (answer ledger.Deployed, err error) {
	err = l.ask(ctx, "Deploy", []any{&answer}, d)
	return answer, err
}

// Policy implements ledger.Ledger.
func (l *Ledger) Policy(ctx context.Context, key ledger.ID) (answer ledger.StoredPolicy, err error) {
	err = l.ask(ctx, "Policy", []any{&answer}, key)
	return answer, err
}

// DeployedPolicy implements ledger.Ledger.
func (l *Ledger) DeployedPolicy(ctx context.Context, key ledger.ID, lsn uint64) (answer ledger.StoredPolicy, err error) {
	err = l.ask(ctx, "DeployedPolicy", []any{&answer}, key, lsn)
	return answer, err
}

// Deployments implements ledger.Ledger.
func (l *Ledger) Deployments(ctx context.Context, key ledger.ID) (answer []ledger.DeploymentView, err error) {
	err = l.ask(ctx, "Deployments", []any{&answer}, key)
	return answer, err
}

// ResolveHold implements ledger.Ledger.
func (l *Ledger) ResolveHold(ctx context.Context, r ledger.Resolution) (answer ledger.Hold, err error) {
	err = l.ask(ctx, "ResolveHold", []any{&answer}, r)
	return answer, err
}

// Hold implements ledger.Ledger.
func (l *Ledger) Hold(ctx context.Context, key ledger.ID, id ledger.ID, at int64) (answer ledger.Hold, err error) {
	err = l.ask(ctx, "Hold", []any{&answer}, key, id, at)
	return answer, err
}

// Holds implements ledger.Ledger.
func (l *Ledger) Holds(ctx context.Context, key ledger.ID, at int64) (answer []ledger.Hold, err error) {
	err = l.ask(ctx, "Holds", []any{&answer}, key, at)
	return answer, err
}

// Counter implements ledger.Ledger.
func (l *Ledger) Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (answer amount.Amount, err error) {
	err = l.ask(ctx, "Counter", []any{&answer}, key, counter, at)
	return answer, err
}

// Usage implements ledger.Ledger.
func (l *Ledger) Usage(ctx context.Context, key ledger.ID) (answer []ledger.Usage, err error) {
	err = l.ask(ctx, "Usage", []any{&answer}, key)
	return answer, err
}

// UseOnce implements ledger.Ledger.
func (l *Ledger) UseOnce(ctx context.Context, u *ledger.Use) error {
	return l.ask(ctx, "UseOnce", nil, u)
}

// Halt implements ledger.Ledger.
func (l *Ledger) Halt(ctx context.Context, h *ledger.Halt) error {
	return l.ask(ctx, "Halt", nil, h)
}

// RotateOperator implements ledger.Ledger.
func (l *Ledger) RotateOperator(ctx context.Context, r *ledger.Rotation) error {
	return l.ask(ctx, "RotateOperator", nil, r)
}

// StateApprover implements ledger.Ledger.
func (l *Ledger) StateApprover(ctx context.Context, s *ledger.ApproverStatement, at int64) error {
	return l.ask(ctx, "StateApprover", nil, s, at)
}

// CreateWebhook implements ledger.Ledger.
func (l *Ledger) CreateWebhook(ctx context.Context, w ledger.Webhook) error {
	return l.ask(ctx, "CreateWebhook", nil, w)
}

// RemoveWebhook implements ledger.Ledger.
func (l *Ledger) RemoveWebhook(ctx context.Context, c ledger.WebhookChange) error {
	return l.ask(ctx, "RemoveWebhook", nil, c)
}

// EnableWebhook implements ledger.Ledger.
func (l *Ledger) EnableWebhook(ctx context.Context, c ledger.WebhookChange) error {
	return l.ask(ctx, "EnableWebhook", nil, c)
}

// Webhooks implements ledger.Ledger.
func (l *Ledger) Webhooks(ctx context.Context, key ledger.ID) (answer []ledger.Webhook, err error) {
	err = l.ask(ctx, "Webhooks", []any{&answer}, key)
	return answer, err
}

// MeetTools implements ledger.Ledger.
func (l *Ledger) MeetTools(ctx context.Context, t *ledger.ToolList) error {
	return l.ask(ctx, "MeetTools", nil, t)
}

// AcceptTool implements ledger.Ledger.
func (l *Ledger) AcceptTool(ctx context.Context, d *ledger.PinDecision) error {
	return l.ask(ctx, "AcceptTool", nil, d)
}

// ForgetTools implements ledger.Ledger.
func (l *Ledger) ForgetTools(ctx context.Context, d *ledger.PinDecision) error {
	return l.ask(ctx, "ForgetTools", nil, d)
}

// Pins implements ledger.Ledger.
func (l *Ledger) Pins(ctx context.Context, key ledger.ID, server string) (answer []ledger.Pin, err error) {
	err = l.ask(ctx, "Pins", []any{&answer}, key, server)
	return answer, err
}

// Pin implements ledger.Ledger.
func (l *Ledger) Pin(ctx context.Context, key ledger.ID, server string, tool string) (answer ledger.Pin, err error) {
	err = l.ask(ctx, "Pin", []any{&answer}, key, server, tool)
	return answer, err
}

// Events implements ledger.Ledger.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (answer ledger.EventPage, err error) {
	err = l.ask(ctx, "Events", []any{&answer}, query)
	return answer, err
}

func (m methods) Head(ctx context.Context) (ledger.Head, error) { return m.Ledger.Head(ctx) }

// Head implements ledger.Ledger.
func (l *Ledger) Head(ctx context.Context) (answer ledger.Head, err error) {
	err = l.ask(ctx, "Head", []any{&answer})
	return answer, err
}

// Path implements ledger.Ledger.
func (l *Ledger) Path(ctx context.Context, lsn uint64, most int) (answer ledger.Path, err error) {
	err = l.ask(ctx, "Path", []any{&answer}, lsn, most)
	return answer, err
}

// Groups implements ledger.Ledger.
func (l *Ledger) Groups(ctx context.Context, after uint64, most int) (answer ledger.Path, end ledger.Head, err error) {
	err = l.ask(ctx, "Groups", []any{&answer, &end}, after, most)
	return answer, end, err
}

func (m methods) Beginning(context.Context) (ledger.Beginning, error) {
	return m.Ledger.Beginning(), nil
}

// Beginning implements ledger.Ledger.
func (l *Ledger) Beginning() (answer ledger.Beginning) {
	if err := l.ask(context.Background(), "Beginning", []any{&answer}); err != nil {
		return ledger.Beginning{}
	}
	return answer
}
