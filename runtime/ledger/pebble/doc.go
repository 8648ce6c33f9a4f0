// Package pebbleledger keeps a ledger on disk with Pebble. It is the only package that imports Pebble.
//
// Pebble is used as a durable, ordered list of groups: one Set and one Sync per group, under the key "l/" and the
// group's first LSN, and nothing else on the hot path. What groups mean is the business of ledger/commit.
//
// Beside it are a snapshot, a file from which opening replays the log, at about half a million records a second on
// one core, and an index of keys, a database of its own without a log, which says which groups have records of
// a key. Old tables of groups are merged, once, at a pace that decisions do not notice. A directory is locked by one process
// at a time.
//
// If the disk fails while Pebble switches from one log file to the next, Pebble ends the process: nothing that
// was acknowledged is lost, and the supervisor starts the service again.
package pebbleledger

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/reopen"
)

// Options are what a ledger needs besides its directory.
type Options struct {
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Random gives the stream id of a new log; crypto/rand.Reader in service.
	Random io.Reader
	// AdminSocket is named in the error of a directory that is locked, as the way to reach the service that holds
	// it; "" where there is none.
	AdminSocket string
	// Errorf reports what Pebble logs as an error, which Health tells too, and that an unfinished last group was removed
	// on opening, or that a snapshot or the index of keys can't be made or used; nil drops it.
	Errorf func(format string, args ...any)
	// Observer is told of every group that was made durable, with Clock's measure of it; nil for none.
	Observer commit.Observer
	// Clock measures time for Observer; time.Now in service. Not needed without.
	Clock func() time.Time
	// Go starts the work of the ledger in the background; nil means system.Go. Pebble starts its own.
	Go func(task func())
	// SnapshotEvery is how many records are written between two snapshots; 0 means commit.SnapshotEvery.
	SnapshotEvery uint64
	// IndexEvery is how many records a stretch of the index of keys has at least; 0 means commit.IndexEvery.
	IndexEvery uint64
	// Reopen says how the log is opened again when it has failed; nil: it is not, and the ledger refuses everything until it is
	// closed and opened.
	Reopen *reopen.Options
}

// Open opens the ledger in dir, and makes it where there is none. Its errors wrap ledger.ErrLocked where another
// process holds dir, and ledger.ErrCorrupt where the log is not what was written.
func Open(dir string, options Options) (*commit.Ledger, error) {
	log, err := openAgain(dir, options)
	if err != nil {
		return nil, err
	}
	l, err := commit.Open(log, commit.Options{
		Random: options.Random, Logger: options.Errorf, Observer: options.Observer, Clock: options.Clock, Go: options.Go,
		SnapshotEvery: options.SnapshotEvery, IndexEvery: options.IndexEvery,
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return l, nil
}

// closable is a log that can be closed.
type closable interface {
	commit.Log
	io.Closer
}

// openAgain opens the log, in a way that opens it again where options say so.
func openAgain(dir string, options Options) (closable, error) {
	open := func() (commit.Log, error) {
		log, err := openLog(dir, options)
		if err != nil {
			return nil, err // a nil *log would be a commit.Log that is not nil
		}
		return log, nil
	}
	if options.Reopen != nil {
		return reopen.Open(open, *options.Reopen)
	}
	return openLog(dir, options)
}

// lock takes the directory for this process.
func lock(dir string, options *Options) (*pebble.Lock, error) {
	if err := options.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("ledger: making %s: %w", dir, err)
	}
	held, err := pebble.LockDirectory(dir, options.FS)
	var path *iofs.PathError
	switch {
	case err == nil:
		return held, nil
	case errors.As(err, &path):
		return nil, fmt.Errorf("ledger: %w", err)
	case options.AdminSocket == "":
		return nil, fmt.Errorf("%w: %s is held by a running service: stop it first (%w)", ledger.ErrLocked, dir, err)
	}
	return nil, fmt.Errorf("%w: %s is held by a running service: reach it through its admin socket %s, or stop it first (%w)",
		ledger.ErrLocked, dir, options.AdminSocket, err)
}
