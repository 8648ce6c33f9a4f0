package pebbleledger

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// VerifyChain is [commit.VerifyChain] of the log in dir. Its errors wrap ledger.ErrLocked where a process holds dir, too.
func VerifyChain(dir string, options Options, at uint64) (chain commit.Verified, err error) {
	err = Reading(dir, options, func(log commit.Log) (err error) {
		chain, err = commit.VerifyChain(log, at)
		return err
	})
	return chain, err
}

// Records is [commit.Records] of the log in dir. It changes nothing; its errors wrap ledger.ErrLocked where a process
// holds dir.
func Records(dir string, options Options, begins func(after uint64, from *state.State), visit func(lsn uint64, record string) error) error {
	return Reading(dir, options, func(log commit.Log) error { return commit.Records(log, begins, visit) })
}

// Reading calls use with the log in dir, which can't be changed by it. Its errors wrap ledger.ErrLocked where a process holds dir.
func Reading(dir string, options Options, use func(commit.Log) error) error {
	log, err := openExisting(dir, options)
	if err != nil {
		return err
	}
	return errors.Join(use(log), log.Close())
}

// openExisting opens the log in dir to be read.
func openExisting(dir string, options Options) (*log, error) {
	if options.FS == nil {
		options.FS = vfs.Default
	}
	if _, err := options.FS.Stat(dir); err != nil {
		return nil, fmt.Errorf("ledger: there is none: %w", err)
	}
	return openReadOnly(dir, options)
}
