package differential

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"bailiff/fuzz/gen"
)

// casesPerPolicy is over how many requests the price of a policy is spread.
const casesPerPolicy = 60

// Hunt is a search for a divergence.
type Hunt struct {
	Seed    int64 // of the first batch; the next have the numbers that follow
	Pairs   int   // how many pairs to compare; requests that no policy accepts count too
	Workers int   // goroutines; at least one

	// Survey, where it is not nil, is called with every divergence, by one goroutine at a time, and the hunt goes on.
	// Without it the hunt ends at the first.
	Survey func(*Divergence)

	// Progress, where it is not nil, is called now and then with what was seen so far, by one goroutine at a time.
	Progress func(*Stats)
}

// Stats says what a hunt has seen.
type Stats struct {
	Pairs    int
	Policies int            // that compiled
	Refused  int            // policies that did not
	Statuses map[string]int // by status, "400" for requests that no policy accepts
	Codes    map[string]int // of denials, holds and errors
	Rules    map[string]int // of denials, holds, notes and reservations
	Reserved map[string]int // codes of the refusals of reservations
}

func newStats() *Stats {
	return &Stats{Statuses: map[string]int{}, Codes: map[string]int{}, Rules: map[string]int{}, Reserved: map[string]int{}}
}

func (s *Stats) add(o *Stats) {
	s.Pairs, s.Policies, s.Refused = s.Pairs+o.Pairs, s.Policies+o.Policies, s.Refused+o.Refused
	for _, m := range [][2]map[string]int{{s.Statuses, o.Statuses}, {s.Codes, o.Codes}, {s.Rules, o.Rules}, {s.Reserved, o.Reserved}} {
		for key, n := range m[1] {
			m[0][key] += n
		}
	}
}

func (s *Stats) count(v *Verdict) {
	s.Statuses[v.Status]++
	if v.Code != "" {
		s.Codes[v.Code]++
	}
	if v.Rule != "" {
		s.Rules[v.Rule]++
	}
	for _, note := range v.Notes {
		s.Rules[note]++
	}
	for i := range v.Reservations {
		s.Reserved[v.Reservations[i].Code]++
		s.Rules[v.Reservations[i].Rule]++
	}
}

// String is a report of several lines.
func (s *Stats) String() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(s.Pairs) + " pairs, " + strconv.Itoa(s.Policies) + " policies (" + strconv.Itoa(s.Refused) + " more did not compile)")
	for _, part := range []struct {
		name   string
		counts map[string]int
	}{{"statuses", s.Statuses}, {"codes", s.Codes}, {"reservations", s.Reserved}} {
		b.WriteString("\n" + part.name + ":")
		keys := slices.SortedFunc(maps.Keys(part.counts), func(x, y string) int { return part.counts[y] - part.counts[x] })
		for _, key := range keys {
			b.WriteString("\n  " + strconv.Itoa(part.counts[key]) + " " + key)
		}
	}
	return b.String()
}

// Run hunts until all pairs are compared or a divergence is found; that of the lowest seed among those found at once.
func (h *Hunt) Run() (*Stats, *Divergence) {
	var (
		next  atomic.Int64
		stop  atomic.Bool
		mutex sync.Mutex
		total = newStats()
		found *Divergence
		done  sync.WaitGroup
	)
	batches := int64((h.Pairs + casesPerPolicy - 1) / casesPerPolicy)
	for range max(h.Workers, 1) {
		done.Go(func() {
			judge := NewJudge()
			for i := next.Add(1) - 1; i < batches && !stop.Load(); i = next.Add(1) - 1 {
				stats, divergences := judge.batch(gen.NewBatch(h.Seed+i, casesPerPolicy), h.Survey != nil)
				mutex.Lock()
				total.add(stats)
				for _, divergence := range divergences {
					switch {
					case h.Survey != nil:
						h.Survey(divergence)
					case found == nil || divergence.Batch.Seed < found.Batch.Seed:
						found = divergence
						stop.Store(true)
					}
				}
				if h.Progress != nil {
					h.Progress(total)
				}
				mutex.Unlock()
			}
		})
	}
	done.Wait()
	return total, found
}

// batch compares the pairs of one batch, up to the first that differs or, with all, to the end.
func (j *Judge) batch(b *gen.Batch, all bool) (*Stats, []*Divergence) {
	var found []*Divergence
	stats := newStats()
	subject, err := NewSubject([]byte(b.Policy.Text()))
	switch {
	case errors.Is(err, ErrInvalid):
		stats.Refused++
		stats.Pairs += len(b.Cases) // so that a hunt ends, whatever the compiler refuses
		return stats, nil
	case err != nil:
		return stats, []*Divergence{{Batch: b, What: "policy", Problem: err.Error()}}
	}
	stats.Policies++
	for _, c := range b.Cases {
		stats.Pairs++
		machine, judged, invalid := j.Pair(subject, c)
		if invalid != nil {
			stats.Statuses["400"]++
			continue
		}
		stats.count(machine)
		if what := machine.Difference(judged); what != "" {
			one := &gen.Batch{Seed: b.Seed, Policy: b.Policy, Cases: []*gen.Case{c}}
			found = append(found, &Divergence{Batch: one, What: what, Machine: machine, Oracle: judged})
			if !all {
				break
			}
		}
	}
	return stats, found
}
