package pgledger

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

const (
	// partBytes is the size of a part of a snapshot, which may be larger than a row can be.
	partBytes = 8 << 20
	// pageLists is how many lists one statement reads.
	pageLists = 256
)

// A kept is a log that keeps its copies beside it: a snapshot and an index of keys. They are never the truth, so that they have no
// fence: what an owner writes late that was replaced is of the same log.
type kept struct {
	*log
	db     *postgres
	writes int // the level of the store
	made   int // bases that were saved
}

// Level implements commit.Leveled.
func (k *kept) Level() int { return k.writes }

var (
	_ commit.Leveled   = (*kept)(nil)
	_ commit.Snapshots = (*kept)(nil)
	_ commit.Indexes   = (*kept)(nil)
)

// SaveSnapshot implements commit.Snapshots.
func (k *kept) SaveSnapshot(snapshot []byte) error {
	return k.db.transact(func(ctx context.Context, t pgx.Tx) error { return saveSnapshot(ctx, t, k.slot, snapshot) })
}

// saveSnapshot puts a snapshot of a slot in the place of the one before.
func saveSnapshot(ctx context.Context, t pgx.Tx, slot int, snapshot []byte) error {
	if _, err := t.Exec(ctx, `DELETE FROM bailiff.snapshots WHERE slot = $1`, slot); err != nil {
		return err
	}
	for part := 0; len(snapshot) > 0; part++ {
		size := min(partBytes, len(snapshot))
		if _, err := t.Exec(ctx, `INSERT INTO bailiff.snapshots (slot, part, data) VALUES ($1, $2, $3)`, slot, part, snapshot[:size]); err != nil {
			return err
		}
		snapshot = snapshot[size:]
	}
	return nil
}

// LoadSnapshot implements commit.Snapshots.
func (k *kept) LoadSnapshot() (snapshot []byte, err error) { return loadSnapshot(k.db.query, k.slot) }

func loadSnapshot(query func(func(context.Context, *pgx.Conn) error) error, slot int) (snapshot []byte, err error) {
	err = query(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT data FROM bailiff.snapshots WHERE slot = $1 ORDER BY part`, slot)
		if err != nil {
			return err
		}
		snapshot = nil
		var part []byte
		_, err = pgx.ForEachRow(rows, []any{&part}, func() error {
			snapshot = append(snapshot, part...)
			return nil
		})
		return err
	})
	return snapshot, err
}

// OpenIndex implements commit.Indexes.
func (k *kept) OpenIndex() (commit.Index, error) { return index{k.db, k.slot}, nil }

// RemoveIndex implements commit.Indexes.
func (k *kept) RemoveIndex() error {
	return k.db.transact(func(ctx context.Context, t pgx.Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM bailiff.marks WHERE slot = $1`, k.slot)
		if err == nil {
			_, err = t.Exec(ctx, `DELETE FROM bailiff.lists WHERE slot = $1`, k.slot)
		}
		return err
	})
}

// transact carries out statements that keep a copy, in one transaction.
func (p *postgres) transact(statements func(context.Context, pgx.Tx) error) error {
	return p.copying.do(func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(t pgx.Tx) error { return statements(ctx, t) })
	})
}

// An index is a commit.Index in the database.
type index struct {
	db   *postgres
	slot int
}

// Mark implements commit.Index.
func (x index) Mark() (mark []byte, err error) {
	err = x.db.query(func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, `SELECT mark FROM bailiff.marks WHERE slot = $1`, x.slot).Scan(&mark)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return mark, err
}

const sqlMark = `INSERT INTO bailiff.marks (slot, mark) VALUES ($1, $2) ON CONFLICT (slot) DO UPDATE SET mark = $2`

// Put implements commit.Index.
func (x index) Put(mark []byte, stretch uint64, lists map[ledger.ID][]byte) error {
	keys, texts := make([][]byte, 0, len(lists)), make([][]byte, 0, len(lists))
	for key, list := range lists {
		keys, texts = append(keys, key[:]), append(texts, list)
	}
	return x.db.transact(func(ctx context.Context, t pgx.Tx) error {
		_, err := t.Exec(ctx, `INSERT INTO bailiff.lists (slot, key, stretch, list) SELECT $1, key, $2, list FROM unnest($3::bytea[], $4::bytea[]) AS l (key, list)
ON CONFLICT (slot, key, stretch) DO UPDATE SET list = excluded.list`, x.slot, int64(stretch), keys, texts) //nolint:gosec // LSNs are counted up from 1
		if err == nil {
			_, err = t.Exec(ctx, sqlMark, x.slot, mark)
		}
		return err
	})
}

// Drop implements commit.Index.
func (x index) Drop(mark []byte, before uint64) error {
	return x.db.transact(func(ctx context.Context, t pgx.Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM bailiff.lists WHERE slot = $1 AND stretch < $2`, x.slot, int64(before)) //nolint:gosec // LSNs are counted up from 1
		if err == nil {
			_, err = t.Exec(ctx, sqlMark, x.slot, mark)
		}
		return err
	})
}

// A list is a row of the index.
type list struct {
	key     []byte
	stretch uint64
	text    []byte
}

const (
	sqlListsOn   = `SELECT key, stretch, list FROM bailiff.lists WHERE slot = $1 AND key = $2 AND stretch >= $3 ORDER BY stretch LIMIT $4`
	sqlListsFrom = `SELECT key, stretch, list FROM bailiff.lists WHERE slot = $1 AND key = $2 AND stretch >=
COALESCE((SELECT max(stretch) FROM bailiff.lists WHERE slot = $1 AND key = $2 AND stretch <= $3), 0) ORDER BY stretch LIMIT $4`
)

// Lists implements commit.Index.
func (x index) Lists(key ledger.ID, from uint64, yield func(stretch uint64, list []byte) bool) error {
	for sql := sqlListsFrom; ; sql = sqlListsOn {
		page, err := x.page(sql, key[:], from)
		if err != nil {
			return err
		}
		for _, l := range page {
			if !yield(l.stretch, l.text) {
				return nil
			}
			from = l.stretch + 1
		}
		if len(page) < pageLists {
			return nil
		}
	}
}

// Each implements commit.Index.
func (x index) Each(yield func(key ledger.ID, stretch uint64, list []byte) bool) error {
	key, from := []byte{}, uint64(0)
	for {
		page, err := x.page(`SELECT key, stretch, list FROM bailiff.lists WHERE slot = $1 AND (key, stretch) > ($2, $3) ORDER BY key, stretch LIMIT $4`, key, from)
		if err != nil {
			return err
		}
		for _, l := range page {
			var id ledger.ID
			copy(id[:], l.key)
			if !yield(id, l.stretch, l.text) {
				return nil
			}
			key, from = l.key, l.stretch
		}
		if len(page) < pageLists {
			return nil
		}
	}
}

func (x index) page(sql string, key []byte, from uint64) (page []list, err error) {
	err = x.db.query(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, sql, x.slot, key, int64(from), pageLists) //nolint:gosec // LSNs are counted up from 1
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l list, err error) {
			err = row.Scan(&l.key, &l.stretch, &l.text)
			return l, err
		})
		return err
	})
	return page, err
}

// Close implements commit.Index.
func (index) Close() error { return nil }
