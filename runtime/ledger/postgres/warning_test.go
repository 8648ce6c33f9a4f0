package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/runtime/clock"
	"bailiff/runtime/system"
)

// TestWarning cancels an append that waits for a standby that hangs. The database confirms it, with a warning, and it is not told
// as kept before the standby has it.
func TestWarning(t *testing.T) {
	for _, heeded := range []bool{true, false} {
		if early := toldEarly(t, heeded); early == heeded {
			t.Errorf("warnings are heeded: %v; an append was told as kept without the standby: %v", heeded, early)
		}
	}
}

func toldEarly(t *testing.T, heeded bool) (early bool) {
	primary, standby := pgtest.StartPair(t)
	db := connect(t, primary.URL())
	db.writing.find.warnings = heeded
	l := open(t, db, "a", "1", time.Minute)
	rng := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // a test's
	must(t, l.Append(1, sealed(rng, 1, 1)))
	thaw := standby.Freeze()
	told := make(chan error, 1)
	go func() { told <- l.Append(2, sealed(rng, 2, 1)) }()
	cancelWaiting(t, same(t, primary.URL()))
	select {
	case err := <-told:
		must(t, err)
		early = true
	case <-time.After(500 * time.Millisecond):
	}
	thaw()
	if !early {
		must(t, <-told)
	}
	must(t, l.Close())
	return early
}

// TestWarningOfSlots cancels a statement that appends to two slots: with the warning it is unknown whether their groups are kept.
func TestWarningOfSlots(t *testing.T) {
	for _, heeded := range []bool{true, false} {
		primary, standby := pgtest.StartPair(t)
		db := connect(t, primary.URL())
		_, err := db.copying.exec("INSERT INTO bailiff.slots (slot) VALUES (1)")
		must(t, err)
		db.writing.find.warnings = heeded
		rng := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // a test's
		var all []addition
		for slot := range 2 {
			l, err := takeSlot(unclosed{db}, slot, instance{id: fmt.Sprint(slot), name: "a"}, newLife(hour), nil)
			must(t, err)
			defer l.Close()
			data := sealed(rng, 1, 1)
			all = append(all, addition{slot: slot, term: l.term, g: group{first: 1, last: 1, hash: sha256.Sum256(data), data: data}})
		}
		thaw := standby.Freeze()
		told := make(chan error, 1)
		go func() { _, err := db.adds(all); told <- err }()
		cancelWaiting(t, same(t, primary.URL()))
		err = <-told
		thaw()
		if errors.Is(err, errWarned) != heeded {
			t.Errorf("warnings are heeded: %v; the statement says %v", heeded, err)
		}
	}
}

