package commit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Options are what a ledger needs besides its log.
type Options struct {
	// Random gives the stream id of a new log.
	Random io.Reader
}

// Open replays a log and returns the ledger that continues it. An error that wraps ledger.ErrCorrupt says that the
// log is not what was written, and where; nothing is changed then. Only a last group whose checksum is wrong is
// taken for a write that was never acknowledged, and removed.
//
// The ledger owns the log: its Close closes a log that is an io.Closer.
func Open(log Log, options Options) (*Ledger, error) {
	l := &Ledger{
		log: log, state: state.New(), next: 1,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		keys: newKeyTable(),
	}
	if err := l.replay(); err != nil {
		return nil, err
	}
	if l.next == 1 {
		if _, err := io.ReadFull(options.Random, l.stream[:]); err != nil {
			return nil, fmt.Errorf("ledger: reading randomness for the stream id: %w", err)
		}
	}
	l.groups = []*group{newGroup(l.next, nil)}
	go l.commitAll()
	return l, nil
}

// replay applies every record of the log.
func (l *Ledger) replay() error {
	head, err := l.log.Head()
	if err != nil {
		return fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	torn := false
	var problem error
	err = l.log.Read(0, func(first uint64, b []byte) bool {
		problem = l.replayGroup(first, b)
		torn = first == head && errors.Is(problem, errTorn)
		return problem == nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("ledger: reading the log: %w", err)
	case torn:
		if err := l.log.Truncate(head); err != nil {
			return fmt.Errorf("ledger: removing the unfinished group %d: %w", head, err)
		}
	case problem != nil:
		return fmt.Errorf("%w: %w: restore the directory from a backup", ledger.ErrCorrupt, problem)
	}
	return nil
}

// replayGroup checks that a group follows those before and applies its records.
func (l *Ledger) replayGroup(first uint64, b []byte) error {
	s, err := parse(b)
	switch {
	case err != nil:
		return fmt.Errorf("group %d: %w", first, err)
	case first != l.next || s.first != first:
		return fmt.Errorf("group %d: it calls itself %d and stands where %d is expected: groups are missing or moved", first, s.first, l.next)
	case first > 1 && s.stream != l.stream:
		return fmt.Errorf("group %d: it belongs to the stream %x, the log to %x", first, s.stream, l.stream)
	case s.before != l.before:
		return fmt.Errorf("group %d: it follows a group of the hash %x, and the one before has %x", first, s.before, l.before)
	}
	if err := s.each(&l.record, l.replayRecord); err != nil {
		return fmt.Errorf("group %d: %w", first, err)
	}
	l.stream, l.before, l.next = s.stream, sha256.Sum256(b), first+uint64(s.count)
	return nil
}

func (l *Ledger) replayRecord(lsn uint64) error {
	if err := l.state.Apply(lsn, &l.record); err != nil {
		return err
	}
	if k := l.record.Kind; k == state.KeyCreated || k == state.KeyRevoked {
		key, _ := l.state.Key(l.record.Key)
		l.keys.publish(key)
	}
	return nil
}
