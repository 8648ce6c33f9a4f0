package pebbleledger

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A compacting file system counts the files that compactions make.
type compacting struct {
	vfs.FS
	files *atomic.Int64
}

func (c compacting) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == compaction {
		c.files.Add(1)
	}
	return c.FS.Create(name, category)
}

// TestMerge: however many tables flushes make, the old ones are merged, once each, and all groups are there.
func TestMerge(t *testing.T) {
	made := new(atomic.Int64)
	options := Options{FS: compacting{vfs.NewMem(), made}}
	log, err := openLog("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	write := func(tables int) {
		for range tables {
			for range 3 {
				if err := log.Append(next, fmt.Append(nil, "group ", next)); err != nil {
					t.Fatal(err)
				}
				next++
			}
			if err := log.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	tables := func() (flushed, merged int) {
		levels, err := log.db.SSTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range levels[1:] {
			merged += len(level)
		}
		return len(levels[0]), merged
	}
	const all = 4*mergeTables + recentTables
	write(all)
	eventually(t, "merged tables", func() bool {
		flushed, merged := tables()
		return flushed >= recentTables && flushed < mergeTables+recentTables && merged == (all-flushed)/mergeTables
	})
	if _, merged := tables(); made.Load() != int64(merged) {
		t.Errorf("compactions have made %d files, of which %d are left: a group is merged once", made.Load(), merged)
	}
	wantGroups(t, log, next)
	if err := log.Truncate(next - 1); err != nil {
		t.Fatal(err)
	}
	next--
	write(2 * mergeTables)
	eventually(t, "merged tables after a group was removed", func() bool { flushed, _ := tables(); return flushed < mergeTables+recentTables })
	wantGroups(t, log, next)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = openLog("ledger", options); err != nil {
		t.Fatal(err)
	}
	wantGroups(t, log, next)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantGroups checks that a log has all groups before an LSN.
func wantGroups(t *testing.T, log *log, before uint64) {
	t.Helper()
	want := uint64(1)
	if err := log.Read(0, func(first uint64, group []byte) bool {
		if first != want || string(group) != fmt.Sprint("group ", first) {
			t.Fatalf("group %d is %q, where %d is expected", first, group, want)
		}
		want++
		return true
	}); err != nil || want != before {
		t.Fatalf("read up to %d of %d: %v", want, before, err)
	}
}

// TestMergeOldData: tables that an earlier process has left are merged when the log is opened.
func TestMergeOldData(t *testing.T) {
	options := Options{FS: vfs.NewMem()}
	log, err := openLog("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	log.merging.stop() // as an earlier build
	<-log.merging.done
	for n := range uint64(100) {
		if err := log.Append(n+1, fmt.Append(nil, "group ", n+1)); err != nil {
			t.Fatal(err)
		}
		if err := log.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	levels, err := log.db.SSTables()
	if err != nil || len(levels[0]) != 100 {
		t.Fatalf("%d tables, %v", len(levels[0]), err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = openLog("ledger", options); err != nil {
		t.Fatal(err)
	}
	eventually(t, "merged tables", func() bool {
		levels, err := log.db.SSTables()
		return err == nil && len(levels[0]) < mergeTables+recentTables
	})
	wantGroups(t, log, 101)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
