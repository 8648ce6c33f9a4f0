package gen

import (
	"fmt"
	"strings"

	"github.com/leanovate/gopter"
)

// Batch is a policy and some requests for it: compiling costs a thousand times what judging does, so a policy is worth
// more than one. Everything in it follows from the seed, until it is shrunk.
type Batch struct {
	Seed   int64
	Policy *Policy
	Cases  []*Case
}

// NewBatch makes the batch of a seed with n requests. One in ten is one of NewFocused, and some requests are respelled.
func NewBatch(seed int64, n int) *Batch {
	r := NewRand(seed)
	if r.N(10) == 0 {
		return NewFocused(seed, n)
	}
	b := &Batch{Seed: seed, Policy: NewPolicy(r)}
	writer, speller := NewWriter(b.Policy), NewSpeller(b.Policy)
	for range n {
		c := writer.Case(r)
		if r.Chance(15) {
			c.Body, _ = speller.Respell(r, c.Body)
		}
		b.Cases = append(b.Cases, c)
	}
	return b
}

// String shows everything, as it has to be seen where a property fails.
func (b *Batch) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d\n%s", b.Seed, b.Policy.Text())
	for _, c := range b.Cases {
		fmt.Fprintf(&s, "\n%s", c)
	}
	return s.String()
}

// String shows the provenance and the body.
func (c *Case) String() string {
	from := "agent"
	if c.Shim {
		from = "shim"
	}
	return from + " " + string(c.Bytes())
}

// Policies generates drafts (*Policy), which shrink by sections, entries and items.
func Policies() gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(NewPolicy(NewRand(p.NextInt64())), shrinkPolicy)
	}
}

// Batches generates batches (*Batch) of n requests, which shrink to one request, a small policy and a small body.
func Batches(n int) gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(NewBatch(p.NextInt64(), n), shrinkBatch)
	}
}

func shrinkPolicy(value any) gopter.Shrink {
	return stream(value.(*Policy).Smaller())
}

func shrinkBatch(value any) gopter.Shrink {
	return stream(value.(*Batch).Smaller())
}

// stream returns the values one after the other.
func stream[T any](values []T) gopter.Shrink {
	next := 0
	return func() (any, bool) {
		if next == len(values) {
			return nil, false
		}
		next++
		return values[next-1], true
	}
}

// Smaller returns the batches that are one step smaller: one request of several, and then less of the policy and of
// the request.
func (b *Batch) Smaller() []*Batch {
	var all []*Batch
	if len(b.Cases) > 1 {
		for _, c := range b.Cases {
			all = append(all, &Batch{b.Seed, b.Policy, []*Case{c}})
		}
		return all
	}
	for _, policy := range b.Policy.Smaller() {
		all = append(all, &Batch{b.Seed, policy, b.Cases})
	}
	for _, c := range b.Cases {
		for _, body := range c.Body.Smaller() {
			all = append(all, &Batch{b.Seed, b.Policy, []*Case{{body, c.Shim}}})
		}
	}
	return all
}
