package pgledger

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/runtime/clock"
	"bailiff/runtime/system"
)

// hour is a lease that does not end in a test.
const hour = time.Hour

// connect returns the database at an address, with empty tables.
func connect(t *testing.T, url string) *postgres {
	t.Helper()
	db := same(t, url)
	must(t, db.writing.do(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS bailiff CASCADE;"+tables)
		return err
	}))
	return db
}

// same returns the database at an address as it is.
func same(t *testing.T, url string) *postgres {
	t.Helper()
	find, err := newFinder(url)
	must(t, err)
	db := newPostgres(find, 30*time.Second)
	t.Cleanup(db.close)
	return db
}

// each runs a test over the twin and over PostgreSQL. flawed has the planted fault in its fence.
func each(t *testing.T, test func(t *testing.T, fresh func(flaw string) database)) {
	t.Run("twin", func(t *testing.T) {
		test(t, func(flaw string) database {
			db := newTwin(1)
			db.noTerm, db.noLink = flaw == noTerm, flaw == noLink
			return db
		})
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, func(flaw string) database {
			db := connect(t, pgtest.Shared(t).URL())
			db.sqlAdd = flawed(t, sqlAdd, flaw)
			return db
		})
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, db database, name, id string, lease time.Duration) *log {
	t.Helper()
	l, err := take(db, instance{id: id, name: name}, newLife(lease), nil)
	must(t, err)
	return l
}

// sealed makes the bytes of a group of records as far as the log looks at them.
func sealed(rng *rand.Rand, first uint64, records uint32) []byte {
	b := make([]byte, 80)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	binary.BigEndian.PutUint64(b[20:], first)
	binary.BigEndian.PutUint32(b[28:], records)
	return b
}

// newStore returns a store of the environment "test", whose tables are there or not.
func newStore(t *testing.T, url, name string, trust bool) *Store {
	t.Helper()
	return newStoreOf(t, url, name, trust, 30*time.Second)
}

// newStoreOf is newStore with a lease.
func newStoreOf(t *testing.T, url, name string, trust bool, lease time.Duration) *Store {
	t.Helper()
	s, err := NewStore(Options{URL: url, Name: name, Lease: lease, Trust: trust, Environment: "test", Calls: system.Real(clock.System())})
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// TestMain ends the server that the tests share.
func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
