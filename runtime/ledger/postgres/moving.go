package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// movePatience is how long a whole log may take to be written.
const movePatience = 24 * time.Hour

// errRecords says that a database has records already.
var errRecords = errors.New("ledger: the database has records already; a log is imported into a database that has none")

// ErrUnsettled says that the database has not said whether it has kept what Fill has filled.
var ErrUnsettled = errors.New("ledger: it is not known whether the database has kept the record")

// Look calls use with the log of a slot as it is at one moment, which can't be changed by it, while an instance may decide, and drop old groups.
func (s *Store) Look(slot int, use func(commit.Log) error) error {
	n, err := s.Count()
	if err == nil {
		err = s.check(n)
	}
	if err != nil {
		return err
	}
	now := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return s.find.alone(context.Background(), movePatience, now, func(ctx context.Context, t pgx.Tx) error {
		l := &log{life: s.life, db: s.db, slot: slot}
		return use(looking{log: l, query: func(statement func(context.Context, *pgx.Conn) error) error { return statement(ctx, t.Conn()) }})
	})
}

// A looking is a log that is looked at over one connection.
type looking struct {
	*log
	query func(func(context.Context, *pgx.Conn) error) error
}

var (
	_ commit.Snapshots = looking{}
	_ commit.Dropper   = looking{}
)

// OpenBase implements commit.Dropper.
func (l looking) OpenBase(lsn uint64) (commit.Base, error) {
	return openBase(l.query, baseID{l.slot, lsn, ""})
}

// SaveBase implements commit.Dropper.
func (looking) SaveBase(uint64, func(io.Writer) error, func(ledger.RetentionStep) error) error {
	return errTaken
}

// Drop implements commit.Dropper.
func (looking) Drop(uint64, []byte, func(ledger.RetentionStep) error) error { return errTaken }

// Free implements commit.Dropper.
func (looking) Free(uint64, func(ledger.RetentionStep) error) error { return errTaken }

// LoadSnapshot implements commit.Snapshots.
func (l looking) LoadSnapshot() ([]byte, error) { return loadSnapshot(l.query, l.slot) }

// SaveSnapshot implements commit.Snapshots.
func (looking) SaveSnapshot([]byte) error { return errTaken }

// Head implements commit.Log.
func (l looking) Head() (first uint64, err error) {
	err = l.query(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT COALESCE(max(first), 0) FROM bailiff.groups WHERE slot = $1`, l.slot).Scan(&first)
	})
	return first, err
}

// Read implements commit.Log. What the table says of a group has to be what the group says: the next append rests on it.
func (l looking) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return readAll(l.truth, from, yield)
}

// truth reads a page of the log, and notices a group that is another than the columns beside it say.
func (l looking) truth(from uint64) (page []group, err error) {
	err = l.query(func(ctx context.Context, c *pgx.Conn) error {
		page, err = readGroups(ctx, c, l.slot, from, pageGroups)
		return err
	})
	for _, g := range page {
		if last, torn := commit.LastOf(g.data); torn != nil || last != g.last || sha256.Sum256(g.data) != g.hash {
			return nil, fmt.Errorf("group %d: %w", g.first, errChanged)
		}
	}
	return page, err
}

// Drain takes the log, so that no instance decides meanwhile, and calls use with it. It waits for an owner as Ledger does. Where use
// succeeds and the log was this process's all the time, it notes where the record continues, and no instance decides over the database any
// more.
func (s *Store) Drain(to string, use func(commit.Log) error) error {
	log, err := s.open()
	if err != nil {
		return err
	}
	err = use(looking{log: log.log, query: log.db.query})
	if err == nil {
		err = noteMoved(log, to)
	}
	return errors.Join(err, log.Close())
}

const sqlMoved = fence + `UPDATE bailiff.store SET moved = $3 FROM fence`

// noteMoved notes where the record continues, unless another process has had the log since this one took it: that may have added to it.
func noteMoved(log *kept, to string) error {
	rows, err := log.db.copying.exec(sqlMoved, log.slot, log.term, to)
	if err == nil && rows != 1 {
		err = errTaken
	}
	return err
}

// Undrain takes back what Drain has noted.
func (s *Store) Undrain() error {
	_, err := s.db.copying.exec(`UPDATE bailiff.store SET moved = ''`)
	return err
}

// Fill takes the log, which has to be empty, has fill fill it, and notes which keys sign: whole, or not at all where fill fails or the process
// ends. Where the database does not say whether it has kept it, it is asked; the error wraps ErrUnsettled where it does not say that either.
func (s *Store) Fill(signer string, fill func(commit.Log) error) error {
	log, err := s.open()
	if err != nil {
		return err
	}
	if log.writes < state.Latest() {
		return errors.Join(fmt.Errorf("ledger: the level of the store is %d, and the log may have records up to %d; raise it first: bailiff store level %d", log.writes, state.Latest(), state.Latest()), log.Close())
	}
	var end group
	err = s.pour(log, func(p *pouring) (err error) {
		if err = errors.Join(fill(p), p.end()); err != nil {
			return err
		}
		if signer != "" {
			if _, err := p.tx.Exec(p.ctx, `UPDATE bailiff.store SET signer = $1`, signer); err != nil {
				return err
			}
		}
		end = p.last
		return nil
	})
	if err != nil && end.last != 0 {
		err = settle(log.log, end, err)
	}
	return errors.Join(err, log.Close())
}

// settle finds out whether a transaction has kept a log, whose end is given, when the database has answered its end with an error.
func settle(l *log, end group, cause error) error {
	term, err := l.db.again(l.slot, l.me, l.term) // from now on the end of the log is final
	if err == nil && term == 0 {
		err = errTaken
	}
	if err != nil {
		return fmt.Errorf("%w: %w: %w", ErrUnsettled, cause, err)
	}
	switch there, err := l.db.last(l.slot); {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", ErrUnsettled, cause, err)
	case there.is(end):
		return nil
	}
	return cause
}

func (s *Store) pour(log *kept, fill func(*pouring) error) error {
	return s.find.alone(context.Background(), movePatience, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		var records bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM bailiff.groups WHERE slot = s.slot) FROM bailiff.slots s WHERE s.slot = $1 AND s.term = $2 FOR UPDATE`, log.slot, log.term).Scan(&records)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errTaken
		case err != nil:
			return err
		case records:
			return errRecords
		}
		return fill(&pouring{ctx: ctx, tx: tx, slot: log.slot, start: s.find.calls.Go})
	})
}

