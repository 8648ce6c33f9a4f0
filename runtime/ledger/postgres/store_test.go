package pgledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	netwire "bailiff/fuzz/kit/wire"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// TestInit makes the tables once, finds them the second time, and refuses those that are not its own.
func TestInit(t *testing.T) {
	url := pgtest.Shared(t).URL()
	db := connect(t, url)
	_, err := db.copying.exec("DROP SCHEMA bailiff CASCADE")
	must(t, err)
	store := newStore(t, url, "a", true)
	wants := func(what string) {
		t.Helper()
		if _, err := store.open(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q is not in: %v", what, err)
		}
	}
	wants("bailiff store init")
	for _, want := range []bool{true, false} {
		if fresh, err := store.Init(Setup{}); fresh != want || err != nil {
			t.Errorf("made: %v, want %v: %v", fresh, want, err)
		}
	}
	other := newStore(t, url, "a", true)
	other.options.Environment = "production"
	if _, err := other.Init(Setup{}); err == nil || !strings.Contains(err.Error(), "of the environment test") {
		t.Errorf("tables of another environment: %v", err)
	}
	for _, older := range []string{"ALTER TABLE bailiff.store DROP COLUMN id", "ALTER TABLE bailiff.instances DROP COLUMN peer", "UPDATE bailiff.store SET level = 1"} {
		_, err = db.copying.exec(older)
		must(t, err)
	}
	wants("bring them up to it with: bailiff store init")
	if fresh, err := store.Init(Setup{}); fresh || err != nil {
		t.Errorf("tables of an older release: made %v, %v", fresh, err)
	}
	if id, err := store.ID(); len(id) != 36 || err != nil {
		t.Errorf("the store's id: %q, %v", id, err)
	}
	_, err = db.copying.exec("UPDATE bailiff.store SET level = 99")
	must(t, err)
	if _, err := store.Init(Setup{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("this release makes %d", tablesLevel)) {
		t.Errorf("tables of a newer release: %v", err)
	}
	log, err := store.open() // they have more than this release needs
	must(t, err)
	must(t, log.Close())
	_, err = db.copying.exec("UPDATE bailiff.store SET writes = 99")
	must(t, err)
	wants("start a release that reads them")
}

// TestRole: a role that was given what a service needs appends groups, keeps copies, and can neither change groups nor remove them.
func TestRole(t *testing.T) {
	server := pgtest.Shared(t)
	admin := connect(t, server.URL())
	_, err := admin.copying.exec("DROP ROLE IF EXISTS agent")
	must(t, err)
	_, err = admin.copying.exec("CREATE ROLE agent LOGIN")
	must(t, err)
	_, err = newStore(t, server.URL(), "a", true).Init(Setup{Role: "agent"})
	must(t, err)
	url := strings.Replace(server.URL(), "user=postgres", "user=agent", 1)
	store := newStore(t, url, "a", true)
	log, err := store.open()
	must(t, err)
	l, err := commit.Open(log, commit.Options{Random: store.options.Calls.Random, SnapshotEvery: 3, IndexEvery: 3})
	must(t, err)
	for i := range 20 {
		must(t, l.CreateKey(t.Context(), ledgertest.NewKey(uint64(i+1))))
	}
	must(t, store.NoteSigner("k"))
	if signer, err := store.Signer(); signer != "k" || err != nil {
		t.Errorf("the signer is %q: %v", signer, err)
	}
	must(t, l.Close())
	refused := func(changes ...string) {
		t.Helper()
		for _, change := range changes {
			if _, err := same(t, url).copying.exec(change); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %v", change, err)
			}
		}
	}
	direct := []string{"UPDATE bailiff.groups SET last = 1", "DELETE FROM bailiff.groups", "TRUNCATE bailiff.groups", "UPDATE bailiff.store SET environment = 'x'", "DELETE FROM bailiff.bases", "UPDATE bailiff.bases SET chosen = true"}
	refused(direct...)
	refused("SELECT bailiff.drop_groups(0, '', '', 1, '', '')", "SELECT bailiff.drop_bases(0, '')")
	if err := store.Drops(); err == nil || !strings.Contains(err.Error(), "bailiff store init --role ROLE --retention") {
		t.Errorf("a role that may not drop groups: %v", err)
	}
	for _, drops := range []bool{true, false} {
		_, err = newStore(t, server.URL(), "a", true).Init(Setup{Role: "agent", Drops: &drops})
		must(t, err)
		if err := store.Drops(); err == nil != drops {
			t.Errorf("a role that may drop groups (%v): %v", drops, err)
		}
		refused(direct...)
	}
	if status, err := store.Status(); err != nil || status.Changes || status.Last != 20 || !strings.Contains(status.Unsafe, "as SVC_STORE_SYNC=trust says") || status.Bytes == 0 || status.Owner != "" {
		t.Errorf("%+v, %v", status, err)
	}
	if status, err := newStore(t, server.URL(), "a", true).Status(); err != nil || !status.Changes {
		t.Errorf("the owner of the tables: %+v, %v", status, err)
	}
}

