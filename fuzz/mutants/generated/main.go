// Command generated is the project's mutation test by generated mutants: for each place of a package where an operator, a
// constant, a condition, a result or a statement may be wrong, it makes it wrong, and has the tests notice:
//
//	make mutation PKG=runtime/ledger/state SAMPLE=500 SEED=1
//
// All mutants of a package are compiled at once, into one copy of it in which each is chosen by a variable of the environment when
// the program runs (mutant schemata), by an overlay of the build; the tree is not changed. Which tests reach a mutant is recorded
// once; only these are run with it, until one fails. A mutant whose tests all take too long is neither killed nor alive.
//
// "-again" tries those that were alive once more, after a test or an entry of the list was added, and leaves the rest of the report as
// it was. Those on the list are tried with the quick tests alone.
//
// A mutant that no test kills fails the run, unless reviewed.txt has it with the reason why it is the same program, or why its
// difference is none that the documents promise. An entry of the list that no mutant matches fails the package's test. One that a test
// kills is wrongly reviewed: the run says so, and so does its report.
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
	o := options{out: os.Stdout, patience: 2 * time.Second}
	flag.IntVar(&o.sample, "sample", 0, "how many mutants of each part are tried, by the seed; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "which sample it is")
	flag.StringVar(&o.only, "only", "", "try the mutants whose names contain this")
	flag.BoolVar(&o.again, "again", false, "try the mutants that are alive in the last report of a part, and bring the report up to date")
	flag.DurationVar(&o.longest, "longest", 0, "for a first look, leave out the tests that take longer; 0 for all")
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
	if len(names) == 0 {
		return false, fmt.Errorf("name parts: %s", strings.Join(partNames(), ", "))
	}
	ok = true
	for _, name := range names {
		p, known := parts[name]
		if !known {
			return false, fmt.Errorf("%q is not a part; the parts are %s", name, strings.Join(partNames(), ", "))
		}
		r, err := o.part(ctx, ".", name, p)
		if err != nil {
			return false, err
		}
		o.logf("%s: %s", name, r)
		ok = ok && len(r.of(alive, false)) == 0
	}
	return ok, nil
}

// part runs one part, and keeps its report where that is asked for.
func (o *options) part(ctx context.Context, root, name string, p part) (*result, error) {
	of, err := commit(root)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	var last *report
	if o.again {
		if last, err = readReport(o.docs, name); err != nil {
			return nil, err
		}
		o.names = last.names()
	}
	r, err := o.run(ctx, root, p)
	if err != nil || o.docs == "" || o.list || o.only != "" {
		return r, err
	}
	made := r.report(name, of, began, o.seed)
	if o.longest > 0 {
		made.Longest = o.longest.String()
	}
	if last != nil {
		if err := made.after(last); err != nil {
			return nil, err
		}
	}
	return r, made.write(o.docs)
}

// options say which mutants are tried.
type options struct {
	sample        int
	seed          uint64
	only, docs    string
	longest       time.Duration
	again         bool
	patience      time.Duration // how long a run may take besides five times as long as without a mutant
	names         map[string]bool
	verbose, list bool
	out           io.Writer
}

func (o *options) logf(format string, arguments ...any) {
	fmt.Fprintf(o.out, format+"\n", arguments...)
}
