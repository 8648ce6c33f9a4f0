package pebbleledger

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// Filling makes a log in dir, and has fill fill it. Nothing in it is durable before Filling returns.
func Filling(dir string, options Options, fill func(commit.Log) error) error {
	log, err := openLog(dir, options)
	if err != nil {
		return err
	}
	log.write = pebble.NoSync
	if err = fill(log); err == nil {
		err = log.db.LogData(nil, pebble.Sync)
	}
	return errors.Join(err, log.Close())
}

// A Restoring fills a directory from a backup.
type Restoring struct {
	*commit.Restoring
	log *log
}

// Restore begins to fill a directory, which it makes. Nothing in it is durable before Finish.
func Restore(dir string, options Options) (*Restoring, error) {
	log, err := openLog(dir, options)
	if err != nil {
		return nil, err
	}
	log.write = pebble.NoSync
	filling, err := commit.Restore(log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &Restoring{filling, log}, nil
}

// Finish is [commit.Restoring.Finish], after which everything is durable.
func (r *Restoring) Finish(v ledger.Restoration, random io.Reader) (ledger.Head, error) {
	r.log.write = pebble.Sync // which is of everything before as well
	return r.Restoring.Finish(v, random)
}

// Close releases the directory.
func (r *Restoring) Close() error { return r.log.Close() }
