package laws

import (
	"fmt"
	"slices"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/grammar"
	"bailiff/vm/form/evmaddr"
)

// RequestSpelling holds that white space, the order of members and escapes change nothing of a verdict.
func (h *House) RequestSpelling(b *gen.Batch) string {
	bound, err := h.Compile([]byte(b.Policy.Text()))
	if err != nil {
		return ""
	}
	r := gen.NewRand(b.Seed)
	for _, c := range b.Cases {
		plain, noisy := c.Bytes(), c.Body.NoisyAppend(nil, r)
		was, errWas := h.Judge(bound, plain, c.Shim)
		is, errIs := h.Judge(bound, noisy, c.Shim)
		switch {
		case (errWas == nil) != (errIs == nil):
			return fmt.Sprintf("one spelling is refused, the other not: %v, %v\n%s\n%s", errWas, errIs, c, noisy)
		case errWas != nil:
			continue
		}
		if what := was.Difference(is); what != "" {
			return fmt.Sprintf("another spelling changed the verdict's %s\nbefore: %s\nafter: %s\n%s\n%s", what, was, is, c, noisy)
		}
	}
	return ""
}

// PolicySpelling holds that white space and comments change no program; the order of lists and the case of addresses in them
// change no verdict.
func (h *House) PolicySpelling(b *gen.Batch) string {
	r := gen.NewRand(b.Seed)
	plain, noisy, ok := h.compilePair(b.Policy.Text(), b.Policy.NoisyText(r))
	if !ok {
		if plain != nil {
			return "white space and comments made a policy wrong"
		}
		return ""
	}
	if plain.Compiled.Program.Hash() != noisy.Compiled.Program.Hash() {
		return "white space and comments changed the program"
	}
	after := b.Policy.Clone()
	reorderLists(r, after)
	return h.compare(b, after, same)
}

// reorderLists puts the items of lists and the lines of blocks into any order, and addresses into another case.
func reorderLists(r *gen.Rand, p *gen.Policy) {
	for i := range p.Sections {
		for j := range p.Sections[i].Entries {
			entry := &p.Sections[i].Entries[j]
			if !entry.Scalar {
				gen.Shuffle(r, entry.Values)
			}
			gen.Shuffle(r, entry.Block)
			for _, line := range entry.Block {
				gen.Shuffle(r, line.Values)
			}
			for k, value := range entry.Values {
				if lower, err := evmaddr.Normalize(value); err == nil {
					entry.Values[k] = r.Pick(lower, evmaddr.Checksum(lower))
				}
			}
		}
	}
}

// LineOrder holds that the order of the lines within a section, and of the sections, changes no status and no plan, though it
// may change which rule is named first.
func (h *House) LineOrder(b *gen.Batch) string {
	r := gen.NewRand(b.Seed)
	after := b.Policy.Clone()
	gen.Shuffle(r, after.Sections)
	for i := range after.Sections {
		gen.Shuffle(r, after.Sections[i].Entries)
	}
	return h.compare(b, after, func(was, is *differential.Verdict) string {
		switch {
		case was.Status != is.Status:
			return "the order of lines changed the status"
		case !slices.Equal(sorted(was.Holds), sorted(is.Holds)):
			return "the order of lines changed which rules hold"
		case !slices.Equal(sorted(plan(was)), sorted(plan(is))):
			return "the order of lines changed the plan"
		}
		return ""
	})
}

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

func plan(v *differential.Verdict) []string {
	var lines []string
	for i := range v.Reservations {
		lines = append(lines, fmt.Sprintf("%+v", v.Reservations[i]))
	}
	return lines
}

// Formatting holds that the canonical layout of a policy compiles to the same program, and is its own layout.
func (h *House) Formatting(b *gen.Batch) string {
	text := b.Policy.NoisyText(gen.NewRand(b.Seed))
	formatted, found := h.Format(grammar.NewSource("policy", []byte(text)))
	if formatted == nil {
		return refusedFormat(h, text, found)
	}
	before, after, ok := h.compilePair(text, string(formatted))
	switch again, _ := h.Format(grammar.NewSource("policy", formatted)); {
	case string(again) != string(formatted):
		return fmt.Sprintf("formatting twice is not the same as once:\n%s\nand\n%s", formatted, again)
	case !ok && before != nil:
		return fmt.Sprintf("the layout made a policy wrong:\n%s", formatted)
	case ok && before.Compiled.Program.Hash() != after.Compiled.Program.Hash():
		return fmt.Sprintf("the layout changed the program:\n%s", formatted)
	}
	return ""
}

// refusedFormat says that a policy which compiles was not formatted.
func refusedFormat(h *House, text string, found grammar.Diagnostics) string {
	if _, err := h.Compile([]byte(text)); err == nil {
		return fmt.Sprintf("a policy that compiles is not formatted: %v", found)
	}
	return ""
}
