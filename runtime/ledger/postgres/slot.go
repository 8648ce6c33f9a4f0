package pgledger

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/reopen"
)

// A Slot is a part of the API keys of a store, with a log of its own. One instance at a time owns the log and decides.
type Slot struct {
	store  *Store
	number int
	shared *gathered // the database of the logs of all slots; nil where there is one
	shares *shares   // nil where there is one slot

	life     *life
	current  atomic.Pointer[log] // that was opened last; nil until then
	standing atomic.Int32
	listens  atomic.Bool // see Store.Listen
}

func newSlot(s *Store, number int) *Slot {
	slot := &Slot{store: s, number: number, life: newLife(s.options.Lease)}
	slot.life.clock = s.options.Calls.Clock
	slot.life.waits = func(owner string) {
		slot.standing.Store(int32(Waiting))
		if s.options.Waits != nil {
			s.options.Waits(owner)
		}
	}
	return slot
}

// Ledger waits until no other instance owns the log, takes it, and returns the ledger over it, whose Close hands it over at once. again
// says how the log is opened again when it has failed; a ledger after which another one has decided does not open it again, and again
// is told of it as stuck. Of the options of commit.Ledger, SnapshotEvery is set here where it is 0.
func (s *Slot) Ledger(options commit.Options, again reopen.Options) (*commit.Ledger, error) {
	again.Most = min(again.Most, s.life.lease/2)
	if again.Most == 0 {
		again.Most = s.life.lease / 2
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
	return openOver(log, options)
}

// openOver opens the ledger over a log, or closes the log.
func openOver[L interface {
	commit.Log
	io.Closer
}](log L, options commit.Options) (*commit.Ledger, error) {
	if options.SnapshotEvery == 0 {
		options.SnapshotEvery = snapshotEvery
	}
	l, err := commit.Open(log, options)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return l, nil
}

// Open implements slots.Slot. Each ledger of a slot begins with what its log says: it is not opened again in place.
func (s *Slot) Open(options commit.Options, stop <-chan struct{}) (l *commit.Ledger, failed <-chan struct{}, err error) {
	s.life.forgets()
	log, err := s.openUntil(stop)
	if err != nil {
		return nil, nil, err
	}
	l, err = openOver(log, options)
	return l, log.failed, err
}

// open is openUntil Options.Stop is closed.
func (s *Slot) open() (*kept, error) { return s.openUntil(s.store.options.Stop) }

// openUntil waits until no other instance owns the log, or stop is closed, and takes it. Its Close hands it over at once.
func (s *Slot) openUntil(stop <-chan struct{}) (*kept, error) {
	store := s.store
	if s.shared == nil {
		store.db.asking.close() // it may be to a primary that hangs
	}
	if err := store.check(len(store.each())); err != nil {
		return nil, err
	}
	if err := store.may(); err != nil {
		return nil, err
	}
	if _, err := s.readable(); err != nil {
		return nil, err
	}
	var id [16]byte
	if _, err := io.ReadFull(store.options.Calls.Random, id[:]); err != nil {
		return nil, fmt.Errorf("ledger: reading randomness for the id of the instance: %w", err)
	}
	db, asked := s.connections()
	l, err := takeSlot(asked, s.number, instance{id: hex.EncodeToString(id[:]), name: store.options.Name, peer: store.options.Peer}, s.life, stop)
	if err != nil {
		asked.close()
		return nil, err
	}
	made, err := s.readable() // it may have been exported while this instance waited, or its level raised
	if err == nil && made.divided != store.divided {
		err = fmt.Errorf("%w: a record was divided over the slots since this instance started; start it again", ledger.ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	db.writing.exec(sqlSweep) //nolint:errcheck // the next one does it
	s.current.Store(l)
	s.standing.Store(int32(Deciding))
	return &kept{log: l, db: db, writes: made.writes}, nil
}

// readable is Store.readable. Of several slots, an instance whose record was exported ends: the error wraps ledger.ErrLocked.
func (s *Slot) readable() (made, error) {
	made, err := s.store.readable()
	if s.shared != nil && errors.Is(err, errMoved) {
		err = fmt.Errorf("%w: %w", ledger.ErrLocked, err)
	}
	return made, err
}

// connections are those of a log that is to be opened, which go with it, or those of all slots, and how the log speaks over them.
func (s *Slot) connections() (*postgres, database) {
	if s.shared != nil {
		return s.shared.manifold.(*postgres), s.shared //nolint:forcetypeassert // that is what slots makes it of
	}
	db := newPostgres(s.store.find, s.store.options.Lease)
	return db, db
}

// Leaves implements slots.Slot.
func (s *Slot) Leaves() <-chan struct{} { return s.shares.leave }

// Leaving implements slots.Slot.
func (s *Slot) Leaving() { s.current.Load().leave() }

// Standing returns what the instance does.
func (s *Slot) Standing() Standing {
	now, l := Standing(s.standing.Load()), s.current.Load()
	switch {
	case now != Deciding || l == nil:
		return now
	case ended(l.ended): // it was handed over
		return Starting
	case l.Health() != nil:
		return Failed
	}
	return now
}

// Counts returns what metrics tell.
func (s *Slot) Counts() Counts {
	return Counts{s.life.taken.Load(), s.life.looked.Load(), s.life.fenced.Load(), time.Duration(s.life.offset.Load())}
}

// Owner returns the instance that decides, while this one waits for it; nil where none is known.
func (s *Slot) Owner() *Owner { return s.life.owner.Load() }
