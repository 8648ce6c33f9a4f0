package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// saidAgain is how long a slot may stay lost for one reason before the log says so again.
const saidAgain = time.Minute

// keep opens the ledger of a slot when it is this instance's, and closes it when it is to be handed over, until the instance ends.
func (l *Ledger) keep(s *slot, source Slot) {
	select {
	case <-l.policy.bound: // before it is ready an instance takes nothing from those that are
	case <-l.options.Stop:
		return
	}
	said, silent := "", time.Duration(0)
	for {
		err := l.hold(s, source)
		var refused *refusedError
		select {
		case <-l.options.Stop:
			return
		default:
		}
		switch {
		case errors.Is(err, ledger.ErrLocked):
			if l.options.Replaced != nil {
				l.options.Replaced(err)
			}
			return
		case errors.As(err, &refused):
			if !l.waitsFor(s, refused) {
				return
			}
			continue
		case err == nil:
			continue
		}
		if silent += l.options.Every; err.Error() != said || silent >= saidAgain {
			l.options.Log.Warn("a slot is not this instance's any more, or can't be opened", "slot", s.number, "reason", err)
			said, silent = err.Error(), 0
		}
		pause := l.options.Timers.Alarm(l.options.Every)
		select {
		case <-l.options.Stop:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// hold opens the ledger of a slot, and has it serve.
func (l *Ledger) hold(s *slot, source Slot) error {
	opened, failed, err := source.Open(l.options.Commit, l.options.Stop)
	if err != nil {
		return err
	}
	if err := l.prepare(s, opened); err != nil {
		return cmp.Or(err, opened.Close())
	}
	return l.serves(s, source, opened, failed)
}

// A refusedError says that a slot has refused the default policy; changed is closed when there is another one.
type refusedError struct {
	error
	changed <-chan struct{}
}

// waitsFor leaves a slot that has refused the default policy to other instances until there is another policy, and reports false where the instance
// ends before.
func (l *Ledger) waitsFor(s *slot, refused *refusedError) bool {
	l.options.Log.Error("a slot is left to other instances: it refuses the default policy", "slot", s.number, "reason", refused)
	s.refuses.Store(true)
	l.options.Store.Listen(s.number, true)
	select {
	case <-l.options.Stop:
		return false
	case <-refused.changed:
	}
	s.refuses.Store(false)
	l.options.Store.Listen(s.number, false)
	return true
}

// Refusing returns how many slots refuse this instance's default policy.
func (l *Ledger) Refusing() (n int) {
	for _, s := range l.slots {
		if s.refuses.Load() {
			n++
		}
	}
	return n
}

// prepare copies the service-wide records into the ledger of a slot, and has it serve then.
func (l *Ledger) prepare(s *slot, opened *commit.Ledger) error {
	ctx, end := context.Background(), uint64(0)
	if l.options.Opened != nil {
		if err := l.options.Opened(s.number, opened); err != nil {
			return err
		}
	}
	if s.number > 0 {
		var err error
		if end, err = l.options.Store.End(); err == nil {
			err = opened.Follow(ctx, l.options.Store, end)
		}
		if err == nil {
			err = l.options.Store.NoteFollowed(s.number, end)
		}
		if err != nil {
			return fmt.Errorf("following the first slot: %w", err)
		}
	}
	l.policy.Lock()
	defer l.policy.Unlock()
	if l.policy.current != nil && (s.number > 0 || len(l.slots) == 1) {
		bound, err := opened.BindDefault(ctx, l.policy.current)
		switch {
		case errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrUnknown):
			return fmt.Errorf("the default policy: %w", err)
		case err != nil:
			if l.options.Refused != nil {
				err = l.options.Refused(err)
			}
			return &refusedError{err, l.policy.changed}
		case l.options.Bound != nil:
			l.options.Bound(s.number, bound)
		}
	}
	s.serve(opened, end)
	return nil
}

// serves has requests ask a ledger until it is to be handed over, is lost, or the instance ends; then it closes it.
func (l *Ledger) serves(s *slot, source Slot, opened *commit.Ledger, failed <-chan struct{}) (err error) {
	left := make(chan struct{})
	defer close(left)
	if s.number > 0 {
		l.options.Go(func() {
			l.follow(s.poke, left, func(upto uint64) {
				if err := l.copy(s, opened, upto); err != nil && opened.Health() == nil {
					l.options.Log.Warn("service-wide records are not in force in a slot yet", "slot", s.number, "error", err)
				}
			})
		})
	}
	l.options.Go(func() {
		for {
			select {
			case <-opened.Outboxed():
				l.tell()
			case <-left:
				return
			}
		}
	})
	select {
	case <-source.Leaves():
		source.Leaving()
	case <-failed:
		err = opened.Health()
	case <-l.options.Stop:
	}
	late := l.options.Timers.Alarm(l.options.Patience)
	select {
	case <-s.leaves():
	case <-late.C:
	}
	late.Stop()
	l.leave(s, opened)
	return cmp.Or(err, opened.Close())
}

// leave has a slot's ledger not asked any more. Where it may not have been this instance's to the last, nothing is confirmed that was seen
// meanwhile.
func (l *Ledger) leave(s *slot, opened *commit.Ledger) {
	l.moving.Lock()
	l.moving.number++
	s.here.Store(nil)
	l.moving.Unlock()
	lost := opened.Confirm(opened.Mark()) != nil
	l.moving.Lock()
	defer l.moving.Unlock()
	if lost {
		l.doubts.Add(1)
	}
	l.moving.number--
	l.moving.none.Broadcast()
}

func (l *Ledger) tell() {
	select {
	case l.told <- struct{}{}:
	default: // it has been told and has not looked yet
	}
}

// follow calls copy with the LSN of the last service-wide record as it is known, again and again, until left or Options.Stop is closed. A
// value of poke has it look at once.
func (l *Ledger) follow(poke, left <-chan struct{}, copy func(upto uint64)) {
	for {
		pause := l.options.Timers.Alarm(l.options.Every)
		select {
		case <-l.options.Stop:
			pause.Stop()
			return
		case <-left:
			pause.Stop()
			return
		case <-poke:
		case <-pause.C:
		}
		pause.Stop()
		seen := l.options.Store.Seen()
		if zero := l.slots[0].here.Load(); zero != nil {
			if head, err := zero.Head(context.Background()); err == nil {
				seen = max(seen, head.LSN)
			}
		}
		copy(seen)
	}
}

// followGlobals has this instance know the service-wide records as they come.
func (l *Ledger) followGlobals() {
	l.follow(nil, nil, func(upto uint64) {
		if err := l.globals.Follow(context.Background(), l.options.Store, upto); err != nil {
			l.options.Log.Warn("service-wide records can't be read", "error", err)
		}
	})
}

// copy copies the service-wide records into a slot's ledger, up to one.
func (l *Ledger) copy(s *slot, here *commit.Ledger, upto uint64) error {
	s.mu.Lock()
	noted := s.noted
	s.mu.Unlock()
	if err := here.Follow(context.Background(), l.options.Store, upto); err != nil || upto <= noted {
		return err
	}
	if err := l.options.Store.NoteFollowed(s.number, upto); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = upto
	return nil
}

// everywhere has the instance that has the first slot write a service-wide record to it, and returns when it is in force in all slots.
func (l *Ledger) everywhere(ctx context.Context, record func(asked) error) error {
	at, err := l.ask(0)
	if err != nil {
		return err
	}
	if first, here := at.(*commit.Ledger); here {
		return l.spread(ctx, first, record)
	}
	return record(at)
}

// spread writes a service-wide record to the first slot, which is here, and returns when it is in force in all slots.
func (l *Ledger) spread(ctx context.Context, first *commit.Ledger, record func(asked) error) error {
	if err := record(first); err != nil || len(l.slots) == 1 {
		return err
	}
	head, err := first.Head(ctx)
	if err != nil {
		return fmt.Errorf("%w: %v", ledger.ErrUnknown, err) //nolint:errorlint // it is recorded
	}
	late := l.options.Timers.Alarm(l.options.GlobalPatience)
	defer late.Stop()
	for {
		for _, s := range l.slots {
			select {
			case s.poke <- struct{}{}:
			default: // it is awake, or not here
			}
		}
		behind, err := l.options.Store.Behind(head.LSN)
		if err == nil && len(behind) == 0 {
			return nil
		}
		again := l.options.Timers.Alarm(min(l.options.Every, 20*time.Millisecond))
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		case <-late.C:
		}
		again.Stop()
		return fmt.Errorf("%w: it is recorded, and not in force in the slots %v yet: %v", ledger.ErrUnknown, behind, err) //nolint:errorlint // as above
	}
}
