package laws

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
)

// respellings is how many respellings of each request are judged.
const respellings = 3

// Respelled is a request in normal spelling and one of its respellings, with what was said of them.
type Respelled struct {
	Normal, Other *gen.Case
	Changed       []string // the names of the forms in which they differ
	Was, Is       *differential.Verdict
	WasHash       string // the intent hashes; empty where the body is refused
	IsHash        string
}

// Respelling holds the law of the one form of a value (decisions, section 2, "One value, one form"): a respelling of a
// request in normal spelling is never decided more leniently, and where neither is denied, counters, holds and intent
// hash are equal. That it is not denied for its spelling alone is for a test that counts.
func (h *House) Respelling(b *gen.Batch) (problem string) {
	h.Respellings(b, func(pair *Respelled) bool {
		if problem = pair.Problem(); problem != "" {
			problem = fmt.Sprintf("%s\nin normal spelling: %s\n%s\nrespelled in %s: %s\n%s",
				problem, pair.Was, pair.Normal, strings.Join(pair.Changed, ", "), pair.Is, pair.Other)
		}
		return problem == ""
	})
	return problem
}

// Respellings calls each with the pairs of a batch until it returns false.
func (h *House) Respellings(b *gen.Batch, each func(*Respelled) bool) {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return
	}
	r, speller := gen.NewRand(b.Seed), gen.NewSpeller(b.Policy)
	for _, c := range b.Cases {
		normal := &gen.Case{Body: speller.Normal(c.Body), Shim: c.Shim}
		was, wasHash := h.Judged(bound, normal)
		for range respellings {
			body, changed := speller.Respell(r, normal.Body)
			if len(changed) == 0 {
				continue
			}
			other := &gen.Case{Body: body, Shim: c.Shim}
			is, isHash := h.Judged(bound, other)
			if !each(&Respelled{normal, other, changed, was, is, wasHash, isHash}) {
				return
			}
		}
	}
}

// Judged returns the verdict and the intent hash; a body that is refused is an ERROR without a hash.
func (h *House) Judged(b *differential.Bound, c *gen.Case) (*differential.Verdict, string) {
	body := c.Bytes()
	verdict, err := h.Judge(b, body, c.Shim)
	if err != nil {
		return &differential.Verdict{Status: "ERROR", Code: err.Error()}, ""
	}
	hash, err := h.Hash(b, body)
	if err != nil {
		return &differential.Verdict{Status: "ERROR", Code: err.Error()}, ""
	}
	return verdict, hash
}

// leniency orders statuses: what is refused is as strict as what is denied.
var leniency = map[string]int{"ERROR": 0, "DENIED": 0, "PENDING": 1, "ALLOWED": 2}

// Problem says what is wrong with the two verdicts, or "".
func (p *Respelled) Problem() string {
	was, is := p.Was, p.Is
	switch {
	case leniency[is.Status] > leniency[was.Status]:
		return "another spelling is decided more leniently"
	case leniency[is.Status] == 0:
		return ""
	}
	var other []string
	if p.WasHash != p.IsHash {
		other = append(other, "another intent hash")
	}
	if is.Status == was.Status && !slices.Equal(was.Holds, is.Holds) {
		other = append(other, "other holds")
	}
	if is.Status == was.Status && !slices.Equal(was.Reservations, is.Reservations) {
		other = append(other, "other counters")
	}
	if other == nil {
		return ""
	}
	return "another spelling has " + strings.Join(other, " and ")
}
