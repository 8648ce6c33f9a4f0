package pebbleledger

import (
	"errors"
	"io"
	iofs "io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/runtime/ledger/commit"
)

// The snapshot is a file beside Pebble's own. It is written under another name and then renamed, so that it is the old
// one or the new one after a crash.
const (
	snapshotName = "snapshot"
	snapshotNext = "snapshot.next"
)

// SnapshotPath returns the path of the snapshot of the ledger in dir. The file may be removed while no process holds dir.
func SnapshotPath(dir string) string { return filepath.Join(dir, snapshotName) }

var _ commit.Snapshots = (*log)(nil)

// SaveSnapshot implements commit.Snapshots.
func (l *log) SaveSnapshot(snapshot []byte) error {
	next := l.fs.PathJoin(l.dir, snapshotNext)
	if err := l.writeFile(next, snapshot); err != nil {
		return errors.Join(err, l.fs.Remove(next))
	}
	if err := l.fs.Rename(next, l.fs.PathJoin(l.dir, snapshotName)); err != nil {
		return err
	}
	return l.syncDir()
}

// syncDir makes the names in the log's folder durable.
func (l *log) syncDir() error {
	dir, err := l.fs.OpenDir(l.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (l *log) writeFile(name string, content []byte) error {
	file, err := l.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// LoadSnapshot implements commit.Snapshots.
func (l *log) LoadSnapshot() ([]byte, error) {
	file, err := l.fs.Open(l.fs.PathJoin(l.dir, snapshotName))
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}
