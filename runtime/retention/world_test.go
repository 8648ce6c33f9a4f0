package retention_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/retention"
	"bailiff/runtime/system"
)

// A world is a ledger's folder, the folder of the exported files, the signing keys and the time.
type world struct {
	fs        vfs.FS // nil: the disk
	ledger    string
	store     string // address of a database that has the ledger in place of the folder; "" for none
	exports   string
	signer    *attest.Signer
	at        int64
	age       time.Duration
	every     uint64 // records of a stretch of the index
	snapshots uint64 // records between two snapshots; 0: as a service
	bytes     int64  // of one exported file
	reached   func(ledger.RetentionStep) error
}

// newWorld returns the world in a folder, with the signing keys that are there.
func newWorld(dir string) (*world, error) {
	signer, err := attest.LoadOrCreate(filepath.Join(dir, "keys"), rand.Reader)
	return &world{ledger: filepath.Join(dir, "ledger"), exports: filepath.Join(dir, "exports"), signer: signer, at: ledgertest.Start, age: time.Hour, every: 64, snapshots: 1000}, err
}

func (w *world) options() pebbleledger.Options {
	return pebbleledger.Options{FS: w.fs, Random: rand.Reader, SnapshotEvery: w.snapshots, IndexEvery: w.every}
}

func (w *world) open() (*commit.Ledger, error) {
	if w.store == "" {
		return pebbleledger.Open(w.ledger, w.options())
	}
	store, err := w.database()
	if err != nil {
		return nil, err
	}
	return store.Ledger(commit.Options{Random: rand.Reader, SnapshotEvery: w.snapshots, IndexEvery: w.every}, reopen.Options{Random: rand.Reader})
}

// overStore has the world's ledger in a database.
func (w *world) overStore(t *testing.T) {
	t.Helper()
	w.store = pgtest.Start(t).URL()
	store, err := w.database()
	must(t, err)
	defer store.Close()
	_, err = store.Init(pgledger.Setup{})
	must(t, err)
}

// database returns the world's database.
func (w *world) database() (*pgledger.Store, error) {
	return pgledger.NewStore(pgledger.Options{URL: w.store, Name: "a", Lease: time.Minute, Trust: true, Environment: "test", Calls: system.Real(clock.System())})
}

// chain verifies the log, its snapshot and its index.
func (w *world) chain() (chain commit.Verified, err error) {
	if w.store == "" {
		return pebbleledger.VerifyChain(w.ledger, w.options(), 0)
	}
	store, err := w.database()
	if err != nil {
		return chain, err
	}
	defer store.Close()
	err = store.Look(0, func(log commit.Log) error {
		chain, err = commit.VerifyChain(log, 0)
		return err
	})
	return chain, err
}

// drop drops the groups that are older than the world's age.
func (w *world) drop(l ledger.Ledger) ([]ledger.Drop, error) {
	return retention.Drop(context.Background(), retention.Config{
		Ledger: l, Signer: w.signer, Clock: func() time.Time { return time.Unix(0, w.at) }, Age: w.age, Folder: w.exports, Bytes: w.bytes, Reached: w.reached,
	})
}

// A found is what check has found.
type found struct {
	chain    commit.Verified
	exported int    // files that lead to the beginning of the log
	records  uint64 // in them and in the log
}

// check verifies the log, its beginning, its snapshot and its index, and that the exported files lead to the beginning from record 1 on.
func (w *world) check() (f found, err error) {
	f.chain, err = w.chain()
	if err != nil {
		return f, err
	}
	if f.chain.IndexChanged || f.chain.SnapshotChanged {
		return f, errors.New("the index or the snapshot is not what the log comes to")
	}
	verifier := w.signer.CheckpointVerifier()
	if _, err := retention.VerifyBeginning(f.chain.Begins, verifier); err != nil {
		return f, err
	}
	files, err := w.files()
	if err != nil {
		return f, err
	}
	lead := retention.Lead(files, f.chain.Begins.After)
	f.exported, f.records = len(lead), f.chain.Records
	if f.chain.Begins.After.LSN == 0 {
		return f, nil
	}
	if len(lead) == 0 || lead[0].From.LSN != 0 {
		return f, fmt.Errorf("%d exported files do not lead from record 1 to the beginning after %d", len(lead), f.chain.Begins.After.LSN)
	}
	for _, one := range lead {
		if err := one.Verify(verifier); err != nil {
			return f, err
		}
		f.records += one.To.LSN - one.From.LSN
	}
	return f, nil
}

// files reads every exported file.
func (w *world) files() (files []retention.File, err error) {
	paths, err := retention.Folder(w.exports)
	for _, path := range paths {
		if err != nil {
			return nil, err
		}
		var file retention.File
		file, err = retention.Read(path, func(uint64, *state.Record) error { return nil }, func(ledger.Head) {})
		files = append(files, file)
	}
	return files, err
}

// decide submits n decisions a second apart, of which every tenth is waited for, and the last one.
func (w *world) decide(l ledger.Ledger, key *ledger.Key, n int) error {
	for i := range n {
		w.at += int64(time.Second)
		ticket := l.Submit(&ledger.Plan{
			ID: ledgertest.ID('p', uint64(w.at)), At: w.at, Key: key.ID, Epoch: key.Epoch, Pass: ledger.Ending{Decision: ledger.Allowed},
			Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: "agent", Action: "bash", Detail: strings.Repeat("a word ", 8)},
		})
		if i%10 == 9 || i == n-1 {
			if err := ticket.Wait(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// size is how many bytes the files of a folder have.
func size(dir string) (bytes int64, err error) {
	return bytes, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return nil
	})
}
