package state

import (
	"fmt"

	"bailiff/runtime/ledger"
)

// A store of several slots has a log for each. Service-wide records (freezes, approvers, the operator's key) are written to the first one, and
// copied into the others, so that each log has all that its decisions rest on.

// Follows reports whether r is of a kind that is copied.
func (r *Record) Follows() bool {
	switch r.Kind {
	case ledger.ServiceFrozen, ledger.ServiceThawed, ledger.OperatorRotated,
		ledger.ApproverConfirmed, ledger.ApproverSuspended, ledger.ApproverResumed, ledger.ApproverRemoved:
		return true
	}
	return false
}

// Follow fills in the record that copies another log's, which has an LSN there; r.Kind is NoRecord where it was copied before, or is of a
// kind that concerns that log alone. An error says that the record can't follow those that were copied before.
func (s *State) Follow(lsn uint64, from, r *Record) (err error) {
	r.reset()
	if lsn <= s.followed || !from.Follows() {
		return nil
	}
	switch from.Kind {
	case ledger.ServiceFrozen, ledger.ServiceThawed:
		r.Halt = from.Halt
	case ledger.OperatorRotated:
		r.Rotation, err = from.Rotation, s.admitsRotation(from.Rotation)
	default:
		r.Approver, err = from.Approver, s.approvers.admits(from.Approver)
	}
	if err != nil {
		return fmt.Errorf("%w: record %d of the log that is followed: %w", ledger.ErrCorrupt, lsn, err)
	}
	r.Kind, r.Now, r.Origin = from.Kind, from.Now, lsn
	return nil
}

// Followed returns the LSN of the latest record that was copied from another log, 0 where none was.
func (s *State) Followed() uint64 { return s.followed }
