// Package pgledger keeps a ledger's log in PostgreSQL, so that another machine continues where one is lost. One instance at a time
// owns the log and decides; others wait. A group is told as kept after a transaction that found the owner's term in place, and the
// group before it: an owner that was paused, cut off or replaced appends nothing. An answer without an append is confirmed:
// the database has to say that the log is still this instance's, and to have a standby's word for it.
package pgledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger/state"
	"bailiff/runtime/system"
)

// snapshotEvery is how many records are written between two snapshots: another instance reads no more when it takes over.
const snapshotEvery = 1 << 19

// Options say which database, and who asks.
type Options struct {
	URL  string // several hosts are allowed; the primary is found
	Name string // of the instance: one that is started again under its name takes over from itself at once
	// Peer is the address at which this instance takes requests from others while it decides; "" where it takes none.
	Peer string
	// Lease is how long an owner may be silent, by the database's clock. All instances have the same.
	Lease time.Duration
	// Patience is how long a command looks for the primary, and waits for an answer; 0 in an instance, which has no longer than its lease.
	Patience time.Duration
	// Trust takes a database without a synchronous standby, as one that copies what it keeps below SQL.
	Trust       bool
	Environment string // of the service; a database is of one
	// Calls give randomness for the ids of processes, and the clock that is compared with the database's.
	Calls system.Calls
	// Waits is called with the owner's name when the log begins to wait for another instance; nil for nothing.
	Waits func(owner string)
	// Stop ends waiting for the owner where it is closed; nil for never.
	Stop <-chan struct{}
}

// A Store is the database as a process uses it. The process opens a log in it, and again when that has failed.
type Store struct {
	*Slot   // the one slot, or of several the first
	options Options
	find    *finder
	db      *postgres // its own connections

	divided uint64                  // when slots was called
	hearing atomic.Bool             // see hear
	several atomic.Pointer[[]*Slot] // of a store that has several; nil until slots was called
	closing sync.Once
}

// CheckURL checks the address of a database. Its error does not repeat the address, which has a password.
func CheckURL(url string) error {
	_, err := newFinder(url)
	return err
}

// NewStore returns a database, which nothing is asked yet.
func NewStore(o Options) (*Store, error) {
	if o.Name == "" {
		return nil, errors.New("ledger: the instance has no name; set SVC_INSTANCE")
	}
	find, err := newFinder(o.URL)
	if err != nil {
		return nil, err
	}
	find.require, find.lease, find.persists = !o.Trust, o.Lease, o.Patience > 0
	s := &Store{options: o, find: find, db: newPostgres(find, max(o.Lease, o.Patience))}
	s.Slot = newSlot(s, 0)
	return s, nil
}

// check returns why the database can't be used for so many slots.
func (s *Store) check(slots int) error {
	made, err := s.db.made()
	need := oneSlotLevel
	if slots > 1 {
		need = severalLevel
	}
	switch {
	case err != nil:
		return fmt.Errorf("ledger: asking the database: %w", err)
	case made.level == 0:
		return errors.New("ledger: the database has no tables; make them with: bailiff store init")
	case made.level < need:
		return fmt.Errorf("ledger: the tables are of the level %d, and this release needs %d; bring them up to it with: bailiff store init", made.level, need)
	case made.writes > state.Latest():
		return newer(made.writes)
	case made.environment != s.options.Environment:
		return fmt.Errorf("ledger: the database is of the environment %s, and SVC_ENV is %s; each environment needs a database of its own", made.environment, s.options.Environment)
	case made.slots > 1 && slots == 1:
		return fmt.Errorf("ledger: the store has %d slots, and this instance is made for one", made.slots)
	}
	if s.options.Trust {
		return nil
	}
	return s.db.replicated()
}

// may returns an error where the role lacks a right on a table that came with a later release.
func (s *Store) may() error {
	n, err := s.db.asking.number(sqlLacks)
	if err == nil && n > 0 {
		err = errors.New("ledger: the role of the database lacks rights on tables and functions that are new; give it these, as the role that owns the tables: bailiff store init --role ROLE")
	}
	return err
}

const sqlLacks = `SELECT (SELECT count(*) FROM (VALUES ('places'), ('bases'), ('keys'), ('activations')) AS t (name) WHERE to_regclass('bailiff.' || t.name) IS NOT NULL AND NOT has_table_privilege('bailiff.' || t.name, 'INSERT'))
+ (SELECT count(*) FROM pg_catalog.pg_proc WHERE pronamespace = 'bailiff'::regnamespace AND proname = 'note_divided' AND NOT has_function_privilege(oid, 'EXECUTE'))`

