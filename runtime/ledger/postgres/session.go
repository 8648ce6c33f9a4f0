package pgledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// hostPatience is how long a host may take to say whether it is the primary, where there are several.
	hostPatience = 700 * time.Millisecond
	// searchLife is how long the primary that a search has found is asked alone: with a host that hangs, a search takes hostPatience, and
	// an instance that opens the log needs half a dozen connections.
	searchLife = time.Second
	// closePatience bounds a polite end of a connection.
	closePatience = 100 * time.Millisecond
)

// errWarned: PostgreSQL confirms a commit whose wait for the standby was cancelled, and warns.
var errWarned = errors.New("ledger: the database confirmed with a warning")

// A session is a connection to the primary, which is opened again after every error.
type session struct {
	find     *finder
	patience time.Duration

	mu   sync.Mutex
	conn *connection
}

// A connection notes the warnings that come over it.
type connection struct {
	*pgx.Conn
	warned   atomic.Pointer[string]
	timeline int64       // of the primary that it is to; 0 where it is to a standby
	settled  atomic.Bool // it is connected: nothing is dialled any more, not to cancel a statement either
}

// do carries out one statement.
func (s *session) do(statement func(context.Context, *pgx.Conn) error) error {
	return s.within(context.Background(), statement)
}

// within is do, and gives up where ctx ends.
func (s *session) within(ctx context.Context, statement func(context.Context, *pgx.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := s.find.calls.timers.Timeout(ctx, nil, s.patience)
	defer cancel()
	if s.conn != nil && s.conn.timeline > 0 && s.conn.timeline < s.find.highest.Load() {
		s.drop() // it is to a primary that was replaced, which may run and know an earlier state
	}
	if s.conn == nil {
		conn, err := s.find.primary(ctx)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	s.conn.warned.Store(nil)
	err := statement(ctx, s.conn.Conn)
	if said := s.conn.warned.Load(); err == nil && said != nil && s.find.warnings {
		err = fmt.Errorf("%w: %s", errWarned, *said)
	}
	if lossy := (*lossyError)(nil); err != nil && !errors.As(err, &lossy) {
		s.drop()
	}
	return err
}

// kept is do for a statement whose commit counts only if it is on two disks. It was not where the database has lost its standby when it is
// asked afterwards: commits that wait for one are let go then, without a word.
func (s *session) kept(statement func(context.Context, *pgx.Conn) error) error {
	return s.do(func(ctx context.Context, c *pgx.Conn) error {
		if err := statement(ctx, c); err != nil || !s.find.require {
			return err
		}
		return s.find.safe(ctx, c)
	})
}

// execKept is exec for such a statement.
func (s *session) execKept(sql string, args ...any) (rows int64, err error) {
	err = s.kept(func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, sql, args...)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// alone carries out statements in a transaction over a connection of its own, which nothing else waits for.
func (f *finder) alone(ctx context.Context, patience time.Duration, options pgx.TxOptions, statements func(context.Context, pgx.Tx) error) error {
	s := &session{find: f, patience: patience}
	defer s.close()
	return s.within(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, c, options, func(t pgx.Tx) error { return statements(ctx, t) })
	})
}

func (s *session) drop() {
	if s.conn == nil {
		return
	}
	ctx, cancel := s.find.calls.timers.Timeout(context.Background(), nil, closePatience)
	defer cancel()
	s.conn.Close(ctx) // it is not used any more
	s.conn = nil
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

func (s *session) exec(sql string, args ...any) (rows int64, err error) {
	err = s.do(func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, sql, args...)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// twice is do for a statement that leads to the same when it is carried out again: so it is where the connection was broken meanwhile.
func (s *session) twice(statement func(context.Context, *pgx.Conn) error) error {
	err := s.do(statement)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		err = s.do(statement)
	}
	return err
}

// keep is twice for a statement without a result.
func (s *session) keep(sql string, args ...any) error {
	return s.twice(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, sql, args...)
		return err
	})
}

// number returns the number in the one row of a statement's result, 0 where there is no row.
func (s *session) number(sql string, args ...any) (n int64, err error) {
	err = s.do(func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, sql, args...).Scan(&n)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return n, err
}

// A finder finds the primary among the hosts of an address.
type finder struct {
	hosts    []*pgx.ConnConfig
	warnings bool // a warning makes a statement unknown; tests switch it off
	persists bool // hosts that do not answer in time are asked again, for as long as the statement may take
	require  bool // nothing counts that the primary keeps without a synchronous standby
	calls    calls
	highest  atomic.Int64 // of the timelines that were seen
	latest   atomic.Pointer[found]

	lease time.Duration
	doubt atomic.Pointer[lossyError] // why the database was not safe within a lease; nil where it was
}

// A found is what a search has found, for searchLife.
type found struct {
	host     *pgx.ConnConfig
	timeline int64
}

// safe returns a *lossyError unless commits over a connection are on two disks. For a lease after the database was not safe it is not believed:
// its sessions read new settings before commits wait for the standby.
func (f *finder) safe(ctx context.Context, c *pgx.Conn) error {
	err := lossy(ctx, c)
	if fault := (*lossyError)(nil); errors.As(err, &fault) {
		f.doubt.Store(fault)
		f.calls.timers.AfterFunc(f.lease, func() { f.doubt.CompareAndSwap(fault, nil) })
	} else if doubt := f.doubt.Load(); err == nil && doubt != nil {
		return doubt
	}
	return err
}

