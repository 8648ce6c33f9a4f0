// Package commit is the ledger over a log: it decides plans under one lock, gathers their records into groups, and
// has one goroutine make the groups durable, one sync each.
//
// No request waits for a timer. The committer is woken by a group's first record and yields the processor while the
// group still grows: with nothing else to run it returns at once, and under load a group takes in whatever the
// other goroutines have to add. Records of test-runs do not wake it; they are deferred to the next group.
//
// Deliveries for webhooks are handed out when the event's group is durable, and again after the ledger was opened
// anew, until a result is on record. Results are deferred too: losing one in a crash costs a delivery made twice.
//
// A failed write leaves the log in doubt, and memory ahead of it. So the group that was under way is reported as
// unknown, everything after it is refused, and reads are too, until the log has been opened again and read. A [Reopener] is
// opened again by the ledger itself. LookupKey continues to answer in the meantime, so that the holder of a good key learns that
// the service is unavailable and not that the key is unknown; and deliveries that were handed out stay handed out.
package commit

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

const (
	// maxYields is how often the committer yields while a group grows. It bounds the wait of a group's first
	// record; growth ends long before, since every caller waits for the group.
	maxYields = 16
	// rideBytes is how large a group of test-runs may get before it is written for its own sake.
	rideBytes = 512 << 10
	// groupBytes is the size at which a group is closed for more records.
	groupBytes = 1 << 20
	// maxBacklog is how many groups may wait for the disk. Beyond, plans are refused: a disk that hangs must not
	// take all memory.
	maxBacklog = 64
)

// A Ledger is a ledger.Ledger over a Log.
type Ledger struct {
	log     Log
	stream  [16]byte // of a log that is empty
	options Options
	watch   Observer // nil for none
	clock   func() time.Time
	keys    keyTable
	wake    chan struct{} // one token: a group is wanted, or the ledger is closed
	told    chan struct{} // one token: deliveries have become durable
	grown   atomic.Uint64 // records ever appended
	sealed  []byte        // the committer's: the group that it is writing
	// pending says that a group has become wanted and the committer has not been told.
	pending atomic.Bool
	frozen  atomic.Pointer[ledger.HaltState] // nil until the log was read
	signers atomic.Pointer[ledger.Operators] // nil until the log was read

	secret state.Secret
	ending chan struct{} // closed by Close
	healed chan struct{} // closed when the log is not opened again any more

	following sync.Mutex    // held by Follow
	followed  atomic.Uint64 // up to where Follow has copied the other log for certain

	// rewriting is held while the snapshot or the beginning of the log is made anew.
	rewriting sync.Mutex
	tidied    bool // what an interrupted drop has left is removed
	// cutting is held for reading by those who look at old groups, and for writing while groups are dropped. It comes before mu. base is
	// changed under both.
	cutting sync.RWMutex
	base    *base // nil where the log begins with record 1

	mu sync.Mutex
	// What follows is replaced when the log was opened again, but for closed.
	snapshots *snapshotter  // nil where the log keeps none
	indexer   *indexer      // nil where the log keeps no index
	done      chan struct{} // closed when the committer has ended
	past                    // the state is ahead of the head and the times, which are those of what is durable
	record    state.Record  // scratch of the step under way
	next      uint64        // LSN of the next record
	outbox    outbox        // the deliveries that have not been handed out, and whose events are durable
	groups    []*group      // not durable yet, in order; the last one is open
	spare     []byte        // memory of a group that was written
	failure   error         // why the ledger refuses until the log is opened again; nil while it works
	failed    chan struct{} // closed with the failure
	level     int           // the highest number of a form that is written; 0: any that this release knows
	closed    bool

	closing  sync.Once
	closeErr error
}

var _ ledger.Ledger = (*Ledger)(nil)

// Submit implements ledger.Ledger.
func (l *Ledger) Submit(p *ledger.Plan) ledger.Ticket {
	l.mu.Lock()
	t := l.submit(p)
	l.mu.Unlock()
	l.rouse()
	return t
}

func (l *Ledger) submit(p *ledger.Plan) ledger.Ticket {
	out, err := l.decide(p)
	if err == nil && l.record.Kind != ledger.NoRecord {
		out.LSN, err = l.append()
	}
	if err != nil {
		return ledger.NewTicket(ledger.Outcome{Reservation: -1}, nil, err)
	}
	basis := l.basis(p, &out)
	l.closeLargeGroup()
	return ledger.NewTicket(out, basis, nil)
}

