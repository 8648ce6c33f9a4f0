package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
)

// handOverPatience is how long a slot that is handed over waits for the requests inside.
const handOverPatience = 2 * time.Second

var _ slots.Store = (*Store)(nil)

// Share opens the ledger over those slots of the store that are this instance's share, as they come. Of the options, Slots, Store, Stop and
// the times are set here.
func (s *Store) Share(o slots.Options) (*slots.Ledger, error) {
	all, made, err := s.slots()
	if err != nil {
		return nil, err
	}
	o.Divided = made.divided
	for _, slot := range all {
		o.Slots = append(o.Slots, slot)
	}
	lease := s.options.Lease
	o.Store, o.Stop, o.Every, o.Patience, o.RemotePatience, o.GlobalPatience = s, s.options.Stop, lease/beatsPerLease, handOverPatience, lease+handOverPatience, 5*lease
	return slots.Open(o)
}

// Alone opens the ledger over all slots of a store that no instance uses, for a command. It returns the name of an instance that has a slot
// instead, where there is one. Options.Stop has to be closed before the ledger is.
func (s *Store) Alone(o slots.Options) (l *slots.Ledger, owner string, err error) {
	if owner, err = s.user(); owner != "" || err != nil {
		return nil, owner, err
	}
	o.Unbound = true
	if l, err = s.Share(o); err != nil {
		return nil, "", err
	}
	late := o.Timers.Alarm(s.options.Lease + handOverPatience)
	defer late.Stop()
	for !l.Whole() {
		again := o.Timers.Alarm(againPause)
		select {
		case <-again.C:
			continue
		case <-late.C:
		}
		again.Stop()
		return l, "", fmt.Errorf("%w: not all slots could be taken within %s; try again", ledger.ErrUnavailable, s.options.Lease+handOverPatience)
	}
	return l, "", nil
}

// user returns the name of an instance that has a slot, "" where none has.
func (s *Store) user() (string, error) {
	status, err := s.Status()
	if err != nil {
		return "", err
	}
	for _, slot := range status.Slots {
		if slot.Owner != "" && slot.Heard <= s.options.Lease {
			return slot.Owner, nil
		}
	}
	return "", nil
}

// Listen implements slots.Store.
func (s *Store) Listen(slot int, on bool) { s.each()[slot].listens.Store(on) }

const sqlOwners = `SELECT s.slot, COALESCE(i.id, ''), COALESCE(s.owner_name, ''), COALESCE(i.peer, '') FROM bailiff.slots s
LEFT JOIN bailiff.instances i ON i.id = s.owner AND i.seen > clock_timestamp() - $1::bigint * interval '1 microsecond'`

// hear notes which instances own the slots that this one listens to, in the background.
func (s *Store) hear() {
	listens := slices.ContainsFunc(s.each(), func(one *Slot) bool { return one.listens.Load() })
	if listens && s.hearing.CompareAndSwap(false, true) {
		s.options.Calls.Go(func() {
			defer s.hearing.Store(false)
			s.ask()
		})
	}
}

// ask asks for hear.
func (s *Store) ask() {
	err := s.db.query(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, sqlOwners, (lostLeases * s.options.Lease).Microseconds())
		if err != nil {
			return err
		}
		var slot int
		var owner instance
		_, err = pgx.ForEachRow(rows, []any{&slot, &owner.id, &owner.name, &owner.peer}, func() error {
			if all := s.each(); slot < len(all) && all[slot].listens.Load() {
				all[slot].life.waitsFor(owner)
			}
			return nil
		})
		return err
	})
	_ = err // it is asked again
}

// OwnerOf returns the instance that has a slot, as this one has heard that waits for it; nil where none is known.
func (s *Store) OwnerOf(slot int) *Owner { return s.each()[slot].Owner() }

// each returns the slots, as far as they are known.
func (s *Store) each() []*Slot {
	if several := s.several.Load(); several != nil {
		return *several
	}
	return []*Slot{s.Slot}
}

// Count returns how many slots of keys the store has.
func (s *Store) Count() (int, error) {
	made, err := s.db.made()
	if err != nil {
		return 0, fmt.Errorf("ledger: asking the database: %w", err)
	}
	return max(1, made.slots), nil
}

// Divided returns the last record of the log that was divided over slots, 0 where none was.
func (s *Store) Divided() (uint64, error) {
	made, err := s.db.made()
	return made.divided, err
}

// Counts returns what metrics tell, of all slots together.
func (s *Store) Counts() (all Counts) {
	for _, slot := range s.each() {
		one := slot.Counts()
		all.Takeovers += one.Takeovers
		all.Looked += one.Looked
		all.Fenced += one.Fenced
		if one.Offset.Abs() > all.Offset.Abs() {
			all.Offset = one.Offset
		}
	}
	return all
}

// Silent returns for how long the database was not heard.
func (s *Store) Silent() time.Duration {
	heard := int64(0)
	for _, slot := range s.each() {
		heard = max(heard, slot.life.heard.Load())
	}
	return s.options.Calls.Clock().Sub(time.Unix(0, heard))
}

