package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
)

// fewGroups is how many groups of a log one statement reads where many logs are read by turns.
const fewGroups = 8

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
	return s.asOfNow(func(query querying) error { return use(s.looks(slot, pageGroups, query)) })
}

// LookAll is Look for the logs of all slots, which are as they are at one and the same moment. It refuses a database whose record was exported.
func (s *Store) LookAll(use func(logs []commit.Log) error) error {
	made, err := s.readable()
	if err == nil {
		err = s.check(made.slots)
	}
	if err != nil {
		return err
	}
	number := made.slots
	if number > 1 {
		number++ // the first has the service-wide records
	}
	return s.asOfNow(func(query querying) error {
		var logs []commit.Log
		for slot := range number {
			logs = append(logs, s.looks(slot, turnGroups(number), query))
		}
		return use(logs)
	})
}

// turnGroups is how many groups one statement reads where so many logs are read by turns.
func turnGroups(logs int) int { return max(fewGroups, pageGroups/logs) }

// asOfNow calls use with what asks the database as it is at one moment.
func (s *Store) asOfNow(use func(querying) error) error {
	now := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return s.find.alone(context.Background(), movePatience, now, func(ctx context.Context, t pgx.Tx) error {
		return use(func(statement func(context.Context, *pgx.Conn) error) error { return statement(ctx, t.Conn()) })
	})
}

// querying carries out a statement over a connection.
type querying func(statement func(context.Context, *pgx.Conn) error) error

// A looking is a log that is looked at over one connection, so many groups at a time.
type looking struct {
	*log
	groups int
	query  querying
}

func (s *Store) looks(slot, groups int, query querying) looking {
	return looking{&log{life: s.life, db: s.db, slot: slot}, groups, query}
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
	return readAll(l.groups, l.truth, from, yield)
}

// truth reads a page of the log, and notices a group that is another than the columns beside it say.
func (l looking) truth(from uint64) (page []group, err error) {
	err = l.query(func(ctx context.Context, c *pgx.Conn) error {
		page, err = readGroups(ctx, c, l.slot, from, l.groups)
		return err
	})
	for _, g := range page {
		if last, torn := commit.LastOf(g.data); torn != nil || last != g.last || sha256.Sum256(g.data) != g.hash {
			return nil, fmt.Errorf("group %d: %w", g.first, errChanged)
		}
	}
	return page, err
}

// Drain calls use with the logs of all slots, and notes where the record continues where that succeeds: no instance decides over the database any
// more. No instance may work on the store: the error wraps ErrStopped where one does, or has started meanwhile. Where the database does not say
// whether it has noted that, it is asked; the error wraps ErrUnsettled where it does not say that either.
func (s *Store) Drain(to string, use func(logs []commit.Log) error) error {
	return s.pour(func(f *Filling) error {
		var logs []commit.Log
		for _, p := range f.logs {
			logs = append(logs, s.looks(p.slot, turnGroups(len(f.logs)), p.query))
		}
		if err := use(logs); err != nil {
			return err
		}
		_, err := f.tx.Exec(f.ctx, `UPDATE bailiff.store SET moved = $1`, to)
		return err
	}, func(*Filling) (bool, error) {
		made, err := s.db.made()
		return made.moved == to, err
	})
}

// Undrain takes back the note of Drain, where may allows it: it is given where the record continues, and no export ends meanwhile.
func (s *Store) Undrain(may func(moved string) error) error {
	return s.find.alone(context.Background(), s.db.copying.patience, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLock); err != nil {
			return err
		}
		made, err := s.db.made()
		if err == nil {
			err = may(made.moved)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `UPDATE bailiff.store SET moved = ''`)
		}
		return err
	})
}

