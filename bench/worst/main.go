// Command worst attacks a hosted service that may use little memory, in each way that has killed one before, and fails
// unless it stays up.
//
// For each row of [attacks] it starts the service on an empty folder inside a memory control group of its own, lets
// customers ask for test-runs from addresses of their own, and attacks meanwhile. A row fails if the service ends, if it
// does not answer afterwards, if most test-runs of customers fail, or if the disk, goroutines or memory are not back within
// their bounds after two minutes. How long the customers' test-runs took is printed, and not
// judged: a test that looks at the clock fails on a busy machine. With -floors each row is run again, as often as before,
// against a server that answers at once and does nothing, and its p99 is printed as well. If no control group can be made,
// it says so and does nothing. A row's line reads
//
//	answers    up   customers 117 test-runs, p50 1.2 ms, p99 8.4 ms (floor 3.0); attack 240 begun; stored 1 MiB; 14 goroutines, then 16; heap 9 MiB, then 11; resident 412 MiB at most, then 60, of 1024
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	service string
	dir     string
	total   time.Duration // of all rows
	each    time.Duration // of one row; 0: its part of total
	only    string        // the names of rows, separated by commas; empty: all
	memory  int64         // bytes
	floors  bool          // each row has a floor
}

func main() {
	var o options
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folder is made (default: the system's place for them)")
	flag.DurationVar(&o.total, "total", time.Minute, "how long all attacks take together")
	flag.DurationVar(&o.each, "each", 0, "how long each attack takes (default: its part of -total)")
	flag.StringVar(&o.only, "only", "", "the rows to run, separated by commas (default: all)")
	flag.Int64Var(&o.memory, "memory", 1<<30, "bytes of memory that the service may use")
	flag.BoolVar(&o.floors, "floors", false, "whether each attack is measured against a server that does nothing as well")
	asFloor := flag.Bool("serve-floor", false, "be the server that does nothing")
	flag.Parse()
	if *asFloor {
		fmt.Fprintln(os.Stderr, "worst:", serveFloor())
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worst:", err)
		os.Exit(1)
	}
}

// run attacks by all rows that were asked for, and returns what the service did not survive.
func run(ctx context.Context, o options, out io.Writer) error {
	g, err := newGroup(o.memory)
	if err != nil {
		fmt.Fprintln(out, "skipped: no memory control group can be made:", err)
		return nil
	}
	defer g.remove()
	rows := chosen(o)
	if len(rows) == 0 {
		return errors.New("there is no such row")
	}
	if o.each == 0 {
		o.each = o.total / time.Duration(len(rows))
	}
	var faults []error
	for _, row := range rows {
		result, err := o.attack(ctx, g, row)
		if err == nil && o.floors {
			var failed error // of the machine or the attacker, not of the service
			if result.floor, failed = o.floor(ctx, g, row, result.begun); failed != nil {
				fmt.Fprintf(out, "%-10s has no floor: %v\n", row.name, failed)
			}
		}
		state := "up  "
		if err != nil {
			state = "DOWN"
			faults = append(faults, fmt.Errorf("%s: %w", row.name, err))
		}
		fmt.Fprintf(out, "%-10s %s %s of %d\n", row.name, state, result, o.memory>>20)
	}
	return errors.Join(append(faults, ctx.Err())...)
}

// chosen are the rows that were asked for.
func chosen(o options) (rows []attack) {
	for _, row := range attacks {
		if o.only == "" || strings.Contains(","+o.only+",", ","+row.name+",") {
			rows = append(rows, row)
		}
	}
	return rows
}

// attack runs one row against a service of its own.
func (o *options) attack(ctx context.Context, g *group, row attack) (r result, err error) {
	dir, err := os.MkdirTemp(o.dir, "bailiff-worst-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	n := startNode()
	defer n.Close()
	s, err := start(ctx, o.service, filepath.Join(dir, "data"), g, row.files, n.url)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	c, err := newCustomers(s)
	if err != nil {
		return r, err
	}
	a := &attacker{service: s}
	if r.before, err = s.footing(); err != nil {
		return r, err
	}
	if row.prepare != nil {
		if err := row.prepare(a); err != nil {
			return r, fmt.Errorf("preparing: %w", err)
		}
	}
	during, end := context.WithTimeout(ctx, o.each)
	defer end()
	a.launch(during, row)
	r.customers = c.ask(during)
	a.wait()
	r.begun, r.resident = a.begun.Load(), s.most.Load()
	if err := s.alive(); err != nil {
		return r, err
	}
	if r.customers.lockedOut() {
		return r, fmt.Errorf("%d of %d test-runs of customers failed: %w", r.customers.failed, r.customers.asked, r.customers.fault)
	}
	r.after, err = s.settle(r.before)
	r.stored = s.stored()
	return r, err
}

// result is what came of a row.
type result struct {
	customers figures
	begun     int64 // requests of the attack
	resident  int64 // bytes
	stored    int64 // bytes

	before, after footing
	floor         figures
}

// mostStored is how much the service may keep on disk after an attack: the budget of a free key's texts, twice, and its log.
const mostStored = 64 << 20

// String is the result in a line.
func (r result) String() string {
	f, floor := r.customers, ""
	if r.floor.asked > 0 {
		floor = fmt.Sprintf(" (floor %.1f)", milliseconds(r.floor.most))
	}
	if f.failed > 0 {
		floor += fmt.Sprintf(" (%d failed, such as: %v)", f.failed, f.fault)
	}
	return fmt.Sprintf("customers %d test-runs, p50 %.1f ms, p99 %.1f ms%s; attack %d begun; stored %d MiB; %d goroutines, then %d; heap %d MiB, then %d; resident %d MiB at most, then %d,",
		f.asked, milliseconds(f.half), milliseconds(f.most), floor, r.begun, r.stored>>20,
		r.before.goroutines, r.after.goroutines, r.before.heap>>20, r.after.heap>>20, r.resident>>20, r.after.resident>>20)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
