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
//
// Where retention has dropped groups, the chain begins with the group after them, and the base is verified, too. Who signed the
// retention checkpoint is for the caller to verify: begins is called before the first group.
func VerifyLog(log Log, begins func(ledger.Beginning) error, visit func(ledger.Head) error) (ledger.Head, error) {
	var head ledger.Head
	last, err := log.Head()
	if err != nil {
		return head, fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	from, err := verifyBase(log)
	if err == nil {
		err = begins(from)
	}
	if err != nil {
		return head, err
	}
	head = from.After
	kind := ledger.ErrCorrupt
	var problem, stopped error
	var r state.Record
	err = log.Read(head.LSN+1, func(first uint64, b []byte) bool {
		if first <= from.After.LSN {
			return true
		}
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

// verifyBase verifies the base of a log, and returns what the log begins with.
func verifyBase(log Log) (ledger.Beginning, error) {
	b, err := baseOf(log)
	if b == nil || err != nil {
		return ledger.Beginning{}, err
	}
	return b.Beginning, errors.Join(b.verify(), b.file.Close())
}

// Records calls visit with the encoding of every record of a log that no ledger has open, until visit returns an error,
// which it returns. Groups are packed, so a search of the log needs it. Where retention has dropped groups, the records that the base
// has come first, after begins was called with the state at the beginning.
func Records(log Log, begins func(after uint64, from *state.State), visit func(lsn uint64, record string) error) error {
	from, err := baseRecords(log, begins, visit)
	if err != nil {
		return err
	}
	var problem error
	err = log.Read(from+1, func(first uint64, b []byte) bool {
		if first <= from {
			return true
		}
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

// baseRecords calls visit with the records of the base of a log, and returns the LSN after which the log begins.
func baseRecords(log Log, begins func(after uint64, from *state.State), visit func(lsn uint64, record string) error) (from uint64, err error) {
	b, err := baseOf(log)
	if b == nil || err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.file.Close()) }()
	p, err := b.past(nil)
	if err != nil {
		return 0, err
	}
	begins(b.After.LSN, p.state)
	return b.After.LSN, b.records(visit)
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
	b, err := baseOf(log)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	p, err := load(log, b)
	if p == nil || errors.Is(err, errSnapshot) {
		return 0, nil
	}
	again, err := b.past(func() *past { return &past{state: p.state.Fresh()} })
	if err != nil {
		return 0, err
	}
	var r state.Record
	var problem error
	begins := again.head.LSN
	err = log.Read(begins+1, func(first uint64, b []byte) bool {
		switch {
		case first <= begins:
			return true
		case first > p.head.LSN:
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
	case !bytes.Equal(again.snapshot(), p.snapshot()):
		return 0, fmt.Errorf("%w, up to record %d", ErrSnapshotChanged, p.head.LSN)
	}
	return p.head.LSN, nil
}
