package pebbleledger

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestFilled: the first log file keeps its size while it takes groups, and is read back; one that could not be filled,
// because the disk is full, takes them all the same, and grows.
func TestFilled(t *testing.T) {
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") {
			return syscall.ENOSPC
		}
		return nil
	})
	for _, fills := range []bool{true, false} {
		dir, broken := t.TempDir(), &errorfs.Toggle{Injector: full}
		options := Options{FS: errorfs.Wrap(vfs.Default, broken)}
		if !fills {
			broken.On()
		}
		log, err := openLog(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		broken.Off()
		before := logBytes(t, dir)
		if err := log.Append(1, []byte("a group")); err != nil {
			t.Fatal(err)
		}
		if after := logBytes(t, dir); fills != (before == fillBytes) || fills != (after == before) {
			t.Errorf("filled: %t: the log file had %d bytes, and has %d", fills, before, after)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if log, err = openLog(dir, options); err != nil {
			t.Fatal(err)
		}
		if head, err := log.Head(); head != 1 || err != nil {
			t.Errorf("filled: %t: the head is %d, %v", fills, head, err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// logBytes is the size of the only log file in dir.
func logBytes(t *testing.T, dir string) int64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	info, err := vfs.Default.Stat(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
