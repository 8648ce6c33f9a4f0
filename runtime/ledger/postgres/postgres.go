package pgledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/runtime/ledger/state"
)

const (
	// readers is how many connections read the log at the same time.
	readers = 4
	// copyPatience is how long a statement may take that moves much: a page of the log, or a part of a snapshot.
	copyPatience = 30 * time.Second
)

// A postgres is a database over sessions none of which waits for another: one writes, one says that the instance lives, one asks who
// owns the slot, and how the database is set up, one keeps copies, and some read.
type postgres struct {
	writing, living, asking, copying *session

	find    *finder
	reading chan struct{} // a place for each of those that read
	mu      sync.Mutex
	free    []*session // of those that read; the one that was used last comes first
	all     []*session
	sqlAdd  string // tests exchange these
	sqlAdds string
}

func newPostgres(find *finder, patience time.Duration) *postgres {
	p := &postgres{find: find, reading: make(chan struct{}, readers), sqlAdd: sqlAdd, sqlAdds: sqlAdds}
	open := func(patience time.Duration) *session {
		s := &session{find: find, patience: patience}
		p.all = append(p.all, s)
		return s
	}
	p.writing, p.living, p.asking, p.copying = open(patience), open(patience), open(patience), open(copyPatience)
	for range readers {
		p.free = append(p.free, open(max(patience, copyPatience)))
	}
	return p
}

func (p *postgres) close() {
	for _, s := range p.all {
		s.close()
	}
}

// query carries out a statement that reads.
func (p *postgres) query(statement func(context.Context, *pgx.Conn) error) error {
	p.reading <- struct{}{}
	defer func() { <-p.reading }()
	p.mu.Lock()
	n := len(p.free) - 1
	s := p.free[n]
	p.free = p.free[:n]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.free = append(p.free, s)
		p.mu.Unlock()
	}()
	return s.do(statement)
}

func (p *postgres) time() (at time.Time, err error) {
	err = p.asking.do(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at)
	})
	return at, err
}

func (p *postgres) beat(slot int, me instance) (pulse, error) {
	return alone(p.beats, presence{slot, me})
}

// alone returns the answer to one question.
func alone[Q, A any](all func([]Q) ([]A, error), question Q) (answer A, err error) {
	answers, err := all([]Q{question})
	if err != nil {
		return answer, err
	}
	return answers[0], nil
}

// indexed returns where each slot is in a list.
func indexed(all []presence) (at map[int]int, slots []int32, ids []string) {
	at = make(map[int]int, len(all))
	for i, one := range all {
		at[one.slot] = i
		slots, ids = append(slots, int32(one.slot)), append(ids, one.me.id) //nolint:gosec // there are 1024 at most
	}
	return at, slots, ids
}

func (p *postgres) beats(all []presence) (heard []pulse, err error) {
	at, slots, ids := indexed(all)
	names, peers := make([]string, len(all)), make([]string, len(all))
	for i, one := range all {
		names[i], peers[i] = one.me.name, one.me.peer
	}
	err = p.living.do(func(ctx context.Context, c *pgx.Conn) error {
		heard = make([]pulse, len(all))
		rows, err := c.Query(ctx, sqlBeat, slots, ids, names, peers, state.Latest(), !p.find.require)
		if err != nil {
			return err
		}
		var slot int
		var hash []byte
		var h pulse
		var silent int64 // microseconds
		found := 0
		_, err = pgx.ForEachRow(rows, []any{&slot, &h.at, &h.owner.id, &h.owner.name, &h.owner.peer, &silent, &h.held, &h.term, &h.sure, &h.end.first, &h.end.last, &hash}, func() error {
			h.end.hash = [32]byte{}
			copy(h.end.hash[:], hash)
			h.silent = time.Duration(silent) * time.Microsecond
			heard[at[slot]] = h
			found++
			return nil
		})
		if err == nil && found < len(all) {
			err = pgx.ErrNoRows
		}
		return err
	})
	return heard, err
}

func (p *postgres) claim(slot int, me instance, lease time.Duration, after []string, heard int64) (term int64, err error) {
	return p.writing.number(sqlClaim, slot, me.id, me.name, lease.Microseconds(), after, heard)
}

func (p *postgres) again(slot int, me instance, term int64) (next int64, err error) {
	return p.writing.number(sqlAgain, slot, me.id, term)
}

func (p *postgres) confirm(slot int, me instance) (bool, error) {
	return alone(p.confirms, presence{slot, me})
}

