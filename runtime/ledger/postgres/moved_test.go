package pgledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/ledger/state"
)

// small has snapshots and stretches of the index after a few records.
var small = commit.Options{Random: rand.Reader, SnapshotEvery: 40, IndexEvery: 10}

// inFolder opens a folder.
func inFolder(t *testing.T, dir string) *commit.Ledger {
	t.Helper()
	l, err := pebbleledger.Open(dir, pebbleledger.Options{Random: rand.Reader, SnapshotEvery: small.SnapshotEvery, IndexEvery: small.IndexEvery})
	must(t, err)
	return l
}

// stored opens a database.
func stored(t *testing.T, store *Store) *commit.Ledger {
	t.Helper()
	log, err := store.open()
	must(t, err)
	l, err := commit.Open(log, small)
	must(t, err)
	return l
}

// verifies verifies a log that was moved, whose snapshot has to be of all of it.
func verifies(t *testing.T, chain commit.Verified, err error) {
	t.Helper()
	if err != nil || chain.Snapshot != chain.Head.LSN || chain.Torn || chain.SnapshotChanged {
		t.Errorf("%+v, %v", chain, err)
	}
}

// importFrom has a database filled from a folder, and verified.
func importFrom(t *testing.T, store *Store, dir string) {
	t.Helper()
	must(t, fillFrom(store, dir))
	must(t, store.Look(0, func(log commit.Log) error {
		chain, err := commit.VerifyChain(log, 0)
		verifies(t, chain, err)
		return nil
	}))
}

// exportTo makes a folder of a database's record, and verifies it.
func exportTo(t *testing.T, store *Store, dir string) {
	t.Helper()
	must(t, drainTo(store, dir))
	chain, err := pebbleledger.VerifyChain(dir, pebbleledger.Options{}, 0)
	verifies(t, chain, err)
}

// TestConformanceMoved runs the conformance suite with a ledger that is in the database first. Each time that it is opened again, it was
// moved out of it into a new folder, or back: uses, counts, holds, revocations and freezes are in the other place.
func TestConformanceMoved(t *testing.T) {
	if !*full {
		t.Skip("with -full; TestStoryMoved moves a ledger that has some of everything")
	}
	url := pgtest.Shared(t).URL()
	connect(t, url)
	store := newStore(t, url, "a", true)
	_, err := store.Init(Setup{})
	must(t, err)
	moves := 0
	folders := map[ledger.Ledger]string{} // of those that are not in the database
	empty := func() {
		connectAgain(t, store.db)
		must(t, store.Undrain(anywhere))
		store.life.kept = group{} // it is another log
		store.life.forgets()
	}
	suite.Run(t, suite.Suite{
		Open: func(t *testing.T) ledger.Ledger {
			empty()
			return stored(t, store)
		},
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			must(t, l.Close())
			moves++
			if dir, ok := folders[l]; ok {
				delete(folders, l)
				empty()
				importFrom(t, store, dir)
				return stored(t, store)
			}
			root, err := os.MkdirTemp("", "bailiff-moved-") // not t.TempDir, which is removed before the ledger is closed
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(root) })
			dir := filepath.Join(root, "ledger")
			exportTo(t, store, dir)
			moved := inFolder(t, dir)
			folders[moved] = dir
			return moved
		},
	})
	if moves == 0 {
		t.Error("nothing was moved")
	}
}

