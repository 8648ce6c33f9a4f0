package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/bench/figures"
	"bailiff/bench/player"
	"bailiff/bench/processor"
	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/port"
)

// machinesPart is measured alone: its instances would work beside the other parts.
const machinesPart = "machines"

// counts are the numbers of instances that clients ask.
var counts = []int{1, 2, 4, 8}

// machines are instances over one database, of which the first decides and the others pass requests on to it.
type machines struct {
	*site
	others []*player.Process
}

// withMachines starts them. They speak TLS to each other, as on several machines.
func (p *players) withMachines(ctx context.Context, most int) (*machines, error) {
	m := &machines{site: &site{name: "instances", slots: 1}}
	settings, err := p.over(ctx, m.site, most)
	if err != nil {
		return nil, err
	}
	if _, err := p.start(ctx, m.site, settings[0]...); err != nil {
		return nil, err
	}
	for _, own := range settings[1:] {
		address, err := port.FreeAddress()
		if err != nil {
			return nil, err
		}
		other := &player.Process{Name: "an instance that passes requests on", Address: address, Command: exec.Command(p.service, "serve")}
		other.Command.Env = append(slices.Clone(m.Command.Env), append(own, "SVC_LISTEN="+address)...)
		if err := other.Start(); err != nil {
			return nil, err
		}
		p.stops = append(p.stops, other.Stop)
		m.others = append(m.others, other)
	}
	for _, other := range m.others { // each asks the owner once a second
		if err := other.Await(ctx, "/readyz"); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// certify makes certificates, and returns the settings of each instance.
func (p *players) certify(ctx context.Context, s *site, most int) (settings [][]string, err error) {
	connection, err := pgx.Connect(ctx, s.primary.URL())
	if err != nil {
		return nil, err
	}
	defer connection.Close(ctx)
	var id string
	if err := connection.QueryRow(ctx, "SELECT id::text FROM bailiff.store").Scan(&id); err != nil {
		return nil, err
	}
	folder := filepath.Join(p.folder, fmt.Sprint("instances-", p.started))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	var hosts []string
	for n := range most {
		name := fmt.Sprint("instance-", n)
		host := name + "." + id + ".bailiff.internal"
		hosts = append(hosts, host)
		file := func(kind string) string { return filepath.Join(folder, host+kind) }
		settings = append(settings, []string{
			"SVC_INSTANCE=" + name, "SVC_DATA_DIR=" + filepath.Join(folder, name), "SVC_PEER_LISTEN=127.0.0.1:0",
			"SVC_PEER_CERT=" + file(".pem"), "SVC_PEER_KEY=" + file(".key"), "SVC_PEER_CA=" + filepath.Join(folder, "authority.pem"),
		})
	}
	return settings, certificate.Make(folder, "authority", hosts...)
}

// ask connects clients to the first instances, as many to each.
func (m *machines) ask(q question, instances, clients int) (*player.Target, error) {
	return m.connect(q.name, q, append([]*player.Process{m.Process}, m.others[:instances-1]...), clients)
}

// A reading is the processor time of a decision, in microseconds, and the time that clients wait.
type reading struct {
	Question  string  `json:"question"`
	Instances int     `json:"instances"` // that clients ask
	Clients   int     `json:"clients"`
	Rate      float64 `json:"rate"`
	Owner     float64 `json:"owner_us"`    // of the instance that decides
	Others    float64 `json:"others_us"`   // of all others together
	Database  float64 `json:"database_us"` // of all processes of both servers
	P50       float64 `json:"p50_ms"`
	Group     float64 `json:"group"` // records in one group, the mean

	after, until int64 // the records of the window
}

// read measures one window.
func (m *machines) read(ctx context.Context, o *options, q question, instances, clients int) (r reading, given int64, err error) {
	target, err := m.ask(q, instances, clients)
	if err != nil {
		return r, 0, err
	}
	given = answers(target) // connecting asks once
	others := func() (sum time.Duration) {
		for _, one := range m.others {
			sum += processor.Time(one.PID())
		}
		return sum
	}
	if r.after, err = m.records(ctx); err != nil {
		return r, 0, err
	}
	first, owner, rest, database := given, processor.Time(m.PID()), others(), m.databaseTime()
	sample, err := target.Measure(len(target.Clients), o.warmUp, o.window)
	if err != nil {
		return r, 0, err
	}
	each := func(before, after time.Duration) float64 {
		return float64(after-before) / float64(time.Microsecond) / float64(answers(target)-first)
	}
	r.Question, r.Instances, r.Clients, r.Rate, r.P50 = q.name, instances, clients, sample.Rate, figures.Milliseconds(sample.P50)
	r.Owner, r.Others, r.Database = each(owner, processor.Time(m.PID())), each(rest, others()), each(database, m.databaseTime())
	if r.until, err = m.records(ctx); err != nil {
		return r, 0, err
	}
	given = answers(target)
	return r, given, target.Close()
}

// measureMachines measures the processor time of a decision by the number of instances, round after round, and what one client waits.
func measureMachines(ctx context.Context, p *players, out io.Writer) error {
	m, err := p.withMachines(ctx, slices.Max(counts))
	if err != nil {
		return err
	}
	had, err := m.records(ctx)
	if err != nil {
		return err
	}
	g, all := &growth{Go: runtime.Version(), Cores: runtime.NumCPU()}, int64(0)
	for range max(1, p.rounds/2) {
		for _, q := range []question{denied, allowed} {
			for _, asked := range append([][2]int{{1, oneClient}}, clientsOf(p.clients)...) {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("interrupted: %w", err)
				}
				one, given, err := m.read(ctx, p.options, q, asked[0], asked[1])
				if err != nil {
					return err
				}
				all += given
				g.Readings = append(g.Readings, one)
			}
		}
	}
	if err := m.durable(ctx, had, all, standbyPatience); err != nil {
		return err
	}
	if err := m.group(ctx, g.Readings); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s", g.measured())
	return g.write(p.write, growthFile)
}

// group looks up how many records the groups of each reading had.
func (m *machines) group(ctx context.Context, readings []reading) error {
	connection, err := pgx.Connect(ctx, m.primary.URL())
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	for i := range readings {
		r := &readings[i]
		err := connection.QueryRow(ctx, "SELECT avg(last - first + 1)::float8 FROM bailiff.groups WHERE first > $1 AND last <= $2", r.after, r.until).Scan(&r.Group)
		if err != nil {
			return err
		}
	}
	return nil
}

// clientsOf has as many clients for each instance that they ask.
func clientsOf(clients int) (loads [][2]int) {
	for _, n := range counts {
		loads = append(loads, [2]int{n, n * max(2, clients/2)})
	}
	return loads
}