// TestCopies: snapshot and index are what the log comes to, and a damaged snapshot is passed over.
func TestCopies(t *testing.T) {
	url := pgtest.Shared(t).URL()
	db := connect(t, url)
	store := newStore(t, url, "a", true)
	_, err := store.Init(Setup{})
	must(t, err)
	log, err := store.open()
	must(t, err)
	l, err := commit.Open(log, commit.Options{Random: store.options.Calls.Random, SnapshotEvery: 10, IndexEvery: 5})
	must(t, err)
	for i := range 60 {
		must(t, l.CreateKey(t.Context(), ledgertest.NewKey(uint64(i+1))))
	}
	for deadline := time.Now().Add(20 * time.Second); l.Indexed() < 50; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the index covers %d records", l.Indexed())
		}
	}
	wait(t, func() bool { // for one that covers some
		n, err := db.asking.number("SELECT count(*) FROM bailiff.snapshots")
		return err == nil && n > 0
	})
	must(t, l.Close())
	reading := &kept{log: log.log, db: store.db} // it is closed, and its connections are the store's
	reading.log.db = store.db
	covers, err := commit.VerifySnapshot(reading)
	if must(t, err); covers < 10 {
		t.Errorf("the snapshot covers %d records", covers)
	}
	covers, err = commit.VerifyIndex(reading)
	if must(t, err); covers < 50 {
		t.Errorf("the index covers %d records", covers)
	}
	_, err = db.copying.exec("UPDATE bailiff.lists SET list = list || '\\x01' WHERE stretch = 1")
	must(t, err)
	if _, err := commit.VerifyIndex(reading); !errors.Is(err, commit.ErrIndexChanged) {
		t.Errorf("an index that was changed: %v", err)
	}
	_, err = db.copying.exec("UPDATE bailiff.snapshots SET data = substr(data, 2)")
	must(t, err)
	log, err = store.open()
	must(t, err)
	l, err = commit.Open(log, commit.Options{Random: store.options.Calls.Random})
	must(t, err)
	if keys, err := l.Keys(t.Context()); len(keys) != 60 || err != nil {
		t.Errorf("%d keys without a good snapshot: %v", len(keys), err)
	}
	must(t, l.Close())
	_, err = db.copying.exec("UPDATE bailiff.groups SET data = substr(data, 1, length(data) - 1) WHERE first = (SELECT max(first) FROM bailiff.groups)")
	must(t, err)
	if log, err = store.open(); err == nil {
		defer log.Close()
		_, err = commit.Open(log, commit.Options{Random: store.options.Calls.Random})
	}
	if !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("a last group that was changed: %v", err)
	}
}

// TestTwice: what may be asked or kept again is, where the connections were broken meanwhile.
func TestTwice(t *testing.T) {
	store, url := inDatabase(t)
	must(t, store.NoteSigner("a"))
	must(t, store.KeepPlace("p", "1"))
	other := same(t, url)
	for _, ask := range []func() error{
		func() error { return store.NoteSigner("b") },
		func() error { return store.KeepPlace("p", "2") },
		func() error { _, err := store.Signer(); return err },
		func() error { _, err := store.Place("p"); return err },
	} {
		_, _ = other.asking.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'bailiff' AND pid <> pg_backend_pid()") // one may have just ended: it warns
		must(t, ask())
	}
	signer, err := store.Signer()
	place, missing := store.Place("p")
	if signer != "b" || place != "2" || errors.Join(err, missing) != nil {
		t.Errorf("signer %q, place %q: %v, %v", signer, place, err, missing)
	}
}

