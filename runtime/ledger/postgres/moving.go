package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// movePatience is how long a whole log may take to be written.
const movePatience = 24 * time.Hour

// errRecords says that a database has records already.
var errRecords = errors.New("ledger: the database has records already; a log is imported into a database that has none")

// Look calls use with the log, which can't be changed by it, while an instance may decide.
func (s *Store) Look(use func(commit.Log) error) error {
	if err := s.check(); err != nil {
		return err
	}
	l := &log{life: s.life, db: s.db}
	return use(looking{l, &kept{l, s.db}})
}

// A looking is a log of which a copy may be made again while it is looked at: a snapshot is replaced as a whole, and the index is not.
type looking struct {
	*log
	kept *kept
}

var _ commit.Snapshots = looking{}

// LoadSnapshot implements commit.Snapshots.
func (l looking) LoadSnapshot() ([]byte, error) { return l.kept.LoadSnapshot() }

// SaveSnapshot implements commit.Snapshots.
func (looking) SaveSnapshot([]byte) error { return errTaken }

// Hold takes the log, so that no instance decides meanwhile, and calls use with it. It waits for an owner as Ledger does.
func (s *Store) Hold(use func(commit.Log) error) error {
	log, err := s.open()
	if err != nil {
		return err
	}
	return errors.Join(use(log), log.Close())
}

// Fill takes the log, which has to be empty, and has fill fill it: whole, or not at all where fill fails or the process ends.
func (s *Store) Fill(fill func(commit.Log) error) error {
	log, err := s.open()
	if err != nil {
		return err
	}
	return errors.Join(s.pour(log, fill), log.Close())
}

func (s *Store) pour(log *kept, fill func(commit.Log) error) error {
	writing := &session{find: s.find, patience: movePatience}
	defer writing.close()
	return writing.do(func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
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
			p := &pouring{ctx: ctx, tx: tx, slot: log.slot, start: s.find.calls.Go}
			return errors.Join(fill(p), p.end())
		})
	})
}

// A pouring is a commit.Log that is written in one transaction: first it is filled, and then it may be read.
type pouring struct {
	ctx    context.Context
	tx     pgx.Tx
	slot   int
	start  func(task func())
	head   uint64
	groups chan group // to the copy under way; nil where there is none
	copied chan error // its result
}

var _ commit.Log = (*pouring)(nil)

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
	select {
	case p.groups <- group{first: first, last: last, hash: sha256.Sum256(data), data: append([]byte(nil), data...)}:
		p.head = first
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
	for {
		rows, err := p.tx.Query(p.ctx, sqlRead, p.slot, int64(from), pageGroups) //nolint:gosec // LSNs are counted up from 1
		if err != nil {
			return err
		}
		page, err := pgx.CollectRows(rows, scanGroup)
		if err != nil {
			return err
		}
		for _, g := range page {
			if !yield(g.first, g.data) {
				return nil
			}
			from = g.last + 1
		}
		if len(page) < pageGroups {
			return nil
		}
	}
}

// Truncate implements commit.Log.
func (p *pouring) Truncate(uint64) error { return errChanged }

// Head implements commit.Log.
func (p *pouring) Head() (uint64, error) { return p.head, nil }

// NoteMoved notes where the record has been exported to, so that no instance decides over the database any more; "" takes that back.
func (s *Store) NoteMoved(to string) error {
	_, err := s.db.copying.exec(`UPDATE bailiff.store SET moved = $1`, to)
	return err
}
