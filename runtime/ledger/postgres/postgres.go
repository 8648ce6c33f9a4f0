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

	reading chan struct{} // a place for each of those that read
	mu      sync.Mutex
	free    []*session // of those that read; the one that was used last comes first
	all     []*session
	sqlAdd  string // tests exchange it
}

func newPostgres(find *finder, patience time.Duration) *postgres {
	p := &postgres{reading: make(chan struct{}, readers), sqlAdd: sqlAdd}
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

func (p *postgres) beat(slot int, me instance) (heard pulse, err error) {
	err = p.living.do(func(ctx context.Context, c *pgx.Conn) error {
		var hash []byte
		err := c.QueryRow(ctx, sqlBeat, slot, me.id, me.name, me.peer, state.Latest()).Scan(&heard.at, &heard.owner.id, &heard.owner.name, &heard.owner.peer, &heard.held, &heard.term, &heard.end.first, &heard.end.last, &hash)
		copy(heard.end.hash[:], hash)
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
	n, err := p.asking.number(sqlConfirm, slot, me.id)
	return n == 1, err
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
