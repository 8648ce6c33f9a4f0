package main

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/kit/reviewed"
)

// run tries the mutants of a part.
func (o *options) run(ctx context.Context, root string, p part) (*result, error) {
	began := time.Now()
	f, packages, err := generate(root, p.packages)
	if err != nil {
		return nil, err
	}
	chosen := o.choose(f.mutants)
	reasons, err := reviewed.Read("reviewed.txt", reviewedText)
	if err != nil {
		return nil, err
	}
	r := &result{generated: len(f.mutants), digest: f.digest(), tried: len(chosen), reasons: reasons}
	if o.list {
		for _, m := range chosen {
			o.logf("%s", m.name())
		}
		return r, nil
	}
	dir, err := os.MkdirTemp("", "bailiff-mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := &lab{root: f.root, dir: dir, mutants: len(f.mutants), patience: o.patience, reasons: reasons}
	if l.overlay, err = f.overlay(packages, dir); err != nil {
		return nil, err
	}
	var jobs []*job
	for i := range p.suites {
		more, err := l.jobs(ctx, &p.suites[i], i)
		if err != nil {
			return nil, err
		}
		o.logf("%s: %d tests, built and run once after %.0f s", p.suites[i].folder, len(more), time.Since(began).Seconds())
		jobs = append(jobs, o.short(more)...)
	}
	r.verdicts, err = l.hunt(ctx, chosen, jobs, func(v verdict) { o.tell(v, reasons[v.name()] != "") })
	r.minutes = time.Since(began).Minutes()
	return r, err
}

// short returns the jobs that take no longer than was asked for.
func (o *options) short(jobs []*job) []*job {
	return slices.DeleteFunc(jobs, func(j *job) bool { return o.longest > 0 && j.takes > o.longest })
}

// choose returns the mutants that are tried, in their order.
func (o *options) choose(all []*mutant) (chosen []*mutant) {
	for _, m := range all {
		if strings.Contains(m.name(), o.only) && (o.names == nil || o.names[m.name()]) {
			chosen = append(chosen, m)
		}
	}
	if o.sample > 0 && o.sample < len(chosen) {
		rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
		chosen = chosen[:o.sample]
		slices.SortFunc(chosen, func(a, b *mutant) int { return a.ID - b.ID })
	}
	return chosen
}
