package joining

import (
	"errors"
	"fmt"
	"iter"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// A source is the log of a slot that is read.
type source struct {
	slot   int
	next   func() (uint64, error, bool)
	stop   func()
	lsn    uint64
	record state.Record // the one at lsn
}

// errStopped says that no more records are wanted.
var errStopped = errors.New("ledger: no more records are wanted")

// newSource begins to read a slot's log after the division.
func newSource(slot int, o *Options) *source {
	s := &source{slot: slot, lsn: o.Divided}
	s.next, s.stop = iter.Pull2(func(yield func(uint64, error) bool) {
		err := commit.Records(o.From[slot], func(uint64, *state.State) {}, func(lsn uint64, record string) error {
			if lsn <= o.Divided {
				return nil
			}
			err := s.record.Decode(record)
			if err != nil {
				err = fmt.Errorf("record %d: %w", lsn, err)
			} else if !yield(lsn, nil) {
				err = errStopped
			}
			return err
		})
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
	case err != nil || !more:
		return false, err
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
