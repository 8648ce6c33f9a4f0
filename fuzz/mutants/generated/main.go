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

	"os"
	"os/signal"

	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{out: os.Stdout}
	flag.IntVar(&o.sample, "sample", 0, "how many mutants are tried, by the seed; all below 1")
	flag.Uint64Var(&o.seed, "seed", 1, "which sample it is")
	flag.StringVar(&o.only, "only", "", "try the mutants whose names contain this")
	flag.BoolVar(&o.verbose, "v", false, "say of each mutant what became of it")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run nothing")
	flag.StringVar(&o.keep, "keep", "", "write the packages with their mutants and the overlay into this folder, and run nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "fuzz/mutants/generated: name one part:", strings.Join(partNames(), ", "))
		os.Exit(2)
	}
	p, ok := parts[flag.Arg(0)]
	if !ok {
		fmt.Fprintf(os.Stderr, "fuzz/mutants/generated: %q is not a part; the parts are %s\n", flag.Arg(0), strings.Join(partNames(), ", "))
		os.Exit(2)
	}
	r, err := o.run(ctx, ".", p)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz/mutants/generated:", err)
		os.Exit(2)
	}
	fmt.Println(r)
	if len(r.of(alive, false)) > 0 {
		os.Exit(1)
	}
}

// options say which mutants are tried.
type options struct {
	sample        int
	seed          uint64
	only          string
	keep          string
	verbose, list bool
	out           *os.File
}

func (o *options) logf(format string, arguments ...any) {
	fmt.Fprintf(o.out, format+"\n", arguments...)
}
