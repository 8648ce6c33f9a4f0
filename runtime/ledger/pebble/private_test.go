package pebbleledger

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPrivate: no other user can read a file of the ledger, be it new or one that an earlier build left open to all.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	var open []string
	private := func() bool { // the index is made in the background, so that files may come and go meanwhile
		open = nil
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm() != 0o600 {
				open = append(open, info.Mode().String()+" "+path)
			}
			return err
		})
		return err == nil && len(open) == 0
	}
	for range 2 {
		l, err := Open(dir, Options{Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "files that only their owner can read, while it is open", private)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if !private() {
			t.Errorf("after it was closed others can read %v", open)
		}
		files := 0
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			return os.Chmod(path, 0o644)
		})
		if err != nil || files == 0 {
			t.Fatalf("the ledger has no files: %v", err)
		}
	}
}
