// Package pgledger keeps a ledger's log in PostgreSQL, so that another machine continues where one is lost. One instance at a time
// owns the log and decides; others wait. A group is told as kept after a transaction that found the owner's term in place, and the
// group before it: an owner that was paused, cut off or replaced appends nothing. An answer without an append is confirmed:
// the database has to say that the log is still this instance's, and to have a standby's word for it.
package pgledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/reopen"
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
	options Options
	find    *finder
	life    *life
	db      *postgres // its own connections

	current  atomic.Pointer[log] // that was opened last; nil until then
	closing  sync.Once
	standing atomic.Int32
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
	s := &Store{options: o, find: find, life: newLife(o.Lease), db: newPostgres(find, o.Lease)}
	s.life.clock = o.Calls.Clock
	s.life.waits = func(owner string) {
		s.standing.Store(int32(Waiting))
		if s.options.Waits != nil {
			s.options.Waits(owner)
		}
	}
	return s, nil
}

// Ledger waits until no other instance owns the log, takes it, and returns the ledger over it, whose Close hands it over at once. again
// says how the log is opened again when it has failed; a process after which another one has decided does not open it again, and again
// is told of it as stuck. Of the options of commit.Ledger, SnapshotEvery is set here where it is 0.
func (s *Store) Ledger(options commit.Options, again reopen.Options) (*commit.Ledger, error) {
	if options.SnapshotEvery == 0 {
		options.SnapshotEvery = snapshotEvery
	}
	again.Most = min(again.Most, s.options.Lease/2)
	if again.Most == 0 {
		again.Most = s.options.Lease / 2
	}
	log, err := reopen.Open(func() (commit.Log, error) {
		l, err := s.open()
		if err != nil {
			return nil, err // a nil *kept would be a commit.Log that is not nil
		}
		return l, nil
	}, again)
	if err != nil {
		return nil, err
	}
	l, err := commit.Open(log, options)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return l, nil
}

// open waits until no other instance owns the log, and takes it. Its Close hands it over at once.
func (s *Store) open() (*kept, error) {
	s.db.asking.close() // it may be to a primary that hangs
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.may(); err != nil {
		return nil, err
	}
	if _, err := s.readable(); err != nil {
		return nil, err
	}
	var id [16]byte
	if _, err := io.ReadFull(s.options.Calls.Random, id[:]); err != nil {
		return nil, fmt.Errorf("ledger: reading randomness for the id of the instance: %w", err)
	}
	db := newPostgres(s.find, s.options.Lease)
	l, err := take(db, instance{id: hex.EncodeToString(id[:]), name: s.options.Name, peer: s.options.Peer}, s.life, s.options.Stop)
	if err != nil {
		db.close()
		return nil, err
	}
	made, err := s.readable() // it may have been exported while this instance waited, or its level raised
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	db.copying.exec(sqlSweep) //nolint:errcheck // the next one does it
	s.current.Store(l)
	s.standing.Store(int32(Deciding))
	return &kept{log: l, db: db, writes: made.writes}, nil
}

// check returns why the database can't be used.
func (s *Store) check() error {
	made, err := s.db.made()
	switch {
	case err != nil:
		return fmt.Errorf("ledger: asking the database: %w", err)
	case made.level == 0:
		return errors.New("ledger: the database has no tables; make them with: bailiff store init")
	case made.level < tablesLevel:
		return fmt.Errorf("ledger: the tables are of the level %d, and this release needs %d; bring them up to it with: bailiff store init", made.level, tablesLevel)
	case made.writes > state.Latest():
		return newer(made.writes)
	case made.environment != s.options.Environment:
		return fmt.Errorf("ledger: the database is of the environment %s, and SVC_ENV is %s; each environment needs a database of its own", made.environment, s.options.Environment)
	}
	if s.options.Trust {
		return nil
	}
	return s.db.replicated()
}

// may returns an error where the role lacks a right on a table that came with a later release.
func (s *Store) may() error {
	n, err := s.db.asking.number(`SELECT count(*) FROM (VALUES ('places'), ('bases')) AS t (name) WHERE NOT has_table_privilege('bailiff.' || t.name, 'INSERT')`)
	if err == nil && n > 0 {
		err = errors.New("ledger: the role of the database lacks rights on tables that are new; give it these, as the role that owns the tables: bailiff store init --role ROLE")
	}
	return err
}

// readable returns what the database says of itself, and an error where the record was exported from it, or is of a newer release.
func (s *Store) readable() (made, error) {
	made, err := s.db.made()
	switch {
	case err != nil:
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

// Standing returns what the instance does.
func (s *Store) Standing() Standing {
	now := Standing(s.standing.Load())
	if l := s.current.Load(); now == Deciding && l != nil && l.Health() != nil {
		return Failed
	}
	return now
}

// Counts are what metrics tell of a process.
type Counts struct {
	Takeovers uint64        // how often it took the log
	Looked    uint64        // how many appends had no answer, and were looked into
	Offset    time.Duration // of the database's clock, when it was last heard
}

// Counts returns what metrics tell.
func (s *Store) Counts() Counts {
	return Counts{s.life.taken.Load(), s.life.looked.Load(), time.Duration(s.life.offset.Load())}
}

// Signer returns what NoteSigner noted last, by whichever instance; "" where there was none.
func (s *Store) Signer() (string, error) {
	made, err := s.db.made()
	return made.signer, err
}

// NoteSigner notes which keys sign, for the instances that start later.
func (s *Store) NoteSigner(ids string) error {
	_, err := s.db.copying.exec(`UPDATE bailiff.store SET signer = $1`, ids)
	return err
}

// SentByOTLP is the name of the place up to which events were sent to a collector.
const SentByOTLP = "otlp"

const sqlPlace = `INSERT INTO bailiff.places (name, place) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET place = excluded.place`

// Place returns what KeepPlace kept last under a name, by whichever instance; "" where there was none.
func (s *Store) Place(name string) (place string, err error) {
	err = s.db.asking.do(func(ctx context.Context, c *pgx.Conn) error {
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
	_, err := s.db.copying.exec(sqlPlace, name, place)
	return err
}

// ID returns the store's id, which was drawn when its tables were made.
func (s *Store) ID() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	made, err := s.db.made()
	return made.id, err
}

// Name returns the name of this instance.
func (s *Store) Name() string { return s.options.Name }

// Owner returns the instance that decides, while this one waits for it; nil where none is known.
func (s *Store) Owner() *Owner { return s.life.owner.Load() }

// Close gives up the connections that are no log's.
func (s *Store) Close() { s.closing.Do(s.db.close) }
