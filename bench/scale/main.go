// Command scale measures what many idle keys cost: how long a hosted service takes to start with so many API keys, each
// with a policy of its own, and how much memory each unused key takes.
//
// It writes the keys into a ledger, as registrations and deployments would have, starts the service on an empty ledger and
// on that one, and prints the difference. The heap is what lives after a collection; resident memory is what the system
// counts, with what the collector has not given back. Its last line reads
//
//	scale: 100000 keys start 1.86 s heap 1234 B/key resident 2345 B/key
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are the command line.
type options struct {
	service string
	dir     string
	keys    int
}

func main() {
	var o options
	flag.StringVar(&o.service, "service", "bin/bailiff", "the service's binary")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folder is made (default: the system's place for them)")
	flag.IntVar(&o.keys, "keys", 100_000, "keys, each with a policy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run makes the ledgers, measures both, and prints the figures.
func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp(o.dir, "bailiff-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	made, err := generate(ctx, filepath.Join(dir, "many", "ledger"), o.keys)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d keys made in %.1f s, each with a policy of %d bytes and its program of %d\n", o.keys, time.Since(begun).Seconds(), made.policyBytes, made.programBytes)
	empty, err := measure(ctx, o.service, filepath.Join(dir, "none"), nil)
	if err != nil {
		return err
	}
	full, err := measure(ctx, o.service, filepath.Join(dir, "many"), made.secrets)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		name string
		f    figures
	}{{"no key", empty}, {"all keys", full}} {
		fmt.Fprintf(out, "%-9s start %.2f s, heap %.1f MB, resident %.1f MB\n", row.name, row.f.start.Seconds(), mega(row.f.heap), mega(row.f.resident))
	}
	fmt.Fprintf(out, "first use of a key's policy %v, later uses %v\n", full.first.Round(time.Microsecond), full.later.Round(time.Microsecond))
	fmt.Fprintf(out, "scale: %d keys start %.2f s heap %d B/key resident %d B/key\n", o.keys, full.start.Seconds(),
		(full.heap-empty.heap)/int64(o.keys), (full.resident-empty.resident)/int64(o.keys))
	return nil
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }
