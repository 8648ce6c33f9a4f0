package pebbleledger

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

const indexedKeys = 3

// An indexed ledger has records of some keys, and an index of them.
type indexed struct {
	*testing.T
	options Options
	l       *commit.Ledger
}

func newIndexed(t *testing.T) *indexed {
	f := &indexed{T: t, options: Options{FS: vfs.NewMem(), Random: rand.Reader, IndexEvery: 4}}
	f.open()
	for n := range uint64(indexedKeys) {
		if err := f.l.CreateKey(t.Context(), ledgertest.NewKey(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	f.write(20)
	return f
}

func (f *indexed) open() {
	f.Helper()
	l, err := Open("ledger", f.options)
	if err != nil {
		f.Fatal(err)
	}
	f.l = l
	f.Cleanup(func() { l.Close() })
}

func (f *indexed) close() {
	f.Helper()
	if err := f.l.Close(); err != nil {
		f.Fatal(err)
	}
}

// write writes records of all keys but the last.
func (f *indexed) write(n int) {
	f.Helper()
	for i := range n {
		p := benchPlan(0)
		p.Key = ledgertest.ID('k', uint64(1+i%(indexedKeys-1)))
		if err := f.l.Submit(p).Wait(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
}

// compare compares the events of each key with those of all.
func (f *indexed) compare() {
	f.Helper()
	for n := range uint64(indexedKeys) {
		if err := ledgertest.CompareEvents(f.l, ledgertest.ID('k', n+1)); err != nil {
			f.Error(err)
		}
	}
}

// caughtUp waits for the index.
func (f *indexed) caughtUp() {
	f.Helper()
	head, err := f.l.Head(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	eventually(f.T, "an index of the log", func() bool { return f.l.Indexed() > head.LSN-f.options.IndexEvery })
	f.compare()
}

// verified closes the ledger, and checks that the index is as it has to be.
func (f *indexed) verified() {
	f.Helper()
	f.close()
	chain, err := VerifyChain("ledger", f.options, 0)
	if err != nil || chain.IndexChanged || chain.Index == 0 || chain.Index+f.options.IndexEvery <= chain.Head.LSN {
		f.Fatalf("%+v, %v", chain, err)
	}
}

// files returns the names of the index's files that end so.
func (f *indexed) files(suffix string) (paths []string) {
	f.Helper()
	names, err := f.options.FS.List("ledger/index")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, suffix) || strings.HasPrefix(name, suffix) {
			paths = append(paths, "ledger/index/"+name)
		}
	}
	if len(paths) == 0 {
		f.Fatalf("no files like %s: %v", suffix, names)
	}
	return paths
}

// TestIndexOfOldData opens a ledger that an earlier build wrote, without an index: it works at once, and gets one.
func TestIndexOfOldData(t *testing.T) {
	f := newIndexed(t)
	f.close()
	if err := f.options.FS.RemoveAll("ledger/index"); err != nil {
		t.Fatal(err)
	}
	if chain, err := VerifyChain("ledger", f.options, 0); err != nil || chain.Index != 0 || chain.IndexChanged {
		t.Fatalf("without an index: %+v, %v", chain, err)
	}
	if _, err := f.options.FS.Stat("ledger/index"); err == nil {
		t.Fatal("verifying made an index")
	}
	f.open()
	f.compare()
	f.caughtUp()
	f.write(7)
	f.caughtUp()
	f.verified()
}

// TestIndexIsMadeAgain opens ledgers whose index is not that of the log, or is damaged: events are right at once, and the
// index is made again.
func TestIndexIsMadeAgain(t *testing.T) {
	for name, spoil := range map[string]func(f *indexed){
		"ahead of a log that was restored": func(f *indexed) {
			older := vfs.NewMem()
			if _, err := vfs.Clone(f.options.FS, older, "ledger", "ledger"); err != nil {
				f.Fatal(err)
			}
			f.open()
			f.write(11)
			f.caughtUp()
			f.close()
			if err := older.RemoveAll("ledger/index"); err != nil {
				f.Fatal(err)
			}
			if _, err := vfs.Clone(f.options.FS, older, "ledger/index", "ledger/index"); err != nil {
				f.Fatal(err)
			}
			f.options.FS = older
		},
		"of another log": func(f *indexed) {
			other := newIndexed(f.T)
			other.caughtUp()
			other.close()
			if err := f.options.FS.RemoveAll("ledger/index"); err != nil {
				f.Fatal(err)
			}
			if _, err := vfs.Clone(other.options.FS, f.options.FS, "ledger/index", "ledger/index"); err != nil {
				f.Fatal(err)
			}
		},
		"with other stretches": func(f *indexed) { f.options.IndexEvery = 5 },
		"a damaged block":      func(f *indexed) { f.overwrite(".sst", func(b []byte) { b[8] ^= 1 }) },
		"damaged tables":       func(f *indexed) { f.overwrite(".sst", func(b []byte) { clear(b) }) },
		"damaged manifest":     func(f *indexed) { f.overwrite("MANIFEST", func(b []byte) { clear(b) }) },
		"missing tables": func(f *indexed) {
			for _, path := range f.files(".sst") {
				if err := f.options.FS.Remove(path); err != nil {
					f.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newIndexed(t)
			f.caughtUp()
			f.close()
			spoil(f)
			f.open()
			f.compare()
			f.caughtUp()
			f.verified()
		})
	}
}

// overwrite edits files of the index.
func (f *indexed) overwrite(suffix string, edit func([]byte)) {
	f.Helper()
	for _, path := range f.files(suffix) {
		file, err := f.options.FS.Open(path)
		if err != nil {
			f.Fatal(err)
		}
		content, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			f.Fatal(err)
		}
		edit(content)
		if file, err = f.options.FS.Create(path, vfs.WriteCategoryUnspecified); err != nil {
			f.Fatal(err)
		}
		_, err = file.Write(content)
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			f.Fatal(err)
		}
	}
}

// TestVerifyIndex edits the index: events could be hidden so, and verifying says it.
func TestVerifyIndex(t *testing.T) {
	for name, edit := range map[string]func(lists map[ledger.ID][]byte){
		"a key removed":   func(lists map[ledger.ID][]byte) { delete(lists, ledgertest.ID('k', 1)) },
		"a group removed": func(lists map[ledger.ID][]byte) { lists[ledgertest.ID('k', 1)] = []byte{} },
		"a key added":     func(lists map[ledger.ID][]byte) { lists[ledgertest.ID('k', 9)] = []byte{1} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newIndexed(t)
			f.caughtUp()
			f.close()
			log, err := openLog("ledger", f.options)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld()
			w.put = edit
			if err := errors.Join(log.RemoveIndex(), log.Close()); err != nil {
				t.Fatal(err)
			}
			f.openWatched(w)
			eventually(t, "an index", func() bool { return f.l.Indexed() > 10 })
			f.close()
			if chain, err := VerifyChain("ledger", f.options, 0); err != nil || !chain.IndexChanged || chain.Index != 0 {
				t.Errorf("%+v, %v", chain, err)
			}
		})
	}
}

// openWatched opens the ledger with an index that a world watches.
func (f *indexed) openWatched(w *world) {
	f.Helper()
	log, err := openLog("ledger", f.options)
	if err != nil {
		f.Fatal(err)
	}
	f.l, err = commit.Open(watched{log, w}, commit.Options{Random: rand.Reader, IndexEvery: f.options.IndexEvery})
	if err != nil {
		f.Fatal(err)
	}
}

// TestIndexNamesNoGroup has a reader come upon an index that was edited to name groups that the log does not have, and
// upon lists that cannot be read: the page is right all the same, and the index is made again.
func TestIndexNamesNoGroup(t *testing.T) {
	for name, list := range map[string][]byte{
		"no group there": {200, 1}, "no list": {0, 0}, "half a number": {128}, "beyond all": {255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newIndexed(t)
			f.caughtUp()
			f.close()
			if err := f.options.FS.RemoveAll("ledger/index"); err != nil {
				t.Fatal(err)
			}
			var bad atomic.Bool
			bad.Store(true)
			w := newWorld()
			w.put = func(lists map[ledger.ID][]byte) {
				for key := range lists {
					if bad.Load() {
						lists[key] = list
					}
				}
			}
			f.openWatched(w)
			eventually(t, "an index", func() bool { return f.l.Indexed() > 10 })
			bad.Store(false)
			f.compare()
			f.caughtUp()
			f.verified()
		})
	}
}

// TestIndexCannotBeWritten has every write below the index's folder fail: the ledger works, and events are found.
func TestIndexCannotBeWritten(t *testing.T) {
	for name, err := range map[string]error{"full": syscall.ENOSPC, "broken": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			broken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
				if strings.Contains(op.Path, "index/") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					return err
				}
				return nil
			})}
			f := &indexed{T: t, options: Options{FS: errorfs.Wrap(vfs.NewMem(), broken), Random: rand.Reader, IndexEvery: 4}}
			broken.On()
			f.open()
			for n := range uint64(indexedKeys) {
				if err := f.l.CreateKey(context.Background(), ledgertest.NewKey(n+1)); err != nil {
					t.Fatal(err)
				}
			}
			f.write(20)
			f.compare()
			if err := f.l.Health(); err != nil {
				t.Error(err)
			}
			if f.l.Indexed() != 0 {
				t.Error("an index that cannot be written is used")
			}
			f.close()
		})
	}
}