// TestStoryMoved moves a ledger, of which all kinds of things are asked, from a folder into the database and back, several times. It does
// what the model of a ledger does that was never moved, every group stays as it was, byte for byte, and both verify.
func TestStoryMoved(t *testing.T) {
	url := pgtest.Shared(t).URL()
	rng := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 5)) //nolint:gosec // a test's
	dir, at := filepath.Join(t.TempDir(), "ledger"), ledgertest.Start
	reached := map[string]int{}
	l := inFolder(t, dir)
	checked := ledgertest.Check(l, ledgertest.Checks{Reached: reached, Durable: func() uint64 { return ledger.MaxLSN }})
	story := ledgertest.NewStory(checked)
	must(t, story.Begin())
	var groups [][]byte
	goOn := func() {
		t.Helper()
		for range 200 {
			at += rng.Int64N(int64(time.Minute))
			story.Step(rng.Uint32(), at)
		}
		must(t, errors.Join(checked.Violation(), l.Flush(t.Context()), checked.Compare(at), checked.Violation()))
		path, head, err := l.Groups(t.Context(), 0, math.MaxInt)
		must(t, err)
		if path.End != head || len(path.Groups) <= len(groups) || !slices.EqualFunc(groups, path.Groups[:len(groups)], bytes.Equal) {
			t.Errorf("of %d groups from before, which are to be as they were, and then others: %d, up to %d of %d", len(groups), len(path.Groups), path.End.LSN, head.LSN)
		}
		groups = path.Groups
		must(t, l.Close())
	}
	restarted := func(next *commit.Ledger) {
		t.Helper()
		l = next
		must(t, checked.Restarted(l, nil))
		must(t, checked.Compare(at))
	}
	for range 2 {
		goOn()
		connect(t, url)
		store := newStore(t, url, "a", true)
		_, err := store.Init(Setup{})
		must(t, err)
		importFrom(t, store, dir)
		restarted(stored(t, store))
		goOn()
		dir = filepath.Join(t.TempDir(), "ledger")
		exportTo(t, store, dir)
		restarted(inFolder(t, dir))
	}
	must(t, l.Close())
	t.Log(len(groups), reached)
}

// fillFrom has a database filled from a folder. An empty log has nothing to move.
func fillFrom(store *Store, dir string) error {
	return store.Fill("k", func(to *Filling) error {
		return pebbleledger.Reading(dir, pebbleledger.Options{}, func(from commit.Log) error {
			_, err := commit.Copy(from, to.Logs()[0], rand.Reader, func(uint64) {})
			return err
		})
	})
}

// anywhere lets Undrain take the note back, wherever the record is.
func anywhere(string) error { return nil }

// drainTo makes a folder of a database's record.
func drainTo(store *Store, dir string) error {
	return store.Drain(dir, func(from []commit.Log) error {
		return pebbleledger.Filling(dir, pebbleledger.Options{}, func(to commit.Log) error {
			_, err := commit.Copy(from[0], to, rand.Reader, func(uint64) {})
			return err
		})
	})
}

// inDatabase returns a database that has some records, and the address.
func inDatabase(t *testing.T) (store *Store, url string) {
	t.Helper()
	url = pgtest.Shared(t).URL()
	connect(t, url)
	store = newStore(t, url, "a", true)
	_, err := store.Init(Setup{})
	must(t, err)
	log, err := store.open()
	must(t, err)
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	must(t, err)
	for i := range 5 {
		must(t, l.CreateKey(t.Context(), ledgertest.NewKey(uint64(i+1))))
	}
	must(t, l.Close())
	return store, url
}

// TestDrainMeanwhile: a record does not continue elsewhere where an instance starts while it is exported, and that one decides then.
func TestDrainMeanwhile(t *testing.T) {
	store, url := inDatabase(t)
	other := newStore(t, url, "b", true)
	opened := make(chan error, 1)
	err := store.Drain("/elsewhere", func([]commit.Log) error {
		go func() {
			log, err := other.open()
			if err == nil {
				err = log.Close()
			}
			opened <- err
		}()
		asked := same(t, url).asking
		wait(t, func() bool {
			n, err := asked.number("SELECT count(*) FROM bailiff.instances WHERE name = 'b'")
			return err == nil && n > 0
		})
		return nil
	})
	if !errors.Is(err, ErrStopped) {
		t.Errorf("exported though an instance has started meanwhile: %v", err)
	}
	must(t, <-opened)
	if made, err := store.db.made(); err != nil || made.moved != "" {
		t.Errorf("the record continues in %q: %v", made.moved, err)
	}
}

// TestDrainTwice: of two exports that run at the same time, the one that waits for the other finds that the record continues there.
func TestDrainTwice(t *testing.T) {
	store, url := inDatabase(t)
	other, asked, second := newStore(t, url, "b", true), same(t, url).asking, make(chan error, 1)
	must(t, store.Drain("/first", func([]commit.Log) error {
		go func() {
			second <- other.Drain("/second", func([]commit.Log) error { return errors.New("the record is served in two places") })
		}()
		wait(t, func() bool {
			n, err := asked.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'")
			return err == nil && n > 0
		})
		return nil
	}))
	if err := <-second; !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "/first") {
		t.Error(err)
	}
}

