package slots

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/remote"
	"bailiff/vm/amount"
)

// at returns the ledger of a slot.
func (l *Ledger) at(number int) (*commit.Ledger, error) {
	if here := l.slots[number].here.Load(); here != nil {
		return here, nil
	}
	if err := l.stopped(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: slot %d", ErrElsewhere, number)
}

// asked are the calls that go to the instance that has a slot.
type asked interface {
	Submit(p *ledger.Plan) ledger.Ticket
	Peek(p *ledger.Plan) ledger.Outcome
	Replay(ctx context.Context, key ledger.ID, lsn uint64) (ledger.ReplayedDecision, error)
	Keys(ctx context.Context) ([]ledger.Key, error)
	CreateKey(ctx context.Context, key ledger.Key) error
	RevokeKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error)
	ChangeKey(ctx context.Context, change ledger.KeyChange) (ledger.Key, error)
	Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error)
	Policy(ctx context.Context, key ledger.ID) (ledger.StoredPolicy, error)
	DeployedPolicy(ctx context.Context, key ledger.ID, lsn uint64) (ledger.StoredPolicy, error)
	Deployments(ctx context.Context, key ledger.ID) ([]ledger.DeploymentView, error)
	ResolveHold(ctx context.Context, r ledger.Resolution) (ledger.Hold, error)
	Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error)
	Holds(ctx context.Context, key ledger.ID, at int64) ([]ledger.Hold, error)
	Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (amount.Amount, error)
	Usage(ctx context.Context, key ledger.ID) ([]ledger.Usage, error)
	UseOnce(ctx context.Context, u *ledger.Use) error
	Halt(ctx context.Context, h *ledger.Halt) error
	RotateOperator(ctx context.Context, r *ledger.Rotation) error
	StateApprover(ctx context.Context, s *ledger.ApproverStatement, at int64) error
	CreateWebhook(ctx context.Context, w ledger.Webhook) error
	RemoveWebhook(ctx context.Context, c ledger.WebhookChange) error
	EnableWebhook(ctx context.Context, c ledger.WebhookChange) error
	Webhooks(ctx context.Context, key ledger.ID) ([]ledger.Webhook, error)
	MeetTools(ctx context.Context, t *ledger.ToolList) error
	AcceptTool(ctx context.Context, d *ledger.PinDecision) error
	ForgetTools(ctx context.Context, d *ledger.PinDecision) error
	Pins(ctx context.Context, key ledger.ID, server string) ([]ledger.Pin, error)
	Pin(ctx context.Context, key ledger.ID, server, tool string) (ledger.Pin, error)
	ledger.Log
}

// ask returns the ledger of a slot, here or at another instance.
func (l *Ledger) ask(number int) (asked, error) {
	here, err := l.at(number)
	if err == nil {
		return here, nil
	}
	if there := l.slots[number].there; there != nil && !errors.Is(err, ledger.ErrClosed) {
		return there, nil
	}
	return nil, err
}

// stopped returns ledger.ErrClosed where the instance has ended.
func (l *Ledger) stopped() error {
	select {
	case <-l.ended:
		return ledger.ErrClosed
	default:
		return nil
	}
}

// slotOfKey returns the slot of a key. That of a key that was never created is any: each of them says so.
func (l *Ledger) slotOfKey(key ledger.ID) (int, error) {
	if len(l.slots) == 1 {
		return 0, nil
	}
	if number, known := l.places.Load(key); known {
		return number.(int), nil //nolint:forcetypeassert // nothing else is stored
	}
	number, ok, err := l.options.Store.KeySlot(key)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: in which slot a key is can't be read: %w", ledger.ErrUnavailable, err)
	case ok:
		l.places.Store(key, number)
		return number, nil
	}
	for _, s := range l.slots[1:] {
		if s.here.Load() != nil {
			return s.number, nil
		}
	}
	return 1, nil
}

// of returns the ledger of a key's slot.
func (l *Ledger) of(key ledger.ID) (asked, error) {
	number, err := l.slotOfKey(key)
	if err != nil {
		return nil, err
	}
	return l.ask(number)
}

