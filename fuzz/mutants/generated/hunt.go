package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A fate is what became of a mutant.
type fate int

const (
	alive fate = iota
	killed
	late // neither: each test that could have killed it took too long
)

// A verdict is the fate of one mutant.
type verdict struct {
	*mutant
	fate   fate
	by     string // the test that killed it
	nobody bool   // no test reaches it
}

// quick is how long tests take that are run together.
const quick = 150 * time.Millisecond

// mostLate is how many runs of a mutant may take too long before the others are not tried.
const mostLate = 2

// hunt runs the tests that reach each mutant until one fails.
func (l *lab) hunt(ctx context.Context, mutants []*mutant, jobs []*job, each func(verdict)) ([]verdict, error) {
	var all []verdict
	var last *job
	for _, m := range mutants {
		v, by, err := l.seek(ctx, m, jobs, last)
		if err != nil {
			return all, err
		}
		if by != nil {
			last = by
		}
		all = append(all, v)
		each(v)
	}
	return all, nil
}

// seek looks for a test that kills a mutant: first the one that killed the last, then the quick ones of each suite together, then
// the others, the shortest first.
func (l *lab) seek(ctx context.Context, m *mutant, jobs []*job, last *job) (verdict, *job, error) {
	var able []*job
	for _, j := range jobs {
		if j.reaches[m.ID] != 0 {
			able = append(able, j)
		}
	}
	if len(able) == 0 {
		return verdict{m, alive, "", true}, nil, nil
	}
	isReviewed, lateRuns := l.reasons[m.name()] != "", 0
	for _, together := range turns(able, last) {
		patterns, takes := pattern(together), time.Duration(0)
		for _, j := range together {
			takes += j.takes
		}
		if isReviewed && len(together) == 1 && takes > quick {
			continue
		}
		const times = 5
		r, err := l.run(ctx, together[0].suite, m.ID, l.patience+times*takes, "", "-test.failfast", "-test.run", patterns)
		if err != nil {
			return verdict{}, nil, err
		}
		if r.failed {
			by := killer(r.output, together)
			return verdict{m, killed, by.folder + " " + by.pattern, false}, by, nil
		}
		if r.late {
			if lateRuns++; lateRuns == mostLate {
				break
			}
		}
	}
	if lateRuns > 0 {
		return verdict{m, late, "", false}, nil, nil
	}
	return verdict{m, alive, "", false}, nil, nil
}

// turns are the jobs in the order in which they are run, those of one list together.
func turns(able []*job, last *job) (order [][]*job) {
	if slices.Contains(able, last) {
		order = append(order, []*job{last})
	}
	var slow []*job
	for i := 0; i < len(able); {
		var together []*job
		in := able[i].suite
		for ; i < len(able) && able[i].suite == in; i++ {
			switch j := able[i]; {
			case j == last:
			case j.takes <= quick && !strings.Contains(j.pattern, "/"):
				together = append(together, j)
			default:
				slow = append(slow, j)
			}
		}
		if len(together) > 0 {
			order = append(order, together)
		}
	}
	slices.SortStableFunc(slow, func(a, b *job) int { return cmp.Compare(a.takes, b.takes) })
	for _, j := range slow {
		order = append(order, []*job{j})
	}
	return order
}

// pattern matches the tests of some jobs.
func pattern(jobs []*job) string {
	if len(jobs) == 1 {
		return jobs[0].pattern
	}
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = strings.Trim(j.pattern, "^$")
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// killer is the job that failed, by the output; the first of them where it does not say.
func killer(output string, jobs []*job) *job {
	if found := failed.FindStringSubmatch(output); found != nil {
		for _, j := range jobs {
			if j.pattern == "^"+found[1]+"$" {
				return j
			}
		}
	}
	return jobs[0]
}
