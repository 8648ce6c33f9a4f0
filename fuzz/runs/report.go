package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/kit/reports"
)

// reportForm names the form of a report.
const reportForm = "bailiff-run-1"

// A report says what one run did.
type report struct {
	Form    string           `json:"form"`
	Kind    string           `json:"kind"`
	Command string           `json:"command"`
	Commit  string           `json:"commit"`
	Began   time.Time        `json:"began"`
	Minutes float64          `json:"minutes"`
	Seeds   []string         `json:"seeds,omitempty"`
	Counts  map[string]int64 `json:"counts"`
	Failure string           `json:"failure,omitempty"` // "" of a clean run
}

// A kind is a target of make whose runs are kept.
type kind struct {
	flags    string                    // of go
	counts   map[string]*regexp.Regexp // by unit; the last match tells
	sums     map[string]*regexp.Regexp // by unit; all matches together tell
	each     map[string]*regexp.Regexp // by unit; the number of matches tells
	seedless string                    // why its runs print no seed; "": they do
	older    older
	part     string // the setting of make with which a run does a part of it, and lacks the counts of the rest; "": none
}

// older says what runs of older commits were, which do not print the count of a unit.
type older struct{ lack, were string }

var kinds = map[string]kind{
	"differential": {counts: map[string]*regexp.Regexp{"pairs": regexp.MustCompile(`: (\d+) pairs`)}},
	"simulate": {counts: map[string]*regexp.Regexp{
		"steps": regexp.MustCompile(`(\d+) steps in \d+ worlds`), "worlds": regexp.MustCompile(`steps in (\d+) worlds`),
		"worlds twice": regexp.MustCompile(`(\d+) worlds twice`),
		"orders":       regexp.MustCompile(`explained by (\d+) orders`), "orders not found in time": regexp.MustCompile(`(\d+) not found in time`),
	}},
	"owners": {counts: map[string]*regexp.Regexp{
		"worlds": regexp.MustCompile(`(\d+) simulated worlds`), "statements": regexp.MustCompile(`worlds, (\d+) statements`),
		"worlds of several slots": regexp.MustCompile(`(\d+) worlds of \d+ slots`),
	}, part: "OWNERS="},
	"crash":   {counts: map[string]*regexp.Regexp{"kills": regexp.MustCompile(`: (\d+) kills`)}},
	"conform": {counts: conformCounts(), older: older{"at " + string(conform.Gateway), "in-process, four levels"}},
	"rounds": {
		sums: map[string]*regexp.Regexp{"decisions told": regexp.MustCompile(`(\d+) decisions told`)},
		each: map[string]*regexp.Regexp{
			"rounds of two instances": regexp.MustCompile(`(?m)^\s*--- PASS: TestFailover/`), "rounds over slots": regexp.MustCompile(`(?m)^\s*--- PASS: TestSlotsFailover/`),
			"faults": regexp.MustCompile(`\d+ requests without one`),
		},
		part: "OF=",
	},
	"fuzz": {
		counts:   map[string]*regexp.Regexp{"targets": regexp.MustCompile(`(?m)^fuzz: (\d+) targets$`)},
		seedless: "Go's fuzz engine takes none, and keeps an input that fails as a file",
	},
	"mutants": {
		flags: "-v", each: map[string]*regexp.Regexp{"faults found": regexp.MustCompile(`(?m)^\s*--- PASS: Test\w+/`)},
		seedless: "the faults are on a list, and the tests that have to find them run with the seed 1",
	},
}

// conformCounts are the cases of a run of the conformance kit, together and at each of its levels, and the mutants that it found.
func conformCounts() map[string]*regexp.Regexp {
	counts := map[string]*regexp.Regexp{"cases": regexp.MustCompile(`(\d+) cases in `), "mutants": regexp.MustCompile(`(\d+) of \d+ mutants found`)}
	for _, level := range conform.Levels {
		counts["at "+string(level)] = regexp.MustCompile(`(?m)^\s*` + string(level) + ` +(\d+) cases`)
	}
	return counts
}

// done is what a run did.
func (r *report) done() string {
	if r.isOlder() {
		return counts(r.Counts) + " (" + kinds[r.Kind].older.were + ")"
	}
	return counts(r.Counts)
}

// isOlder reports whether a run is one of those that did less than such runs do now.
func (r *report) isOlder() bool {
	_, printed := r.Counts[kinds[r.Kind].older.lack]
	return kinds[r.Kind].older.were != "" && !printed && r.Failure == ""
}

func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

var (
	seedLine  = regexp.MustCompile(`BAILIFF_SEED=(-?\d+)`)
	againLine = regexp.MustCompile(`(?m)run it again: (make .*)$`)
	failLine  = regexp.MustCompile(`(?m)^\s*(--- FAIL: \S+|panic: .*)`)
)

