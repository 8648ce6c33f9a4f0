package joining

import (
	"errors"
	"fmt"
	"iter"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// A source is the log of a slot that is read, and before it what retention has dropped from it.
type source struct {
	slot   int
	begins ledger.Head // the log
	next   func() (uint64, error, bool)
	stop   func()
	lsn    uint64
	record state.Record // the one at lsn
	chain  commit.Chain // of the groups of the log

	latest   int64 // the time at which it is: that of its latest record, or the one to which its clock was set back
	restored int   // how many restorations of it are in the log that is made
}

// errStopped says that no more records are wanted.
var errStopped = errors.New("ledger: no more records are wanted")

// newSource begins to read a slot's records from after the division.
func newSource(slot int, o *Options, begins ledger.Head, reached int64) *source {
	s := &source{slot: slot, begins: begins, latest: reached, lsn: o.Divided, chain: commit.Chain{Head: begins}}
	s.next, s.stop = iter.Pull2(func(yield func(uint64, error) bool) {
		visit := func(lsn uint64, r *state.Record) error {
			if s.record = *r; !yield(lsn, nil) {
				return errStopped
			}
			return nil
		}
		var err error
		if begins.LSN > o.Divided {
			err = o.Dropped(slot, begins, visit)
		}
		if err == nil {
			err = s.follow(o.From[slot], visit)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(0, err)
		}
	})
	return s
}

// follow reads a log from where it begins, of which each group has to follow the one before.
func (s *source) follow(log commit.Log, visit func(lsn uint64, r *state.Record) error) error {
	var problem error
	err := log.Read(s.begins.LSN+1, func(first uint64, group []byte) bool {
		if first > s.begins.LSN {
			if problem = s.chain.Next(group, visit); problem != nil && !errors.Is(problem, errStopped) {
				problem = fmt.Errorf("%w: %w", ledger.ErrCorrupt, problem)
			}
		}
		return problem == nil
	})
	return errors.Join(problem, err)
}

// advance reads the next record; false where there is none.
func (s *source) advance() (more bool, err error) {
	lsn, err, more := s.next()
	switch {
	case err != nil:
		return false, err
	case (!more || lsn != s.lsn+1) && s.lsn < s.begins.LSN:
		return false, fmt.Errorf("%w: of slot %d the records from %d on, up to %d, and no exported file that is at hand has them", ledger.ErrDropped, s.slot, s.lsn+1, s.begins.LSN)
	case !more:
		return false, nil
	case lsn != s.lsn+1:
		return false, fmt.Errorf("%w: record %d follows record %d", ledger.ErrCorrupt, lsn, s.lsn)
	}
	s.lsn = lsn
	if s.latest = max(s.latest, s.record.Now); s.record.Kind == ledger.ClockSet {
		s.latest = s.record.Now
	}
	return true, nil
}

// Before orders a heap: by time.
func (s *source) Before(other *source) bool {
	if s.record.Now != other.record.Now {
		return s.record.Now < other.record.Now
	}
	return s.slot < other.slot
}
