// Command branches says how many branches of the parts that decide are taken by tests, from a profile of these:
//
//	go test -covermode=atomic -coverpkg=… -coverprofile=PROFILE … && go run ./fuzz/branches -profile PROFILE
//
// make cover does that. Go's cover tool counts blocks of statements, so that an if without else whose condition always holds looks like one
// that was tested. Here each statement with several ways has a branch for each of them, also for the one that has no code.
//
// It fails where a part has less than 95 % of its branches taken, and where one that is not taken is not in reasons.txt, which says why
// no test takes it. An entry of that list that names no branch fails the package's test.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/kit/reviewed"
	"bailiff/runtime/clock"
)

// least is the share of branches, in percent, that tests have to take of each part.
const least = 95

//go:embed reasons.txt
var reasonsText string

func main() {
	profile := flag.String("profile", "", "what go test -covermode=atomic -coverprofile has written")
	write := flag.String("write", "", "write the table into this page")
	flag.Parse()
	fine, err := run(*profile, *write, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "fuzz/branches:", err)
		os.Exit(2)
	case !fine:
		os.Exit(1)
	}
}

// run reports whether enough branches are taken and the others have reasons.
func run(profile, write string, out io.Writer) (fine bool, err error) {
	in, err := os.Open(profile)
	if err != nil {
		return false, err
	}
	defer in.Close()
	ran, err := readProfile(in)
	if err != nil {
		return false, err
	}
	reasons, err := reviewed.Read("reasons.txt", reasonsText)
	if err != nil {
		return false, err
	}
	fine = true
	table := &strings.Builder{}
	for _, part := range parts {
		all, err := find(".", part, ran)
		if err != nil {
			return false, err
		}
		taken, listed := 0, 0
		for _, b := range all {
			switch reason := reasons[b.name()]; {
			case b.count > 0 && reason != "":
				fmt.Fprintf(out, "taken, and on the list: %s\n", b.name())
				taken++
			case b.count > 0:
				taken++
			case reason != "":
				listed++
			default:
				fine = false
				fmt.Fprintf(out, "%s:%d has no test and no reason: %s\n", b.file, b.line, b.name())
			}
		}
		share := 100 * float64(taken) / float64(len(all))
		if share < least {
			fine = false
			fmt.Fprintf(out, "%s: %.1f %% of its branches are taken; at least %d %% have to be\n", part, share, least)
		}
		fmt.Fprintf(table, "| `%s` | %d | %d | %.1f %% | %d |\n", part, len(all), taken, share, listed)
	}
	fmt.Fprint(out, table)
	if write == "" {
		return fine, nil
	}
	return fine, os.WriteFile(write, []byte(page(table.String(), clock.System()())), 0o600)
}

// page is the page with the table.
func page(table string, at time.Time) string {
	return fmt.Sprintf(`# Branches

How many branches of the parts that decide tests take, by the run of `+"`make cover`"+` of %s. An `+"`if`"+` has two branches, whether it has
an `+"`else`"+` or not, a `+"`switch`"+` one for each case and one for none of them, a loop one. Of each part at least %d %% have to be taken;
each of the rest has its reason in [reasons.txt](../fuzz/branches/reasons.txt).

| Part | Branches | Taken | Share | With a reason |
|---|---|---|---|---|
%s`, at.UTC().Format(time.DateOnly), least, table)
}

// parts are the folders that decide, as patterns of the go command: "/..." takes the folders below.
var parts = []string{"grammar", "compiler/...", "vm/...", "runtime/intent", "runtime/ledger/state", "runtime/attest"}

// find returns the branches of a part, with how often each ran.
func find(root, part string, ran map[string][]block) (all []*branch, err error) {
	files, err := sources(root, part)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		of, err := branchesOf(root, file, ran["bailiff/"+file])
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b *branch) int { return strings.Compare(a.file, b.file) })
	return all, nil
}
