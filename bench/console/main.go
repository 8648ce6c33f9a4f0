// Command console measures what the console costs on a large log: how long a page of events takes, and by how much live
// tails slow denials down.
//
// It fills a ledger with events of one key by the ledger's own Submit, in bulk, starts the service on it, signs in as a
// browser does, and asks for pages of events one after the other, from the first byte of the request to the last of the
// answer. Then clients ask for denials in a closed loop, in turns with live tails and without. A live tail is what the page of events
// has in a browser; a key can have 16, so there are several keys, and each asks for denials. Its last line reads
//
//	console: 1000000 events, page p99 12.3 ms, 50 tails cost 2.1 %
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
	"time"

	"bailiff/fuzz/kit/testbin/service"
)

// options are the command line.
type options struct {
	service     string
	dir         string
	events      int
	requests    int
	tails       int
	connections int
	turns       int
	turn        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folder is made (default: the system's place for them)")
	flag.IntVar(&o.events, "events", 1_000_000, "events of the key")
	flag.IntVar(&o.requests, "requests", 200, "requests for each page")
	flag.IntVar(&o.tails, "tails", 50, "live tails")
	flag.IntVar(&o.connections, "connections", 64, "clients that ask for denials")
	flag.IntVar(&o.turns, "turns", 5, "turns without tails and with them")
	flag.DurationVar(&o.turn, "turn", 3*time.Second, "length of a turn")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
}

// A bench is a service with keys, each with a visitor who is signed in.
type bench struct {
	pid      int
	base     string
	secrets  []string
	visitors []*visitor
}

// policy denies every shell command.
const policy = `version: 2.4.0

## tool_calls
allowed: web_fetch
`

// run fills the ledger, measures, and prints the figures.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.events < 1 || o.requests < 1 || o.turns < 1 || o.connections < 1 {
		return errors.New("events, requests, connections and turns must be above zero")
	}
	folder, err := os.MkdirTemp(o.dir, "bailiff-console-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	begun := time.Now()
	keys := max(1, (o.tails+tailsOfKey-1)/tailsOfKey)
	secrets, err := fill(ctx, filepath.Join(folder, "data", "ledger"), keys, o.events)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d events written in %.1f s\n", o.events, time.Since(begun).Seconds())
	s, err := service.Start(o.service, folder, policy, "SVC_RATE_LIMIT_KEY=0", "SVC_RATE_LIMIT_IP=0", "SVC_RATE_LIMIT_MANAGE=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b := &bench{pid: s.PID(), base: s.Address, secrets: secrets}
	for _, secret := range secrets {
		v, err := signIn(s.Address, secret)
		if err != nil {
			return err
		}
		b.visitors = append(b.visitors, v)
	}
	worst, err := b.measurePages(ctx, o, out)
	if err != nil {
		return err
	}
	cost, err := b.measureTails(ctx, o, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "console: %d events, page p99 %.1f ms, %d tails cost %.1f %%\n", o.events, milli(worst), o.tails, 100*cost)
	return nil
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