// basis returns what must be durable before the outcome is told, nil where all of it is: the plan's record, or else
// what the key has last become. A test-run waits only where it is told to look the key up again.
func (l *Ledger) basis(p *ledger.Plan, out *ledger.Outcome) *ledger.Commitment {
	switch {
	case p.TestRun && out.Result != ledger.Stale && out.Result != ledger.KeyRevoked:
		return nil
	case out.Result == ledger.Replayed:
		return l.commitmentOfRecord(out.LSN)
	case out.LSN != 0:
		return l.open().commitment
	}
	return l.commitmentOf(p.Key)
}

// Peek implements ledger.Ledger.
func (l *Ledger) Peek(p *ledger.Plan) ledger.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, _ := l.decide(p)
	return out
}

// decide judges p, and leaves its record in l.record.
func (l *Ledger) decide(p *ledger.Plan) (ledger.Outcome, error) {
	if err := l.refusal(); err != nil {
		return ledger.Outcome{Reservation: -1}, err
	}
	return l.state.Decide(p, &l.record)
}

// refusal returns why nothing is decided now, or nil.
func (l *Ledger) refusal() error {
	switch {
	case l.closed:
		return ledger.ErrClosed
	case l.failure != nil:
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, l.failure)
	case len(l.groups) > maxBacklog:
		return fmt.Errorf("%w: %d groups", ledger.ErrBusy, len(l.groups))
	}
	return nil
}

// open returns the group that takes records.
func (l *Ledger) open() *group { return l.groups[len(l.groups)-1] }

// append adds l.record to the open group and applies it. A record that the level of the store does not allow
// loses what it can do without, or is refused, and then nothing is changed.
func (l *Ledger) append() (lsn uint64, err error) {
	if l.level != 0 {
		if number := l.record.Fits(l.level); number > l.level {
			return 0, fmt.Errorf("%w: a record of the form %d is not written as long as the level of the store is %d; when all instances are of this release, raise it: bailiff store level %d",
				ledger.ErrUnavailable, number, l.level, state.Latest())
		}
	}
	g, lsn := l.open(), l.next
	if err := l.state.Apply(lsn, &l.record); err != nil {
		l.failLocked(fmt.Errorf("a record cannot be applied: %w", err))
		return 0, l.refusal()
	}
	g.add(&l.record)
	if l.record.ChangesKey() {
		key, _ := l.state.Key(l.record.Key)
		g.keys = append(g.keys, key)
	}
	if len(l.record.Outbox) > 0 {
		g.tell(lsn, &l.record)
	}
	l.next++
	l.grown.Add(1)
	if !g.wanted && (!l.record.Deferrable() || len(g.records) >= rideBytes) {
		g.wanted = true
		l.pending.Store(true)
	}
	return lsn, nil
}

// rouse wakes the committer where a group has become wanted since the last time. It is called without the lock: waking
// somebody takes many times as long as a step, and others would wait for the lock meanwhile.
func (l *Ledger) rouse() {
	if l.pending.Load() && l.pending.CompareAndSwap(true, false) {
		l.signal()
	}
}

func (l *Ledger) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // the committer has been woken and has not looked yet
	}
}

// closeLargeGroup opens a new group where the open one is large enough.
func (l *Ledger) closeLargeGroup() {
	if len(l.open().records) >= groupBytes {
		l.groups = append(l.groups, newGroup(l.next, nil))
	}
}

// commitmentOf returns the commitment of the last record that changed a key, nil where that is durable.
func (l *Ledger) commitmentOf(key ledger.ID) *ledger.Commitment {
	return l.commitmentOfRecord(l.state.LSN(key))
}

// commitmentOfRecord returns the commitment of a record, nil where it is durable.
func (l *Ledger) commitmentOfRecord(lsn uint64) *ledger.Commitment {
	for _, g := range l.groups {
		if g.holds(lsn) {
			return g.commitment
		}
	}
	return nil
}

// commitAll is the committer: it writes groups until Close or a failure.
func (l *Ledger) commitAll(done chan struct{}) {
	defer close(done)
	for range l.wake {
		l.gather()
		for g := l.take(); g != nil; g = l.take() {
			l.write(g)
			l.gather()
		}
		if l.finished() {
			return
		}
	}
}

// finished reports whether the ledger has failed, or is closed; everything submitted before has been written then.
func (l *Ledger) finished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil || l.closed && l.open().count == 0 && len(l.groups) == 1
}

