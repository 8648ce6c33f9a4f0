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
}

// errStopped says that no more records are wanted.
var errStopped = errors.New("ledger: no more records are wanted")

// newSource begins to read a slot's records from after the division.
func newSource(slot int, o *Options, begins ledger.Head) *source {
	s := &source{slot: slot, begins: begins, lsn: o.Divided}
	s.next, s.stop = iter.Pull2(func(yield func(uint64, error) bool) {
		took := func(lsn uint64) error {
			if !yield(lsn, nil) {
				return errStopped
			}
			return nil
		}
		var err error
		if begins.LSN > o.Divided {
			err = o.Dropped(slot, begins, func(lsn uint64, r *state.Record) error {
				s.record = *r
				return took(lsn)
			})
		}
		if err == nil {
			err = commit.Records(o.From[slot], func(uint64, *state.State) {}, func(lsn uint64, record string) error {
				if lsn <= max(o.Divided, begins.LSN) { // of the base
					return nil
				}
				if err := s.record.Decode(record); err != nil {
					return fmt.Errorf("record %d: %w", lsn, err)
				}
				return took(lsn)
			})
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(0, err)
		}
	})
	return s
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
	return true, nil
}

// Before orders a heap: by time.
func (s *source) Before(other *source) bool {
	if s.record.Now != other.record.Now {
		return s.record.Now < other.record.Now
	}
	return s.slot < other.slot
}