// newFinder takes the address of a database apart. Its errors do not repeat the address, which has a password.
func newFinder(url string) (*finder, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("ledger: the address of the database can't be read; it looks like postgres://user:password@host-a,host-b:5432/database?sslmode=verify-full&sslrootcert=/path/ca.pem")
	}
	f := &finder{warnings: true, calls: machine}
	all := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, host := range all {
		if !private(host.Host) && (host.TLSConfig == nil || host.TLSConfig.InsecureSkipVerify) {
			return nil, fmt.Errorf("ledger: the database %s is on another machine, and its certificate would not be checked; add sslmode=verify-full, and sslrootcert where its authority is your own", host.Host)
		}
		if n := len(f.hosts); n > 0 && f.hosts[n-1].Host == host.Host && f.hosts[n-1].Port == host.Port {
			continue // the same without TLS
		}
		one := config.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = host.Host, host.Port, host.TLSConfig, nil
		one.RuntimeParams["synchronous_commit"] = "on"
		for _, timeout := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
			one.RuntimeParams[timeout] = "0"
		}
		one.RuntimeParams["application_name"] = "bailiff"
		f.hosts = append(f.hosts, one)
	}
	return f, nil
}

// private reports whether the way to a host leaves the machine not at all.
func private(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// An answer is what a host says when it is asked for the primary.
type answer struct {
	host     *pgx.ConnConfig
	conn     *connection
	timeline int64 // 0 of a standby
	err      error
}

// primary asks all hosts at once, since one that hangs must not keep the others waiting, and takes the one with the highest
// timeline: a primary that was replaced has a lower one and may not know it. A single host may be a standby.
func (f *finder) primary(ctx context.Context) (*connection, error) {
	if len(f.hosts) == 1 {
		return f.single(ctx)
	}
	for patience := hostPatience; ; patience *= 2 {
		conn, err := f.among(ctx, patience)
		if err == nil || !f.persists || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return conn, err
		}
	}
}

// among is primary of several hosts, which have so long to answer.
func (f *finder) among(ctx context.Context, patience time.Duration) (*connection, error) {
	ctx, cancel := f.calls.timers.Timeout(ctx, nil, patience)
	defer cancel()
	if latest := f.latest.Load(); latest != nil {
		a := ask(ctx, latest.host)
		if a.err == nil && a.timeline == latest.timeline && a.timeline == f.highest.Load() {
			return a.conn, nil
		}
		if a.conn != nil {
			a.conn.Close(ctx) // it is not used
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ledger: the primary does not answer: %w", a.err)
		}
	}
	return f.search(ctx)
}

// single returns a connection to the only host, whose name may lead to one machine today and to another one tomorrow.
func (f *finder) single(ctx context.Context) (*connection, error) {
	a := ask(ctx, f.hosts[0])
	if a.err == nil && a.timeline > 0 && !f.sees(a.timeline) {
		a.err = errors.New("ledger: the database is a primary that was replaced")
	}
	if a.err != nil && a.conn != nil {
		a.conn.Close(ctx) // it is not used
	}
	return a.conn, a.err
}

// sees notes the timeline of a primary, and reports whether none has a higher one.
func (f *finder) sees(timeline int64) bool {
	for {
		seen := f.highest.Load()
		if timeline <= seen || f.highest.CompareAndSwap(seen, timeline) {
			return timeline >= seen
		}
	}
}

// search asks all hosts.
func (f *finder) search(ctx context.Context) (*connection, error) {
	answers := make(chan answer, len(f.hosts))
	for _, host := range f.hosts {
		f.calls.Go(func() { answers <- ask(ctx, host) })
	}
	var best answer
	var failures []error
	for range f.hosts {
		a := <-answers
		if a.err != nil {
			failures = append(failures, a.err)
		}
		if a.timeline > best.timeline {
			a, best = best, a
		}
		if a.conn != nil {
			a.conn.Close(ctx) // it is not used
		}
	}
	if best.conn != nil && !f.sees(best.timeline) {
		best.conn.Close(ctx) // it is not used
		best.conn = nil
	}
	if best.conn == nil {
		return nil, fmt.Errorf("ledger: none of the databases is the primary: %w", errors.Join(failures...))
	}
	here := &found{best.host, best.timeline}
	f.latest.Store(here)
	f.calls.timers.AfterFunc(searchLife, func() { f.latest.CompareAndSwap(here, nil) })
	return best.conn, nil
}

func ask(ctx context.Context, host *pgx.ConnConfig) (a answer) {
	a.host = host
	if a.conn, a.err = dial(ctx, host); a.err != nil {
		return a
	}
	var timeline string
	a.err = a.conn.QueryRow(ctx, "SELECT CASE WHEN pg_is_in_recovery() THEN '0' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END").Scan(&timeline)
	if a.err == nil {
		a.timeline, a.err = strconv.ParseInt(timeline, 16, 64)
	}
	a.conn.timeline = a.timeline
	return a
}

func dial(ctx context.Context, host *pgx.ConnConfig) (*connection, error) {
	c := &connection{}
	config := host.Copy()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			c.warned.Store(&n.Message)
		}
	}
	dialFunc := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if c.settled.Load() {
			return nil, errors.New("no statement is cancelled: its wait for the standby would end, and the commit be kept without it")
		}
		return dialFunc(ctx, network, address)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil && strings.Contains(err.Error(), "server refused TLS") {
		err = fmt.Errorf("%w; have the database take TLS, or write sslmode=disable in its address where it is on this machine", err)
	}
	if err != nil {
		return nil, err
	}
	c.Conn = conn
	c.settled.Store(true)
	return c, nil
}
