package commit

import (
	"context"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// step runs one of the rarer steps: fill puts a record into l.record, and applied looks at what it has changed, under
// the LSN. It returns when the record is durable, or, where fill refuses, when what the refusal may rest on is.
func (l *Ledger) step(ctx context.Context, fill func(*state.Record) error, applied func(lsn uint64)) error {
	l.mu.Lock()
	commitment, err := l.stepLocked(fill, applied)
	l.mu.Unlock()
	return l.await(ctx, commitment, err)
}

// await wakes the committer and returns when commitment, where there is one, is durable: err, or why it is not.
func (l *Ledger) await(ctx context.Context, commitment *ledger.Commitment, err error) error {
	l.rouse()
	if commitment != nil {
		if waitErr := commitment.Wait(ctx); waitErr != nil {
			return waitErr
		}
	}
	return err
}

// stepLocked returns the commitment to wait for, and the error to return after that.
func (l *Ledger) stepLocked(fill func(*state.Record) error, applied func(lsn uint64)) (*ledger.Commitment, error) {
	if err := l.refusal(); err != nil {
		return nil, err
	}
	if err := fill(&l.record); err != nil || l.record.Kind == ledger.NoRecord {
		return l.lastWanted(), err
	}
	lsn, err := l.append()
	if err != nil {
		return nil, err
	}
	applied(lsn)
	commitment := l.open().commitment
	l.closeLargeGroup()
	return commitment, nil
}

// lastWanted returns the commitment of the last group with a record that somebody may rest on, whatever its key, nil
// where all of them are durable.
func (l *Ledger) lastWanted() *ledger.Commitment {
	for i := len(l.groups) - 1; i >= 0; i-- {
		if l.groups[i].wanted {
			return l.groups[i].commitment
		}
	}
	return nil
}
