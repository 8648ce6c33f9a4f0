// Command http measures the running service over loopback, beside floors that are measured in the same run: bare
// handlers over the same HTTP server, with the same settings and the same GOMAXPROCS, that do only the part of the
// work that cannot be left out.
//
// It starts the service and the floors as processes of their own, drives each by a closed loop of keep-alive
// connections in interleaved rounds, and prints rates, latencies and the medians of the rounds' ratios. An answer
// that is not the expected one fails the run. Its last line reads
//
//	ratios: test-run 0.81 denied 0.60 allowed 0.95
//
// where test-run and denied are of the throughput of the floor that decodes the intent, and allowed of that of the
// floor that decodes it and signs with Ed25519 and ML-DSA-65. A third floor shows how fast a denial can be on this machine:
// it decodes, and has bare Pebble make some bytes durable, with one sync for many requests, as the service does.
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
	"time"
)

// options are the command line.
type options struct {
	service     string
	policy      string
	dir         string
	connections int
	rounds      int
	measure     time.Duration // of one phase, after its warm-up
	warmUp      time.Duration
	single      time.Duration // of one turn of the single client
	processors  int           // GOMAXPROCS of service and floors
	floor       string
	only        string
}

func readOptions() *options {
	o := new(options)
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.policy, "policy", "cmd/bailiff/policy/example/warranty.md", "the policy, unsigned; it must allow and deny the benchmark's two intents")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folder is made (default: the system's place for them); a disk, or durability costs nothing")
	flag.IntVar(&o.connections, "connections", 64, "keep-alive connections")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&o.measure, "measure", 800*time.Millisecond, "length of a phase")
	flag.DurationVar(&o.warmUp, "warm-up", 200*time.Millisecond, "length of the warm-up before a phase")
	flag.DurationVar(&o.single, "single", 400*time.Millisecond, "length of a turn of the single client")
	flag.IntVar(&o.processors, "procs", 2*runtime.NumCPU(), "GOMAXPROCS of service and floors; the service's own choice is twice the cores")
	flag.StringVar(&o.only, "only", "", "for profilers: measure only test-run, denied or allowed, round after round, and print no ratios")
	flag.StringVar(&o.floor, "floor", "", "be a floor instead: decode, keep, sign or echo")
	flag.Parse()
	return o
}

func main() {
	o := readOptions()
	if o.floor != "" {
		exit(serveFloor(o.floor, os.Stdin, os.Stdout))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/http:", err)
		os.Exit(1)
	}
}

// run starts everything, measures, prints, and ends whatever it started, in any case.
func run(ctx context.Context, o *options, out io.Writer) (err error) {
	if o.rounds < 1 || o.connections < 1 || o.measure <= 0 || o.single <= 0 {
		return errors.New("rounds, connections, measure and single must be above zero")
	}
	p, err := startPlayers(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	fmt.Fprintf(out, "%d cores, GOMAXPROCS %d in service and floors, %d in the client, %d connections, %d rounds of %s, %s\n\n",
		runtime.NumCPU(), o.processors, runtime.GOMAXPROCS(0), o.connections, o.rounds, o.measure, runtime.Version())
	if o.only != "" {
		return measureOnly(ctx, o, p, out)
	}
	rounds, err := measureRounds(ctx, o, p, out)
	if err != nil {
		return err
	}
	single, err := measureSingle(ctx, o, p)
	if err != nil {
		return err
	}
	if err := p.verifyAttestations(ctx); err != nil {
		return err
	}
	printSummary(out, rounds, single)
	return nil
}
