package commit

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// CreateKey implements ledger.Ledger.
func (l *Ledger) CreateKey(ctx context.Context, key ledger.Key) error {
	return l.step(ctx, func(r *state.Record) error {
		return l.state.CreateKey(&key, r)
	}, func(uint64) {})
}

// RevokeKey implements ledger.Ledger.
func (l *Ledger) RevokeKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error) {
	return l.stepKey(ctx, id, func(r *state.Record) error { return l.state.RevokeKey(id, at, r) })
}

// ChangeKey implements ledger.Ledger.
func (l *Ledger) ChangeKey(ctx context.Context, change ledger.KeyChange) (ledger.Key, error) {
	return l.stepKey(ctx, change.ID, func(r *state.Record) error { return l.state.ChangeKey(&change, r) })
}

// stepKey runs a step that changes a key, and returns what becomes of it.
func (l *Ledger) stepKey(ctx context.Context, id ledger.ID, fill func(*state.Record) error) (key ledger.Key, err error) {
	err = l.step(ctx, fill, func(uint64) { key, _ = l.state.Key(id) })
	if err != nil {
		return ledger.Key{}, err
	}
	return key, nil
}

// Deploy implements ledger.Ledger.
func (l *Ledger) Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error) {
	var done ledger.Deployed
	err := l.step(ctx, func(r *state.Record) (err error) {
		done, err = l.state.Deploy(d, r)
		return err
	}, func(lsn uint64) {
		done.LSN = lsn
		done.Key, _ = l.state.Key(d.Key)
	})
	if err != nil {
		return ledger.Deployed{}, err
	}
	return done, nil
}

// BindDefault implements ledger.Ledger.
func (l *Ledger) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (bound ledger.BoundDefault, err error) {
	err = l.step(ctx, func(r *state.Record) (err error) {
		bound, err = l.state.BindDefault(d, r)
		return err
	}, func(uint64) {})
	if err != nil {
		return ledger.BoundDefault{}, err
	}
	return bound, nil
}

// Policy implements ledger.Ledger.
func (l *Ledger) Policy(ctx context.Context, key ledger.ID) (p ledger.StoredPolicy, err error) {
	var known ledger.Key
	err = l.view(ctx, key, func(s *state.State) { known, _ = s.Key(key) })
	switch {
	case err != nil:
		return p, err
	case known.PolicyLSN == 0:
		return p, fmt.Errorf("%w: a policy of key %s", ledger.ErrNotFound, key)
	}
	p, err = l.DeployedPolicy(ctx, key, known.PolicyLSN)
	if errors.Is(err, ledger.ErrNotFound) {
		return p, fmt.Errorf("%w: record %d does not deploy a policy for key %s", ledger.ErrCorrupt, known.PolicyLSN, key)
	}
	return p, err
}

// DeployedPolicy implements ledger.Ledger.
func (l *Ledger) DeployedPolicy(_ context.Context, key ledger.ID, lsn uint64) (p ledger.StoredPolicy, err error) {
	found := false
	err = l.pickAt("the policy of key", key, []uint64{lsn}, func(_ int, r *state.Record) bool {
		found = r.Policy(key, &p)
		return false
	})
	switch {
	case err != nil:
		return ledger.StoredPolicy{}, err
	case !found:
		return ledger.StoredPolicy{}, fmt.Errorf("%w: record %d does not deploy a policy for key %s", ledger.ErrNotFound, lsn, key)
	}
	return p, nil
}

// Deployments implements ledger.Ledger.
func (l *Ledger) Deployments(ctx context.Context, key ledger.ID) (all []ledger.DeploymentView, err error) {
	err = l.view(ctx, key, func(s *state.State) { all = s.Deployments(key) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Halt implements ledger.Ledger.
func (l *Ledger) Halt(ctx context.Context, h *ledger.Halt) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.Halt(h, r) }, func(uint64) { l.noteHalt() })
}

// noteHalt shows how far the service is stopped. Its caller has the state to itself.
func (l *Ledger) noteHalt() {
	frozen := l.state.Frozen()
	l.frozen.Store(&frozen)
}

// Frozen implements ledger.Ledger.
func (l *Ledger) Frozen() ledger.HaltState {
	if frozen := l.frozen.Load(); frozen != nil {
		return *frozen
	}
	return ledger.HaltState{}
}

// RotateOperator implements ledger.Ledger.
func (l *Ledger) RotateOperator(ctx context.Context, q *ledger.Rotation) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.RotateOperator(q, r) }, func(uint64) { l.noteOperators() })
}

// noteOperators shows the operator's keys. Its caller has the state to itself.
func (l *Ledger) noteOperators() {
	operators := l.state.Operators()
	l.signers.Store(&operators)
}

