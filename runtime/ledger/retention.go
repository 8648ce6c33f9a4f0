package ledger

import (
	"errors"
	"fmt"
)

// A Drop says what retention takes from the beginning of a log (specification, retention.3).
type Drop struct {
	At      int64 // Unix nanoseconds
	Through Head  // the end of the last group that is dropped
	// Base is the SHA-256 of the base: the state that replay starts from, and the records that it still needs.
	Base [32]byte
	// Export is the SHA-256 of the file that has the groups from the earlier beginning to Through.
	Export [32]byte
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of d that no ledger would record.
func (d *Drop) Validate() error {
	switch {
	case d.At < 1 || d.At > MaxTime:
		return fmt.Errorf("%w: events dropped at %d: use Unix nanoseconds", ErrInvalid, d.At)
	case d.Through.LSN < 1 || d.Through.LSN > MaxLSN:
		return fmt.Errorf("%w: events dropped up to record %d", ErrInvalid, d.Through.LSN)
	}
	return nil
}

// ErrDropped is an ErrNotFound: retention has dropped the record.
var ErrDropped = fmt.Errorf("%w: retention has dropped it", ErrNotFound)

// ErrNotRetained says that a ledger cannot drop old groups: its log has no way to.
var ErrNotRetained = errors.New("ledger: this log cannot drop records")

// A Retention asks for old groups to be exported and then dropped.
type Retention struct {
	Before int64  // records of this time and later stay: Unix nanoseconds
	Now    int64  // the time; what claims to be later has a wrong clock, and stays no longer than its neighbours
	Keep   uint64 // records after this LSN stay
	Most   int64  // how many bytes of groups one pass takes, or one group where that is larger

	// Export begins the file that gets the groups that follow from.
	Export func(from Head) (Exporter, error)
	// Sign returns the retention checkpoint, which the log keeps at its beginning.
	Sign func(*Drop) ([]byte, error)
	// Reached is called after each step; an error ends the pass there, and the next pass begins anew. nil for nothing.
	Reached func(RetentionStep) error
}

// An Exporter writes one exported file.
type Exporter interface {
	// Add writes the next group.
	Add(group []byte) error
	// Close makes the file durable under its name, where it is whole, and returns its SHA-256. It removes it where that fails.
	Close(end Head) (sum [32]byte, err error)
	// Abandon removes the written files.
	Abandon()
}

// A RetentionStep is a point in a retention pass after which something of it is on the disk.
type RetentionStep string

// The steps, in their order.
const (
	ExportWritten RetentionStep = "the export is written, not synced"
	ExportSynced  RetentionStep = "the export is synced, without its name"
	ExportNamed   RetentionStep = "the export has its name"
	BaseWritten   RetentionStep = "the base is written, not synced"
	BaseSynced    RetentionStep = "the base is synced, without its name"
	BaseNamed     RetentionStep = "the base has its name"
	DropRecorded  RetentionStep = "the record of the drop is durable"
	DropWritten   RetentionStep = "the groups are dropped, not synced"
	DropSynced    RetentionStep = "the groups are dropped"
	SpaceFreed    RetentionStep = "the space of the groups is free"
	OldBaseGone   RetentionStep = "the base before is removed"
)

// RetentionSteps are all of them.
var RetentionSteps = []RetentionStep{
	ExportWritten, ExportSynced, ExportNamed, BaseWritten, BaseSynced, BaseNamed, DropRecorded, DropWritten, DropSynced, SpaceFreed, OldBaseGone,
}

// A Beginning says where a log begins whose older groups retention has dropped. The zero Beginning is that of a whole log.
type Beginning struct {
	After  Head     // the end of the group that was dropped last
	Base   [32]byte // SHA-256 of the base
	Signed []byte   // the retention checkpoint
}
