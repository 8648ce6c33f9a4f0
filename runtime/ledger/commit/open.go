package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Options are what a ledger needs besides its log.
type Options struct {
	// Random gives the stream id of a new log, and the secret that counters are kept under in memory.
	Random io.Reader
	// Logger reports what somebody should know of although the ledger works: that an unfinished last group was removed,
	// or that a snapshot or the index of keys could not be made or used. nil drops it.
	Logger func(format string, args ...any)
	// Observer is told of every group that was made durable, with Clock's measure of it; nil for none.
	Observer Observer
	// Clock measures time for Observer; time.Now in service. Not needed without.
	Clock func() time.Time
	// SnapshotEvery is how many records are written between two snapshots, where the log keeps any; 0 means the
	// constant SnapshotEvery.
	SnapshotEvery uint64
	// IndexEvery is how many records a stretch of the index of keys has at least, where the log keeps one; 0 means the
	// constant IndexEvery. An index that was made with another number is made again.
	IndexEvery uint64
	// MaxGroups is how many live counter groups a key may have, in tests; 0 means ledger.MaxGroups.
	MaxGroups int
}

// An Observer watches the committer, which waits for it.
type Observer interface {
	// Group is called after a group of records has been made durable: its size in bytes, and how long that took.
	Group(records, bytes int, took time.Duration)
}

// Open replays a log, from its snapshot on where it has one, and returns the ledger that continues it. An error that
// wraps ledger.ErrCorrupt says that the log is not what was written, and where; nothing is changed then. Only a last
// group whose checksum is wrong is taken for a write that was never acknowledged, and removed.
//
// The ledger owns the log: its Close closes a log that is an io.Closer.
func Open(log Log, options Options) (*Ledger, error) {
	l := &Ledger{
		log:  log,
		wake: make(chan struct{}, 1), done: make(chan struct{}), told: make(chan struct{}, 1),
		failed: make(chan struct{}),
		keys:   newKeyTable(), clock: options.Clock,
	}
	if options.Clock != nil {
		l.watch = options.Observer
	}
	if err := l.draw(options.Random); err != nil {
		return nil, err
	}
	snapshot := l.recall(&options)
	if err := l.replay(&options); err != nil {
		return nil, err
	}
	if options.MaxGroups > 0 {
		l.state.SetMaxGroups(options.MaxGroups)
	}
	l.state.Waiting(l.outbox.add)
	if l.outbox.queue.Len() > 0 {
		l.tell()
	}
	l.next = l.head.LSN + 1
	l.groups = []*group{newGroup(l.next, nil)}
	if l.snapshots = newSnapshotter(log, options.SnapshotEvery, snapshot); l.snapshots != nil {
		l.snapshots.grown(l.head.LSN)
		go l.makeSnapshots(options.Logger)
	}
	if l.indexer = newIndexer(log, options.IndexEvery); l.indexer != nil {
		go l.keepIndex(options.Logger)
	}
	go l.commitAll()
	return l, nil
}

// draw starts l without a past: with a secret, and with the stream id of a new log.
func (l *Ledger) draw(random io.Reader) error {
	var b [32]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return fmt.Errorf("ledger: reading randomness for the stream id: %w", err)
	}
	copy(l.head.Stream[:], b[:])
	l.secret = state.Secret{binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])}
	l.state = state.New(l.secret)
	return nil
}

// recall starts l with the past of the log's snapshot, where it has one that can be used, and returns its LSN.
func (l *Ledger) recall(options *Options) uint64 {
	p, err := load(l.log)
	if err != nil && options.Logger != nil {
		options.Logger("%v: the log is read from its beginning", err)
	}
	if p == nil || err != nil {
		return 0
	}
	l.past = *p
	l.state.Keys(func(key ledger.Key) { l.keys.publish(key) })
	return l.head.LSN
}

// replay applies every record of the log.
func (l *Ledger) replay(options *Options) error {
	head, err := l.log.Head()
	if err != nil {
		return fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	torn, size := false, 0
	var problem error
	err = l.log.Read(l.head.LSN+1, func(first uint64, b []byte) bool {
		if first <= l.head.LSN { // the snapshot's last group, which is the log's
			return true
		}
		problem = l.past.replay(&l.record, first, b, l.replayed)
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

// replayed makes what a record says of a key known.
func (l *Ledger) replayed() {
	if l.record.ChangesKey() {
		key, _ := l.state.Key(l.record.Key)
		l.keys.publish(key)
	}
}