// asks asks the ledger of a key's slot.
func asks[T any](l *Ledger, key ledger.ID, ask func(asked) (T, error)) (answer T, err error) {
	here, err := l.of(key)
	if err != nil {
		return answer, err
	}
	return ask(here)
}

// tells is asks without an answer.
func (l *Ledger) tells(key ledger.ID, tell func(asked) error) error {
	here, err := l.of(key)
	if err != nil {
		return err
	}
	return tell(here)
}

// each calls visit with the ledger of each slot that is here, until it returns an error.
func (l *Ledger) each(visit func(*commit.Ledger) error) error {
	for _, here := range l.Here() {
		if err := visit(here); err != nil {
			return err
		}
	}
	return nil
}

// Submit implements ledger.Ledger.
func (l *Ledger) Submit(p *ledger.Plan) ledger.Ticket {
	here, err := l.of(p.Key)
	if err != nil {
		return ledger.NewTicket(ledger.Outcome{Reservation: -1}, nil, err)
	}
	return here.Submit(p)
}

// Peek implements ledger.Ledger.
func (l *Ledger) Peek(p *ledger.Plan) ledger.Outcome {
	here, err := l.of(p.Key)
	if err != nil {
		return ledger.Outcome{Reservation: -1}
	}
	return here.Peek(p)
}

// Replay implements ledger.Ledger.
func (l *Ledger) Replay(ctx context.Context, key ledger.ID, lsn uint64) (ledger.ReplayedDecision, error) {
	return asks(l, key, func(c asked) (ledger.ReplayedDecision, error) { return c.Replay(ctx, key, lsn) })
}

// LookupKey implements ledger.Ledger. A key whose slot can't be asked is not found, and then Confirm confirms nothing that was seen meanwhile.
func (l *Ledger) LookupKey(hash [32]byte) (*ledger.Key, bool) {
	number := l.Of(hash)
	if here, err := l.at(number); err == nil {
		return here.LookupKey(hash)
	}
	return l.lookUp(number, func(ctx context.Context, there *remote.Ledger) (*ledger.Key, bool, error) {
		return there.LookupKey(ctx, hash)
	})
}

// LookupKeyID implements ledger.Ledger, as LookupKey does.
func (l *Ledger) LookupKeyID(id ledger.ID) (*ledger.Key, bool) {
	number, err := l.slotOfKey(id)
	if err != nil {
		l.doubts.Add(1)
		return nil, false
	}
	if here, err := l.at(number); err == nil {
		return here.LookupKeyID(id)
	}
	return l.lookUp(number, func(ctx context.Context, there *remote.Ledger) (*ledger.Key, bool, error) {
		return there.LookupKeyID(ctx, id)
	})
}

// lookUp looks a key up at the instance that has its slot.
func (l *Ledger) lookUp(number int, ask func(context.Context, *remote.Ledger) (*ledger.Key, bool, error)) (*ledger.Key, bool) {
	s := l.slots[number]
	if s.there == nil {
		l.doubt(s)
		return nil, false
	}
	key, ok, err := ask(context.Background(), s.there)
	if err != nil {
		l.doubt(s)
		return nil, false
	}
	return key, ok
}

// doubt notes that a key of a slot could not be looked up: what follows from that is not confirmed.
func (l *Ledger) doubt(s *slot) {
	s.doubts.Add(1)
	l.doubts.Add(1)
}

