package commit

import (
	"context"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A Source is a log that another one follows.
type Source interface {
	// Read is that of [Log].
	Read(from uint64, yield func(first uint64, group []byte) bool) error
}

// Follow copies the service-wide records from the log of a store's first slot, up to one that is known to be there, and returns when that is
// durable. None is copied twice. The error wraps ledger.ErrUnavailable where the source lacks the record, and
// ledger.ErrCorrupt where its records can't follow those that were copied.
func (l *Ledger) Follow(ctx context.Context, source Source, upto uint64) error {
	l.following.Lock()
	defer l.following.Unlock()
	l.mu.Lock()
	at, err := l.followed.Load(), l.refusal()
	l.mu.Unlock()
	if err != nil || at >= upto {
		return err
	}
	var r state.Record
	var last *ledger.Commitment
	var problem error
	err = source.Read(at+1, func(first uint64, b []byte) bool {
		var s sealed
		if s, problem = parse(b); problem != nil {
			problem = fmt.Errorf("%w: group %d of the log that is followed: %w", ledger.ErrCorrupt, first, problem)
			return false
		}
		problem = s.each(&r, func(lsn uint64) (err error) {
			if lsn > at {
				at = lsn
				last, err = l.copyRecord(lsn, &r)
			}
			return err
		})
		return problem == nil && at < upto
	})
	switch {
	case problem != nil:
		return problem
	case err != nil:
		return fmt.Errorf("%w: reading the log that is followed: %w", ledger.ErrUnavailable, err)
	case at < upto:
		return fmt.Errorf("%w: the log that is followed ends with record %d, and %d was confirmed", ledger.ErrUnavailable, at, upto)
	}
	if err := l.await(ctx, last, nil); err != nil {
		return err
	}
	l.followed.Store(at)
	return nil
}

// Followed returns the LSN up to which Follow has copied the other log.
func (l *Ledger) Followed() uint64 { return l.followed.Load() }

// copyRecord copies a record of the log that is followed, and returns the commitment to wait for.
func (l *Ledger) copyRecord(lsn uint64, from *state.Record) (*ledger.Commitment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stepLocked(func(r *state.Record) error { return l.state.Follow(lsn, from, r) }, func(uint64) {
		l.noteHalt()
		l.noteOperators()
	})
}
