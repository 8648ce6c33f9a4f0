package pebbleledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// indexName is the folder of the index of keys, a database of its own: its writes share nothing with those of groups, and
// what happens to it does not happen to the log.
const indexName = "index"

// IndexPath returns the path of the index of the ledger in dir. The folder may be removed while no process holds dir.
func IndexPath(dir string) string { return filepath.Join(dir, indexName) }

const (
	indexMemTable = 4 << 20
	indexCache    = 4 << 20

	// indexPatience is how long Close waits for the last table to be written, and then for Pebble. The index misses what
	// was not written, and gets it again after the next start.
	indexPatience = time.Second
)

// The keys of the index: the mark, and lists under the key's id and the LSN of their stretch.
var (
	markKey   = []byte("m")
	listStart = []byte("k")
	listEnd   = []byte("l")
)

const listKeyBytes = 1 + len(ledger.ID{}) + 8

func listKey(key ledger.ID, stretch uint64) []byte {
	b := append(make([]byte, 0, listKeyBytes), listStart...)
	b = append(b, key[:]...)
	return binary.BigEndian.AppendUint64(b, stretch)
}

func readListKey(b []byte) (key ledger.ID, stretch uint64, err error) {
	if len(b) != listKeyBytes {
		return key, 0, fmt.Errorf("ledger: the key %q is not the key of a list", b)
	}
	copy(key[:], b[1:])
	return key, binary.BigEndian.Uint64(b[1+len(key):]), nil
}

// An index is a commit.Index in Pebble. Only whole tables are synced, so a crash loses what was put after the last flush:
// Pebble flushes in the order of the puts.
type index struct {
	db       *pebble.DB
	lock     *pebble.Lock
	patience time.Duration
	readOnly bool        // nothing is written, so that Close cannot hang
	unsaved  bool        // Put was called: Close flushes
	closing  atomic.Bool // compactions need not be slow any more

	mu      sync.Mutex
	failure error         // why the index is of no use any more
	gone    chan struct{} // closed where Pebble may never come back from what it does
}

var (
	_ commit.Indexes = (*log)(nil)
	_ commit.Index   = (*index)(nil)
)

func (l *log) indexDir() string { return l.plain.PathJoin(l.dir, indexName) }