// readable returns what the database says of itself, and an error where the record was exported from it, or is of a newer release.
func (s *Store) readable() (made, error) {
	made, err := s.db.made()
	switch {
	case err != nil:
		err = fmt.Errorf("ledger: asking the database: %w", err)
	case made.moved != "":
		err = fmt.Errorf("%w %s, and continues there; import it into another database, or, if no service has run on it there, run: bailiff store export --undo", errMoved, made.moved)
	case made.writes > state.Latest():
		err = newer(made.writes)
	}
	return made, err
}

// newer is the error of a store whose records this release may not be able to read.
func newer(writes int) error {
	return fmt.Errorf("ledger: the level of the store is %d, and this release reads records up to %d; start a release that reads them", writes, state.Latest())
}

// errMoved says that the record was exported from the database.
var errMoved = errors.New("ledger: the record was exported from the database to")

// A Standing is what an instance does.
type Standing int32

// An instance starts, waits for another one, decides, or can't.
const (
	Starting Standing = iota
	Waiting
	Deciding
	Failed
)

// Counts are what metrics tell of a process.
type Counts struct {
	Takeovers uint64        // how often it took the log
	Looked    uint64        // how many appends had no answer or a refusal, and were looked into
	Fenced    uint64        // of how many of those another instance had taken the log
	Offset    time.Duration // of the database's clock, when it was last heard
}

// Signer returns what NoteSigner noted last, by whichever instance; "" where there was none.
func (s *Store) Signer() (string, error) {
	made, err := s.db.made()
	return made.signer, err
}

// NoteSigner notes which keys sign, for the instances that start later.
func (s *Store) NoteSigner(ids string) error {
	return s.db.copying.keep(`UPDATE bailiff.store SET signer = $1`, ids)
}

// SentByOTLP is the name of the place up to which events were sent to a collector.
const SentByOTLP = "otlp"

// SentBySlot is the name of that place in the log of one of several slots.
func SentBySlot(slot int) string { return fmt.Sprintf("%s-%d", SentByOTLP, slot) }

const sqlPlace = `INSERT INTO bailiff.places (name, place) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET place = excluded.place`

// Place returns what KeepPlace kept last under a name, by whichever instance; "" where there was none.
func (s *Store) Place(name string) (place string, err error) {
	err = s.db.asking.twice(func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, `SELECT place FROM bailiff.places WHERE name = $1`, name).Scan(&place)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return place, err
}

// KeepPlace keeps how far the record was read by something, for the instance that continues it. An instance that was replaced may put
// the place back.
func (s *Store) KeepPlace(name, place string) error {
	return s.db.copying.keep(sqlPlace, name, place)
}

// ID returns the store's id, which was drawn when its tables were made.
func (s *Store) ID() (string, error) {
	made, err := s.db.made()
	if err == nil && made.level == 0 {
		err = s.check(1)
	}
	return made.id, err
}

// Name returns the name of this instance.
func (s *Store) Name() string { return s.options.Name }

// slots returns the slots of the store, each for a ledger of its own. Of several, the first has the service-wide records. This instance owns its
// share of them: where it owns more, Leaves of a slot says so. It asks how many instances there are until Options.Stop is closed, which
// also ends waiting.
func (s *Store) slots() (several []*Slot, made made, err error) {
	if made, err = s.readable(); err != nil {
		return nil, made, err
	}
	number := made.slots
	if number > 1 {
		number++ // the first has the service-wide records
	}
	if err := s.check(number); err != nil {
		return nil, made, err
	}
	s.divided = made.divided
	all, shared := newShares(number), gather(newPostgres(s.find, s.options.Lease))
	several = make([]*Slot, number)
	for n := range several {
		slot := s.Slot
		if n > 0 {
			slot = newSlot(s, n)
		}
		slot.shares, slot.shared = all, shared
		slot.life.shares, slot.life.waits = all, func(string) { slot.standing.Store(int32(Waiting)) }
		several[n] = slot
	}
	s.several.Store(&several)
	s.find.calls.Go(func() { all.follow(shared, s.options.Name, s.options.Lease, s.options.Stop, s.hear) })
	return several, made, nil
}

// Close gives up the connections that are no log's.
func (s *Store) Close() {
	s.closing.Do(func() {
		s.db.close()
		if several := s.several.Load(); several != nil {
			(*several)[0].shared.manifold.close()
		}
	})
}