// gather yields while the open group grows.
func (l *Ledger) gather() {
	seen := l.grown.Load()
	for range maxYields {
		runtime.Gosched()
		now := l.grown.Load()
		if now == seen {
			return
		}
		seen = now
	}
}

// take returns the next group to write, nil where none is wanted.
func (l *Ledger) take() *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[0]
	if l.failure != nil || g.count == 0 || len(l.groups) == 1 && !g.wanted {
		return nil
	}
	g.underWay = true
	if len(l.groups) == 1 {
		l.groups = append(l.groups, newGroup(l.next, l.spare))
		l.spare = nil
	}
	return g
}

// write makes a group durable and wakes its waiters.
func (l *Ledger) write(g *group) {
	l.sealed = g.seal(l.sealed, l.head.Stream, l.head.Hash)
	took, err := l.appendGroup(g.first, l.sealed)
	if err != nil {
		l.Fail(fmt.Errorf("writing group %d: %w", g.first, err))
		return
	}
	if l.watch != nil {
		l.watch.Group(int(g.count), len(l.sealed), took)
	}
	hash := sha256.Sum256(l.sealed)
	if len(g.keys) > 0 {
		l.keys.publish(g.keys...)
	}
	if l.written(g, hash) {
		g.commitment.Settle(nil)
	}
	if len(g.outbox) > 0 {
		l.tell()
	}
}

// appendGroup makes a group durable, and says how long that took where somebody wants to know.
func (l *Ledger) appendGroup(first uint64, sealed []byte) (took time.Duration, err error) {
	if l.watch == nil {
		return 0, l.log.Append(first, sealed)
	}
	start := l.clock()
	err = l.log.Append(first, sealed)
	return l.clock().Sub(start), err
}

// tell wakes the goroutine that delivers.
func (l *Ledger) tell() {
	select {
	case l.told <- struct{}{}:
	default: // it has been told and has not looked yet
	}
}

// written takes g off the list. It reports false where a failure has settled g before.
func (l *Ledger) written(g *group, hash [32]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return false
	}
	l.head.LSN, l.head.Hash = g.first+uint64(g.count)-1, hash
	l.times.add(g.first, g.count, g.times)
	l.snapshots.grown(l.head.LSN)
	l.indexer.grown(l.head.LSN)
	for _, w := range g.outbox {
		l.outbox.add(w)
	}
	copy(l.groups, l.groups[1:])
	l.groups[len(l.groups)-1] = nil
	l.groups = l.groups[:len(l.groups)-1]
	if cap(g.records) <= groupBytes {
		l.spare = g.records
	}
	if len(l.outbox.kept) > 0 {
		l.settleKept()
	}
	return true
}

// Fail makes the ledger refuse everything until its log is opened again, because of err. The group under way becomes unknown,
// those behind it were not recorded.
func (l *Ledger) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failLocked(err)
}

func (l *Ledger) failLocked(err error) {
	if l.failure != nil {
		return
	}
	l.failure = err
	close(l.failed)
	defer l.signal() // the committer ends
	for _, g := range l.groups {
		kind := ledger.ErrUnavailable
		if g.underWay {
			kind = ledger.ErrUnknown
		}
		g.commitment.Settle(fmt.Errorf("%w: %w", kind, err))
	}
}

// Health implements ledger.Ledger. A log that has a method Health is asked too.
func (l *Ledger) Health() error {
	l.mu.Lock()
	err, closed := l.refusal(), l.closed
	l.mu.Unlock()
	_, reopened := l.log.(Reopener)
	if log, ok := l.log.(interface{ Health() error }); ok && (err == nil || reopened && !closed) {
		return cmp.Or(log.Health(), err)
	}
	return err
}

// Close implements ledger.Ledger. Closing again returns what the first Close returned. Where the log has failed and is being opened
// again, that ends.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.open().wanted = true
		l.mu.Unlock()
		close(l.ending)
		l.signal()
		if log, ok := l.log.(Reopener); ok {
			l.closeErr = log.Finish(l.finish)
			return
		}
		l.closeErr = l.finish()
	})
	return l.closeErr
}

// finish waits for what works on the log, and closes it.
func (l *Ledger) finish() error {
	<-l.healed
	l.leave()
	l.mu.Lock()
	err := l.failure
	l.mu.Unlock()
	if log, ok := l.log.(io.Closer); ok {
		err = errors.Join(err, log.Close())
	}
	l.beginAfter(nil)
	return err
}