// Keys implements ledger.Ledger. Where a slot can't be asked there is no list.
func (l *Ledger) Keys(ctx context.Context) (all []ledger.Key, err error) {
	for _, s := range l.slots {
		if s.number == 0 && len(l.slots) > 1 {
			continue
		}
		at, err := l.ask(s.number)
		if err != nil {
			return nil, err
		}
		keys, err := at.Keys(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

// CreateKey implements ledger.Ledger.
func (l *Ledger) CreateKey(ctx context.Context, key ledger.Key) error {
	number := l.Of(key.Hash)
	at, err := l.ask(number)
	if err != nil {
		return err
	}
	if len(l.slots) > 1 {
		if err := key.Validate(); err != nil {
			return err
		}
		if err := l.options.Store.EnterKey(key.ID, key.Hash, number); err != nil {
			return err
		}
	}
	return at.CreateKey(ctx, key)
}

// RevokeKey implements ledger.Ledger.
func (l *Ledger) RevokeKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error) {
	return asks(l, id, func(c asked) (ledger.Key, error) { return c.RevokeKey(ctx, id, at) })
}

// ChangeKey implements ledger.Ledger.
func (l *Ledger) ChangeKey(ctx context.Context, change ledger.KeyChange) (ledger.Key, error) {
	return asks(l, change.ID, func(c asked) (ledger.Key, error) { return c.ChangeKey(ctx, change) })
}

// Policy implements ledger.Ledger.
func (l *Ledger) Policy(ctx context.Context, key ledger.ID) (ledger.StoredPolicy, error) {
	return asks(l, key, func(c asked) (ledger.StoredPolicy, error) { return c.Policy(ctx, key) })
}

// DeployedPolicy implements ledger.Ledger.
func (l *Ledger) DeployedPolicy(ctx context.Context, key ledger.ID, lsn uint64) (ledger.StoredPolicy, error) {
	return asks(l, key, func(c asked) (ledger.StoredPolicy, error) { return c.DeployedPolicy(ctx, key, lsn) })
}

// Deployments implements ledger.Ledger.
func (l *Ledger) Deployments(ctx context.Context, key ledger.ID) ([]ledger.DeploymentView, error) {
	return asks(l, key, func(c asked) ([]ledger.DeploymentView, error) { return c.Deployments(ctx, key) })
}

// ResolveHold implements ledger.Ledger.
func (l *Ledger) ResolveHold(ctx context.Context, r ledger.Resolution) (ledger.Hold, error) {
	return asks(l, r.Key, func(c asked) (ledger.Hold, error) { return c.ResolveHold(ctx, r) })
}

// Hold implements ledger.Ledger.
func (l *Ledger) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	return asks(l, key, func(c asked) (ledger.Hold, error) { return c.Hold(ctx, key, id, at) })
}

// Holds implements ledger.Ledger.
func (l *Ledger) Holds(ctx context.Context, key ledger.ID, at int64) ([]ledger.Hold, error) {
	return asks(l, key, func(c asked) ([]ledger.Hold, error) { return c.Holds(ctx, key, at) })
}

// OutdatedHolds implements ledger.Ledger, for the slots that are here.
func (l *Ledger) OutdatedHolds() (total int, err error) {
	err = l.each(func(c *commit.Ledger) error {
		n, err := c.OutdatedHolds()
		total += n
		return err
	})
	return total, err
}

// PendingHolds implements ledger.Ledger, for the slots that are here.
func (l *Ledger) PendingHolds() (number int, oldest int64, err error) {
	err = l.each(func(c *commit.Ledger) error {
		n, at, err := c.PendingHolds()
		number += n
		if at != 0 && (oldest == 0 || at < oldest) {
			oldest = at
		}
		return err
	})
	return number, oldest, err
}

// ExpireHolds implements ledger.Ledger, for the slots that are here.
func (l *Ledger) ExpireHolds(ctx context.Context, at int64, limit int) (total int, err error) {
	if limit < 1 {
		return 0, fmt.Errorf("%w: expiry of %d holds: ask for one at least", ledger.ErrInvalid, limit)
	}
	err = l.each(func(c *commit.Ledger) error {
		if total >= limit {
			return nil
		}
		n, err := c.ExpireHolds(ctx, at, limit-total)
		total += n
		return err
	})
	return total, err
}

// Counter implements ledger.Ledger.
func (l *Ledger) Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (amount.Amount, error) {
	return asks(l, key, func(c asked) (amount.Amount, error) { return c.Counter(ctx, key, counter, at) })
}

// Usage implements ledger.Ledger.
func (l *Ledger) Usage(ctx context.Context, key ledger.ID) ([]ledger.Usage, error) {
	return asks(l, key, func(c asked) ([]ledger.Usage, error) { return c.Usage(ctx, key) })
}

// CrowdedKeys implements ledger.Ledger, for the slots that are here.
func (l *Ledger) CrowdedKeys(at int64) (all []ledger.KeyGroups, err error) {
	err = l.each(func(c *commit.Ledger) error {
		keys, err := c.CrowdedKeys(at)
		all = append(all, keys...)
		return err
	})
	return all, err
}

// UseOnce implements ledger.Ledger.
func (l *Ledger) UseOnce(ctx context.Context, u *ledger.Use) error {
	return l.tells(u.Key, func(c asked) error { return c.UseOnce(ctx, u) })
}

// Latest implements ledger.Ledger, for the slots that are here.
func (l *Ledger) Latest(ctx context.Context) (latest int64, err error) {
	err = l.each(func(c *commit.Ledger) error {
		at, err := c.Latest(ctx)
		latest = max(latest, at)
		return err
	})
	return latest, err
}

// CreateWebhook implements ledger.Ledger.
func (l *Ledger) CreateWebhook(ctx context.Context, w ledger.Webhook) error {
	return l.tells(w.Key, func(c asked) error { return c.CreateWebhook(ctx, w) })
}

// RemoveWebhook implements ledger.Ledger.
func (l *Ledger) RemoveWebhook(ctx context.Context, w ledger.WebhookChange) error {
	return l.tells(w.Key, func(c asked) error { return c.RemoveWebhook(ctx, w) })
}

// EnableWebhook implements ledger.Ledger.
func (l *Ledger) EnableWebhook(ctx context.Context, w ledger.WebhookChange) error {
	return l.tells(w.Key, func(c asked) error { return c.EnableWebhook(ctx, w) })
}

// Webhooks implements ledger.Ledger.
func (l *Ledger) Webhooks(ctx context.Context, key ledger.ID) ([]ledger.Webhook, error) {
	return asks(l, key, func(c asked) ([]ledger.Webhook, error) { return c.Webhooks(ctx, key) })
}

// Due implements ledger.Ledger, for the slots that are here.
func (l *Ledger) Due(ctx context.Context, at int64, limit int) (due []ledger.Delivery, next int64, err error) {
	for _, s := range l.slots {
		here, opening := s.hereNow()
		if here == nil {
			continue
		}
		if len(due) > 0 && len(due) == limit {
			return due, at, nil // there may be more
		}
		some, later, err := here.Due(ctx, at, limit-len(due))
		for i := range some {
			some[i].Opening = opening
		}
		due = append(due, some...)
		if later != 0 && (next == 0 || later < next) {
			next = later
		}
		if err != nil {
			return due, next, err
		}
	}
	return due, next, nil
}

// hereNow returns the slot's ledger, nil where it is not here, and which time it is here.
func (s *slot) hereNow() (here *commit.Ledger, opening uint64) {
	for {
		here, opening = s.here.Load(), s.opening.Load()
		if s.here.Load() == here {
			return here, opening
		}
	}
}

// Has implements ledger.Ledger.
func (l *Ledger) Has(d *ledger.Delivery) bool {
	number, err := l.slotOfKey(d.Webhook.Key)
	if err != nil {
		return false
	}
	here, opening := l.slots[number].hereNow()
	return here != nil && opening == d.Opening
}

// SettleDelivery implements ledger.Ledger, for the slots that are here: one that has left makes the delivery again where it is.
func (l *Ledger) SettleDelivery(r ledger.DeliveryResult) error {
	number, err := l.slotOfKey(r.Key)
	if err != nil {
		return err
	}
	here, err := l.at(number)
	if err != nil {
		return err
	}
	return here.SettleDelivery(r)
}

// Outboxed implements ledger.Ledger, for the slots that are here.
func (l *Ledger) Outboxed() <-chan struct{} { return l.told }

// MeetTools implements ledger.Ledger.
func (l *Ledger) MeetTools(ctx context.Context, t *ledger.ToolList) error {
	return l.tells(t.Key, func(c asked) error { return c.MeetTools(ctx, t) })
}

// AcceptTool implements ledger.Ledger.
func (l *Ledger) AcceptTool(ctx context.Context, d *ledger.PinDecision) error {
	return l.tells(d.Key, func(c asked) error { return c.AcceptTool(ctx, d) })
}

// ForgetTools implements ledger.Ledger.
func (l *Ledger) ForgetTools(ctx context.Context, d *ledger.PinDecision) error {
	return l.tells(d.Key, func(c asked) error { return c.ForgetTools(ctx, d) })
}

// Pins implements ledger.Ledger.
func (l *Ledger) Pins(ctx context.Context, key ledger.ID, server string) ([]ledger.Pin, error) {
	return asks(l, key, func(c asked) ([]ledger.Pin, error) { return c.Pins(ctx, key, server) })
}

// Pin implements ledger.Ledger.
func (l *Ledger) Pin(ctx context.Context, key ledger.ID, server, tool string) (ledger.Pin, error) {
	return asks(l, key, func(c asked) (ledger.Pin, error) { return c.Pin(ctx, key, server, tool) })
}

// Events implements ledger.Ledger.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if query.Key.IsZero() && len(l.slots) > 1 {
		return l.eventsOfAll(ctx, query)
	}
	at, err := l.of(query.Key)
	if err != nil {
		return ledger.EventPage{}, err
	}
	return l.logOf(at).Events(ctx, query)
}