// TestLargeSnapshot keeps a snapshot of several parts, and replaces it by one of fewer.
func TestLargeSnapshot(t *testing.T) {
	db := connect(t, pgtest.Shared(t).URL())
	k := &kept{log: open(t, unclosed{db}, "a", "1", hour), db: db}
	defer k.Close()
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{2*partBytes + 5, partBytes, 3} {
		want := make([]byte, size)
		random.Read(want)
		must(t, k.SaveSnapshot(want))
		if got, err := k.LoadSnapshot(); err != nil || string(got) != string(want) {
			t.Errorf("of %d bytes %d came back: %v", len(want), len(got), err)
		}
	}
}

// TestClock: an instance whose clock is another than the database's neither takes the log nor keeps it.
func TestClock(t *testing.T) {
	db := unclosed{newTwin(1)}
	var ahead atomic.Int64
	f := newLife(60 * time.Millisecond)
	f.clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	ahead.Store(int64(time.Minute))
	if _, err := take(db, instance{id: "1", name: "a"}, f, nil); !errors.Is(err, errClock) || !strings.Contains(err.Error(), "-1m0s") {
		t.Fatalf("with a clock that is ahead: %v", err)
	}
	ahead.Store(int64(MaxClockOffset / 2))
	l, err := take(db, instance{id: "2", name: "a"}, f, nil)
	must(t, err)
	defer l.Close()
	failed := make(chan error, 1)
	l.Notify(func(err error) { failed <- err })
	ahead.Store(int64(-time.Minute))
	if err := <-failed; !errors.Is(err, errClock) {
		t.Errorf("it fails with %v", err)
	}
}

// A deaf database loses heartbeats.
type deaf struct {
	database
	down atomic.Bool
}

func (d *deaf) beat(slot int, me instance) (pulse, error) {
	if d.down.Load() {
		return pulse{}, errLost
	}
	return d.database.beat(slot, me)
}

// TestBlind: an instance that did not hear the database waits a lease longer before it takes the log from another one, which may not have
// been heard for the same reason; it takes a free log at once.
func TestBlind(t *testing.T) {
	const lease = 240 * time.Millisecond
	inner := newTwin(1)
	owner := open(t, unclosed{inner}, "a", "1", hour) // is heard once
	defer owner.Close()
	time.Sleep(lease)
	db := &deaf{database: unclosed{inner}}
	waits := make(chan string, 1)
	f := newLife(lease)
	f.waits = func(owner string) { waits <- owner }
	inner.beat(0, owner.me)
	type result struct {
		l   *log
		err error
	}
	took := make(chan result, 1)
	go func() {
		l, err := take(db, instance{id: "2", name: "b"}, f, nil)
		took <- result{l, err}
	}()
	if name := <-waits; name != "a" {
		t.Errorf("it waits for %q", name)
	}
	db.down.Store(true)
	time.Sleep(2 * lease)
	db.down.Store(false)
	heard := time.Now()
	got := <-took
	must(t, got.err)
	defer got.l.Close()
	if waited := time.Since(heard); waited < lease*2/3 {
		t.Errorf("it waited %s after it had heard nothing, and the lease is %s", waited, lease)
	}
}

// TestWentBackMeanwhile: a log that lacks what this process has seen, as owner or while it waited, is not taken.
func TestWentBackMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		db := unclosed{fresh("")}
		rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
		l := open(t, db, "a", "1", hour)
		for first := uint64(1); first <= 3; first++ {
			must(t, l.Append(first, sealed(rng, first, 1)))
		}
		waiting, stop := newLife(hour), make(chan struct{})
		close(stop)
		if _, err := take(db, instance{id: "2", name: "b"}, waiting, stop); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		must(t, l.Close())
		goBack(t, db.database, 3)
		for name, f := range map[string]*life{"the owner": l.life, "who waited": waiting} {
			if _, err := take(db, instance{id: "3", name: name}, f, nil); !errors.Is(err, errWentBack) {
				t.Errorf("%s takes a log that has lost records: %v", name, err)
			}
		}
		l, err := take(db, instance{id: "4", name: "d"}, newLife(hour), nil)
		must(t, err)
		must(t, l.Close())
	})
}

// TestSpares counts the standbys that may be lost.
func TestSpares(t *testing.T) {
	for setting, want := range map[string]int{
		"b": 0, "b, c": 1, "*": 4, `"*"`: 4, "FIRST 1 (b, c)": 1, "ANY 1 (b)": 0, "any 2(b, c)": 0, "2 (b, c, d)": 1, "ANY 1 (*)": 4, `ANY 1 ("b-1","b-2")`: 1,
		" First 2 ( b , c ) ": 0, "ANY 5 (*)": 0, "ANY 6 (*)": -1,
	} {
		if got, _ := spares(setting, 5); got != want {
			t.Errorf("%s: %d, want %d", setting, got, want)
		}
	}
}

