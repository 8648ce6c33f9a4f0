package grammar

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how much a diagnostic weighs.
type Severity int

// The severities. Only an Error keeps a policy from being used.
const (
	Error Severity = iota
	Warning
	Note
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	return [...]string{"error", "warning", "note"}[min(max(s, Error), Note)]
}

// Code is the stable name of a kind of diagnostic: a letter (E, W or N, for its severity) and four digits.
// Grammar's own begin with 1, the compiler's with 2.
type Code string

// Severity returns the severity that the code's letter means. An unknown letter is an error.
func (c Code) Severity() Severity {
	switch {
	case c != "" && c[0] == 'W':
		return Warning
	case c != "" && c[0] == 'N':
		return Note
	}
	return Error
}

// Diagnostic is one finding about a source. It is a value: where it is printed, and how, is decided later.
type Diagnostic struct {
	Code     Code
	Severity Severity
	Span     Span
	Message  string // what is wrong, without a final stop
	Hint     string // what to do about it; may be empty
	Fix      *Fix   // an edit that mends it; may be nil
}

// Fix is an edit: Replacement in place of what Span covers.
type Fix struct {
	Span        Span
	Replacement string
}

// At returns the diagnostic of that code at a span. Its severity is the code's.
func At(code Code, span Span, format string, arguments ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: code.Severity(), Span: span, Message: fmt.Sprintf(format, arguments...)}
}

// WithHint returns the diagnostic with a hint.
func (d Diagnostic) WithHint(format string, arguments ...any) Diagnostic {
	d.Hint = fmt.Sprintf(format, arguments...)
	return d
}

// WithFix returns the diagnostic with an edit that mends it.
func (d Diagnostic) WithFix(span Span, replacement string) Diagnostic {
	d.Fix = &Fix{Span: span, Replacement: replacement}
	return d
}

// Diagnostics is a list of findings. The order does not matter until Sorted puts it in order.
type Diagnostics []Diagnostic

// MaxDiagnostics is how many errors, and how many warnings, are reported of one file: more than anybody
// mends between two runs, and few enough that a hostile file cannot make the report the attack.
const MaxDiagnostics = 100

// HasErrors reports whether any of them is an error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns the findings by position, each once, and at most the first MaxDiagnostics of each severity:
// warnings never push out an error. Where something was left out, a final note says so. Sorting what was
// sorted before changes nothing.
func (ds Diagnostics) Sorted() Diagnostics {
	sorted := slices.Clone(ds)
	slices.SortStableFunc(sorted, compare)
	sorted = slices.CompactFunc(sorted, func(a, b Diagnostic) bool { return compare(a, b) == 0 })
	kept, omitted := sorted[:0], Diagnostics(nil)
	var counts [Note + 1]int
	for _, d := range sorted {
		severity := min(max(d.Severity, Error), Note)
		counts[severity]++
		if d.Code == CodeMore || counts[severity] > MaxDiagnostics {
			omitted = append(omitted, d)
			continue
		}
		kept = append(kept, d)
	}
	if len(omitted) > 0 {
		kept = append(kept, At(CodeMore, omitted[0].Span, "there is more: only the first %d errors and warnings are reported", MaxDiagnostics))
	}
	return kept
}

// compare orders diagnostics by position, severity, code and message.
func compare(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.Span.Start, b.Span.Start),
		cmp.Compare(a.Span.End, b.Span.End),
		cmp.Compare(a.Severity, b.Severity),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message),
	)
}
