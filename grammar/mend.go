package grammar

import (
	"bytes"
	"cmp"
	"slices"
)

// Mend returns the text with the fixes of diagnostics made, and the diagnostics whose fixes were made. Of fixes that
// overlap only the first is made; fixes that change nothing are passed over. The findings about what comes out are for
// another look: mending one thing can bring another to light.
func (s *Source) Mend(ds Diagnostics) ([]byte, Diagnostics) {
	fixable := slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool {
		return d.Fix == nil || !s.holds(d.Fix.Span) || s.Slice(d.Fix.Span) == d.Fix.Replacement
	})
	slices.SortStableFunc(fixable, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Fix.Span.Start, b.Fix.Span.Start), cmp.Compare(a.Fix.Span.End, b.Fix.Span.End))
	})
	var out bytes.Buffer
	var made Diagnostics
	at, last := 0, Span{-1, -1}
	for _, d := range fixable {
		if d.Fix.Span.Start < at || d.Fix.Span == last { // two insertions in one place are in each other's way
			continue
		}
		out.Write(s.Text[at:d.Fix.Span.Start])
		out.WriteString(d.Fix.Replacement)
		at, last = d.Fix.Span.End, d.Fix.Span
		made = append(made, d)
	}
	out.Write(s.Text[at:])
	return out.Bytes(), made
}

// holds reports whether a span lies within the text.
func (s *Source) holds(span Span) bool {
	return 0 <= span.Start && span.Start <= span.End && span.End <= len(s.Text)
}
