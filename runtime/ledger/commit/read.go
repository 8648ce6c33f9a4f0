package commit

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
	"bailiff/vm/amount"
)

var _ Confirmer = (*Ledger)(nil)

// Mark implements [Confirmer].
func (l *Ledger) Mark() uint64 {
	if log, ok := l.log.(Confirmer); ok {
		return log.Mark()
	}
	return 0
}

// Confirm implements [Confirmer]. A log that no other process can take over is always this one's.
func (l *Ledger) Confirm(mark uint64) error {
	if log, ok := l.log.(Confirmer); ok {
		return log.Confirm(mark)
	}
	return nil
}

// LookupKey implements ledger.Ledger.
func (l *Ledger) LookupKey(hash [32]byte) (*ledger.Key, bool) { return l.keys.lookup(hash) }

// LookupKeyID implements ledger.Ledger.
func (l *Ledger) LookupKeyID(id ledger.ID) (*ledger.Key, bool) { return l.keys.byID(id) }

// LogOf implements ledger.Ledger: all records are in one log.
func (l *Ledger) LogOf(ledger.ID) ledger.Log { return l }

// Keys implements ledger.Ledger.
func (l *Ledger) Keys(context.Context) ([]ledger.Key, error) {
	if err := l.look(func(*state.State) {}); err != nil {
		return nil, err
	}
	return l.keys.all(), nil
}

// Hold implements ledger.Ledger.
func (l *Ledger) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	var hold ledger.Hold
	var lsn uint64
	var found bool
	err := l.view(ctx, key, func(s *state.State) { hold, lsn, found = s.Hold(key, id, at) })
	switch {
	case err != nil:
		return ledger.Hold{}, err
	case !found:
		return ledger.Hold{}, fmt.Errorf("%w: hold %s", ledger.ErrNotFound, id)
	}
	return l.wholeHold(lsn, hold)
}

// Holds implements ledger.Ledger.
func (l *Ledger) Holds(ctx context.Context, key ledger.ID, at int64) ([]ledger.Hold, error) {
	var holds []ledger.Hold
	var lsns []uint64
	err := l.view(ctx, key, func(s *state.State) { holds, lsns = s.Holds(key, at) })
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(holds); {
		filled, err := l.bodies(lsns[i:], holds[i:])
		if err != nil {
			return nil, err
		}
		i += filled
	}
	for i := range holds {
		holds[i].Intent = nil
	}
	return holds, nil
}

// Replay implements ledger.Ledger.
func (l *Ledger) Replay(_ context.Context, key ledger.ID, lsn uint64) (decision ledger.ReplayedDecision, err error) {
	if err := l.look(func(*state.State) {}); err != nil {
		return decision, err
	}
	found := false
	err = l.pickAt("decision", lsn, []uint64{lsn}, func(_ int, r *state.Record) bool {
		found = r.Replayed(key, &decision)
		return false
	})
	switch {
	case err != nil:
		return ledger.ReplayedDecision{}, err
	case !found:
		return ledger.ReplayedDecision{}, fmt.Errorf("%w: record %d is of no decision of key %s that can be replayed", ledger.ErrNotFound, lsn, key)
	}
	return decision, nil
}

// Counter implements ledger.Ledger.
func (l *Ledger) Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (value amount.Amount, err error) {
	err = l.view(ctx, key, func(s *state.State) { value = s.Counter(key, counter, at) })
	return value, err
}

// Usage implements ledger.Ledger.
func (l *Ledger) Usage(ctx context.Context, key ledger.ID) (usage []ledger.Usage, err error) {
	err = l.view(ctx, key, func(s *state.State) { usage = s.Usage(key) })
	return usage, err
}

// look shows the state to read, where the ledger does not refuse.
func (l *Ledger) look(read func(*state.State)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusal(); err != nil {
		return err
	}
	read(l.state)
	return nil
}

// view shows the state of a key to look, and returns when all that it could see of the key is durable. After an
// error what was seen must not be told.
func (l *Ledger) view(ctx context.Context, key ledger.ID, look func(*state.State)) error {
	l.mu.Lock()
	err := l.refusal()
	var commitment *ledger.Commitment
	if err == nil {
		look(l.state)
		commitment = l.commitmentOf(key)
	}
	l.mu.Unlock()
	if commitment == nil {
		return err
	}
	err = commitment.Wait(ctx)
	if errors.Is(err, ledger.ErrUnknown) {
		return fmt.Errorf("%w: reading what may not have been kept: %v", ledger.ErrUnavailable, err) //nolint:errorlint // for a read nothing is unknown, so that ErrUnknown must not shine through
	}
	return err
}

func (l *Ledger) wholeHold(lsn uint64, hold ledger.Hold) (ledger.Hold, error) {
	holds := []ledger.Hold{hold}
	if _, err := l.bodies([]uint64{lsn}, holds); err != nil {
		return ledger.Hold{}, err
	}
	return holds[0], nil
}

// bodies reads from the log what memory does not keep of holds: of the first one, and of those after it that were
// opened in the same group. It returns how many these are. The LSNs ascend.
func (l *Ledger) bodies(lsns []uint64, holds []ledger.Hold) (filled int, err error) {
	err = l.pickAt("hold", holds[0].ID, lsns, func(i int, r *state.Record) bool {
		if !r.Body(&holds[i]) {
			return false
		}
		filled++
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case filled == 0:
		return 0, fmt.Errorf("%w: record %d does not open hold %s", ledger.ErrCorrupt, lsns[0], holds[0].ID)
	}
	return filled, nil
}

// pickAt visits records of the group that has the first of some LSNs, as pick does. what and id say in errors what is read.
func (l *Ledger) pickAt(what string, id any, lsns []uint64, visit func(i int, r *state.Record) bool) error {
	l.cutting.RLock()
	defer l.cutting.RUnlock()
	var problem, err error
	if lsns[0] <= l.base.begins().LSN {
		problem = l.base.pick(lsns, visit)
	} else {
		err = l.log.Read(lsns[0], func(_ uint64, b []byte) bool {
			problem = pick(b, lsns, visit)
			return false
		})
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: reading %s %v: %w", ledger.ErrUnavailable, what, id, err)
	case errors.Is(problem, ledger.ErrDropped):
		return fmt.Errorf("reading %s %v: %w", what, id, problem)
	case problem != nil:
		return fmt.Errorf("%w: reading %s %v: %w", ledger.ErrCorrupt, what, id, problem)
	}
	return nil
}

// pick decodes those of a group's records that are wanted, of ascending LSNs from its first wanted one on, and calls
// visit with the index of each, until visit returns false. The texts of the record are good after that.
func pick(b []byte, lsns []uint64, visit func(i int, r *state.Record) bool) error {
	s, err := parse(b)
	if err != nil {
		return err
	}
	var r state.Record
	i := 0
	return s.scan(func(lsn uint64, data string) error {
		for more := true; more && i < len(lsns) && lsn == lsns[i]; i++ {
			if err := r.Decode(data); err != nil {
				return fmt.Errorf("record %d: %w", lsn, err)
			}
			if more = visit(i, &r); !more {
				lsns = nil
			}
		}
		return nil
	})
}