// Fill has fill fill the logs of the slots, which have to be empty, and notes which keys sign: whole, or not at all where fill fails or the
// process ends. No instance may work on the store: the error wraps ErrStopped where one does, or has started meanwhile. Where the database does
// not say whether it has kept the records, it is asked; the error wraps ErrUnsettled where it does not say that either.
func (s *Store) Fill(signer string, fill func(*Filling) error) error {
	made, err := s.db.made()
	switch {
	case err != nil:
		return fmt.Errorf("ledger: asking the database: %w", err)
	case made.writes < state.Latest() && made.level > 0:
		return fmt.Errorf("ledger: the level of the store is %d, and the log may have records up to %d; raise it first: bailiff store level %d", made.writes, state.Latest(), state.Latest())
	case made.slots > 1 && made.level < tablesLevel:
		return fmt.Errorf("ledger: the tables are of the level %d, and a record is divided over those of %d; bring them up to it with: bailiff store init", made.level, tablesLevel)
	}
	return s.pour(func(f *Filling) error {
		if slices.ContainsFunc(f.logs, func(p *pouring) bool { return p.last.last != 0 }) {
			return errRecords
		}
		f.signer = signer
		return fill(f)
	}, s.ends)
}

// Continue has more add to the logs of all slots, as Fill fills empty ones. It is given the database's time, from which this machine's may not
// differ by more than MaxClockOffset.
func (s *Store) Continue(more func(now time.Time, to *Filling) error) error {
	return s.pour(func(f *Filling) error {
		var now time.Time
		asked := s.options.Calls.Clock()
		if err := f.tx.QueryRow(f.ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
			return err
		}
		if err := s.life.differ(now, asked); err != nil {
			return err
		}
		return more(now, f)
	}, s.ends)
}

// ends reports whether the logs end with the groups that were written. Without any, that is not known.
func (s *Store) ends(f *Filling) (ends bool, err error) {
	for _, p := range f.logs {
		there, err := s.db.last(p.slot)
		if err != nil || !there.is(p.last) {
			return false, err
		}
		ends = ends || p.last.last != p.began
	}
	return ends, nil
}

// pour has the logs of all slots written in one transaction, and kept says whether that was kept.
func (s *Store) pour(write func(*Filling) error, kept func(*Filling) (bool, error)) error {
	slots, err := s.Count()
	if err == nil {
		err = errors.Join(s.check(slots), s.may())
	}
	if err != nil {
		return err
	}
	if _, err := s.readable(); err != nil {
		return err
	}
	if err := s.still(); err != nil {
		return err
	}
	var written *Filling
	err = s.find.alone(context.Background(), movePatience, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		f := &Filling{ctx: ctx, tx: tx, start: s.find.calls.Go}
		err := s.lock(f)
		if err == nil {
			err = write(f)
		}
		if err = errors.Join(err, f.end()); err != nil {
			return err
		}
		if err := s.heard(f); err != nil { // one may have started meanwhile
			return err
		}
		written = f
		return f.finish()
	})
	if written == nil || err == nil && !s.find.require {
		return err
	}
	if err == nil {
		err = errors.New("ledger: the database has lost what it confirmed")
	}
	return settle(func() error {
		_, err := s.db.copying.execKept(sqlFree) // from now on the end of the logs is final, and on two disks
		return err
	}, func() (bool, error) { return kept(written) }, err)
}

// settle finds out whether a transaction was kept, when the database has answered its end with an error. moves waits for the transaction.
func settle(moves func() error, kept func() (bool, error), cause error) error {
	if err := moves(); err != nil {
		return fmt.Errorf("%w: %w: %w", ErrUnsettled, cause, err)
	}
	switch there, err := kept(); {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", ErrUnsettled, cause, err)
	case there:
		return nil
	}
	return cause
}

const (
	// sqlLock locks the slots, so that none is claimed meanwhile, and sqlLocked looks at them then, so that it sees each commit before.
	sqlLock   = `SELECT FROM bailiff.slots ORDER BY slot FOR UPDATE`
	sqlLocked = `SELECT COALESCE(g.first, 0), COALESCE(g.last, 0), COALESCE(g.hash, '') FROM bailiff.slots s LEFT JOIN LATERAL (SELECT first, last, hash FROM bailiff.groups WHERE slot = s.slot ORDER BY first DESC LIMIT 1) g ON true ORDER BY s.slot`

	// sqlHeard names an instance that was heard within a lease, whether it has a slot or not.
	sqlHeard = `SELECT name FROM bailiff.instances WHERE seen > clock_timestamp() - $1::bigint * interval '1 microsecond' LIMIT 1`

	// sqlSeen says when they were.
	sqlSeen = `SELECT name, (extract(epoch FROM max(seen)) * 1000000)::bigint FROM bailiff.instances WHERE seen > clock_timestamp() - $1::bigint * interval '1 microsecond' GROUP BY name`

	// sqlFree moves every term: an owner that was not heard for long appends nothing any more.
	sqlFree = `UPDATE bailiff.slots SET term = term + 1, owner = NULL, owner_name = NULL`
)