// Owned returns of how many slots this instance owns the log, the first of several included.
func (s *Store) Owned() (n int) {
	for _, slot := range s.each() {
		if slot.Standing() == Deciding {
			n++
		}
	}
	return n
}

const (
	sqlKey      = `SELECT slot FROM bailiff.keys WHERE id = $1`
	sqlEnterKey = `INSERT INTO bailiff.keys (id, hash, slot) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	sqlEntered  = `SELECT count(*) FROM bailiff.keys WHERE id = $1 AND hash = $2`

	sqlEnterActivation = `INSERT INTO bailiff.activations (id, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	sqlActivation      = `SELECT slot FROM bailiff.activations WHERE id = $1`

	sqlNoteFollowed = `UPDATE bailiff.slots SET followed = $2 WHERE slot = $1 AND followed < $2`

	// sqlBehind writes, so that its commit waits for the standby: a primary that was replaced knows an earlier state.
	sqlBehind = `SELECT s.slot, pg_logical_emit_message(true, 'bailiff', '') FROM bailiff.slots s WHERE s.slot = 0 OR s.owner IS NOT NULL AND s.followed < $1 ORDER BY s.slot`
)

// maybeNumber returns the number in the one row of a statement's result, and whether there is a row.
func (s *session) maybeNumber(sql string, args ...any) (n int, ok bool, err error) {
	err = s.do(func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, sql, args...).Scan(&n)
		if ok = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return n, ok, err
}

// KeySlot implements slots.Store.
func (s *Store) KeySlot(key ledger.ID) (slot int, ok bool, err error) {
	asking := s.db.writing // the store itself appends nothing
	slot, ok, err = asking.maybeNumber(sqlKey, key[:])
	if err != nil || ok {
		return slot, ok, err
	}
	if _, err := asking.execKept(sqlNothing); err != nil { // a primary that was replaced may not know it
		return 0, false, err
	}
	return asking.maybeNumber(sqlKey, key[:])
}

// EnterKey implements slots.Store.
func (s *Store) EnterKey(key ledger.ID, hash [32]byte, slot int) error {
	rows, err := s.db.copying.execKept(sqlEnterKey, key[:], hash[:], slot)
	if err != nil || rows == 1 {
		return unavailable(err)
	}
	same, err := s.db.copying.number(sqlEntered, key[:], hash[:])
	if err == nil && same == 0 {
		return fmt.Errorf("%w: %s", ledger.ErrKeyExists, key)
	}
	return unavailable(err)
}

// unavailable is an error of a statement without which nothing is recorded.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
}

// EnterActivation implements slots.Store.
func (s *Store) EnterActivation(id [32]byte, slot int) error {
	rows, err := s.db.copying.execKept(sqlEnterActivation, id[:], slot)
	if err != nil || rows == 1 {
		return unavailable(err)
	}
	in, _, err := s.db.copying.maybeNumber(sqlActivation, id[:])
	if err == nil && in != slot {
		return fmt.Errorf("%w: it was tried for a key of another slot", ledger.ErrUsed)
	}
	return unavailable(err)
}

// Read implements slots.Store.
func (s *Store) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return readAll(pageGroups, func(from uint64) ([]group, error) { return s.db.read(0, from, pageGroups) }, from, yield)
}

// Second implements slots.Store.
func (s *Store) Second(use func(commit.Log) error) error { return s.Look(1, use) }

// Seen implements slots.Store.
func (s *Store) Seen() uint64 {
	f := s.each()[0].life
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.last
}

// End implements slots.Store. It asks over a connection that changes go over, since a primary that was replaced takes none.
func (s *Store) End() (uint64, error) {
	if _, err := s.db.living.execKept(sqlNothing); err != nil { // the store itself says nothing
		return 0, unavailable(err)
	}
	var end group
	err := s.db.living.do(func(ctx context.Context, c *pgx.Conn) (err error) {
		end, err = lastOf(ctx, c, 0)
		return err
	})
	return end.last, unavailable(err)
}

// sqlNothing writes to the log of changes alone, so that its commit waits for the standby.
const sqlNothing = `SELECT pg_logical_emit_message(true, 'bailiff', '')`

// NoteFollowed implements slots.Store.
func (s *Store) NoteFollowed(slot int, lsn uint64) error {
	_, err := s.db.living.execKept(sqlNoteFollowed, slot, int64(lsn)) //nolint:gosec // LSNs are counted up from 1
	return unavailable(err)
}

// Behind implements slots.Store.
func (s *Store) Behind(lsn uint64) (behind []int, err error) {
	err = s.db.living.kept(func(ctx context.Context, c *pgx.Conn) error { // the store itself says nothing
		behind = nil
		rows, err := c.Query(ctx, sqlBehind, int64(lsn)) //nolint:gosec // LSNs are counted up from 1
		if err != nil {
			return err
		}
		var slot int
		var written string
		_, err = pgx.ForEachRow(rows, []any{&slot, &written}, func() error {
			if slot > 0 {
				behind = append(behind, slot)
			}
			return nil
		})
		return err
	})
	return behind, unavailable(err)
}