// LogOf implements ledger.Ledger.
func (l *Ledger) LogOf(key ledger.ID) ledger.Log {
	if key.IsZero() {
		return l
	}
	at, err := l.of(key)
	if err != nil {
		return unread{err}
	}
	return l.logOf(at)
}

// An unread log can't be read.
type unread struct{ err error }

func (u unread) Events(context.Context, ledger.EventQuery) (ledger.EventPage, error) {
	return ledger.EventPage{}, u.err
}

func (unread) Beginning() ledger.Beginning { return ledger.Beginning{} }

func (u unread) Head(context.Context) (ledger.Head, error) { return ledger.Head{}, u.err }

func (u unread) Path(context.Context, uint64, int) (ledger.Path, error) {
	return ledger.Path{}, u.err
}

func (u unread) Groups(context.Context, uint64, int) (ledger.Path, ledger.Head, error) {
	return ledger.Path{}, ledger.Head{}, u.err
}

// only returns the ledger of a store that has one slot.
func (l *Ledger) only() (*commit.Ledger, error) {
	if len(l.slots) > 1 {
		return nil, errSeveral
	}
	return l.at(0)
}

// Head implements ledger.Ledger, for a store of one slot.
func (l *Ledger) Head(ctx context.Context) (ledger.Head, error) {
	c, err := l.only()
	if err != nil {
		return ledger.Head{}, err
	}
	return c.Head(ctx)
}

