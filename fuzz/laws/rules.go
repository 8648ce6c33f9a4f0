package laws

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
)

// RuleSpelling holds that a rule's text is put into the form of its field: addresses in it in another case, a value in
// another spelling, and a part of a value that has no case in another case change nothing of a verdict.
func (h *House) RuleSpelling(b *gen.Batch) string {
	after, changed := gen.RespellRules(gen.NewRand(b.Seed), b.Policy)
	if !changed {
		return ""
	}
	return h.compare(normal(b), after, func(was, is *differential.Verdict) string {
		switch {
		case was.Status != is.Status:
			return "the spelling of a rule changed the status"
		case !slices.Equal(was.Holds, is.Holds) || !slices.Equal(was.Reservations, is.Reservations):
			return "the spelling of a rule changed holds or counters"
		}
		return "" // of several rules that deny, another may be the first where a value has no normal form
	})
}

// normal returns the batch with all requests in normal spelling: as sent, they might meet a rule's text letter by
// letter.
func normal(b *gen.Batch) *gen.Batch {
	speller, spelled := gen.NewSpeller(b.Policy), &gen.Batch{Seed: b.Seed, Policy: b.Policy}
	for _, c := range b.Cases {
		spelled.Cases = append(spelled.Cases, &gen.Case{Body: speller.Normal(c.Body), Shim: c.Shim})
	}
	return spelled
}

// DeniedParts holds that deny_string finds a part of a value that has no case, in whatever case either is written: a
// request that another spelling of the part denies is denied by this one, where nothing else in the request has that
// part.
func (h *House) DeniedParts(b *gen.Batch) string {
	r := gen.NewRand(b.Seed)
	address := gen.AnyAddress(r)
	start := r.N(12)
	part := address[start : start+8+r.N(12)]
	speller := gen.NewSpeller(b.Policy)
	bound, err := h.Compile([]byte("version: 2.3.0\n## custom\ndeny_string: \"" + part + "\"\n## evm\nallowed_actions: wallet.transfer\nallowed_chains: 1\nmax_transaction_eth: 1\n"))
	if err != nil {
		return ""
	}
	body := gen.Transfer(address)
	spelled, _ := speller.Respell(r, body)
	for _, c := range []*gen.Case{{Body: body}, {Body: spelled}} {
		verdict, err := h.Judge(bound, c.Bytes(), false)
		if err == nil && verdict.Status != "DENIED" {
			return fmt.Sprintf("deny_string: %s is not found\n%s\n%s", part, c, verdict)
		}
	}
	return ""
}

// Lists holds that a list around an object escapes no denial of deny_if, which walks through lists of objects
// (decisions, section 2, "Custom rules").
func (h *House) Lists(b *gen.Batch) string {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return ""
	}
	r := gen.NewRand(b.Seed)
	for _, c := range b.Cases {
		wrapped, changed := gen.WrapObjects(r, c.Body)
		was, err := h.Judge(bound, c.Bytes(), c.Shim)
		if err != nil || !changed || !walks(b.Policy, was) {
			continue
		}
		other := &gen.Case{Body: wrapped, Shim: c.Shim}
		if is, err := h.Judge(bound, other.Bytes(), c.Shim); err == nil && is.Status != "DENIED" {
			return fmt.Sprintf("a list around an object escapes a denial\nbefore: %s\n%s\nafter: %s\n%s", was, c, is, other)
		}
	}
	return ""
}

// walks reports whether a verdict denies by a deny_if below metadata or arguments that has no not_equals, under which
// an element without the path equals nothing.
func walks(p *gen.Policy, v *differential.Verdict) bool {
	path, ok := strings.CutPrefix(v.Rule, "custom.deny_if.")
	return ok && v.Status == "DENIED" && (strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "arguments.")) &&
		!bytes.Contains([]byte(p.Text()), []byte("deny_if."+path+" not_equals"))
}