// OpenIndex implements commit.Indexes.
func (l *log) OpenIndex() (commit.Index, error) {
	dir := l.indexDir()
	var err error
	if l.readOnly {
		_, err = l.plain.Stat(dir)
	} else {
		err = l.plain.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	x, err := l.openIndex(dir)
	if err != nil && !l.readOnly && !errors.Is(err, ledger.ErrLocked) {
		if l.errorf != nil {
			l.errorf("ledger: the index of keys can't be opened: %v: it is made again", err)
		}
		if err = errors.Join(l.RemoveIndex(), l.plain.MkdirAll(dir, 0o700)); err == nil {
			x, err = l.openIndex(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (l *log) openIndex(dir string) (*index, error) {
	x := &index{patience: min(l.patience, indexPatience), readOnly: l.readOnly, gone: make(chan struct{})}
	lock, err := pebble.LockDirectory(dir, l.plain)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ledger.ErrLocked, dir, err)
	}
	x.lock = lock
	err = x.do(func() (err error) {
		tables := pebble.NewFileCache(1, indexTables)
		defer tables.Unref() // the database has its own reference
		x.db, err = pebble.Open(dir, l.indexOptions(x, tables))
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (l *log) indexOptions(x *index, tables *pebble.FileCache) *pebble.Options {
	told := &logger{fail: x.fail, errorf: l.errorf}
	return &pebble.Options{
		FS:                 paced{markedDirs{l.plain, told.Fatalf}, &x.closing},
		Lock:               x.lock,
		FormatMajorVersion: format,
		DisableWAL:         true,
		MemTableSize:       indexMemTable,
		CacheSize:          indexCache,
		FileCache:          tables,
		ReadOnly:           l.readOnly,
		ErrorIfNotExists:   l.readOnly,
		Logger:             told,
		EventListener:      &pebble.EventListener{DataCorruption: x.damaged},
	}
}

// RemoveIndex implements commit.Indexes.
func (l *log) RemoveIndex() error { return l.plain.RemoveAll(l.indexDir()) }

// fail notes that the index cannot be used any more, and that Pebble may hang.
func (x *index) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failure == nil {
		x.failure = err
	}
	select {
	case <-x.gone:
	default:
		close(x.gone)
	}
}

// damaged notes that a file was changed since it was written.
func (x *index) damaged(info pebble.DataCorruptionInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failure == nil {
		x.failure = fmt.Errorf("%s is damaged: %w", info.Path, info.Details)
	}
}

// failed returns why the index is of no use any more, or nil.
func (x *index) failed() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failure
}

// do runs something that may write. It stops waiting once the index has failed: Pebble may have failed with a lock held.
func (x *index) do(write func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer x.recovered(&err)
		err = write()
	}()
	select {
	case err := <-done:
		return err
	case <-x.gone:
		return x.failed()
	}
}

// recovered is log.recovered for the index.
func (x *index) recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("ledger: pebble: %v", cause)
		x.fail(*err)
	}
}

// Mark implements commit.Index.
func (x *index) Mark() (mark []byte, err error) {
	defer x.recovered(&err)
	value, closer, err := x.db.Get(markKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(value), closer.Close()
}

// Put implements commit.Index.
func (x *index) Put(mark []byte, stretch uint64, lists map[ledger.ID][]byte) error {
	if err := x.failed(); err != nil {
		return err
	}
	x.unsaved = true
	return x.do(func() (err error) {
		b := x.db.NewBatch()
		defer func() { err = errors.Join(err, b.Close()) }()
		for key, list := range lists {
			if err := b.Set(listKey(key, stretch), list, nil); err != nil {
				return err
			}
		}
		if err := b.Set(markKey, mark, nil); err != nil {
			return err
		}
		return b.Commit(pebble.NoSync)
	})
}

// Drop implements commit.Index.
func (x *index) Drop(mark []byte, before uint64) error {
	if err := x.failed(); err != nil {
		return err
	}
	x.unsaved = true
	return x.do(func() (err error) {
		b := x.db.NewBatch()
		defer func() { err = errors.Join(err, b.Close()) }()
		var problem error
		err = x.Each(func(key ledger.ID, stretch uint64, _ []byte) bool {
			if stretch < before {
				problem = b.Delete(listKey(key, stretch), nil)
			}
			return problem == nil
		})
		if err = errors.Join(problem, err); err != nil {
			return err
		}
		if err := b.Set(markKey, mark, nil); err != nil {
			return err
		}
		return b.Commit(pebble.NoSync)
	})
}

// Lists implements commit.Index.
func (x *index) Lists(key ledger.ID, from uint64, yield func(stretch uint64, list []byte) bool) error {
	bounds := &pebble.IterOptions{LowerBound: listKey(key, 0), UpperBound: listKey(key, math.MaxUint64)}
	return x.iterate(bounds, func(lists *pebble.Iterator) bool {
		return lists.SeekLT(listKey(key, from+1)) || lists.First()
	}, func(_ ledger.ID, stretch uint64, list []byte) bool { return yield(stretch, list) })
}

// Each implements commit.Index.
func (x *index) Each(yield func(key ledger.ID, stretch uint64, list []byte) bool) error {
	return x.iterate(&pebble.IterOptions{LowerBound: listStart, UpperBound: listEnd}, (*pebble.Iterator).First, yield)
}

func (x *index) iterate(bounds *pebble.IterOptions, start func(*pebble.Iterator) bool, yield func(ledger.ID, uint64, []byte) bool) (err error) {
	defer x.recovered(&err)
	if err := x.failed(); err != nil {
		return err
	}
	lists, err := x.db.NewIter(bounds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lists.Close()) }()
	for valid := start(lists); valid; valid = lists.Next() {
		key, stretch, err := readListKey(lists.Key())
		if err != nil {
			return err
		}
		if !yield(key, stretch, lists.Value()) {
			return nil
		}
	}
	return lists.Error()
}

// Close flushes and releases the index. Pebble may be unable to after a failure, or on a full disk; then the folder may
// stay locked until the process ends.
func (x *index) Close() error {
	x.closing.Store(true)
	closed := make(chan error, 1)
	go func() { closed <- x.do(x.closeNow) }()
	var tooLong <-chan time.Time
	if !x.readOnly {
		tooLong = time.After(2 * x.patience)
	}
	select {
	case err := <-closed:
		return err
	case <-tooLong:
		return errors.New("ledger: the index of keys does not close: restart the process to use it again")
	}
}

func (x *index) closeNow() error {
	if x.unsaved && x.failed() == nil {
		if flushed, err := x.db.AsyncFlush(); err == nil {
			select {
			case <-flushed:
			case <-time.After(x.patience):
			}
		}
	}
	return errors.Join(x.db.Close(), x.lock.Close())
}