// lock locks the slots until the transaction ends.
func (s *Store) lock(f *Filling) error {
	if _, err := f.tx.Exec(f.ctx, sqlLock); err != nil {
		return err
	}
	if _, err := s.readable(); err != nil { // it may have been exported while this waited
		return err
	}
	if err := s.heard(f); err != nil {
		return err
	}
	rows, err := f.tx.Query(f.ctx, sqlLocked)
	if err != nil {
		return err
	}
	var first, last uint64
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&first, &last, &hash}, func() error {
		p := &pouring{Filling: f, slot: len(f.logs), last: group{first: first, last: last}, began: last}
		copy(p.last.hash[:], hash)
		f.logs = append(f.logs, p)
		return nil
	})
	return err
}

// still waits until no instance was heard within a lease. It returns ErrStopped where one is heard again, which one that has ended is not, or where
// that takes two leases, as with a database whose clock went back.
func (s *Store) still() error {
	first := map[string]int64{}
	for waited := 0; ; waited++ {
		now := map[string]int64{}
		err := s.db.asking.do(func(ctx context.Context, c *pgx.Conn) error {
			rows, err := c.Query(ctx, sqlSeen, s.options.Lease.Microseconds())
			if err != nil {
				return err
			}
			var name string
			var seen int64
			_, err = pgx.ForEachRow(rows, []any{&name, &seen}, func() error { now[name] = seen; return nil })
			return err
		})
		if err != nil || len(now) == 0 {
			return err
		}
		for name, seen := range now {
			before, known := first[name]
			if first[name] = seen; known && before != seen || waited > 2*beatsPerLease {
				return s.works(name)
			}
		}
		<-s.find.calls.timers.Alarm(s.options.Lease / beatsPerLease).C
	}
}

// works is the error that an instance works on the store.
func (s *Store) works(name string) error {
	if s.options.Waits != nil {
		s.options.Waits(name)
	}
	return ErrStopped
}

// heard returns ErrStopped where an instance works on the store, and says by Options.Waits which.
func (s *Store) heard(f *Filling) error {
	var name string
	err := f.tx.QueryRow(f.ctx, sqlHeard, s.options.Lease.Microseconds()).Scan(&name)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil:
		return s.works(name)
	}
	return err
}

// A Filling fills the logs of all slots in one transaction.
type Filling struct {
	ctx     context.Context
	tx      pgx.Tx
	start   func(task func())
	logs    []*pouring
	signer  string
	keys    [][]any    // in their slots
	divided uint64     // the LSN after which the slots begin; 0 where there is one slot
	groups  chan []any // to the copy under way; nil where there is none
	copied  chan error // its result
}

// Logs returns the logs of the slots. Each is a commit.Dropper, too: one that begins with a base.
func (f *Filling) Logs() (logs []commit.Log) {
	for _, p := range f.logs {
		logs = append(logs, p)
	}
	return logs
}

// SentByOTLP is the name of the place in the log of a slot up to which events were sent to a collector.
func (f *Filling) SentByOTLP(slot int) string {
	if len(f.logs) > 1 {
		return SentBySlot(slot)
	}
	return SentByOTLP
}

// KeepPlace keeps a place as Store.KeepPlace does, with the logs or not at all.
func (f *Filling) KeepPlace(name, place string) error {
	if err := f.end(); err != nil {
		return err
	}
	_, err := f.tx.Exec(f.ctx, sqlPlace, name, place)
	return err
}

// EnterKey notes in which slot a key is, with the logs or not at all.
func (f *Filling) EnterKey(key *ledger.Key, slot int) {
	f.keys = append(f.keys, []any{slices.Clone(key.ID[:]), slices.Clone(key.Hash[:]), slot})
}

// Divided notes the last record of the log that was divided: the logs of all slots but the first begin after it.
func (f *Filling) Divided(lsn uint64) { f.divided = lsn }

