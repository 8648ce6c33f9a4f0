package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// dropPatience is how long a base may take to be written, or the groups of one pass of retention to be removed.
const dropPatience = 10 * time.Minute

// functions drop groups and bases, and note that a record was divided. They act as the owner of the tables: the role of a service can't remove
// groups in another way, and may call the first two where bailiff store init --retention says so. The groups go first, and the row of the slot is locked last, so that no append
// waits meanwhile. An owner that was replaced by then removes nothing. A base goes where the log does not begin
// with it.
const functions = `
CREATE OR REPLACE FUNCTION bailiff.drop_groups(of_slot int, of_owner text, by_maker text, upto bigint, beginning bytea, beginning_hash bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM bailiff.groups WHERE slot = of_slot AND first = upto + 1)
		OR upto IS DISTINCT FROM (SELECT last FROM bailiff.groups WHERE slot = of_slot AND first <= upto ORDER BY first DESC LIMIT 1)
		OR pg_catalog.sha256(beginning) <> beginning_hash THEN
		RAISE EXCEPTION 'no group ends with record %, or none follows it, or the beginning is another one', upto;
	END IF;
	DELETE FROM bailiff.groups WHERE slot = of_slot AND first <= upto;
	INSERT INTO bailiff.groups (slot, first, last, hash, data) VALUES (of_slot, upto, upto, beginning_hash, beginning);
	UPDATE bailiff.bases SET chosen = true WHERE slot = of_slot AND lsn = upto AND maker = by_maker;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the base of record % is not there', upto;
	END IF;
	PERFORM FROM bailiff.slots WHERE slot = of_slot AND owner = of_owner FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another instance decides';
	END IF;
END $$;
CREATE OR REPLACE FUNCTION bailiff.drop_bases(of_slot int, of_owner text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
	DELETE FROM bailiff.bases WHERE slot = of_slot AND NOT (chosen AND lsn = (SELECT min(first) FROM bailiff.groups WHERE slot = of_slot))
	AND of_owner = (SELECT owner FROM bailiff.slots WHERE slot = of_slot);
$$;
CREATE OR REPLACE FUNCTION bailiff.note_divided(upto bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM bailiff.groups WHERE slot = 0 AND first = upto + 1)
		OR EXISTS (SELECT FROM bailiff.slots s WHERE s.slot > 0 AND NOT EXISTS
			(SELECT FROM bailiff.groups WHERE slot = s.slot AND first = upto AND pg_catalog.substr(data, 1, 4) = 'blg4'))
		OR EXISTS (SELECT FROM bailiff.groups WHERE slot > 0 AND first < upto) THEN
		RAISE EXCEPTION 'not every slot begins after record %', upto;
	END IF;
	UPDATE bailiff.store SET divided = upto WHERE divided = 0;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'a record was divided before';
	END IF;
END $$;
REVOKE ALL ON FUNCTION bailiff.drop_groups, bailiff.drop_bases, bailiff.note_divided FROM PUBLIC;`

// dropping lets a role drop groups.
const dropping = `
GRANT EXECUTE ON FUNCTION bailiff.drop_groups, bailiff.drop_bases TO %[1]s;`

// keeping takes that back.
const keeping = `
REVOKE ALL ON FUNCTION bailiff.drop_groups, bailiff.drop_bases FROM %[1]s;`

// Drops returns an error where the role may not drop groups.
func (s *Store) Drops() error {
	slots, err := s.Count()
	if err == nil {
		err = s.check(slots)
	}
	if err != nil {
		return err
	}
	n, err := s.db.asking.number(`SELECT count(*) FROM pg_catalog.pg_proc WHERE pronamespace = 'bailiff'::regnamespace AND proname = 'drop_groups' AND has_function_privilege(oid, 'EXECUTE')`)
	if err == nil && n == 0 {
		err = errors.New("ledger: the role of the database may not drop old records; let it, as the role that owns the tables: bailiff store init --role ROLE --retention")
	}
	return err
}

var _ commit.Dropper = (*kept)(nil)

// alone carries out statements in a transaction over a connection of its own, until the log fails: it is opened again after they have ended.
func (k *kept) alone(statements func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k.calls.Go(func() {
		select {
		case <-k.failed:
		case <-k.ended:
		case <-ctx.Done():
		}
		cancel()
	})
	return k.db.writing.find.alone(ctx, dropPatience, pgx.TxOptions{}, statements)
}

// SaveBase implements commit.Dropper. Each base has a maker: an instance that was replaced, and writes one late, does not touch the one of its successor.
func (k *kept) SaveBase(lsn uint64, write func(io.Writer) error, reached func(ledger.RetentionStep) error) error {
	k.made++
	err := k.alone(func(ctx context.Context, t pgx.Tx) error {
		if err := saveBase(ctx, t, baseID{k.slot, lsn, k.maker()}, false, write); err != nil {
			return err
		}
		return reached(ledger.BaseWritten)
	})
	if err != nil {
		return err
	}
	return errors.Join(reached(ledger.BaseSynced), reached(ledger.BaseNamed))
}

