package commit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
)

const (
	// indexPause is how long the indexer rests after each stretch, which takes it a millisecond or two, so that an index
	// that is made anew leaves the processors to decisions: it then grows by half a million records a second at most.
	indexPause = 5 * time.Millisecond
	// indexRetry is how long the indexer waits after its first failure before it tries again, and indexRetryMost after
	// many: the time doubles.
	indexRetry     = time.Second
	indexRetryMost = time.Minute
	// indexPatience is how long Close waits for the indexer, which waits for the disk where that is full: the service has to
	// end within 20 seconds of SIGTERM.
	indexPatience = 3 * time.Second
	// indexGroups is how many groups a page asks the index for at once.
	indexGroups = 1024
)

// errIndexGone says that the index was replaced while a page was made.
var errIndexGone = errors.New("ledger: the index of keys was replaced")

// An indexer keeps the index of keys.
type indexer struct {
	worker
	log    Log
	store  Indexes
	every  uint64
	broken chan struct{} // one token: a reader found the index damaged

	covers atomic.Uint64 // LSN up to which readers can use the index, 0 while there is none
	from   atomic.Uint64 // LSN after which they can

	mu    sync.RWMutex
	index Index // nil where it can't be used
}

func newIndexer(log Log, every uint64) *indexer {
	store, ok := log.(Indexes)
	if !ok {
		return nil
	}
	if every == 0 {
		every = IndexEvery
	}
	return &indexer{worker: newWorker(), log: log, store: store, every: every, broken: make(chan struct{}, 1)}
}

// grown is called when the log has become longer.
func (n *indexer) grown(head uint64) {
	if n != nil && head >= n.covers.Load()+n.every {
		n.nudge()
	}
}

// covered returns the LSNs after which and up to which the index has the groups of key, twice 0 where it is of no use.
func (n *indexer) covered(key ledger.ID) (from, to uint64) {
	if n == nil || key.IsZero() {
		return 0, 0
	}
	return n.from.Load(), n.covers.Load()
}

// groups is groupsOf in an index that covers the log up to the LSN upTo. It fails with errIndexGone where the index was
// replaced by one that does not reach so far.
func (n *indexer) groups(key ledger.ID, from, upTo uint64) (groups []uint64, next uint64, err error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.index == nil || n.covers.Load() < upTo || from <= n.from.Load() {
		return nil, 0, errIndexGone
	}
	return groupsOf(n.index, key, from, n.every, indexGroups)
}

// drop is called by a reader that found the index damaged. No reader uses it after that, and keepIndex makes another one.
func (n *indexer) drop() {
	n.set(nil, mark{})
	select {
	case n.broken <- struct{}{}:
	default:
	}
}

// set gives an index to the readers, or takes it from them. It returns when no reader uses the one before.
func (n *indexer) set(index Index, m mark) {
	n.mu.Lock()
	n.index = index
	n.covers.Store(m.head.LSN)
	n.from.Store(m.from.LSN)
	n.mu.Unlock()
}

// keepIndex is the indexer's goroutine.
func (l *Ledger) keepIndex(n *indexer) {
	defer close(n.done)
	for pause := indexRetry; ; pause = min(2*pause, indexRetryMost) {
		err := l.followLog(n)
		if n.stopped() {
			return
		}
		l.report("%v: a key's events are found by reading those of all keys until the index is made again, which is tried in %s", err, pause)
		select {
		case <-n.stop:
			return
		case <-l.options.Timers.Alarm(pause).C:
		}
	}
}

// followLog opens the index and has it follow the log, until Close or until something fails. An index that has failed is
// removed.
func (l *Ledger) followLog(n *indexer) (err error) {
	index, m, err := n.open(n.log, l.Beginning().After, l.report)
	if err != nil {
		return fmt.Errorf("ledger: opening the index of keys: %w", err)
	}
	n.set(index, m)
	defer func() {
		n.set(nil, mark{})
		closing := index.Close()
		if errors.Is(err, errIndex) && closing == nil {
			closing = n.store.RemoveIndex()
		}
		err = errors.Join(err, closing)
	}()
	for {
		if err := l.dropLists(n, index, &m); err != nil {
			return err
		}
		if err := l.indexStretches(n, index, &m); err != nil {
			return err
		}
		select {
		case <-n.stop:
			return nil
		case <-n.broken:
			return fmt.Errorf("%w: it was damaged", errIndex)
		case <-n.wake:
		}
	}
}

// open opens the index, and makes an empty one where it does not fit the log.
func (n *indexer) open(log Log, begins ledger.Head, logger func(format string, args ...any)) (Index, mark, error) {
	index, err := n.store.OpenIndex()
	if err != nil {
		return nil, mark{}, err
	}
	select {
	case <-n.broken: // that was about the one before
	default:
	}
	m, err := readMark(index, log, begins)
	if err == nil && (m.every == 0 || m.every == n.every) {
		m.every = n.every
		return index, m, nil
	}
	if err != nil {
		logger("%v: it is made again", err)
	}
	if err := errors.Join(index.Close(), n.store.RemoveIndex()); err != nil {
		return nil, mark{}, err
	}
	index, err = n.store.OpenIndex()
	return index, mark{every: n.every, head: begins, from: begins}, err
}

// dropLists has the index begin where the log does.
func (l *Ledger) dropLists(n *indexer, index Index, m *mark) error {
	begins := l.Beginning().After
	if m.from.LSN >= begins.LSN {
		return nil
	}
	from, next := begins, begins.LSN+1
	if m.head.LSN < begins.LSN { // it has not come so far, and begins anew
		m.head = begins
	} else {
		var err error
		if from, next, err = m.leftOf(index, n.log, begins); err != nil {
			return fmt.Errorf("%w: %w", errIndex, err)
		}
	}
	n.mu.Lock() // no reader is between the lists
	n.from.Store(from.LSN)
	n.mu.Unlock()
	m.from = from
	if err := index.Drop(m.encode(), next); err != nil {
		return fmt.Errorf("%w: %w", errIndex, err)
	}
	return nil
}

// indexStretches adds what the durable log has after m, as far as there are whole stretches.
func (l *Ledger) indexStretches(n *indexer, index Index, m *mark) error {
	for !n.stopped() && len(n.broken) == 0 {
		l.mu.Lock()
		until := l.head.LSN
		l.mu.Unlock()
		if until < m.head.LSN+m.every {
			return nil
		}
		s, complete, err := readStretch(n.log, m.head, m.every, until)
		if err == nil && !complete {
			err = fmt.Errorf("%w: groups after record %d are missing", ledger.ErrCorrupt, s.head.LSN)
		}
		if err != nil {
			return fmt.Errorf("ledger: making the index of keys: %w", err)
		}
		m.head = s.head
		if err := index.Put(m.encode(), s.first, s.lists); err != nil {
			return fmt.Errorf("%w: %w", errIndex, err)
		}
		n.advance(m.head.LSN)
		select {
		case <-n.stop:
		case <-l.options.Timers.Alarm(indexPause).C:
		}
	}
	return nil
}

// advance has readers use the index up to an LSN, unless it was taken from them.
func (n *indexer) advance(covers uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.index != nil {
		n.covers.Store(covers)
	}
}

// Indexed returns the LSN up to which the index of keys covers the log, 0 where it cannot be used.
func (l *Ledger) Indexed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.indexer == nil {
		return 0
	}
	return l.indexer.covers.Load()
}