// cancelWaiting cancels the append, once it waits for the standby.
func cancelWaiting(t *testing.T, db *postgres) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var cancelled int64
		must(t, db.query(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
				WHERE wait_event = 'SyncRep' AND query LIKE '%INSERT INTO bailiff.groups%'`).Scan(&cancelled)
		}))
		if cancelled > 0 {
			return
		}
	}
	t.Fatal("no append waits for the standby")
}

// TestUnsafe refuses a database that would confirm records of one machine only, and a way that could be read by others.
func TestUnsafe(t *testing.T) {
	server := pgtest.Shared(t)
	connect(t, server.URL())
	store := newStore(t, server.URL(), "a", false)
	_, err := store.Init(Setup{})
	must(t, err)
	if _, err := store.open(); err == nil || !strings.Contains(err.Error(), "synchronous_standby_names") {
		t.Errorf("without a standby: %v", err)
	}
	l, err := newStore(t, server.URL(), "a", true).open()
	must(t, err)
	must(t, l.Close())
	for url, says := range map[string]string{
		"postgres://u:secret@db.example/b":                     "sslmode=verify-full",
		"postgres://u:secret@db.example/b?sslmode=require":     "sslmode=verify-full",
		"postgres://u:secret@db.example/b?sslmode=disable":     "sslmode=verify-full",
		"postgres://u:secret@db.example:what/b":                "looks like postgres://",
		"postgres://u:secret@localhost,db.example/b":           "db.example",
		"postgres://u:secret@127.0.0.1/b":                      "",
		"postgres://u:secret@db.example/b?sslmode=verify-full": "",
	} {
		err := CheckURL(url)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestLosesItsStandby takes the synchronous standby from a primary that works: from then on it keeps nothing and confirms nothing for a
// store that requires one, over one slot and over several, until it has one again.
func TestLosesItsStandby(t *testing.T) {
	primary, _ := pgtest.StartPair(t)
	connect(t, primary.URL())
	primary.Standbys("")
	for _, requires := range []bool{true, false} {
		o := newOwnedSlots(t, primary.URL(), requires)
		o.hold("without a standby", !requires)
		primary.Standbys("standby")
		o.await(true)
		o.hold("with one", true)
		primary.Standbys("")
		o.await(!requires)
		o.hold("without one again", !requires)
	}
}

// An ownedSlots is a database two of whose slots are owned, with a group for each.
type ownedSlots struct {
	t     *testing.T
	db    *postgres
	slots []presence
	all   []addition
}

func newOwnedSlots(t *testing.T, url string, requires bool) *ownedSlots {
	t.Helper()
	store, err := NewStore(Options{URL: url, Name: "a", Lease: 300 * time.Millisecond, Trust: !requires, Environment: "test", Calls: system.Real(clock.System())})
	must(t, err)
	o := &ownedSlots{t: t, db: newPostgres(store.find, 30*time.Second)}
	t.Cleanup(o.db.close)
	for _, statement := range []string{"TRUNCATE bailiff.groups, bailiff.instances, bailiff.slots", "INSERT INTO bailiff.slots (slot) VALUES (0), (1)"} {
		_, err := o.db.writing.exec(statement)
		must(t, err)
	}
	rng := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // a test's
	for slot := range 2 {
		me := instance{id: fmt.Sprint(slot), name: "a"}
		term, err := o.db.claim(slot, me, hour, nil, 0)
		must(t, err)
		data := sealed(rng, 1, 1)
		o.slots = append(o.slots, presence{slot, me})
		o.all = append(o.all, addition{slot: slot, term: term, g: group{first: 1, last: 1, hash: sha256.Sum256(data), data: data}})
	}
	return o
}

// hold has one group appended, and then both, and the ownership confirmed: all of it where the database is safe, and else nothing.
func (o *ownedSlots) hold(when string, safe bool) {
	o.t.Helper()
	_, err := o.db.confirms(o.slots)
	said := []error{err}
	for _, some := range [][]addition{o.all[:1], o.all} {
		kept, err := o.db.adds(some)
		if err == nil && (len(kept) != len(some) || slices.Contains(kept, false)) {
			o.t.Fatalf("%s: kept %v without an error", when, kept)
		}
		said = append(said, err)
		for _, one := range some {
			end, err := o.db.last(one.slot)
			must(o.t, err)
			if end.is(one.g) != safe {
				o.t.Errorf("%s: slot %d ends with record %d", when, one.slot, end.last)
			}
		}
		_, err = o.db.writing.exec("TRUNCATE bailiff.groups")
		must(o.t, err)
	}
	for n, err := range said {
		var lossy *lossyError
		if safe && err != nil || !safe && !errors.As(err, &lossy) {
			o.t.Errorf("%s: question %d: %v", when, n, err)
		}
	}
}

// await waits until the ownership is confirmed, or is not any more.
func (o *ownedSlots) await(safe bool) {
	o.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := o.db.confirms(o.slots); (err == nil) == safe {
			return
		} else if time.Now().After(deadline) {
			o.t.Fatalf("not safe as %t: %v", safe, err)
		}
	}
}

// TestLosesItsStandbyMeanwhile takes the synchronous standby, which hangs, from a primary while an append waits for it, and while one that
// had no answer is looked for: PostgreSQL lets the commit go without a word, and neither is told as kept.
func TestLosesItsStandbyMeanwhile(t *testing.T) {
	const lease = time.Second
	for what, after := range map[string]time.Duration{"it waits": 0, "it is looked for": 3 * lease / 2} {
		primary, standby := pgtest.StartPair(t)
		connect(t, primary.URL())
		store, err := NewStore(Options{URL: primary.URL(), Name: "a", Lease: lease, Environment: "test", Calls: system.Real(clock.System())})
		must(t, err)
		defer store.Close()
		_, err = store.Init(Setup{})
		must(t, err)
		l, err := store.open()
		must(t, err)
		defer l.Close()
		rng := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // a test's
		must(t, l.Append(1, sealed(rng, 1, 1)))
		thaw := standby.Freeze()
		told := make(chan error, 1)
		go func() { told <- l.Append(2, sealed(rng, 2, 1)) }()
		awaitWaiting(t, same(t, primary.URL()))
		time.Sleep(after)
		primary.Standbys("")
		if err := <-told; err == nil {
			t.Errorf("an append is told as kept whose standby is taken away while %s", what)
		}
		thaw()
	}
}

// awaitWaiting waits until an append waits for the standby.
func awaitWaiting(t *testing.T, db *postgres) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		n, err := db.asking.number(`SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%INSERT INTO bailiff.groups%'`)
		must(t, err)
		if n > 0 {
			return
		}
	}
	t.Fatal("no append waits for the standby")
}
