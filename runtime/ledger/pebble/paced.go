package pebbleledger

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// compaction is what Pebble calls the files that compactions write.
const compaction vfs.DiskWriteCategory = "pebble-compaction"

const (
	// paceBytes is how much of a table a compaction writes between two pauses.
	paceBytes = 128 << 10
	// pace is how long such a pause is. It bounds compactions to 32 MiB a second, several times what the log grows by, so
	// that neither the disk nor a processor is theirs for as long as a decision would notice.
	pace = 4 * time.Millisecond
)

// paced is a file system on which compactions write slowly, until the log is closed.
type paced struct {
	vfs.FS
	closing *atomic.Bool
}

// Create makes a file.
func (p paced) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := p.FS.Create(name, category)
	if err != nil || category != compaction {
		return file, err
	}
	return &pacedFile{File: file, closing: p.closing}, nil
}

// Unwrap returns the file system below.
func (p paced) Unwrap() vfs.FS { return p.FS }

type pacedFile struct {
	vfs.File
	closing *atomic.Bool
	written int // since the last pause
}

// Write writes b, and pauses now and then.
func (f *pacedFile) Write(b []byte) (int, error) {
	for f.written += len(b); f.written >= paceBytes && !f.closing.Load(); f.written -= paceBytes {
		time.Sleep(pace)
	}
	return f.File.Write(b)
}
