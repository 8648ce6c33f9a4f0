package retention_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
)

// dropMore has a world's ledger decide and drop, and returns what it tells then.
func (w *world) dropMore(t *testing.T, l *commit.Ledger, key *ledger.Key) (told map[string]any) {
	t.Helper()
	must(t, w.decide(l, key, 100))
	w.at += int64(2 * time.Hour)
	must(t, w.decide(l, key, 10))
	drops, err := w.drop(l)
	must(t, err)
	if len(drops) == 0 {
		t.Fatal("nothing was dropped")
	}
	told = w.told(t, l)
	must(t, l.Close())
	_, err = w.check()
	must(t, err)
	return told
}

// TestLookWhileDropping verifies a log while its oldest groups are dropped: it is looked at as it was.
func TestLookWhileDropping(t *testing.T) {
	w, err := newWorld(t.TempDir())
	must(t, err)
	w.overStore(t)
	l, err := w.open()
	must(t, err)
	key := w.story(t, l)
	must(t, w.decide(l, key, 1500))
	w.at += int64(2 * time.Hour)
	must(t, w.decide(l, key, 10))
	store, err := w.database()
	must(t, err)
	defer store.Close()
	dropped := false
	must(t, store.Look(0, func(log commit.Log) error {
		_, err := commit.VerifyLog(log, func(ledger.Beginning) error { return nil }, func(ledger.Head) error {
			if dropped {
				return nil
			}
			drops, err := w.drop(l)
			dropped = len(drops) > 0
			return err
		})
		return err
	}))
	if !dropped {
		t.Error("nothing was dropped meanwhile")
	}
	must(t, l.Close())
	_, err = w.check()
	must(t, err)
}

// TestMovedDropped moves a log whose oldest groups were dropped from a folder into a database, and back. It tells the same, and in each
// place more is dropped.
func TestMovedDropped(t *testing.T) {
	folder, err := newWorld(t.TempDir())
	must(t, err)
	l, err := folder.open()
	must(t, err)
	key := folder.story(t, l)
	want := folder.dropMore(t, l, key)

	stored := *folder
	stored.overStore(t)
	store, err := stored.database()
	must(t, err)
	defer store.Close()
	must(t, store.Fill("k", func(to *pgledger.Filling) error {
		return pebbleledger.Reading(folder.ledger, folder.options(), func(from commit.Log) error {
			_, err := commit.Copy(from, to.Logs()[0], rand.Reader, func(uint64) {})
			return err
		})
	}))
	opens := func(w *world) *commit.Ledger {
		t.Helper()
		_, err := w.check()
		must(t, err)
		l, err := w.open()
		must(t, err)
		if got := w.told(t, l); !cmp.Equal(got, want) {
			t.Error(cmp.Diff(want, got))
		}
		return l
	}
	want = stored.dropMore(t, opens(&stored), key)

	back := stored
	back.store, back.ledger = "", filepath.Join(t.TempDir(), "ledger")
	again, err := stored.database()
	must(t, err)
	defer again.Close()
	must(t, again.Drain("elsewhere", func(from []commit.Log) error {
		return pebbleledger.Filling(back.ledger, back.options(), func(to commit.Log) error {
			_, err := commit.Copy(from[0], to, rand.Reader, func(uint64) {})
			return err
		})
	}))
	back.dropMore(t, opens(&back), key)
}
