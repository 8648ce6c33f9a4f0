package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bailiff/runtime/atomicfile"
)

// only reports the one file of a folder, and fails if there are more or fewer.
func only(t *testing.T, dir string) (name, content string, mode fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder has %v, %v; want one file", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Name(), string(text), info.Mode()
}

// TestCreate: of several processes that create a file, one succeeds, and the others leave nothing behind.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var created, refused atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch err := atomicfile.Create(path, []byte("content")); {
			case err == nil:
				created.Add(1)
			case errors.Is(err, fs.ErrExist):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d created the file, and %d found it", created.Load(), refused.Load())
	}
	if name, content, mode := only(t, dir); name != "key" || content != "content" || mode != 0o600 {
		t.Errorf("%s has %q with mode %s", name, content, mode)
	}
}

// TestReplace: a file is replaced as a whole, and adopt decides on its mode.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy")
	for content, mode := range map[string]fs.FileMode{"first": 0o644, "second": 0o640} {
		if err := atomicfile.Replace(path, []byte(content), func(f *os.File) error { return f.Chmod(mode) }); err != nil {
			t.Fatal(err)
		}
		if name, got, has := only(t, dir); name != "policy" || got != content || has != mode {
			t.Errorf("%s has %q with mode %s, want %q with %s", name, got, has, content, mode)
		}
	}
}

// TestReplaceFails: what fails leaves the old file, and no other.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy")
	if err := atomicfile.ReplacePrivate(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("refused")
	if err := atomicfile.Replace(path, []byte("after"), func(*os.File) error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("adopt failed, and Replace says %v", err)
	}
	if name, content, _ := only(t, dir); name != "policy" || content != "before" {
		t.Errorf("%s has %q", name, content)
	}
	missing := filepath.Join(dir, "missing", "policy")
	for name, write := range map[string]func() error{
		"Create":         func() error { return atomicfile.Create(missing, nil) },
		"Replace":        func() error { return atomicfile.Replace(missing, nil, nil) },
		"ReplacePrivate": func() error { return atomicfile.ReplacePrivate(missing, nil) },
	} {
		if err := write(); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "missing") {
			t.Errorf("%s into a folder that is not there: %v", name, err)
		}
	}
}

// TestReplacePrivate: what a killed process left unfinished is not used, whatever its mode, nor what it links to written.
func TestReplacePrivate(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "target")
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(elsewhere, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, left := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(path+".new", []byte("unfinished and longer"), 0o644) },
		func() error { return os.Symlink(elsewhere, path+".new") },
	} {
		if err := left(); err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.ReplacePrivate(path, []byte("content")); err != nil {
			t.Fatal(err)
		}
		if name, content, mode := only(t, dir); name != "secret" || content != "content" || mode != 0o600 {
			t.Errorf("%s has %q with mode %s", name, content, mode)
		}
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "untouched" {
		t.Errorf("the file that was linked has %q, %v", text, err)
	}
}