// TestStatus tells who decides, and who waits.
func TestStatus(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	store := newStore(t, primary.URL(), "a", false)
	if err := newStore(t, standby.URL(), "a", false).db.replicated(); err == nil || !strings.Contains(err.Error(), "have SVC_STORE name the primary") {
		t.Errorf("a standby alone: %v", err)
	}
	if _, err := store.Status(); err == nil || !strings.Contains(err.Error(), "bailiff store init") {
		t.Errorf("without tables: %v", err)
	}
	_, err := store.Init(Setup{})
	must(t, err)
	log, err := store.open()
	must(t, err)
	waits := make(chan string, 1)
	other := newStore(t, primary.URL(), "b", false)
	stop := make(chan struct{})
	other.options.Stop, other.options.Waits = stop, func(owner string) { waits <- owner }
	ended := make(chan error, 1)
	go func() { _, err := other.open(); ended <- err }()
	if owner := <-waits; owner != "a" || store.Standing() != Deciding || other.Standing() != Waiting {
		t.Errorf("%q decides; a is %d, and b %d", owner, store.Standing(), other.Standing())
	}
	must(t, store.NotePolicy("1"))
	must(t, other.NotePolicy(""))
	must(t, newStore(t, primary.URL(), "c", false).NotePolicy("3")) // which is not heard
	status, err := store.Status()
	must(t, err)
	policies, err := store.Policies()
	if want := []InstancePolicy{{"a", "1"}, {"b", ""}}; err != nil || !slices.Equal(policies, want) {
		t.Errorf("default policies %v, want %v: %v", policies, want, err)
	}
	if status.Lone == "" || status.Waits != "" {
		t.Errorf("one standby is connected, and it is said that %q is alone and %q waits", status.Lone, status.Waits)
	}
	if status.Owner != "a" || len(status.Instances) != 2 || status.Instances[1].Name != "b" || status.Unsafe != "" || status.Term != 1 || status.Offset.Abs() > MaxClockOffset {
		t.Errorf("%+v", status)
	}
	close(stop)
	if err := <-ended; !errors.Is(err, ErrStopped) {
		t.Errorf("one that was asked to end while it waits: %v", err)
	}
	must(t, log.Close())
	if status, err = store.Status(); err != nil || status.Owner != "" || len(status.Instances) != 0 {
		t.Errorf("when all have ended: %+v, %v", status, err)
	}
	if counts := store.Counts(); counts.Takeovers != 1 || counts.Looked != 0 {
		t.Errorf("%+v", counts)
	}
	must(t, store.db.query(func(context.Context, *pgx.Conn) error { return nil }))
	standby.Kill()
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, err = store.Status()
		if must(t, err); status.Waits != "" {
			break
		}
		if time.Now().After(late) {
			t.Fatal("it is not said that commits wait for a standby")
		}
	}
}

// TestPatience: a command asks hosts again that do not answer in the time that an instance has for all of them, and gives up on those that refuse.
func TestPatience(t *testing.T) {
	server := pgtest.Start(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	wire := netwire.New(t, listener, "unix", server.Socket())
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, errors.Join(err, refused.Close()))
	url := "postgres://postgres@" + wire.Address() + "," + refused.Addr().String() + "/postgres?sslmode=disable"
	for patience, finds := range map[time.Duration]bool{0: false, 30 * time.Second: true} {
		wire.Set(netwire.Holds)
		o := Options{URL: url, Name: "a", Lease: 20 * time.Second, Patience: patience, Trust: true, Environment: "test"}
		store, err := NewStore(o)
		must(t, err)
		time.AfterFunc(2*hostPatience, func() { wire.Set(netwire.None) })
		if err := store.db.replicated(); (err == nil || errors.As(err, new(*lossyError))) != finds {
			t.Errorf("with a patience of %v: %v", patience, err)
		}
		store.Close()
	}
	none, err := NewStore(Options{URL: "postgres://postgres@127.0.0.1:1," + refused.Addr().String() + "/postgres?sslmode=disable", Name: "a", Lease: time.Second, Patience: time.Hour})
	must(t, err)
	defer none.Close()
	if err := none.db.replicated(); err == nil || !strings.Contains(err.Error(), "none of the databases is the primary") {
		t.Errorf("hosts that refuse: %v", err)
	}
}
