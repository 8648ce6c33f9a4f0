package main

import (
	"fmt"
	"strings"
)

// A result is what came of a run.
type result struct {
	generated, tried int
	digest           string // of the names of all that were generated
	minutes          float64
	verdicts         []verdict
	reasons          map[string]string // of mutants that are reviewed
}

// of returns the verdicts with a fate; reviewed ones are in no other list.
func (r *result) of(f fate, isReviewed bool) (all []verdict) {
	for _, v := range r.verdicts {
		if v.fate == f && (f != alive || (r.reasons[v.name()] != "") == isReviewed) {
			all = append(all, v)
		}
	}
	return all
}

// wronglyReviewed returns the mutants that a test kills although they are reviewed.
func (r *result) wronglyReviewed() (all []verdict) {
	for _, v := range r.of(killed, false) {
		if r.reasons[v.name()] != "" {
			all = append(all, v)
		}
	}
	return all
}

// lineMark is between the name of a mutant and its line, in what a run prints.
const lineMark = " (at line "

func (r *result) String() string {
	var b strings.Builder
	for _, v := range r.of(alive, false) {
		fmt.Fprintf(&b, "alive: %s%s%d%s)\n", v.name(), lineMark, v.number, map[bool]string{true: ", no test reaches it"}[v.nobody])
	}
	for _, v := range r.wronglyReviewed() {
		fmt.Fprintf(&b, "wrongly reviewed: %s%s%d), killed by %s\n", v.name(), lineMark, v.number, v.by)
	}
	k, l, e, a := len(r.of(killed, false)), len(r.of(late, false)), len(r.of(alive, true)), len(r.of(alive, false))
	fmt.Fprintf(&b, "%d mutants generated, %d tried: %d killed, %d timed out, %d equivalent, %d alive in %.1f minutes", r.generated, r.tried, k, l, e, a, r.minutes)
	if k+a > 0 {
		fmt.Fprintf(&b, "; %.1f %% killed of those that are neither timed out nor equivalent", 100*float64(k)/float64(k+a))
	}
	return b.String()
}

// tell says what became of a mutant, where that was asked for, and always of one that lives, or is reviewed and killed.
func (o *options) tell(v verdict, isReviewed bool) {
	words := map[fate]string{alive: "ALIVE", killed: "killed", late: "late"}[v.fate]
	isWrong := isReviewed && v.fate == killed
	switch {
	case v.nobody:
		words = "UNREACHED"
	case isWrong:
		words = "WRONGLY REVIEWED, killed"
	}
	if o.verbose || v.fate == alive || isWrong {
		o.logf("%s %s:%d %s %s", words, v.file, v.number, v.name(), v.by)
	}
}
