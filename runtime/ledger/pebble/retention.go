package pebbleledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// A base is a file beside Pebble's own, with the LSN of the record that was dropped last in its name, so that the one before is there
// until the log begins after the new one.
const (
	basePrefix = "base-"
	baseNext   = "base.next"
)

var _ commit.Dropper = (*log)(nil)

func baseName(lsn uint64) string { return fmt.Sprintf("%s%020d", basePrefix, lsn) }

// SaveBase implements commit.Dropper.
func (l *log) SaveBase(lsn uint64, write func(io.Writer) error, reached func(ledger.RetentionStep) error) error {
	next := l.fs.PathJoin(l.dir, baseNext)
	err := l.writeBase(next, write, reached)
	if err == nil {
		err = l.fs.Rename(next, l.fs.PathJoin(l.dir, baseName(lsn)))
	}
	if err != nil {
		return errors.Join(err, l.fs.Remove(next))
	}
	return errors.Join(l.syncDir(), reached(ledger.BaseNamed))
}

func (l *log) writeBase(name string, write func(io.Writer) error, reached func(ledger.RetentionStep) error) error {
	file, err := l.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = reached(ledger.BaseWritten)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = reached(ledger.BaseSynced)
	}
	return errors.Join(err, file.Close())
}

// A baseFile is a base that is open.
type baseFile struct{ vfs.File }

// Size implements commit.Base.
func (f baseFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// OpenBase implements commit.Dropper.
func (l *log) OpenBase(lsn uint64) (commit.Base, error) {
	file, err := l.fs.Open(l.fs.PathJoin(l.dir, baseName(lsn)))
	if err != nil {
		return nil, err
	}
	return baseFile{file}, nil
}

// Drop implements commit.Dropper. The groups go and the beginning comes in one batch.
func (l *log) Drop(lsn uint64, beginning []byte, reached func(ledger.RetentionStep) error) (err error) {
	defer l.recovered(&err)
	b := l.db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := errors.Join(b.DeleteRange(key(0), key(lsn+1), nil), b.Set(key(lsn), beginning, nil)); err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	if err := reached(ledger.DropWritten); err != nil {
		return err
	}
	if err := l.db.LogData(nil, l.write); err != nil { // which is of everything before as well
		return err
	}
	return reached(ledger.DropSynced)
}

// Free implements commit.Dropper. A deleted range alone would stay in the tables: those of the lowest level are never written again.
func (l *log) Free(lsn uint64, reached func(ledger.RetentionStep) error) (err error) {
	defer l.recovered(&err)
	if lsn == 0 {
		return l.removeBases(lsn)
	}
	if err := l.db.Excise(context.Background(), pebble.KeyRange{Start: key(0), End: key(lsn)}); err != nil {
		return fmt.Errorf("ledger: giving back the space of what was dropped: %w", err)
	}
	if err := reached(ledger.SpaceFreed); err != nil {
		return err
	}
	return errors.Join(l.removeBases(lsn), reached(ledger.OldBaseGone))
}

// removeBases removes every base but that of an LSN, and what an interrupted pass has left.
func (l *log) removeBases(but uint64) error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, isBase := strings.CutPrefix(name, basePrefix)
		lsn, err := strconv.ParseUint(digits, 10, 64)
		if name == baseNext || isBase && err == nil && lsn != but {
			if err := l.fs.Remove(l.fs.PathJoin(l.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