// TestDrainKilled: an instance that was killed, which has been heard by its slots at different times, is waited for.
func TestDrainKilled(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	_, err := same(t, url).copying.exec("INSERT INTO bailiff.instances (id, name, seen) VALUES ('1', 'killed', clock_timestamp() - interval '100 ms'), ('2', 'killed', clock_timestamp() - interval '700 ms')")
	must(t, err)
	store := newStoreOf(t, url, "command", true, time.Second)
	must(t, store.Drain("/elsewhere", func([]commit.Log) error { return nil }))
}

// TestContinueLost: records that the database has not kept are not taken for kept, where the first log has nothing of it.
func TestContinueLost(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 2)
	for _, slot := range []int{1, -1} { // none
		store := newStore(t, url, "command", true)
		err := store.pour(func(f *Filling) error {
			if slot > 0 {
				filling, err := commit.Restore(f.logs[slot])
				must(t, err)
				_, err = filling.Put(&state.Record{Kind: ledger.KeyCreated, Key: ledgertest.ID('k', 1), Now: 1, Created: ledgertest.NewKey(1)})
				must(t, errors.Join(err, filling.Flush()))
			}
			_, err := f.tx.Exec(f.ctx, `CREATE TEMP TABLE planted (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO planted VALUES (1), (1)`)
			return err
		}, store.ends)
		if err == nil {
			t.Errorf("slot %d: a transaction that was rolled back is taken for kept", slot)
		}
	}
}

// TestDrainUnanswered: where the database keeps that a record continues elsewhere and does not say so, it is found; and so is that it has not.
func TestDrainUnanswered(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		store, url := inDatabase(t)
		other := same(t, url)
		err := store.Drain("/elsewhere", func(logs []commit.Log) error {
			query := logs[0].(looking).query //nolint:forcetypeassert // they are those
			return query(func(ctx context.Context, c *pgx.Conn) error {
				statement := `DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; END $$`
				if !keeps {
					statement = `CREATE TEMP TABLE planted (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO planted VALUES (1), (1)`
				}
				_, err := c.Exec(ctx, statement)
				return err
			})
		})
		if made, problem := other.made(); (err == nil) != keeps || (made.moved != "") != keeps || problem != nil {
			t.Errorf("kept %t: %v, and it continues in %q, %v", keeps, err, made.moved, problem)
		}
	}
}

