package grammar

import (
	"bytes"
	"unicode/utf8"
)

// Source is a policy's text and the name to report it under. It is never changed after it was made.
type Source struct {
	Name string
	Text []byte
}

// NewSource returns the source of that name. It keeps text, which must not be changed any more.
func NewSource(name string, text []byte) *Source {
	return &Source{Name: name, Text: text}
}

// Span is a half-open range of byte offsets into a source.
type Span struct {
	Start, End int
}

// Overlaps reports whether two spans have a byte in common.
func (s Span) Overlaps(other Span) bool { return s.Start < other.End && other.Start < s.End }

// To returns the span from the start of s to the end of t.
func (s Span) To(t Span) Span { return Span{s.Start, t.End} }

// Position is a place in a source as people count it.
type Position struct {
	Line   int // from 1
	Column int // from 1, in Unicode code points
}

// Position returns the line and column of a byte offset. Offsets outside the text count as its nearest end.
// It takes time linear in the offset: positions are wanted for printing only.
func (s *Source) Position(offset int) Position {
	offset = s.clamp(offset)
	start := s.lineStart(offset)
	return Position{
		Line:   1 + bytes.Count(s.Text[:start], newline),
		Column: 1 + utf8.RuneCount(s.Text[start:offset]),
	}
}

// Slice returns the text under a span, as far as the source has it.
func (s *Source) Slice(span Span) string {
	start := s.clamp(span.Start)
	return string(s.Text[start:max(start, s.clamp(span.End))])
}

var newline = []byte{'\n'}

func (s *Source) clamp(offset int) int { return min(max(offset, 0), len(s.Text)) }

// lineStart returns the offset at which the line of offset begins.
func (s *Source) lineStart(offset int) int {
	return 1 + bytes.LastIndexByte(s.Text[:offset], '\n')
}

// lineEnd returns the offset at which the line of offset ends, its line end excluded.
func (s *Source) lineEnd(offset int) int {
	end := len(s.Text)
	if i := bytes.IndexByte(s.Text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	if end > offset && s.Text[end-1] == '\r' {
		end--
	}
	return end
}
