package pebbleledger

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// TestIndexOnFullDisk: Pebble tries again at once, and for ever, to write a table that does not fit on the disk. Attempts
// for the index pause as those for the log do, so that they leave the processors to decisions.
func TestIndexOnFullDisk(t *testing.T) {
	var attempts atomic.Int64
	full := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			attempts.Add(1)
			return syscall.ENOSPC
		}
		return nil
	})}
	log, err := openLog("ledger", Options{FS: errorfs.Wrap(vfs.NewMem(), full)})
	if err != nil {
		t.Fatal(err)
	}
	x, err := log.OpenIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Put([]byte("mark"), 1, map[ledger.ID][]byte{ledgertest.ID('k', 1): {1}}); err != nil {
		t.Fatal(err)
	}
	full.On()
	x.Close() // tries for indexPatience
	full.Off()
	// Each pause of fullPause has one attempt before and one after it.
	if most := int64(4 * (2*indexPatience/fullPause + 1)); attempts.Load() == 0 || attempts.Load() > most {
		t.Errorf("%d attempts to write a table, of at most %d", attempts.Load(), most)
	}
	log.Close()
}

// A counting file system counts the tables that are open.
type counting struct {
	vfs.FS
	open *atomic.Int64
}

func (c counting) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := c.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return file, err
	}
	c.open.Add(1)
	return countedFile{file, c.open}, nil
}

type countedFile struct {
	vfs.File
	open *atomic.Int64
}

func (f countedFile) Close() error {
	f.open.Add(-1)
	return f.File.Close()
}

// TestOpenTables: however many tables there are, few are open, because the service keeps few files from connections.
func TestOpenTables(t *testing.T) {
	const tables = 200
	disk := counting{vfs.NewMem(), new(atomic.Int64)}
	log, err := openLog("ledger", Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	log.merging.stop()
	<-log.merging.done
	x, err := log.OpenIndex()
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(tables) {
		err := errors.Join(log.Append(n+1, []byte("group")), log.db.Flush())
		if err == nil {
			err = errors.Join(x.Put([]byte("mark"), n+1, map[ledger.ID][]byte{ledgertest.ID('k', n): {1}}), x.(*index).db.Flush())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	groups, lists := 0, 0
	err = errors.Join(log.Read(0, func(uint64, []byte) bool { groups++; return true }),
		x.Each(func(ledger.ID, uint64, []byte) bool { lists++; return true }))
	if err != nil || groups != tables || lists != tables {
		t.Fatalf("%d groups, %d lists, %v", groups, lists, err)
	}
	// Pebble closes in the background.
	eventually(t, "few open tables", func() bool { return disk.open.Load() <= logTables+indexTables })
	if err := errors.Join(x.Close(), log.Close()); err != nil || disk.open.Load() != 0 {
		t.Errorf("%d tables are open after Close, %v", disk.open.Load(), err)
	}
}

// TestReadOnlyIndexCloses holds an index that only reads to closing however slow the machine is: nothing of it can hang.
func TestReadOnlyIndexCloses(t *testing.T) {
	fs := vfs.NewMem()
	for _, readOnly := range []bool{false, true} {
		log, err := openAs("ledger", Options{FS: fs}, readOnly)
		if err != nil {
			t.Fatal(err)
		}
		log.patience = 0 // a machine on which everything takes too long
		x, err := log.OpenIndex()
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); readOnly && err != nil {
			t.Errorf("closing: %v", err)
		}
		for !readOnly { // until the lock is free again
			if lock, err := pebble.LockDirectory(log.indexDir(), fs); err == nil {
				lock.Close()
				break
			}
			time.Sleep(time.Millisecond)
		}
		log.Close()
	}
}