// Groups implements ledger.Ledger, for a store of one slot.
func (l *Ledger) Groups(ctx context.Context, after uint64, most int) (ledger.Path, ledger.Head, error) {
	c, err := l.only()
	if err != nil {
		return ledger.Path{}, ledger.Head{}, err
	}
	return c.Groups(ctx, after, most)
}

// Retain implements ledger.Ledger, for a store of one slot.
func (l *Ledger) Retain(ctx context.Context, q *ledger.Retention) (*ledger.Drop, error) {
	c, err := l.only()
	if err != nil {
		return nil, err
	}
	return c.Retain(ctx, q)
}

// Beginning implements ledger.Ledger, for a store of one slot. Of several, LogOf has those of each log.
func (l *Ledger) Beginning() ledger.Beginning {
	c, err := l.only()
	if err != nil {
		return ledger.Beginning{}
	}
	return c.Beginning()
}

// ReadBase implements ledger.Ledger, for a store of one slot.
func (l *Ledger) ReadBase(of uint64, at int64, most int) (part, group []byte, size int64, err error) {
	c, err := l.only()
	if err != nil {
		return nil, nil, 0, err
	}
	return c.ReadBase(of, at, most)
}

// Flush implements ledger.Ledger, for the slots that are here.
func (l *Ledger) Flush(ctx context.Context) error {
	return l.each(func(c *commit.Ledger) error { return c.Flush(ctx) })
}

// Health implements ledger.Ledger. It returns the faults of the slots that are here.
func (l *Ledger) Health() (err error) {
	if err := l.stopped(); err != nil {
		return err
	}
	for _, s := range l.slots {
		if here := s.here.Load(); here != nil {
			if fault := here.Health(); fault != nil {
				err = errors.Join(err, fmt.Errorf("slot %d: %w", s.number, fault))
			}
		}
	}
	return err
}

// Close implements ledger.Ledger. Options.Stop has to be closed: Close returns when all slots are handed over.
func (l *Ledger) Close() error {
	<-l.ended
	return nil
}
