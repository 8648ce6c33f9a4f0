package grammar

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// windowColumns is how many columns of a long source line are shown around a finding: what a terminal of
// usual width holds beside the line number.
const windowColumns = 100

// Render returns a diagnostic as text for people, in the one form that everything shows:
//
//	warranty.md:4:15: error E1051: this quote is not closed
//	    4 | allowed: bash, "http
//	      |                ^^^^^
//	      = help: …
//
// Of a long line only the part around the finding is shown. Characters that a terminal would obey or hide
// are shown as stand-ins.
func (s *Source) Render(d Diagnostic) string { return s.RenderStyled(d, Style{}) }

// Style is how RenderStyled sets off the parts of a diagnostic: each string but Reset is written before such a part,
// and Reset after it. The zero Style is plain text.
type Style struct {
	Error, Warning, Note string // severity, code and carets
	Message, Help        string
	Reset                string
}

// Colour is the style for terminals that take ANSI escape sequences (ECMA-48, SGR).
var Colour = Style{
	Error: "\x1b[1;31m", Warning: "\x1b[1;33m", Note: "\x1b[1;36m",
	Message: "\x1b[1m", Help: "\x1b[36m", Reset: "\x1b[0m",
}

// mark returns what is written before parts of that severity.
func (style Style) mark(severity Severity) string {
	return [...]string{style.Error, style.Warning, style.Note}[min(max(severity, Error), Note)]
}

// RenderStyled returns the text that Render does, with its parts set off.
func (s *Source) RenderStyled(d Diagnostic, style Style) string {
	at, mark := s.Position(d.Span.Start), style.mark(d.Severity)
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s%s %s%s: %s%s%s\n", printable(s.Name), at.Line, at.Column,
		mark, d.Severity, d.Code, style.Reset, style.Message, printable(d.Message), style.Reset)
	if d.Code != CodeMore {
		text, carets := s.excerpt(d.Span)
		blank := strings.TrimRight(carets, "^")
		fmt.Fprintf(&b, "%5d | %s\n", at.Line, text)
		fmt.Fprintf(&b, "      | %s%s%s%s\n", blank, mark, carets[len(blank):], style.Reset)
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "      = %shelp%s: %s\n", style.Help, style.Reset, printable(d.Hint))
	}
	return b.String()
}

// RenderAll writes diagnostics one after another, as Render forms them.
func (s *Source) RenderAll(w io.Writer, ds Diagnostics) error {
	return s.RenderAllStyled(w, ds, Style{})
}

// RenderAllStyled writes diagnostics one after another, as RenderStyled forms them.
func (s *Source) RenderAllStyled(w io.Writer, ds Diagnostics, style Style) error {
	for _, d := range ds {
		if _, err := io.WriteString(w, s.RenderStyled(d, style)); err != nil {
			return err
		}
	}
	return nil
}

// Visible returns a text in which everything can be seen, for showing policies whose point is what can't: invisible
// characters as <U+200B>, bytes that are no UTF-8 as <FF>, a carriage return as a picture of one. Line feeds and tabs stay.
func Visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<%02X>", text[0])
		case r != '\n' && r != '\t' && (r < ' ' || r == 0x7f):
			b.WriteString(printable(string(r)))
		case r > 0x7f && invisible(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// excerpt returns the line on which a span starts, or the part around the span, and below it the carets.
func (s *Source) excerpt(span Span) (text, carets string) {
	start := s.clamp(span.Start)
	lineStart, lineEnd := s.lineStart(start), s.lineEnd(start)
	end := min(max(s.clamp(span.End), start), max(lineEnd, start))
	from := s.walk(start, lineStart, -windowColumns/2)
	to := s.walk(from, lineEnd, windowColumns)
	end = min(end, to)

	var line, under strings.Builder
	if from > lineStart {
		line.WriteString("… ")
		under.WriteString("  ")
	}
	line.WriteString(printable(string(s.Text[from:to])))
	if to < lineEnd {
		line.WriteString(" …")
	}
	for _, r := range string(s.Text[from:start]) {
		under.WriteRune(blankFor(r))
	}
	under.WriteString(strings.Repeat("^", max(1, utf8.RuneCount(s.Text[start:end]))))
	return line.String(), under.String()
}

// walk returns the offset that lies columns code points after (or, if negative, before) an offset, stopping
// at bound.
func (s *Source) walk(offset, bound, columns int) int {
	for ; columns < 0 && offset > bound; columns++ {
		_, size := utf8.DecodeLastRune(s.Text[bound:offset])
		offset -= size
	}
	for ; columns > 0 && offset < bound; columns-- {
		_, size := utf8.DecodeRune(s.Text[offset:bound])
		offset += size
	}
	return offset
}

// blankFor returns the blank that takes the same room as a character does: a tab for a tab.
func blankFor(r rune) rune {
	if r == '\t' {
		return '\t'
	}
	return ' '
}

// printable replaces what a terminal would obey, or hide, by a stand-in of the same width: the pictures of
// control characters, and U+FFFD. Tabs stay.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < ' ':
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case invisible(r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// invisible reports whether a character cannot be seen in print or looks like a space: controls, formatting
// and direction marks, spaces and line separators beyond ASCII, and private or unassigned characters.
func invisible(r rune) bool {
	if r <= unicode.MaxASCII {
		return r == 0x7f || r < ' ' && r != '\t' && r != '\n'
	}
	return unicode.IsSpace(r) || !unicode.IsGraphic(r)
}

// Report is a diagnostic with its places worked out, in the form in which it goes over the wire.
type Report struct {
	Code      Code       `json:"code"`
	Severity  string     `json:"severity"` // error, warning or note
	Message   string     `json:"message"`
	Line      int        `json:"line"`   // from 1
	Column    int        `json:"column"` // from 1, in Unicode code points
	EndLine   int        `json:"endLine"`
	EndColumn int        `json:"endColumn"` // just after the last character
	Offset    int        `json:"offset"`    // from 0, in bytes
	Hint      string     `json:"hint,omitempty"`
	Fix       *ReportFix `json:"fix,omitempty"`
}

// ReportFix is a Fix over the wire: the bytes from Offset to EndOffset are replaced.
type ReportFix struct {
	Offset      int    `json:"offset"`
	EndOffset   int    `json:"endOffset"`
	Replacement string `json:"replacement"`
}

// Report returns a diagnostic with its places worked out.
func (s *Source) Report(d Diagnostic) Report {
	start, end := s.Position(d.Span.Start), s.Position(max(d.Span.Start, d.Span.End))
	report := Report{
		Code: d.Code, Severity: d.Severity.String(), Message: d.Message, Hint: d.Hint,
		Line: start.Line, Column: start.Column, EndLine: end.Line, EndColumn: end.Column,
		Offset: s.clamp(d.Span.Start),
	}
	if d.Fix != nil {
		report.Fix = &ReportFix{d.Fix.Span.Start, d.Fix.Span.End, d.Fix.Replacement}
	}
	return report
}

// Reports returns all of them with their places worked out; never nil, so that JSON has a list.
func (s *Source) Reports(ds Diagnostics) []Report {
	reports := make([]Report, len(ds))
	for i, d := range ds {
		reports[i] = s.Report(d)
	}
	return reports
}
