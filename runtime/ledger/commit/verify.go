package commit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// ErrUnfinished is a ledger.ErrCorrupt of VerifyLog: the checksum of the last group is wrong. A write that was cut off
// leaves that, and Open removes it; somebody who altered the group leaves it too.
var ErrUnfinished = fmt.Errorf("%w: the last group is unfinished", ledger.ErrCorrupt)

// VerifyLog walks the chain of a log that no ledger has open, and calls visit with its head after every group, until
// visit returns an error, which it returns. It returns the head up to which the chain is whole. An error that wraps
// ledger.ErrCorrupt says what is wrong after that: an edited record, a gap, a foreign or moved group, a record of no
// known form. Of a last group that is cut short it wraps [ErrUnfinished] as well.
//
// A chain can be cut off at the end of a group, or be written anew as a whole, and be whole. So what visit is given is
// to be compared with checkpoints that were kept elsewhere: the log has to reach each one's LSN, with its hash.
func VerifyLog(log Log, visit func(ledger.Head) error) (ledger.Head, error) {
	var head ledger.Head
	last, err := log.Head()
	if err != nil {
		return head, fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	kind := ledger.ErrCorrupt
	var problem, stopped error
	var r state.Record
	err = log.Read(0, func(first uint64, b []byte) bool {
		next := head
		s, err := follow(&next, first, b)
		if err == nil {
			err = s.each(&r, func(uint64) error { return nil })
		}
		if err != nil {
			problem = err
			if first == last && errors.Is(err, errTorn) {
				kind = ErrUnfinished
			}
			return false
		}
		head = next
		stopped = visit(head)
		return stopped == nil
	})
	switch {
	case problem != nil:
		return head, fmt.Errorf("%w: %w", kind, problem)
	case err != nil:
		return head, errors.Join(stopped, fmt.Errorf("ledger: reading the log: %w", err))
	}
	return head, stopped
}

// Records calls visit with the encoding of every record of a log that no ledger has open, until visit returns an error,
// which it returns. Groups are packed, so a search of the log needs it.
func Records(log Log, visit func(lsn uint64, record string) error) error {
	var problem error
	err := log.Read(0, func(first uint64, b []byte) bool {
		s, err := parse(b)
		if err == nil {
			err = s.scan(visit)
		}
		if err != nil {
			problem = fmt.Errorf("group %d: %w", first, err)
		}
		return err == nil
	})
	return errors.Join(problem, err)
}

// follow checks that a group, kept under the LSN first, follows the chain up to head, and takes it apart. Its records
// are not looked at. head moves to the group's end.
func follow(head *ledger.Head, first uint64, b []byte) (sealed, error) {
	s, err := parse(b)
	switch {
	case err != nil:
		return s, fmt.Errorf("group %d: %w", first, err)
	case first != head.LSN+1 || s.first != first:
		return s, fmt.Errorf("group %d: it has the number %d where %d is expected: groups are missing or moved", first, s.first, head.LSN+1)
	case first > 1 && (s.stream != head.Stream) != s.begins:
		return s, fmt.Errorf("group %d: it belongs to the stream %x, the log to %x", first, s.stream, head.Stream)
	case s.before != head.Hash:
		return s, fmt.Errorf("group %d: it follows a group of the hash %x, and the one before has %x", first, s.before, head.Hash)
	}
	*head = ledger.Head{Stream: s.stream, LSN: head.LSN + uint64(s.count), Hash: sha256.Sum256(b)}
	return s, nil
}

// ErrSnapshotChanged is a ledger.ErrCorrupt of VerifySnapshot: the log is whole, and its snapshot is not what it comes to.
var ErrSnapshotChanged = fmt.Errorf("%w: the snapshot is not what the log comes to", ledger.ErrCorrupt)

// VerifySnapshot compares the snapshot of a log that no ledger has open with what the log comes to: the service does not read the
// records before it when the log is opened, so an edited one would change the past. It returns the LSN that the snapshot
// covers, 0 where there is none, or none that opening would use. It fails with [ErrSnapshotChanged], or as [VerifyLog]
// does, or with a ledger.ErrCorrupt where records can't follow each other.
func VerifySnapshot(log Log) (covers uint64, err error) {
	p, err := load(log)
	if p == nil || errors.Is(err, errSnapshot) {
		return 0, nil
	}
	again := past{state: p.state.Fresh()}
	var r state.Record
	var problem error
	err = log.Read(0, func(first uint64, b []byte) bool {
		if first > p.head.LSN {
			return false
		}
		problem = again.replay(&r, first, b, func() {})
		return problem == nil
	})
	switch {
	case problem != nil:
		return 0, fmt.Errorf("%w: %w", ledger.ErrCorrupt, problem)
	case err != nil:
		return 0, fmt.Errorf("ledger: reading the log: %w", err)
	case !bytes.Equal(again.appendSnapshot(nil), p.appendSnapshot(nil)):
		return 0, fmt.Errorf("%w, up to record %d", ErrSnapshotChanged, p.head.LSN)
	}
	return p.head.LSN, nil
}