// take fills in what the output says.
func (r *report) take(k kind, output string, ended error) error {
	r.Counts = map[string]int64{}
	for unit, pattern := range k.counts {
		if all := pattern.FindAllStringSubmatch(output, -1); len(all) > 0 {
			r.Counts[unit], _ = strconv.ParseInt(all[len(all)-1][1], 10, 64) // of digits
		}
	}
	for unit, pattern := range k.sums {
		for _, found := range pattern.FindAllStringSubmatch(output, -1) {
			n, _ := strconv.ParseInt(found[1], 10, 64)
			r.Counts[unit] += n
		}
	}
	for unit, pattern := range k.each {
		if n := len(pattern.FindAllString(output, -1)); n > 0 {
			r.Counts[unit] = int64(n)
		}
	}
	for _, found := range seedLine.FindAllStringSubmatch(output, -1) {
		if !slices.Contains(r.Seeds, found[1]) {
			r.Seeds = append(r.Seeds, found[1])
		}
	}
	if ended != nil {
		r.Failure = ended.Error()
		if found := failLine.FindStringSubmatch(output); found != nil {
			r.Failure = found[1]
		}
		if found := againLine.FindStringSubmatch(output); found != nil {
			r.Failure += "; " + found[1]
		}
		return nil
	}
	part := k.part != "" && strings.Contains(r.Command, " "+k.part) && len(r.Counts) > 0
	if !part && len(r.Counts) < len(k.counts)+len(k.sums)+len(k.each) {
		return fmt.Errorf("the run of %s does not say how much it did, and is not kept", r.Kind)
	}
	if len(r.Seeds) == 0 && k.seedless == "" {
		return fmt.Errorf("the run of %s does not say its seed, and is not kept", r.Kind)
	}
	return nil
}

// read reads all reports of a folder, the latest first.
func read(dir string) ([]*report, error) {
	all, err := reports.Read(dir, "make record", func(r *report) bool {
		_, known := kinds[r.Kind]
		return r.Form == reportForm && known && r.Commit != "" && !r.Began.IsZero() && (r.Failure != "" || len(r.Counts) > 0)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *report) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.Kind, b.Kind)) })
	return all, nil
}

// board is the page.
func board(all []*report) string {
	var b strings.Builder
	b.WriteString(`# Runs

Long runs of the proofs, each as its report in [runs](runs) has it. ` + "`make record RUN=\"simulate WORLDS=500\"`" + ` makes a run and its report, and writes
this page. "+changes" marks a run of a tree that was not committed; it does not count for a release, whose rule is in
[CONTRIBUTING.md](../CONTRIBUTING.md). A count is what the run itself printed; runs of older commits print fewer.
[mutation.md](mutation.md) has the last runs over generated mutants, with their seeds, counts and minutes.

` + seedless() + `
| Proof | Clean runs since the last failure | Minutes of these | Counts of these | Last failure |
|---|---|---|---|---|
`)
	for _, name := range kindNames() {
		b.WriteString(summary(name, all))
	}
	b.WriteString("\n| Began | Command | Commit | Seeds | Counts | Minutes | Result |\n|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		result := "clean"
		if r.Failure != "" {
			result = "failed: " + cell(r.Failure)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %.1f | %s |\n", r.Began.Format("2006-01-02 15:04"), r.Command, r.Commit, seeds(r.Seeds), r.done(), r.Minutes, result)
	}
	return b.String()
}

// seedless says of which kinds runs have no seeds, and why.
func seedless() string {
	var b strings.Builder
	for _, name := range kindNames() {
		if why := kinds[name].seedless; why != "" {
			fmt.Fprintf(&b, "Runs of `make %s` have no seed: %s.\n", name, why)
		}
	}
	return b.String()
}

// summary is a kind's row: its runs after the last one that failed.
func summary(name string, reports []*report) string {
	runs, minutes, failure := 0, 0.0, "none on record"
	sums, before := map[string]int64{}, map[string]int64{} // before: of older runs
	for _, r := range reports {
		if r.Kind != name {
			continue
		}
		if r.Failure != "" {
			failure = fmt.Sprintf("%s, %s: %s", r.Began.Format("2006-01-02"), r.Commit, cell(r.Failure))
			break
		}
		runs, minutes = runs+1, minutes+r.Minutes
		into := sums
		if r.isOlder() {
			into = before
		}
		for unit, n := range r.Counts {
			into[unit] += n
		}
	}
	all := counts(sums)
	if len(before) > 0 {
		all = fmt.Sprintf("%s; %s: %s", all, kinds[name].older.were, counts(before))
	}
	return fmt.Sprintf("| `make %s` | %d | %.1f | %s | %s |\n", name, runs, minutes, all, failure)
}

// cell is a text in a cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "/", "\n", " ").Replace(text) }

func counts(all map[string]int64) string {
	var parts []string
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[unit], unit))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// seeds names the first seeds of a run.
func seeds(all []string) string {
	const most = 2
	switch {
	case len(all) == 0:
		return "–"
	case len(all) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}
