package pebbleledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger/commit"
)

// format is the version of Pebble's files. It is named, not "newest", so that a new Pebble cannot make a directory
// unreadable for the release before.
const format = pebble.FormatValueSeparation

const (
	// memTableBytes bounds how much of Pebble's own log is replayed when a directory is opened, and the size of its log
	// files. They are used again once their table is flushed: a file that does not grow is synced with one write, of
	// the data, and one that does with two. So they are small, but large beside a group.
	memTableBytes = 2 << 20
	// closePatience is how long Close waits for Pebble after a failure. Pebble may have failed with a lock held.
	closePatience = 5 * time.Second
	// fullPause is how long a write waits that has met a full disk, before it is tried once more: Pebble tries to write a
	// table again at once, and for ever.
	fullPause = 100 * time.Millisecond
	// logTables and indexTables are how many tables are kept open. With about ten other files of each database they are fewer
	// than what the service keeps from connections (reservedFiles in cmd/bailiff).
	logTables   = 24
	indexTables = 16
)

// A log is a commit.Log over Pebble.
type log struct {
	db       *pebble.DB
	fs       vfs.FS
	plain    vfs.FS // for the index, whose log file stays empty and so is not filled
	dir      string
	lock     *pebble.Lock
	write    *pebble.WriteOptions // Sync; tests show that anything less is noticed
	patience time.Duration        // closePatience
	readOnly bool
	errorf   func(format string, args ...any)
	closing  atomic.Bool // compactions need not be slow any more
	merging  *merger     // nil where nothing is written

	mu       sync.Mutex
	failure  error       // fatal for the log
	trouble  error       // the last background error, nil after a flush that worked
	onFailed func(error) // set by Notify
}

var _ commit.Log = (*log)(nil)

func openLog(dir string, options Options) (*log, error) { return openAs(dir, options, false) }

// openReadOnly opens an existing log, and writes nothing.
func openReadOnly(dir string, options Options) (*log, error) { return openAs(dir, options, true) }

func openAs(dir string, options Options, readOnly bool) (l *log, err error) {
	onDisk := options.FS == nil
	if onDisk {
		options.FS = private{vfs.Default}
	}
	pause := func() { time.Sleep(fullPause) }
	l = &log{dir: dir, plain: vfs.OnDiskFull(options.FS, pause), write: pebble.Sync, patience: closePatience, readOnly: readOnly, errorf: options.Errorf}
	options.FS = vfs.OnDiskFull(filled{options.FS}, pause)
	held, err := lock(dir, &options)
	if err != nil {
		return nil, err
	}
	l.fs, l.lock = options.FS, held
	if !readOnly {
		l.merging = newMerger()
	}
	defer func() {
		if err != nil {
			l, err = nil, errors.Join(err, held.Close())
		}
	}()
	if onDisk && !readOnly {
		if err := makePrivate(dir); err != nil {
			return nil, fmt.Errorf("ledger: taking the files of %s from other users: %w", dir, err)
		}
	}
	defer l.recovered(&err)
	tables := pebble.NewFileCache(1, logTables)
	defer tables.Unref() // the database has its own reference
	settings := l.options(&options, tables)
	settings.ReadOnly = readOnly
	settings.ErrorIfNotExists = readOnly
	l.db, err = pebble.Open(dir, settings)
	if err != nil {
		return nil, fmt.Errorf("ledger: opening %s: %w", dir, err)
	}
	if l.merging != nil {
		go l.mergeAll()
	}
	return l, nil
}

func (l *log) options(options *Options, tables *pebble.FileCache) *pebble.Options {
	told := &logger{fail: l.fail, errorf: options.Errorf}
	merged := [7]int64{memTableBytes}
	for level := 1; level < len(merged); level++ {
		merged[level] = mergedBytes
	}
	return &pebble.Options{
		FS:        paced{markedDirs{l.fs, told.Fatalf}, &l.closing},
		Lock:      l.lock,
		FileCache: tables,

		FormatMajorVersion:          format,
		MemTableSize:                memTableBytes,
		DisableAutomaticCompactions: true,
		LBaseMaxBytes:               math.MaxInt64, // merged tables go to the lowest level at once
		TargetFileSizes:             merged,
		Logger:                      told,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { l.setTrouble(err) },
			FlushEnd:        l.flushed,
			DataCorruption:  told.damaged,
		},
	}
}

