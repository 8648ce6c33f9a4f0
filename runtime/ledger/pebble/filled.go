package pebbleledger

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// filled is a file system whose new log files are as large as they become, full of zeros, which Pebble takes for the
// end of a log. The sync of a file that grows writes its inode, too, between the data and the flush, and a service that
// is asked now and then would spend days in its first file.
type filled struct{ vfs.FS }

// fillBytes is the size of a log file, with what Pebble itself allows for beyond a table.
const fillBytes = memTableBytes + memTableBytes/10

// Create makes a file. A log file that can't be filled, as on a disk that is nearly full, grows instead.
func (f filled) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return file, err
	}
	if err := errors.Join(fill(file), file.Close()); err != nil {
		return f.FS.Create(name, category)
	}
	return f.OpenReadWrite(name, category)
}

// fillStep is how many bytes are filled at once. Linux caches a file in pieces as large as the writes that made them, and
// each later write and sync of some bytes looks at all blocks of their piece: those of a whole file made a denial 8 % slower.
const fillStep = 4096

// fill gives a file its zeros, and these their room on the disk.
func fill(file vfs.File) error {
	page := make([]byte, fillStep)
	for written := 0; written < fillBytes; written += len(page) {
		if _, err := file.Write(page[:min(len(page), fillBytes-written)]); err != nil {
			return err
		}
	}
	return file.Sync()
}

// Unwrap returns the file system below.
func (f filled) Unwrap() vfs.FS { return f.FS }
