package pebbleledger

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestMarkedDirs: where a directory cannot be synced after a marker was moved, which Pebble answers with a panic, that is
// fatal for the log or the index, and another sync returns its error.
func TestMarkedDirs(t *testing.T) {
	broken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync && op.Path == "dir" {
			return syscall.EIO
		}
		return nil
	})}
	disk := vfs.NewMem()
	if err := disk.MkdirAll("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	fatal := errors.New("fatal")
	fs := markedDirs{errorfs.Wrap(disk, broken), func(format string, args ...any) { panic(fmt.Errorf("%w: "+format, append([]any{fatal}, args...)...)) }}
	marker, _, err := atomicfs.LocateMarker(fs, "dir", "manifest")
	if err != nil {
		t.Fatal(err)
	}
	broken.On()
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, fatal) || !strings.Contains(err.Error(), "syncing dir") {
				t.Errorf("moving a marker: %v", err)
			}
		}()
		t.Error("moving a marker returned ", marker.Move("value"))
	}()
	dir, err := fs.OpenDir("dir")
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("another sync: %v", err)
	}
}
