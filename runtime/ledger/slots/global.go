package slots

import (
	"context"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/remote"
)

// Deploy implements ledger.Ledger. An activation that was tried in a slot is used there, or nowhere.
func (l *Ledger) Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error) {
	number, err := l.slotOfKey(d.Key)
	if err != nil {
		return ledger.Deployed{}, err
	}
	if d.Activation != nil && len(l.slots) > 1 {
		if err := l.options.Store.EnterActivation(d.Activation.ID, number); err != nil {
			return ledger.Deployed{}, err
		}
	}
	at, err := l.ask(number)
	if err != nil {
		return ledger.Deployed{}, err
	}
	return at.Deploy(ctx, d)
}

// BindDefault implements ledger.Ledger: in each slot that is here, and in those that come. A slot whose log has a policy with a higher serial
// is not served.
func (l *Ledger) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (bound ledger.BoundDefault, err error) {
	l.policy.Lock()
	defer l.policy.Unlock()
	before, some := l.policy.current, false
	l.policy.current = d // of slots that come meanwhile
	for _, s := range l.slots {
		here := s.here.Load()
		if here == nil || s.number == 0 && len(l.slots) > 1 {
			continue
		}
		b, err := here.BindDefault(ctx, d)
		switch {
		case err == nil:
			bound, some = b, true
		case s.here.Load() != here || here.Health() != nil: // it has left, and gets the policy before it serves again
		case some:
			return ledger.BoundDefault{}, fmt.Errorf("%w: some slots have the policy already: %v", ledger.ErrUnknown, err) //nolint:errorlint // as it says
		default:
			l.policy.current = before
			return ledger.BoundDefault{}, err
		}
	}
	select {
	case <-l.policy.bound:
	default:
		close(l.policy.bound)
	}
	close(l.policy.changed)
	l.policy.changed = make(chan struct{})
	return bound, nil
}

// Halt implements ledger.Ledger.
func (l *Ledger) Halt(ctx context.Context, h *ledger.Halt) error {
	if h.Key.IsZero() {
		return l.everywhere(ctx, func(c asked) error { return c.Halt(ctx, h) })
	}
	return l.tells(h.Key, func(c asked) error { return c.Halt(ctx, h) })
}

// wisest returns the ledger here that has the most of the service-wide records, nil where there is none: each slot that serves has all that
// was answered.
func (l *Ledger) wisest() *commit.Ledger {
	zero, wisest := l.slots[0].here.Load(), l.globals
	for _, s := range l.slots[1:] {
		if here := s.here.Load(); here != nil && here.Followed() > wisest.Followed() {
			wisest = here
		}
	}
	if zero == nil {
		return wisest
	}
	if head, err := zero.Head(context.Background()); wisest == nil || err == nil && head.LSN >= wisest.Followed() {
		return zero
	}
	return wisest
}

// Frozen implements ledger.Ledger. An instance that has no slot may know less than was answered, for a moment.
func (l *Ledger) Frozen() (frozen ledger.HaltState) {
	if wisest := l.wisest(); wisest != nil {
		frozen = wisest.Frozen()
	}
	return frozen
}

// RotateOperator implements ledger.Ledger.
func (l *Ledger) RotateOperator(ctx context.Context, r *ledger.Rotation) error {
	return l.everywhere(ctx, func(c asked) error { return c.RotateOperator(ctx, r) })
}

// Operators implements ledger.Ledger, as Frozen does.
func (l *Ledger) Operators() (operators ledger.Operators) {
	if wisest := l.wisest(); wisest != nil {
		operators = wisest.Operators()
	}
	return operators
}

// StateApprover implements ledger.Ledger.
func (l *Ledger) StateApprover(ctx context.Context, s *ledger.ApproverStatement, at int64) error {
	return l.everywhere(ctx, func(c asked) error { return c.StateApprover(ctx, s, at) })
}

// Approvers implements ledger.Ledger, as Frozen does.
func (l *Ledger) Approvers(ctx context.Context) (all []ledger.Approver, serial uint64, err error) {
	wisest := l.wisest()
	if wisest == nil {
		return nil, 0, ErrElsewhere
	}
	return wisest.Approvers(ctx)
}

// SetClock implements ledger.Ledger, for the slots that are here.
func (l *Ledger) SetClock(ctx context.Context, at int64) error {
	return l.each(func(c *commit.Ledger) error { return c.SetClock(ctx, at) })
}

// Answer answers what another instance asks of a slot (Options.Remote), where that is here.
func (l *Ledger) Answer(ctx context.Context, number int, question []byte) (answer []byte, err error) {
	if number < 0 || number >= len(l.slots) {
		return nil, fmt.Errorf("%w: slot %d of %d", ErrElsewhere, number, len(l.slots))
	}
	stay, ok := l.Enter(number)
	if !ok {
		return nil, fmt.Errorf("%w: slot %d", ErrElsewhere, number)
	}
	defer stay.Leave()
	here, err := l.at(number)
	if err != nil {
		return nil, err
	}
	if number == 0 {
		return remote.Answer(ctx, first{here, l}, question), nil
	}
	return remote.Answer(ctx, keyed{here, l}, question), nil
}

// keyed is the ledger of a slot that has keys, as other instances ask it.
type keyed struct {
	*commit.Ledger
	of *Ledger
}

// ResolveHold implements ledger.Ledger, and tells who waits for the hold here.
func (k keyed) ResolveHold(ctx context.Context, r ledger.Resolution) (ledger.Hold, error) {
	hold, err := k.Ledger.ResolveHold(ctx, r)
	if told := k.of.resolved.Load(); err == nil && told != nil && hold.State != ledger.HoldPending {
		(*told)(&hold)
	}
	return hold, err
}

// first is the ledger of the first slot, as other instances ask it.
type first struct {
	*commit.Ledger
	of *Ledger
}

// Halt implements ledger.Ledger.
func (f first) Halt(ctx context.Context, h *ledger.Halt) error {
	return f.of.spread(ctx, f.Ledger, func(c asked) error { return c.Halt(ctx, h) })
}

// RotateOperator implements ledger.Ledger.
func (f first) RotateOperator(ctx context.Context, r *ledger.Rotation) error {
	return f.of.spread(ctx, f.Ledger, func(c asked) error { return c.RotateOperator(ctx, r) })
}

// StateApprover implements ledger.Ledger.
func (f first) StateApprover(ctx context.Context, s *ledger.ApproverStatement, at int64) error {
	return f.of.spread(ctx, f.Ledger, func(c asked) error { return c.StateApprover(ctx, s, at) })
}
