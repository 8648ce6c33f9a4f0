// Command generated is the project's mutation test by generated mutants: for each place of a package where an operator, a
// constant, a condition, a result or a statement may be wrong, it makes it wrong, and has the tests notice:
//
//	make mutation PKG=runtime/ledger/state SAMPLE=500 SEED=1
//
// All mutants of a package are compiled at once, into one copy of it in which each is chosen by a variable of the environment when
// the program runs (mutant schemata), by an overlay of the build; the tree is not changed. Which tests reach a mutant is recorded
// once; only these are run with it, until one fails. A mutant whose tests all take too long is neither killed nor alive.
//
// A mutant that no test kills fails the run, unless reviewed.txt has it with the reason why it is the same program, or why its
// difference is none that the documents promise. An entry of the list that no mutant matches fails the package's test.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"os"
	"os/signal"

	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	o := options{out: os.Stdout, patience: 5 * time.Second}
	flag.IntVar(&o.sample, "sample", 0, "how many mutants of each part are tried, by the seed; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "which sample it is")
	flag.StringVar(&o.only, "only", "", "try the mutants whose names contain this")
	flag.StringVar(&o.again, "again", "", "try the mutants that a run's output, in this file, says are alive")
	flag.StringVar(&o.docs, "write", "", "keep what came of the run below this folder of documents")
	flag.BoolVar(&o.verbose, "v", false, "say of each mutant what became of it")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run nothing")
	flag.Parse()
	ok, err := o.all(ctx, flag.Args())
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "fuzz/mutants/generated:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// all runs parts, and reports whether nothing is alive.
func (o *options) all(ctx context.Context, names []string) (ok bool, err error) {
	if err := o.read(); err != nil {
		return false, err
	}
	if len(names) == 0 {
		return false, fmt.Errorf("name parts: %s", strings.Join(partNames(), ", "))
	}
	ok = true
	for _, name := range names {
		p, known := parts[name]
		if !known {
			return false, fmt.Errorf("%q is not a part; the parts are %s", name, strings.Join(partNames(), ", "))
		}
		of, err := commit(".")
		if err != nil {
			return false, err
		}
		began := time.Now()
		r, err := o.run(ctx, ".", p)
		if err != nil {
			return false, err
		}
		o.logf("%s: %s", name, r)
		ok = ok && len(r.of(alive, false)) == 0
		if o.docs == "" || o.list || o.only != "" || o.again != "" {
			continue
		}
		if err := r.report(name, of, began, o.seed).write(o.docs); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// options say which mutants are tried.
type options struct {
	sample        int
	seed          uint64
	only          string
	again, docs   string
	patience      time.Duration // how long a run may take besides five times as long as without a mutant
	names         map[string]bool
	verbose, list bool
	out           io.Writer
}

func (o *options) logf(format string, arguments ...any) {
	fmt.Fprintf(o.out, format+"\n", arguments...)
}

// read reads the names of the mutants that are tried again.
func (o *options) read() error {
	if o.again == "" {
		return nil
	}
	text, err := os.ReadFile(o.again)
	o.names = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "alive: "); ok {
			name, _, _ = strings.Cut(name, lineMark)
			o.names[name] = true
		}
	}
	return err
}
