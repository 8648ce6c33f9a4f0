package pgledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// tables are made by Init. A slot is a part of the keys; there is one of them as yet. Times are the database's.
const tables = `
CREATE SCHEMA bailiff;
CREATE TABLE bailiff.store (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	slots int NOT NULL CHECK (slots BETWEEN 1 AND 1024)
);
CREATE TABLE bailiff.instances (
	id text PRIMARY KEY,
	name text NOT NULL,
	seen timestamptz NOT NULL
) WITH (fillfactor = 20);
CREATE TABLE bailiff.slots (
	slot int PRIMARY KEY,
	term bigint NOT NULL DEFAULT 0,
	owner text,
	owner_name text
) WITH (fillfactor = 20);
CREATE TABLE bailiff.groups (
	slot int,
	first bigint,
	last bigint NOT NULL,
	hash bytea NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (slot, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE bailiff.groups ALTER data SET STORAGE EXTERNAL;
INSERT INTO bailiff.store (slots) VALUES (1);
INSERT INTO bailiff.slots (slot) VALUES (0);`

// The statements. Each locks the row of its slot before it changes anything, and so is wholly before a claim or wholly after it. A
// scalar subquery looks for the group before: an EXISTS is planned as a scan of the whole log.
const (
	fence = `WITH fence AS (SELECT slot FROM bailiff.slots WHERE slot = $1 AND term = $2 FOR UPDATE) `

	sqlAdd = fence + `INSERT INTO bailiff.groups (slot, first, last, hash, data) SELECT slot, $3, $4, $5, $6 FROM fence
WHERE $7::bigint = 0 OR (SELECT g.last = $7 AND g.hash = $8 FROM bailiff.groups g WHERE g.slot = $1 AND g.first = $9)`

	sqlCut = fence + `, gone AS (DELETE FROM bailiff.groups g USING fence WHERE g.slot = fence.slot AND g.first >= $3)
SELECT count(*) FROM fence`

	sqlBeat = `INSERT INTO bailiff.instances (id, name, seen) VALUES ($1, $2, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()`

	sqlClaim = `UPDATE bailiff.slots SET term = term + 1, owner = $2, owner_name = $3 WHERE slot = $1 AND (owner IS NULL OR owner_name = $3
OR owner NOT IN (SELECT id FROM bailiff.instances WHERE seen > clock_timestamp() - $4::bigint * interval '1 microsecond')) RETURNING term`

	sqlAgain = `UPDATE bailiff.slots SET term = term + 1 WHERE slot = $1 AND owner = $2 AND term >= $3 RETURNING term`

	sqlOwns = `SELECT owner IS NOT DISTINCT FROM $2 FROM bailiff.slots WHERE slot = $1`

	sqlRelease = `WITH gone AS (DELETE FROM bailiff.instances WHERE id = $1)
UPDATE bailiff.slots SET term = term + 1, owner = NULL, owner_name = NULL WHERE owner = $1`

	sqlLast = `SELECT first, last, hash FROM bailiff.groups WHERE slot = $1 ORDER BY first DESC LIMIT 1`

	sqlRead = `SELECT first, last, hash, data FROM bailiff.groups WHERE slot = $1 AND last >= $2
AND first >= COALESCE((SELECT g.first FROM bailiff.groups g WHERE g.slot = $1 AND g.first <= $2 ORDER BY g.first DESC LIMIT 1), 0)
ORDER BY first LIMIT $3`
)

// A postgres is a database over three sessions, none of which waits for another: one writes, one reads, and one says that the instance
// lives.
type postgres struct {
	writing, reading, living *session
	sqlAdd                   string // tests exchange it
}

func newPostgres(find *finder, patience time.Duration) *postgres {
	open := func() *session { return &session{find: find, patience: patience} }
	return &postgres{writing: open(), reading: open(), living: open(), sqlAdd: sqlAdd}
}

func (p *postgres) close() {
	p.writing.close()
	p.reading.close()
	p.living.close()
}

func (p *postgres) beat(me instance) error {
	_, err := p.living.exec(sqlBeat, me.id, me.name)
	return err
}

func (p *postgres) claim(slot int, me instance, lease time.Duration) (term int64, err error) {
	return p.writing.number(sqlClaim, slot, me.id, me.name, lease.Microseconds())
}

func (p *postgres) again(slot int, me instance, term int64) (next int64, err error) {
	return p.writing.number(sqlAgain, slot, me.id, term)
}

func (p *postgres) owns(slot int, me instance) (mine bool, err error) {
	err = p.living.do(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, sqlOwns, slot, me.id).Scan(&mine)
	})
	return mine, err
}

func (p *postgres) release(me instance) error {
	_, err := p.writing.exec(sqlRelease, me.id)
	return err
}

func (p *postgres) add(slot int, term int64, before, g group) (kept bool, err error) {
	rows, err := p.writing.exec(p.sqlAdd, slot, term, int64(g.first), int64(g.last), g.hash[:], g.data, int64(before.last), before.hash[:], int64(before.first)) //nolint:gosec // LSNs are counted up from 1
	return rows == 1, err
}

func (p *postgres) last(slot int) (g group, err error) {
	err = p.writing.do(func(ctx context.Context, c *pgx.Conn) error {
		var hash []byte
		err := c.QueryRow(ctx, sqlLast, slot).Scan(&g.first, &g.last, &hash)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		copy(g.hash[:], hash)
		return err
	})
	return g, err
}

func (p *postgres) read(slot int, from uint64, limit int) (page []group, err error) {
	err = p.reading.do(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, sqlRead, slot, int64(from), limit) //nolint:gosec // LSNs are counted up from 1
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g group, err error) {
			var hash []byte
			err = row.Scan(&g.first, &g.last, &hash, &g.data)
			copy(g.hash[:], hash)
			return g, err
		})
		return err
	})
	return page, err
}

func (p *postgres) cut(slot int, term int64, from uint64) (done bool, err error) {
	n, err := p.writing.number(sqlCut, slot, term, int64(from)) //nolint:gosec // LSNs are counted up from 1
	return n == 1, err
}

// create makes the tables.
func (p *postgres) create() error {
	return p.writing.do(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, tables) // one transaction, as it has no arguments
		return err
	})
}

// replicated returns why the database may lose what it confirms when its machine is lost, nil where it does not.
func (p *postgres) replicated() error {
	return p.writing.do(func(ctx context.Context, c *pgx.Conn) error {
		for _, setting := range []string{"synchronous_standby_names", "fsync", "synchronous_commit"} {
			var value string
			if err := c.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
				return err
			}
			if value == "" || value == "off" || value == "local" || value == "remote_write" {
				return fmt.Errorf("ledger: the database has %s = '%s': what it confirms may be on one machine only; set a synchronous standby, fsync = on and synchronous_commit = on", setting, value)
			}
		}
		return nil
	})
}