// Operators implements ledger.Ledger.
func (l *Ledger) Operators() ledger.Operators {
	if operators := l.signers.Load(); operators != nil {
		return *operators
	}
	return ledger.Operators{}
}

// StateApprover implements ledger.Ledger.
func (l *Ledger) StateApprover(ctx context.Context, s *ledger.ApproverStatement, at int64) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.StateApprover(s, at, r) }, func(uint64) {})
}

// Approvers implements ledger.Ledger.
func (l *Ledger) Approvers(context.Context) (all []ledger.Approver, serial uint64, err error) {
	err = l.look(func(s *state.State) { all, serial = s.Approvers() })
	return all, serial, err
}

// UseOnce implements ledger.Ledger.
func (l *Ledger) UseOnce(ctx context.Context, u *ledger.Use) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.UseOnce(u, r) }, func(uint64) {})
}

// ResolveHold implements ledger.Ledger. It reads nothing after the step: an error of that would say that nothing was recorded.
func (l *Ledger) ResolveHold(ctx context.Context, q ledger.Resolution) (hold ledger.Hold, err error) {
	err = l.step(ctx, func(r *state.Record) error {
		return l.state.ResolveHold(&q, r)
	}, func(uint64) { hold, _, _ = l.state.Hold(q.Key, q.Hold, q.At) })
	if err != nil {
		return ledger.Hold{}, err
	}
	return hold, nil
}

// ExpireHolds implements ledger.Ledger.
func (l *Ledger) ExpireHolds(ctx context.Context, at int64, limit int) (int, error) {
	if at < 0 || at > ledger.MaxTime || limit < 1 {
		return 0, fmt.Errorf("%w: expiry of %d holds at %d: ask for one at least, at Unix nanoseconds", ledger.ErrInvalid, limit, at)
	}
	l.mu.Lock()
	n, commitment, err := l.expireLocked(at, limit)
	l.mu.Unlock()
	if err := l.await(ctx, commitment, err); err != nil {
		return 0, err
	}
	return n, nil
}

// expireLocked records the holds that are due and returns how many, and the commitment of the last record.
func (l *Ledger) expireLocked(at int64, limit int) (n int, commitment *ledger.Commitment, err error) {
	if err := l.refusal(); err != nil {
		return 0, nil, err
	}
	for n < limit {
		l.state.ExpireHold(at, &l.record)
		if l.record.Kind == ledger.NoRecord {
			break
		}
		if _, err := l.append(); err != nil {
			return n, nil, err
		}
		commitment = l.open().commitment
		l.closeLargeGroup()
		n++
	}
	return n, commitment, nil
}

// CrowdedKeys implements ledger.Ledger.
func (l *Ledger) CrowdedKeys(at int64) (keys []ledger.KeyGroups, err error) {
	err = l.look(func(s *state.State) { keys = s.CrowdedKeys(at) })
	return keys, err
}

// Latest implements ledger.Ledger.
func (l *Ledger) Latest(context.Context) (at int64, err error) {
	err = l.look(func(s *state.State) { at = s.Latest() })
	return at, err
}

// SetClock implements ledger.Ledger. Deliveries that would fall due later fall due now.
func (l *Ledger) SetClock(ctx context.Context, at int64) error {
	err := l.step(ctx, func(r *state.Record) error { return l.state.SetClock(at, r) }, func(uint64) {
		l.outbox.bring(at)
		l.noteHalt()
	})
	if err == nil {
		l.tell()
	}
	return err
}

// OutdatedHolds implements ledger.Ledger.
func (l *Ledger) OutdatedHolds() (n int, err error) {
	err = l.look(func(s *state.State) { n = s.OutdatedHolds() })
	return n, err
}

// PendingHolds implements ledger.Ledger.
func (l *Ledger) PendingHolds() (number int, oldest int64, err error) {
	err = l.look(func(s *state.State) { number, oldest = s.PendingHolds() })
	return number, oldest, err
}

// Head implements ledger.Ledger.
func (l *Ledger) Head(context.Context) (head ledger.Head, err error) {
	err = l.look(func(*state.State) { head = l.head })
	return head, err
}

// Flush implements ledger.Ledger.
func (l *Ledger) Flush(ctx context.Context) error {
	submitted, err := l.submitted()
	if err != nil || submitted == nil {
		return err
	}
	l.rouse()
	return submitted.Wait(ctx)
}

// submitted returns the commitment of all records there are, nil where they are durable, and has those written that would
// ride along.
func (l *Ledger) submitted() (*ledger.Commitment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusal(); err != nil {
		return nil, err
	}
	if g := l.open(); g.count > 0 {
		g.wanted = true
		l.pending.Store(true)
		return g.commitment, nil
	}
	if n := len(l.groups); n > 1 {
		return l.groups[n-2].commitment, nil
	}
	return nil, nil
}
