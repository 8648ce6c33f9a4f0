package pebbleledger

import "github.com/cockroachdb/pebble/v2/vfs"

// markedDirs is a file system on which Pebble does not panic where it cannot sync a directory after it has moved a marker
// there: that may be in a goroutine of its own, and would end the process with everybody waiting. It is fatal instead, as
// other such failures are. Every other sync of a directory returns its error.
type markedDirs struct {
	vfs.FS
	fatalf func(format string, args ...any) // does not return
}

// OpenDir opens a directory.
func (m markedDirs) OpenDir(name string) (vfs.File, error) {
	dir, err := m.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return markedDir{dir, name, m.fatalf}, nil
}

// Unwrap returns the file system below.
func (m markedDirs) Unwrap() vfs.FS { return m.FS }

type markedDir struct {
	vfs.File
	name   string
	fatalf func(format string, args ...any)
}

// Sync syncs the directory.
func (d markedDir) Sync() error {
	err := d.File.Sync()
	if err != nil && onStack("/atomicfs.(*Marker).Move") {
		d.fatalf("syncing %s: %v", d.name, err)
	}
	return err
}
