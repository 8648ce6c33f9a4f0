// Command servers measures the built service beside other servers that decide: OPA, Cerbos and OpenFGA, each built from a
// module of its own and asked over HTTP, plain and with TLS.
//
// Before it measures, it asks all of them the same generated questions, and ends if one answers differently. Then, round after
// round, each has a turn in a closed loop, and in open loops at two rates: half of the slowest server's in that round, and half
// of the fastest peer's. The figures are medians, and ratios are medians of the rounds' ratios.
package main

import (
	"context"
	"crypto/x509"
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
	service     string
	modules     string
	built       string
	dir         string
	connections int
	rounds      int
	measure     time.Duration
	warmUp      time.Duration
	questions   int
	seed        uint64
	write       string
	floors      bool
}

func main() {
	o := new(options)
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.modules, "modules", "bench/servers", "the folder with a module for each peer")
	flag.StringVar(&o.built, "built", ".cache/servers", "the folder in which the peers' binaries are kept")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folder is made (default: the system's place for them); a disk, or durability costs nothing")
	flag.IntVar(&o.connections, "connections", 64, "keep-alive connections")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&o.measure, "measure", 800*time.Millisecond, "length of a turn")
	flag.DurationVar(&o.warmUp, "warm-up", 200*time.Millisecond, "length of the warm-up before a turn")
	flag.IntVar(&o.questions, "questions", 1000, "how many generated questions all of them have to answer alike")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of these questions")
	flag.BoolVar(&o.floors, "floors", true, "measure the floors of bench/http, too")
	flag.StringVar(&o.write, "write", "", "the folder into which the results are written, as "+resultsFile+"; go test ./bench/servers -rewrite makes the page and the plots of them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/servers:", err)
		os.Exit(1)
	}
}

// run builds and starts everything, measures, and ends what it started, in any case.
func run(ctx context.Context, o *options, out io.Writer) (err error) {
	if o.rounds < 1 || o.connections < 1 || o.measure <= 0 || o.questions < 1 {
		return errors.New("rounds, connections, measure and questions must be above zero")
	}
	folder, err := os.MkdirTemp(o.dir, "bailiff-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	field, err := assemble(ctx, o, folder, out)
	defer func() { err = errors.Join(err, field.stop()) }()
	if err != nil {
		return err
	}
	r := field.results(o)
	for _, mode := range field.modes {
		if r.Allowed, err = agree(ctx, mode.servers, o.questions, o.seed); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "all answer %d questions alike, %d of them allowed (seed %d)\n\n", o.questions, r.Allowed, o.seed)
	r.Load[0] = machineLoad()
	if err := field.measure(ctx, o, r, out); err != nil {
		return err
	}
	r.Load[1] = machineLoad()
	fmt.Fprint(out, r.page())
	if o.write == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(o.write, resultsFile), r.encode(), 0o644)
}

// machineLoad is how many threads have run or wanted to, on average over the last minute (proc(5), loadavg).
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	if err != nil || load == "" {
		return "unknown"
	}
	return load
}

// poolOf reads the certificates that a file has.
func poolOf(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return pool, nil
}
