package ledger

import (
	"bytes"
	"fmt"
	"time"

	"bailiff/vm/amount"
)

// A Restoration begins a new stream of a log that was restored from a backup: later records are lost
// (specification, backup.3).
type Restoration struct {
	At     int64    // when it was restored: Unix nanoseconds
	Taken  int64    // when the backup was taken: Unix seconds
	Before [16]byte // the stream of the backup
	// KeepCounters has the counters of open windows go on from where the backup has them. Else they are used up.
	KeepCounters bool
	// Thawed has the service go on. Else it is frozen: the backup may lack a revocation.
	Thawed bool
}

// Reason says in the event of a restoration, and of the freeze that comes with it, what happened.
func (v *Restoration) Reason() string {
	return "restored from a backup of " + time.Unix(v.Taken, 0).UTC().Format(time.RFC3339)
}

// UsedUp is the value of a counter whose window was open when the log was restored: above every limit.
var UsedUp = amount.FromBytes32([32]byte(bytes.Repeat([]byte{0xff}, 32)))

// Validate returns an error that wraps [ErrInvalid] and names the first part of v that no ledger would record.
func (v *Restoration) Validate() error {
	switch {
	case v.At < 1 || v.At > MaxTime:
		return fmt.Errorf("%w: a restoration at %d: use Unix nanoseconds", ErrInvalid, v.At)
	case v.Taken < 0 || v.Taken > v.At/1e9:
		return fmt.Errorf("%w: a backup of the time %d, restored at %d: set the clock", ErrInvalid, v.Taken, v.At/1e9)
	}
	return nil
}
