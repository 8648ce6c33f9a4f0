package commit

import (
	"errors"
	"fmt"
	"io"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Options are what a ledger needs besides its log.
type Options struct {
	// Random gives the stream id of a new log.
	Random io.Reader
	// Logger reports what somebody should know of although the ledger works: that an unfinished last group was removed.
	// nil drops it.
	Logger func(format string, args ...any)
	// Observer is told of every group that was made durable, with Clock's measure of it; nil for none.
	Observer Observer
	// Clock measures time for Observer; time.Now in service. Not needed without.
	Clock func() time.Time
}

// An Observer watches the committer, which waits for it.
type Observer interface {
	// Group is called after a group of records has been made durable: its size in bytes, and how long that took.
	Group(records, bytes int, took time.Duration)
}

// Open replays a log and returns the ledger that continues it. An error that wraps ledger.ErrCorrupt says that the
// log is not what was written, and where; nothing is changed then. Only a last group whose checksum is wrong is
// taken for a write that was never acknowledged, and removed.
//
// The ledger owns the log: its Close closes a log that is an io.Closer.
func Open(log Log, options Options) (*Ledger, error) {
	l := &Ledger{
		log: log, state: state.New(),
		wake: make(chan struct{}, 1), done: make(chan struct{}), told: make(chan struct{}, 1),
		keys: newKeyTable(), clock: options.Clock,
	}
	if options.Clock != nil {
		l.watch = options.Observer
	}
	if err := l.replay(&options); err != nil {
		return nil, err
	}
	if l.head.LSN == 0 {
		if _, err := io.ReadFull(options.Random, l.head.Stream[:]); err != nil {
			return nil, fmt.Errorf("ledger: reading randomness for the stream id: %w", err)
		}
	}
	l.state.Waiting(l.outbox.add)
	if l.outbox.queue.Len() > 0 {
		l.tell()
	}
	l.next = l.head.LSN + 1
	l.groups = []*group{newGroup(l.next, nil)}
	go l.commitAll()
	return l, nil
}

// replay applies every record of the log.
func (l *Ledger) replay(options *Options) error {
	head, err := l.log.Head()
	if err != nil {
		return fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	torn, size := false, 0
	var problem error
	err = l.log.Read(0, func(first uint64, b []byte) bool {
		problem = l.replayGroup(first, b)
		torn, size = first == head && errors.Is(problem, errTorn), len(b)
		return problem == nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("ledger: reading the log: %w", err)
	case torn:
		return l.removeTorn(head, size, problem, options)
	case problem != nil:
		return fmt.Errorf("%w: %w: restore the directory from a backup", ledger.ErrCorrupt, problem)
	}
	return nil
}

// removeTorn removes the last group, which was never acknowledged unless somebody has altered it: a checkpoint tells.
func (l *Ledger) removeTorn(head uint64, size int, problem error, options *Options) error {
	if err := l.log.Truncate(head); err != nil {
		return fmt.Errorf("ledger: removing the unfinished group %d: %w", head, err)
	}
	if options.Logger != nil {
		options.Logger("ledger: removed the last group of the log, from record %d on, %d bytes: %v. A write that was cut off leaves that; "+
			"if a checkpoint names record %d or a later one, the log was altered", head, size, problem, head)
	}
	return nil
}

// replayGroup checks that a group follows those before and applies its records.
func (l *Ledger) replayGroup(first uint64, b []byte) error {
	s, err := follow(&l.head, first, b)
	if err != nil {
		return err
	}
	times := noTime
	err = s.each(&l.record, func(lsn uint64) error {
		times = times.with(l.record.Now)
		return l.replayRecord(lsn)
	})
	if err != nil {
		return fmt.Errorf("group %d: %w", first, err)
	}
	l.times.add(first, s.count, times)
	return nil
}

func (l *Ledger) replayRecord(lsn uint64) error {
	if err := l.state.Apply(lsn, &l.record); err != nil {
		return err
	}
	switch l.record.Kind {
	case state.KeyCreated, state.KeyRevoked, state.KeyChanged, state.PolicyDeployed:
		key, _ := l.state.Key(l.record.Key)
		l.keys.publish(key)
	}
	return nil
}