// finish writes what concerns no single log.
func (f *Filling) finish() error {
	if len(f.keys) > 0 {
		if _, err := f.tx.CopyFrom(f.ctx, pgx.Identifier{"bailiff", "keys"}, []string{"id", "hash", "slot"}, pgx.CopyFromRows(f.keys)); err != nil {
			return err
		}
	}
	if f.signer != "" {
		if _, err := f.tx.Exec(f.ctx, `UPDATE bailiff.store SET signer = $1`, f.signer); err != nil {
			return err
		}
	}
	if f.divided != 0 {
		if _, err := f.tx.Exec(f.ctx, `SELECT bailiff.note_divided($1)`, int64(f.divided)); err != nil { //nolint:gosec // LSNs are counted up from 1
			return err
		}
	}
	_, err := f.tx.Exec(f.ctx, sqlFree)
	return err
}

// send sends a row to the copy under way, which it begins where there is none.
func (f *Filling) send(row []any) error {
	if f.groups == nil {
		f.groups, f.copied = make(chan []any), make(chan error, 1)
		groups, copied := f.groups, f.copied
		f.start(func() {
			_, err := f.tx.CopyFrom(f.ctx, pgx.Identifier{"bailiff", "groups"}, []string{"slot", "first", "last", "hash", "data"}, pgx.CopyFromFunc(func() ([]any, error) {
				return <-groups, nil
			}))
			copied <- err
		})
	}
	select {
	case f.groups <- row:
		return nil
	case err := <-f.copied:
		f.groups, f.copied = nil, nil
		return errors.Join(err, fmt.Errorf("%w: the database has stopped taking groups", ledger.ErrUnavailable))
	}
}

// end ends the copy under way.
func (f *Filling) end() error {
	if f.groups == nil {
		return nil
	}
	close(f.groups)
	err := <-f.copied
	f.groups, f.copied = nil, nil
	return err
}

// A pouring is the commit.Log of a slot.
type pouring struct {
	*Filling
	slot  int
	last  group  // of those appended, without its data
	began uint64 // the LSN of the last record before that
}

var (
	_ commit.Log       = (*pouring)(nil)
	_ commit.Snapshots = (*pouring)(nil)
	_ commit.Dropper   = (*pouring)(nil)
)

// imported is the maker of a base that was imported.
const imported = "import"

// SaveBase implements commit.Dropper. The log begins with what it saves.
func (p *pouring) SaveBase(lsn uint64, write func(io.Writer) error, _ func(ledger.RetentionStep) error) error {
	if err := p.end(); err != nil {
		return err
	}
	return saveBase(p.ctx, p.tx, baseID{p.slot, lsn, imported}, true, write)
}

// OpenBase implements commit.Dropper.
func (p *pouring) OpenBase(lsn uint64) (commit.Base, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	return openBase(p.query, baseID{p.slot, lsn, imported})
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

// LoadSnapshot implements commit.Snapshots.
func (p *pouring) LoadSnapshot() ([]byte, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	return loadSnapshot(p.query, p.slot)
}

// query asks over the connection of the transaction.
func (p *pouring) query(statement func(context.Context, *pgx.Conn) error) error {
	return statement(p.ctx, p.tx.Conn())
}

// Append implements commit.Log.
func (p *pouring) Append(first uint64, data []byte) error {
	last, err := commit.LastOf(data)
	if err != nil {
		return err
	}
	g := group{first: first, last: last, hash: sha256.Sum256(data)}
	if err := p.send([]any{p.slot, int64(first), int64(last), g.hash[:], append([]byte(nil), data...)}); err != nil { //nolint:gosec // LSNs are counted up from 1
		return err
	}
	p.last = g
	return nil
}

// Read implements commit.Log.
func (p *pouring) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	if err := p.end(); err != nil {
		return err
	}
	return readAll(pageGroups, func(from uint64) ([]group, error) { return readGroups(p.ctx, p.tx, p.slot, from, pageGroups) }, from, yield)
}

// Truncate implements commit.Log.
func (p *pouring) Truncate(uint64) error { return errChanged }

// Head implements commit.Log.
func (p *pouring) Head() (uint64, error) { return p.last.first, nil }
