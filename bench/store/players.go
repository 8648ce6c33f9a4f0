package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/bench/player"
	"bailiff/bench/processor"
	"bailiff/fuzz/kit/pgtest"
)

// players are what takes part in a run.
type players struct {
	*options
	t       testing.TB
	folder  string
	started int
	stops   []func() error
}

// A site is a service, and the database that it has where it has one.
type site struct {
	*player.Service
	name             string
	primary, standby *pgtest.Server
	slots            int
	keys             []string // API keys that clients have, by turns
}

// keysOf is how many API keys clients of a store have: with several slots two for each on average.
func keysOf(slots int) int {
	if slots == 1 {
		return 1
	}
	return 2 * slots
}

// withFolder starts a service with a data folder, and as many keys as the one over a database has.
func (p *players) withFolder(ctx context.Context) (*site, error) {
	return p.start(ctx, &site{name: "data folder", slots: p.slots})
}

// withDatabase starts a service over a primary and its synchronous standby.
func (p *players) withDatabase(ctx context.Context, name string) (*site, error) {
	s := &site{name: name, slots: p.slots}
	settings, err := p.over(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	return p.start(ctx, s, settings[0]...)
}

// over starts a primary and its synchronous standby with a store, and returns the settings of so many instances.
func (p *players) over(ctx context.Context, s *site, instances int) (settings [][]string, err error) {
	s.primary, s.standby = pgtest.StartPair(p.t)
	store := []string{"SVC_STORE=" + pgtest.Both(s.primary, s.standby), "SVC_STORE_SYNC=require"}
	if _, err := player.Output(ctx, player.Environment(0, store...), p.service, "store", "init", "--slots", strconv.Itoa(s.slots)); err != nil {
		return nil, err
	}
	if instances == 1 && s.slots == 1 {
		return [][]string{append(store, "SVC_INSTANCE=one")}, nil // without certificates, as it has no peers
	}
	settings, err = p.certify(ctx, s, instances)
	for i := range settings {
		settings[i] = append(settings[i], store...)
	}
	return settings, err
}

func (p *players) start(ctx context.Context, s *site, settings ...string) (*site, error) {
	p.started++
	dir := filepath.Join(p.folder, fmt.Sprint(p.started))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	settings = append(settings, "SVC_KEY_DIR="+filepath.Join(p.folder, "keys"))
	var err error
	if s.Service, err = player.StartService(ctx, &player.Setting{Binary: p.service, Policy: p.policy, Dir: dir, Environment: settings}); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, s.Stop)
	if err := s.Await(ctx, "/readyz"); err != nil {
		return nil, err
	}
	for s.keys = []string{s.APIKey}; len(s.keys) < keysOf(s.slots); {
		key, err := player.CreateKey(ctx, p.service, s.Command.Env)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// stop ends the services, and removes their folders.
func (p *players) stop() error {
	var faults []error
	for _, end := range p.stops {
		faults = append(faults, end())
	}
	return errors.Join(append(faults, os.RemoveAll(p.folder))...)
}

// A question is what clients ask.
type question struct {
	name, intent string
	expect       player.Expectation
}

// The questions, both of which leave a record.
var (
	denied  = question{"denied", bench.DeniedIntent, player.ExpectDenied}
	allowed = question{"allowed", bench.AllowedIntent, player.ExpectSigned}
)

// ask connects clients to the service.
func (s *site) ask(q question, clients int) (*player.Target, error) {
	target, err := s.connect(s.name+", "+q.name, q, []*player.Process{s.Process}, clients)
	if err == nil && s.primary != nil {
		target.Beside = s.databaseTime
	}
	return target, err
}

// connect connects clients to instances by turns, those of each instance with all keys by turns.
func (s *site) connect(name string, q question, instances []*player.Process, clients int) (*player.Target, error) {
	all := &player.Target{Name: name, Server: s.Process}
	for n := range clients {
		to, key := instances[n%len(instances)], s.keys[n/len(instances)%len(s.keys)]
		one, err := player.NewTarget(name, to, load.Render("/v1/authorize", to.Address, key, q.intent), q.expect, 1)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.Clients = append(all.Clients, one.Clients...)
	}
	return all, nil
}

// databaseTime is the processor time of all processes of both servers.
func (s *site) databaseTime() (taken time.Duration) {
	for _, server := range []*pgtest.Server{s.primary, s.standby} {
		taken += processor.TimeOfEnded(server.PID())
		for _, pid := range server.Processes() {
			taken += processor.Time(pid)
		}
	}
	return taken
}

// records returns how many records the standby has: an LSN of a slot is one.
func (s *site) records(ctx context.Context) (last int64, err error) {
	connection, err := pgx.Connect(ctx, s.standby.URL())
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	err = connection.QueryRow(ctx, "SELECT COALESCE(sum(last), 0)::bigint FROM (SELECT max(last) AS last FROM bailiff.groups GROUP BY slot) AS s").Scan(&last)
	return last, err
}

// durable finds the records of so many answers on the standby, after those that it had before. It may take some time to show what it has
// confirmed.
func (s *site) durable(ctx context.Context, before, answers int64, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now, err := s.records(ctx)
		if err != nil || now-before >= answers {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %d answers were given, and the standby has %d records of them", s.name, answers, now-before)
		}
	}
}

// A transaction stays open in a database.
type transaction struct {
	connection *pgx.Conn
	server     *pgtest.Server
}

// begin opens a transaction whose snapshot keeps what is removed from now on.
func (s *site) begin(ctx context.Context) (*transaction, error) {
	connection, err := pgx.Connect(ctx, s.primary.URL())
	if err != nil {
		return nil, err
	}
	x := &transaction{connection, s.primary}
	for _, statement := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM bailiff.groups"} {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return nil, errors.Join(err, connection.Close(ctx))
		}
	}
	return x, nil
}

// end ends the transaction, which must have been open to the end.
func (x *transaction) end(ctx context.Context) error {
	asks, err := pgx.Connect(ctx, x.server.URL())
	if err != nil {
		return err
	}
	defer asks.Close(ctx)
	var open bool
	err = asks.QueryRow(ctx, "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'idle in transaction' AND backend_xmin IS NOT NULL",
		x.connection.PgConn().PID()).Scan(&open)
	if err == nil && !open {
		err = errors.New("the transaction was not open to the end")
	}
	return errors.Join(err, x.connection.Close(ctx))
}
