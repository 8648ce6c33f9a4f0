package retention

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bailiff/runtime/ledger"
)

// TestFolderInCommon has two instances export into one folder, of which the first was replaced: whatever it still does, the file of the
// second stays, and stays as it was.
func TestFolderInCommon(t *testing.T) {
	folder := t.TempDir()
	sign := func(ledger.Head) ([]byte, error) { return []byte("signed"), nil }
	end := func(lsn uint64) ledger.Head { return ledger.Head{Stream: [16]byte{1}, LSN: lsn, Hash: [32]byte{1}} }
	begin := func(reached func(ledger.RetentionStep) error) *writer {
		w, err := newWriter(folder, ledger.Head{}, sign, reached)
		if err == nil {
			err = w.Add([]byte("a group"))
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	second := func() (path string, sum [32]byte) {
		w := begin(nil)
		if err := w.Add([]byte("another one")); err != nil {
			t.Fatal(err)
		}
		sum, err := w.Close(end(1200))
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(folder, nameOf(ledger.Head{}, end(1200))), sum
	}
	var path string
	var sum [32]byte
	for _, at := range []ledger.RetentionStep{ledger.ExportWritten, ledger.ExportNamed} {
		first := begin(func(step ledger.RetentionStep) error {
			if step == at {
				path, sum = second()
			}
			return nil
		})
		if _, err := first.Close(end(1000)); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || sha256.Sum256(text) != sum {
			t.Errorf("the first instance was replaced at %q, and went on: the second's file: %v", at, err)
		}
	}
	left := begin(nil)
	long := time.Now().Add(-2 * leftBehind)
	if err := os.Chtimes(left.file.Name(), long, long); err != nil {
		t.Fatal(err)
	}
	second()
	if _, err := left.Close(end(900)); err == nil {
		t.Error("a file that was left behind is given its name")
	}
	if names, _ := filepath.Glob(filepath.Join(folder, unfinished+"*")); len(names) != 0 {
		t.Errorf("these are left: %q", names)
	}
}
