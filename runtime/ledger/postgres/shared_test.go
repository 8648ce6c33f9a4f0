package pgledger

import (
	"context"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	netwire "bailiff/fuzz/kit/wire"
	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
)

// A single is the ledger of an instance that has all slots of a store.
type single struct {
	*slots.Ledger
	store *Store
	stop  chan struct{}
}

// openSingle opens the ledger of an instance that takes all slots of the store at an address.
func openSingle(t *testing.T, url, name string, lease time.Duration, options commit.Options) (*single, error) { //nolint:gocritic // as slots.Options has them
	a := &single{store: newStoreOf(t, url, name, true, lease), stop: make(chan struct{})}
	a.store.options.Stop = a.stop
	options.Random = a.store.options.Calls.Random
	l, err := a.store.Share(slots.Options{Commit: options, Log: slog.New(slog.DiscardHandler), Unbound: true})
	if err != nil {
		return nil, err
	}
	a.Ledger = l
	for deadline := time.Now().Add(30 * time.Second); !l.Whole(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			return nil, errors.Join(errors.New("not all slots are taken"), a.Close())
		}
	}
	return a, nil
}

// Close implements ledger.Ledger.
func (s *single) Close() error {
	select {
	case <-s.stop:
		return nil
	default:
	}
	close(s.stop)
	err := s.Ledger.Close()
	s.store.Close()
	return err
}

// emptied empties the tables of a store.
func emptied(t *testing.T, db *postgres) {
	t.Helper()
	connectAgain(t, db)
	_, err := db.writing.exec("TRUNCATE bailiff.keys, bailiff.activations")
	must(t, err)
	_, err = db.writing.exec("UPDATE bailiff.slots SET followed = 0")
	must(t, err)
}

// TestConformanceShare runs the suite over one slot and over several that an instance shares, as the service does: some cases of it over several
// slots, and the others in the long tests.
func TestConformanceShare(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	for _, c := range []struct {
		name    string
		slots   int
		without map[string]string
	}{{"one", 1, nil}, {"several", 3, suite.Several}} {
		if c.slots == 1 && !*full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			url := severalSlots(t, pgtest.Shared(t).URL(), c.slots)
			db := same(t, url)
			open := func(t *testing.T) ledger.Ledger {
				t.Helper()
				a, err := openSingle(t, url, "a", time.Second, commit.Options{SnapshotEvery: 40, IndexEvery: 10})
				must(t, err)
				return a
			}
			suite.Run(t, suite.Suite{
				Without: c.without,
				Draws:   func() bool { return *full || random.IntN(8) == 0 },
				Open: func(t *testing.T) ledger.Ledger {
					emptied(t, db)
					return open(t)
				},
				Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
					must(t, l.Close())
					return open(t)
				},
			})
		})
	}
}

// SlotLog implements ledgertest.Several.
func (s *single) SlotLog(slot int) ledger.Log {
	for n, l := range s.Here() {
		if n == slot {
			return l
		}
	}
	return unreadable{}
}

// SlotHealth implements ledgertest.Several.
func (s *single) SlotHealth(slot int) error {
	for n, l := range s.Here() {
		if n == slot {
			return l.Health()
		}
	}
	return slots.ErrElsewhere
}

// An unreadable log is that of a slot that was lost.
type unreadable struct{ ledger.Log }

// Head implements ledger.Log.
func (unreadable) Head(context.Context) (ledger.Head, error) {
	return ledger.Head{}, slots.ErrElsewhere
}

// Events implements ledger.Log.
func (unreadable) Events(context.Context, ledger.EventQuery) (ledger.EventPage, error) {
	return ledger.EventPage{}, slots.ErrElsewhere
}

// A sharedWorld is the tables of a store, and the wire over which an instance asks for them.
type sharedWorld struct {
	t    *testing.T
	wire *netwire.Wire
	sql  string // planted instead of sqlAdd; "" for none
}

// Open implements ledgertest.World.
func (w *sharedWorld) Open() (ledger.Ledger, error) {
	w.wire.Set(netwire.None)
	url := "postgres://postgres@" + w.wire.Address() + "/postgres?sslmode=disable"
	s, err := openSingle(w.t, url, "a", 5*time.Second, commit.Options{SnapshotEvery: 8, IndexEvery: 3, MaxGroups: ledgertest.ModelGroups})
	if err != nil {
		return nil, err
	}
	for _, slot := range s.store.each() {
		slot.life.patience = breakLease
	}
	if w.sql != "" {
		s.store.shared.manifold.(*postgres).sqlAdd = w.sql
	}
	return s, nil
}

// Crash implements ledgertest.World.
func (w *sharedWorld) Crash(l ledger.Ledger, _ int) {
	w.wire.Set(netwire.Cut)
	_ = l.Close()
}

// Break implements ledgertest.World.
func (w *sharedWorld) Break() { w.wire.Set(netwire.Cut) }

// Mend implements ledgertest.World.
func (w *sharedWorld) Mend(l ledger.Ledger, _ int) { _ = l.Close() }

// nothingAdded is what tells an append as kept that it does not make.
const nothingAdded = `SELECT 1 WHERE ($1::int, $2::bigint, $3::bigint, $4::bigint, $5::bytea, $6::bytea, $7::bigint, $8::bytea, $9::bigint, $10::boolean) IS NOT NULL`

// TestModelShare holds an instance that shares a store's slots against the model, while its wire to the server is cut.
func TestModelShare(t *testing.T) {
	server := pgtest.Shared(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	wire := netwire.New(t, listener, "unix", server.Socket())
	for _, c := range []struct {
		name      string
		slots     int
		histories int
		sql, says string
	}{
		{"several slots", 3, histories(1), "", ""},
		{"one slot", 1, histories(1), "", ""},
		{"appends that are told and not made", 3, 5, nothingAdded, "acknowledged|went back"},
	} {
		if c.slots == 1 && !*full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			db := same(t, severalSlots(t, server.URL(), c.slots))
			said, caught := ledgertest.Caught(t, c.histories, regexp.MustCompile(c.says), func() ledgertest.World {
				emptied(t, db)
				return &sharedWorld{t: t, wire: wire, sql: c.sql}
			})
			if caught != (c.sql != "") {
				t.Errorf("the model finds: %q", said)
			}
		})
	}
}

// TestRefusedTLS: where a database on this machine takes no TLS, the error says what the address lacks.
func TestRefusedTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	wire := netwire.New(t, listener, "unix", pgtest.Shared(t).Socket())
	for _, mode := range []string{"", "?sslmode=disable"} {
		_, err := same(t, "postgres://postgres@"+wire.Address()+"/postgres"+mode).time()
		if hinted := err != nil && strings.Contains(err.Error(), "sslmode=disable"); hinted != (mode == "") || mode != "" && err != nil {
			t.Errorf("%q: %v", mode, err)
		}
	}
}
