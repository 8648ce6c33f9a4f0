package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/system"
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
	// Go starts the committer and what else works in the background; nil means system.Go.
	Go func(task func())
	// Timers start the timers of what works in the background; nil means the machine's.
	Timers system.Timers
	// snapshotEvery is how many records are written between two snapshots, where the log keeps any; 0 means the
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
	if options.Go == nil {
		options.Go = system.Go
	}
	l := &Ledger{
		log: log, options: options,
		wake: make(chan struct{}, 1), told: make(chan struct{}, 1),
		ending: make(chan struct{}), healed: make(chan struct{}),
		keys: newKeyTable(), outbox: newOutbox(), clock: options.Clock,
	}
	if options.Clock != nil {
		l.watch = options.Observer
	}
	if err := l.draw(options.Random); err != nil {
		return nil, err
	}
	if err := l.resume(); err != nil {
		return nil, err
	}
	if log, ok := log.(Reopener); ok {
		options.Go(func() { l.heal(log) })
	} else {
		close(l.healed)
	}
	return l, nil
}

// draw draws what a new log and a state are made with.
func (l *Ledger) draw(random io.Reader) error {
	var b [32]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return fmt.Errorf("ledger: reading randomness for the stream id: %w", err)
	}
	copy(l.stream[:], b[:])
	l.secret = state.Secret{binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])}
	return nil
}

// resume reads the log and has the ledger continue from its end.
func (l *Ledger) resume() error {
	b, err := baseOf(l.current())
	if err != nil {
		return err
	}
	p, err := l.recall(b)
	if err != nil {
		return errors.Join(err, b.close())
	}
	snapshot := p.head.LSN
	if err := l.replay(p); err != nil {
		return errors.Join(err, b.close())
	}
	p.state.Keys(func(key ledger.Key) { l.keys.publish(key) }) // after the replay: a key that was revoked since is never seen as it was before
	l.beginAfter(b)
	if l.options.MaxGroups > 0 {
		p.state.SetMaxGroups(l.options.MaxGroups)
	}
	l.begin(p, snapshot)
	if log, ok := l.current().(interface{ Notify(func(error)) }); ok {
		log.Notify(l.failing())
	}
	return nil
}

// beginAfter has readers of old groups begin after a base.
func (l *Ledger) beginAfter(b *base) {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	l.mu.Lock()
	before := l.base
	l.base = b
	l.mu.Unlock()
	if err := before.close(); err != nil {
		l.report("ledger: closing the base of the log: %v", err)
	}
}

// begin has the ledger serve from a past, of which there is a snapshot up to an LSN.
func (l *Ledger) begin(p *past, snapshot uint64) {
	log := l.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past, l.next = *p, p.head.LSN+1
	l.followed.Store(p.state.Followed())
	l.noteHalt()
	l.noteOperators()
	l.groups, l.spare = []*group{newGroup(l.next, nil)}, nil
	l.failure, l.failed, l.done = nil, make(chan struct{}), make(chan struct{})
	l.level = levelOf(log)
	if l.snapshots = newSnapshotter(log, l.options.SnapshotEvery, snapshot); l.snapshots != nil {
		l.snapshots.grown(l.head.LSN)
		snapshots := l.snapshots
		l.options.Go(func() { l.makeSnapshots(snapshots) })
	}
	if l.indexer = newIndexer(log, l.options.IndexEvery); l.indexer != nil {
		indexer := l.indexer
		l.options.Go(func() { l.keepIndex(indexer) })
	}
	l.outbox.fill(l.state)
	l.settleKept()
	if l.outbox.queue.Len() > 0 {
		l.tell()
	}
	done := l.done
	l.options.Go(func() { l.commitAll(done) })
	l.signal()
}

// levelOf returns the highest number of a form that records of a log may have, 0 where it may be any.
func levelOf(log Log) int {
	if leveled, ok := log.(Leveled); ok && leveled.Level() < state.Latest() {
		return leveled.Level()
	}
	return 0
}

// recall returns the past of the log's snapshot, or where there is none that can be used, that of its beginning.
func (l *Ledger) recall(b *base) (*past, error) {
	p, err := load(l.current(), b)
	if err != nil {
		l.report("%v: the log is read from its beginning", err)
	}
	if p == nil || err != nil {
		if p, err = b.past(l.emptyPast); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// emptyPast is the past of an empty log.
func (l *Ledger) emptyPast() *past {
	return &past{state: state.New(l.secret), head: ledger.Head{Stream: l.stream}}
}

// freshPast is the past of an empty log for what is made of this one beside the ledger. It has the secret of the ledger's state, as the
// snapshot and the base have, so that one can be held against the other.
func (l *Ledger) freshPast() *past {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &past{state: l.state.Fresh(), head: ledger.Head{Stream: l.stream}}
}

// report tells the operator of something that the ledger works with all the same.
func (l *Ledger) report(format string, args ...any) {
	if l.options.Logger != nil {
		l.options.Logger(format, args...)
	}
}

// replay applies every record of the log that comes after a past.
func (l *Ledger) replay(p *past) error {
	head, err := l.log.Head()
	if err != nil {
		return fmt.Errorf("ledger: finding the end of the log: %w", err)
	}
	torn, size := false, 0
	var problem error
	var r state.Record
	err = l.log.Read(p.head.LSN+1, func(first uint64, b []byte) bool {
		if first <= p.head.LSN { // the snapshot's last group, which is the log's
			return true
		}
		problem = p.replay(&r, first, b, func() {})
		torn, size = first == head && errors.Is(problem, errTorn), len(b)
		return problem == nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("ledger: reading the log: %w", err)
	case torn:
		return l.removeTorn(head, size, problem)
	case errors.Is(problem, state.ErrNewer):
		return fmt.Errorf("%w: %w: start the release that wrote it, or restore the directory from a backup", ledger.ErrCorrupt, problem)
	case problem != nil:
		return fmt.Errorf("%w: %w: restore the directory from a backup", ledger.ErrCorrupt, problem)
	}
	return nil
}

// removeTorn removes the last group, which was never acknowledged unless somebody has altered it: a checkpoint tells.
func (l *Ledger) removeTorn(head uint64, size int, problem error) error {
	if err := l.log.Truncate(head); err != nil {
		return fmt.Errorf("ledger: removing the unfinished group %d: %w", head, err)
	}
	l.report("ledger: removed the last group of the log, from record %d on, %d bytes: %v. A write that was cut off leaves that; "+
		"if a checkpoint names record %d or a later one, the log was altered", head, size, problem, head)
	return nil
}