// Notify has failed called when the log fails in one of Pebble's goroutines, or at once where it has.
func (l *log) Notify(failed func(error)) {
	l.mu.Lock()
	l.onFailed = failed
	err := l.failure
	l.mu.Unlock()
	if err != nil {
		failed(err)
	}
}

// fail notes that the log is lost until it is opened again.
func (l *log) fail(err error) {
	l.mu.Lock()
	if l.failure == nil {
		l.failure = err
	}
	failed := l.onFailed
	l.mu.Unlock()
	if failed != nil {
		failed(err)
	}
}

func (l *log) setTrouble(err error) {
	l.mu.Lock()
	l.trouble = err
	l.mu.Unlock()
}

// flushed notes the end of a flush. Of one that failed Pebble tells as a background error, too. One that had nothing to
// write, as at a start after which nothing had been written, has worked, and carries an error all the same.
func (l *log) flushed(info pebble.FlushInfo) {
	if info.Err == nil {
		l.setTrouble(nil)
		l.merging.flushed()
	}
}

// Health returns what keeps the log from working, or soon will.
func (l *log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return l.failure
	case l.trouble != nil:
		return fmt.Errorf("ledger: pebble cannot write in the background (is the disk full?): %w", l.trouble)
	}
	return nil
}

// recovered turns a panic of Pebble into an error. A failed write of its log ends in Fatalf or in a panic of its own;
// either leaves the database unusable, and neither may end the process before the waiters know.
func (l *log) recovered(err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	*err = fmt.Errorf("ledger: pebble: %v", cause)
	l.fail(*err)
}

func key(first uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte("l/"), first)
}

// span is the range of all groups.
var span = pebble.IterOptions{LowerBound: []byte("l/"), UpperBound: []byte("l0")}

// Append implements commit.Log.
func (l *log) Append(first uint64, group []byte) (err error) {
	defer l.recovered(&err)
	return l.db.Set(key(first), group, l.write)
}

// Read implements commit.Log.
func (l *log) Read(from uint64, yield func(first uint64, group []byte) bool) (err error) {
	defer l.recovered(&err)
	groups, err := l.db.NewIter(&span)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, groups.Close()) }()
	valid := groups.SeekLT(key(from + 1))
	if !valid {
		valid = groups.First()
	}
	for ; valid; valid = groups.Next() {
		first, err := lsnOf(groups.Key())
		if err != nil {
			return err
		}
		if !yield(first, groups.Value()) {
			break
		}
	}
	return groups.Error()
}

// Truncate implements commit.Log.
func (l *log) Truncate(from uint64) (err error) {
	defer l.recovered(&err)
	last, err := l.Head()
	if err != nil || last < from {
		return err
	}
	return l.db.DeleteRange(key(from), key(last+1), pebble.Sync) // a wider one would overlap every table to come
}

// Head implements commit.Log.
func (l *log) Head() (first uint64, err error) {
	defer l.recovered(&err)
	groups, err := l.db.NewIter(&span)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, groups.Close()) }()
	if !groups.Last() {
		return 0, groups.Error()
	}
	return lsnOf(groups.Key())
}

func lsnOf(key []byte) (uint64, error) {
	if len(key) != len("l/")+8 {
		return 0, fmt.Errorf("ledger: the key %q is not the key of a group", key)
	}
	return binary.BigEndian.Uint64(key[len("l/"):]), nil
}

// Close releases the directory. After a failure Pebble may be unable to close; then the directory stays locked until
// the process ends, and the error says so.
func (l *log) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- l.closeNow() }()
	l.mu.Lock()
	failed := l.failure != nil
	l.mu.Unlock()
	if !failed {
		return <-closed
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(l.patience):
		return errors.New("ledger: pebble does not close after its failure: restart the process to open the ledger again")
	}
}

func (l *log) closeNow() (err error) {
	defer func() { err = errors.Join(err, l.lock.Close()) }()
	defer l.recovered(&err)
	l.closing.Store(true)
	if l.merging != nil {
		l.merging.stop()
		<-l.merging.done
	}
	return l.db.Close()
}