func (p *postgres) confirms(all []presence) (mine []bool, err error) {
	at, slots, ids := indexed(all)
	err = p.asking.kept(func(ctx context.Context, c *pgx.Conn) error {
		mine = make([]bool, len(all))
		rows, err := c.Query(ctx, sqlConfirm, slots, ids)
		if err != nil {
			return err
		}
		var slot int
		var written string
		_, err = pgx.ForEachRow(rows, []any{&slot, &written}, func() error {
			mine[at[slot]] = true
			return nil
		})
		return err
	})
	return mine, err
}

func (p *postgres) live(name string, lease time.Duration) (c company, err error) {
	err = p.asking.do(func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, sqlLive, name, lease.Microseconds()).Scan(&c.number, &c.least)
	})
	return c, err
}

func (p *postgres) release(me instance) error {
	_, err := p.writing.exec(sqlRelease, me.id)
	return err
}

func (p *postgres) add(slot int, term int64, before, g group) (kept bool, err error) {
	err = p.writing.kept(func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, p.sqlAdd, slot, term, int64(g.first), int64(g.last), g.hash[:], g.data, int64(before.last), before.hash[:], int64(before.first), !p.find.require) //nolint:gosec // LSNs are counted up from 1
		kept = tag.RowsAffected() == 1
		return err
	})
	return kept, err
}

func (p *postgres) adds(all []addition) (kept []bool, err error) {
	if len(all) == 1 {
		one := all[0]
		added, err := p.add(one.slot, one.term, one.before, one.g)
		return []bool{added}, err
	}
	at, columns := map[int]int{}, &additions{}
	for i, one := range all {
		at[one.slot] = i
		columns.add(one)
	}
	err = p.writing.kept(func(ctx context.Context, c *pgx.Conn) error {
		kept = make([]bool, len(all))
		rows, err := c.Query(ctx, p.sqlAdds, columns.slots, columns.terms, columns.firsts, columns.lasts, columns.hashes, columns.datas, columns.beforeLasts, columns.beforeHashes, columns.beforeFirsts, !p.find.require)
		if err != nil {
			return err
		}
		var slot int
		_, err = pgx.ForEachRow(rows, []any{&slot}, func() error {
			kept[at[slot]] = true
			return nil
		})
		return err
	})
	return kept, err
}

// additions are the columns of several additions, as sqlAdds takes them.
type additions struct {
	slots                                           []int32
	terms, firsts, lasts, beforeFirsts, beforeLasts []int64
	hashes, datas, beforeHashes                     [][]byte
}

func (c *additions) add(one addition) {
	c.slots, c.terms = append(c.slots, int32(one.slot)), append(c.terms, one.term)                                                 //nolint:gosec // there are 1024 slots at most
	c.firsts, c.lasts = append(c.firsts, int64(one.g.first)), append(c.lasts, int64(one.g.last))                                   //nolint:gosec // LSNs are counted up from 1
	c.beforeFirsts, c.beforeLasts = append(c.beforeFirsts, int64(one.before.first)), append(c.beforeLasts, int64(one.before.last)) //nolint:gosec // LSNs are counted up from 1
	c.hashes, c.datas, c.beforeHashes = append(c.hashes, one.g.hash[:]), append(c.datas, one.g.data), append(c.beforeHashes, one.before.hash[:])
}

func (p *postgres) last(slot int) (g group, err error) {
	err = p.writing.do(func(ctx context.Context, c *pgx.Conn) error {
		g, err = lastOf(ctx, c, slot)
		return err
	})
	return g, err
}

// lastOf returns the end of a slot's log.
func lastOf(ctx context.Context, c *pgx.Conn, slot int) (g group, err error) {
	var hash []byte
	err = c.QueryRow(ctx, sqlLast, slot).Scan(&g.first, &g.last, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return group{}, nil
	}
	copy(g.hash[:], hash)
	return g, err
}

func (p *postgres) read(slot int, from uint64, limit int) (page []group, err error) {
	err = p.query(func(ctx context.Context, c *pgx.Conn) error {
		page, err = readGroups(ctx, c, slot, from, limit)
		return err
	})
	return page, err
}

// A querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

func readGroups(ctx context.Context, c querier, slot int, from uint64, limit int) ([]group, error) {
	rows, err := c.Query(ctx, sqlRead, slot, int64(from), limit) //nolint:gosec // LSNs are counted up from 1
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (g group, err error) {
		var hash []byte
		err = row.Scan(&g.first, &g.last, &hash, &g.data)
		copy(g.hash[:], hash)
		return g, err
	})
}