// maker is that of the base that was saved last.
func (k *kept) maker() string { return fmt.Sprintf("%s-%d", k.me.id, k.made) }

// OpenBase implements commit.Dropper.
func (k *kept) OpenBase(lsn uint64) (commit.Base, error) {
	return openBase(k.db.query, baseID{k.slot, lsn, k.maker()})
}

// Drop implements commit.Dropper.
func (k *kept) Drop(lsn uint64, beginning []byte, reached func(ledger.RetentionStep) error) error {
	hash := sha256.Sum256(beginning)
	err := k.alone(func(ctx context.Context, t pgx.Tx) error {
		if _, err := t.Exec(ctx, `SELECT bailiff.drop_groups($1, $2, $3, $4, $5, $6)`, k.slot, k.me.id, k.maker(), int64(lsn), beginning, hash[:]); err != nil { //nolint:gosec // LSNs are counted up from 1
			return fmt.Errorf("%w: %w", commit.ErrNotDropped, err) // the commit was not asked for
		}
		return reached(ledger.DropWritten)
	})
	if err != nil {
		return err
	}
	return reached(ledger.DropSynced)
}

// Free implements commit.Dropper. PostgreSQL gives the space of removed rows to those that come.
func (k *kept) Free(_ uint64, reached func(ledger.RetentionStep) error) error {
	if err := k.db.transact(func(ctx context.Context, t pgx.Tx) error {
		_, err := t.Exec(ctx, `SELECT bailiff.drop_bases($1, $2)`, k.slot, k.me.id)
		return err
	}); err != nil {
		return err
	}
	return errors.Join(reached(ledger.SpaceFreed), reached(ledger.OldBaseGone))
}

// A baseID names a base.
type baseID struct {
	slot  int
	lsn   uint64
	maker string
}

// An executor is a connection or a transaction.
type executor interface {
	querier
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}

// saveBase writes a base in parts. A log begins with one that is chosen.
func saveBase(ctx context.Context, to executor, id baseID, chosen bool, write func(io.Writer) error) error {
	w := &baseWriter{ctx: ctx, to: to, id: id, chosen: chosen}
	if err := write(w); err != nil {
		return err
	}
	return w.flush()
}

// A baseWriter writes the parts of a base.
type baseWriter struct {
	ctx    context.Context
	to     executor
	id     baseID
	chosen bool
	part   int
	rest   []byte // less than a part
}

// Write implements io.Writer.
func (w *baseWriter) Write(p []byte) (n int, err error) {
	for n = len(p); len(w.rest)+len(p) >= partBytes; {
		room := partBytes - len(w.rest)
		w.rest, p = append(w.rest, p[:room]...), p[room:]
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	w.rest = append(w.rest, p...)
	return n, nil
}

// flush writes the rest as a part.
func (w *baseWriter) flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.to.Exec(w.ctx, `INSERT INTO bailiff.bases (slot, lsn, maker, part, chosen, data) VALUES ($1, $2, $3, $4, $5, $6)`,
		w.id.slot, int64(w.id.lsn), w.id.maker, w.part, w.chosen, w.rest) //nolint:gosec // LSNs are counted up from 1
	w.part, w.rest = w.part+1, w.rest[:0]
	return err
}

// A storedBase is a base that is open.
type storedBase struct {
	baseID
	query func(func(context.Context, *pgx.Conn) error) error
	size  int64
}

const sqlBase = `SELECT maker, sum(octet_length(data)) FROM bailiff.bases WHERE slot = $1 AND lsn = $2 AND (chosen OR maker = $3)
GROUP BY maker ORDER BY bool_or(chosen) DESC LIMIT 1`

// openBase opens the base that a log begins with, or that the maker has saved to be it.
func openBase(query func(func(context.Context, *pgx.Conn) error) error, id baseID) (commit.Base, error) {
	b := &storedBase{baseID: id, query: query}
	err := query(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, sqlBase, id.slot, int64(id.lsn), id.maker).Scan(&b.maker, &b.size) //nolint:gosec // LSNs are counted up from 1
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = errors.New("it is not in the database")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Size implements commit.Base.
func (b *storedBase) Size() (int64, error) { return b.size, nil }

// Close implements io.Closer.
func (*storedBase) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (b *storedBase) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && at < b.size {
		var part []byte
		err := b.query(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, `SELECT substring(data FROM $5 FOR $6) FROM bailiff.bases WHERE slot = $1 AND lsn = $2 AND maker = $3 AND part = $4`,
				b.slot, int64(b.lsn), b.maker, at/partBytes, at%partBytes+1, len(p)-n).Scan(&part) //nolint:gosec // LSNs are counted up from 1
		})
		if err == nil && len(part) == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, fmt.Errorf("reading the base of record %d: %w", b.lsn, err)
		}
		n, at = n+copy(p[n:], part), at+int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