// A pouring is a commit.Log that is written in one transaction: first it is filled, and then it may be read.
type pouring struct {
	ctx    context.Context
	tx     pgx.Tx
	slot   int
	start  func(task func())
	last   group      // of those appended, without its data
	groups chan group // to the copy under way; nil where there is none
	copied chan error // its result
}

var (
	_ commit.Log       = (*pouring)(nil)
	_ commit.Snapshots = (*pouring)(nil)
	_ commit.Dropper   = (*pouring)(nil)
	_ Placer           = (*pouring)(nil)
)

// A Placer is a log that Fill fills, with the places up to which it was read.
type Placer interface {
	// KeepPlace keeps a place as Store.KeepPlace does, with the log or not at all.
	KeepPlace(name, place string) error
}

// KeepPlace implements Placer.
func (p *pouring) KeepPlace(name, place string) error {
	if err := p.end(); err != nil {
		return err
	}
	_, err := p.tx.Exec(p.ctx, sqlPlace, name, place)
	return err
}

// imported is the maker of a base that was imported.
const imported = "import"

// SaveBase implements commit.Dropper. The log begins with what it saves.
func (p *pouring) SaveBase(lsn uint64, write func(io.Writer) error, _ func(ledger.RetentionStep) error) error {
	return saveBase(p.ctx, p.tx, baseID{p.slot, lsn, imported}, true, write)
}

// OpenBase implements commit.Dropper.
func (p *pouring) OpenBase(lsn uint64) (commit.Base, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	return openBase(func(statement func(context.Context, *pgx.Conn) error) error {
		return statement(p.ctx, p.tx.Conn())
	}, baseID{p.slot, lsn, imported})
}

// Drop implements commit.Dropper. There are no groups yet, and no copy is under way, so that the base can be read next.
func (p *pouring) Drop(lsn uint64, beginning []byte, _ func(ledger.RetentionStep) error) error {
	p.last = group{first: lsn, last: lsn, hash: sha256.Sum256(beginning)}
	_, err := p.tx.Exec(p.ctx, `INSERT INTO bailiff.groups (slot, first, last, hash, data) VALUES ($1, $2, $2, $3, $4)`, p.slot, int64(lsn), p.last.hash[:], beginning) //nolint:gosec // LSNs are counted up from 1
	return err
}

// Free implements commit.Dropper: there is nothing else.
func (*pouring) Free(uint64, func(ledger.RetentionStep) error) error { return nil }

// SaveSnapshot implements commit.Snapshots.
func (p *pouring) SaveSnapshot(snapshot []byte) error {
	if err := p.end(); err != nil {
		return err
	}
	return saveSnapshot(p.ctx, p.tx, p.slot, snapshot)
}

// LoadSnapshot implements commit.Snapshots. A log that is being filled has none.
func (*pouring) LoadSnapshot() ([]byte, error) { return nil, nil }

// Append implements commit.Log.
func (p *pouring) Append(first uint64, data []byte) error {
	last, err := commit.LastOf(data)
	if err != nil {
		return err
	}
	if p.groups == nil {
		p.groups, p.copied = make(chan group), make(chan error, 1)
		groups, copied := p.groups, p.copied
		p.start(func() {
			_, err := p.tx.CopyFrom(p.ctx, pgx.Identifier{"bailiff", "groups"}, []string{"slot", "first", "last", "hash", "data"}, pgx.CopyFromFunc(func() ([]any, error) {
				g, more := <-groups
				if !more {
					return nil, nil
				}
				return []any{p.slot, int64(g.first), int64(g.last), g.hash[:], g.data}, nil //nolint:gosec // LSNs are counted up from 1
			}))
			copied <- err
		})
	}
	g := group{first: first, last: last, hash: sha256.Sum256(data), data: append([]byte(nil), data...)}
	select {
	case p.groups <- g:
		p.last = g.end()
		return nil
	case err := <-p.copied:
		p.groups, p.copied = nil, nil
		return errors.Join(err, fmt.Errorf("%w: the database has stopped taking groups", ledger.ErrUnavailable))
	}
}

// end ends the copy under way.
func (p *pouring) end() error {
	if p.groups == nil {
		return nil
	}
	close(p.groups)
	err := <-p.copied
	p.groups, p.copied = nil, nil
	return err
}

// Read implements commit.Log.
func (p *pouring) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	if err := p.end(); err != nil {
		return err
	}
	return readAll(func(from uint64) ([]group, error) { return readGroups(p.ctx, p.tx, p.slot, from, pageGroups) }, from, yield)
}

// Truncate implements commit.Log.
func (p *pouring) Truncate(uint64) error { return errChanged }

// Head implements commit.Log.
func (p *pouring) Head() (uint64, error) { return p.last.first, nil }