// TestUndrain takes a note back once no export is under way, and where it may.
func TestUndrain(t *testing.T) {
	store, url := inDatabase(t)
	other, asked, undone := newStore(t, url, "b", true), same(t, url).asking, make(chan string, 1)
	must(t, store.Drain("/elsewhere", func([]commit.Log) error {
		go func() {
			must(t, other.Undrain(func(moved string) error {
				undone <- moved
				return nil
			}))
			close(undone)
		}()
		wait(t, func() bool {
			n, err := asked.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'")
			return err == nil && n > 0
		})
		return nil
	}))
	if moved := <-undone; moved != "/elsewhere" {
		t.Errorf("the note was %q", moved)
	}
	<-undone
	must(t, store.Drain("/other", func([]commit.Log) error { return nil }))
	refused := errors.New("refused")
	if err := store.Undrain(func(string) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if made, err := store.db.made(); made.moved != "/other" || err != nil {
		t.Errorf("it continues in %q: %v", made.moved, err)
	}
}

// takenOut is a store without groups, its database, and the folder that its log was taken out to.
func takenOut(t *testing.T) (fresh *Store, db *postgres, dir string) {
	t.Helper()
	store, url := inDatabase(t)
	dir = filepath.Join(t.TempDir(), "ledger")
	must(t, drainTo(store, dir))
	db = connect(t, url)
	fresh = newStore(t, url, "a", true)
	_, err := fresh.Init(Setup{})
	must(t, err)
	return fresh, db, dir
}

// TestFillUnanswered: where the database keeps the record and does not say so, it is found; where it can't be asked, that is said.
func TestFillUnanswered(t *testing.T) {
	fresh, db, dir := takenOut(t)
	warned := func(to *Filling) error {
		return pebbleledger.Reading(dir, pebbleledger.Options{}, func(from commit.Log) error {
			if _, err := commit.Copy(from, to.Logs()[0], rand.Reader, func(uint64) {}); err != nil {
				return err
			}
			_, err := to.tx.Exec(to.ctx, `DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; END $$`)
			return err
		})
	}
	if err := fresh.Fill("k", warned); err != nil {
		t.Errorf("the database has warned: %v", err)
	}
	if n, err := db.asking.number("SELECT count(*) FROM bailiff.groups"); n == 0 || err != nil {
		t.Errorf("%d groups are there: %v", n, err)
	}

	lost := errors.New("lost")
	moves, none := func() error { return nil }, func() (bool, error) { return false, nil }
	if err := settle(moves, none, lost); !errors.Is(err, lost) || errors.Is(err, ErrUnsettled) {
		t.Errorf("the database has nothing of it: %v", err)
	}
	for _, silent := range []error{
		settle(func() error { return errLost }, none, lost), settle(moves, func() (bool, error) { return false, errLost }, lost),
	} {
		if !errors.Is(silent, lost) || !errors.Is(silent, ErrUnsettled) {
			t.Errorf("the database can't be asked: %v", silent)
		}
	}
}

// TestFillCutOff: a process that is lost while it fills a database, or when all is there and not kept yet, leaves nothing, and is followed
// by another one.
func TestFillCutOff(t *testing.T) {
	fresh, db, dir := takenOut(t)
	cut := func(c *Filling, again func() error) error {
		if err := c.end(); err != nil {
			return err
		}
		if n, err := db.asking.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND application_name = 'bailiff' AND state LIKE 'idle in%'"); err != nil || n != 1 {
			t.Errorf("%d sessions were cut off: %v", n, err)
		}
		return again()
	}
	for name, early := range map[string]bool{"at the beginning": true, "at the end": false} {
		err := fresh.Fill("k", func(to *Filling) error {
			fill := func() error {
				return pebbleledger.Reading(dir, pebbleledger.Options{}, func(from commit.Log) error {
					_, err := commit.Copy(from, to.Logs()[0], rand.Reader, func(uint64) {})
					return err
				})
			}
			if early {
				return cut(to, fill)
			}
			return errors.Join(fill(), cut(to, func() error { return nil }))
		})
		n, counted := db.asking.number("SELECT count(*) FROM bailiff.groups")
		if err == nil || errors.Is(err, ErrUnsettled) || n != 0 || counted != nil {
			t.Errorf("%s: %v, and %d groups are there, %v", name, err, n, counted)
		}
	}
	must(t, fillFrom(fresh, dir))
}

// TestLookAltered: what the table says of a group has to be what the group says, and no last group is taken for one that was cut off.
func TestLookAltered(t *testing.T) {
	store, url := inDatabase(t)
	db := same(t, url)
	const last = " WHERE first = (SELECT max(first) FROM bailiff.groups)"
	for _, change := range []string{
		"UPDATE bailiff.groups SET hash = sha256('x')" + last,
		"UPDATE bailiff.groups SET last = last + 1" + last,
		"UPDATE bailiff.groups SET data = set_byte(data, 70, get_byte(data, 70) # 1), hash = sha256(set_byte(data, 70, get_byte(data, 70) # 1))" + last,
	} {
		_, err := db.copying.exec("CREATE TABLE bailiff.before AS SELECT * FROM bailiff.groups")
		must(t, err)
		if rows, err := db.copying.exec(change); rows != 1 || err != nil {
			t.Fatal(rows, err)
		}
		err = store.Look(0, func(log commit.Log) error {
			chain, err := commit.VerifyChain(log, 0)
			if err == nil && chain.Torn {
				err = commit.ErrUnfinished
			}
			return err
		})
		if !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", change, err)
		}
		dir := filepath.Join(t.TempDir(), "ledger")
		if err := drainTo(newStore(t, url, "a", true), dir); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: exported: %v", change, err)
		}
		must(t, os.RemoveAll(dir))
		_, err = db.copying.exec("DELETE FROM bailiff.groups")
		must(t, err)
		_, err = db.copying.exec("INSERT INTO bailiff.groups SELECT * FROM bailiff.before")
		must(t, err)
		_, err = db.copying.exec("DROP TABLE bailiff.before")
		must(t, err)
	}
	must(t, drainTo(newStore(t, url, "a", true), filepath.Join(t.TempDir(), "ledger")))
}
