// Command store measures the running service over PostgreSQL, a primary with a synchronous standby, beside the service with a data
// folder. Each is the built program with one key, the same policy and the same signing keys, on this machine. With -slots the store has several
// slots, and each service two keys for each of them.
//
// It has three parts. The first compares rates and the time that one client waits, in windows by turns: each ratio is of two windows next
// to each other, so that a machine whose speed drifts drifts for both. The second measures the processor time that a decision takes of the
// instance and of all processes of both database servers, by the number of clients. The third holds a transaction open in one of two such
// databases, and compares the services over them by turns, before, meanwhile and after.
//
// With -parts machines it measures instead the processor time of a decision by the number of instances, which a discrete-event simulation
// of more machines than there are begins with; with -parts slots the same, where each instance decides for its share of the keys.
//
// An answer that is not the expected one fails the run, as do answers whose records the standby does not have, and a transaction that
// was not open to the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// options are the command line.
type options struct {
	service string
	policy  string
	dir     string
	parts   string
	write   string
	slots   int // of the stores
	clients int
	rounds  int
	window  time.Duration // of one measurement, after its warm-up
	warmUp  time.Duration
	open    time.Duration // how long the transaction stays open
	around  time.Duration // how long is measured before it, and after it
	cycles  int
}

func readOptions() *options {
	o := new(options)
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.policy, "policy", "cmd/bailiff/policy/example/warranty.md", "the policy, unsigned; it must allow and deny the benchmark's two intents")
	flag.StringVar(&o.dir, "dir", "", "where the service's temporary folders are made (default: the system's place for them); a disk, or durability costs nothing")
	flag.StringVar(&o.parts, "parts", "rates,processor,open", "the parts to measure; or "+machinesPart+" or "+slotsPart+", each of which is measured alone")
	flag.StringVar(&o.write, "write", "", "the folder into which the part machines writes "+growthFile+", and the part slots "+slotsFile+"; go test ./bench/store -run Page -rewrite makes the page and the plots of them")
	flag.IntVar(&o.slots, "slots", 1, "slots of the stores; with several, each service has two API keys for each slot. The parts "+machinesPart+" and "+slotsPart+" have their own number")
	flag.IntVar(&o.clients, "clients", 64, "connections, each of which asks again when it is answered")
	flag.IntVar(&o.rounds, "rounds", 16, "rounds of the first part; the second has a quarter of them")
	flag.DurationVar(&o.window, "window", time.Second, "length of a window")
	flag.DurationVar(&o.warmUp, "warm-up", 200*time.Millisecond, "length of the warm-up before a window")
	flag.DurationVar(&o.open, "open", 2*time.Minute, "how long the transaction stays open; half of that time its database is at work")
	flag.DurationVar(&o.around, "around", 30*time.Second, "how long is measured before the transaction, and after it")
	flag.IntVar(&o.cycles, "cycles", 2, "transactions, by turns in each of the two databases")
	flag.Parse()
	return o
}

func main() {
	o := readOptions()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := alone(func(t testing.TB) error { return run(ctx, t, o, os.Stdout) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/store:", err)
		os.Exit(1)
	}
}

// run measures what the options say. The databases end with t.
func run(ctx context.Context, t testing.TB, o *options, out io.Writer) (err error) {
	if o.slots < 1 || o.rounds < 1 || o.clients < 1 || o.window <= 0 || o.open <= 0 || o.around <= 0 || o.cycles < 1 {
		return errors.New("slots, rounds, clients, window, open, around and cycles must be above zero")
	}
	folder, err := os.MkdirTemp(o.dir, "bailiff-bench-")
	if err != nil {
		return err
	}
	p := &players{t: t, options: o, folder: folder}
	defer func() { err = errors.Join(err, p.stop()) }()
	fmt.Fprintf(out, "%d cores, shared by the client, the service and both databases; stores of %d slots; windows of %s, %s\n", runtime.NumCPU(), o.slots, o.window, runtime.Version())
	return measure(ctx, p, out)
}
