package frame

import (
	"bytes"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// loosening are the errors after which the section of a line is unknown, or whether it is read at all.
var loosening = []grammar.Code{
	grammar.CodeOpenComment, grammar.CodeCommentEnd, grammar.CodeBadHeading, grammar.CodeIndentedHead, grammar.CodeUnknownSection,
	grammar.CodeSecondSection, grammar.CodeNoSection, grammar.CodeSecondSigHead, grammar.CodeOtherSigHead, grammar.CodeAfterSignature,
	grammar.CodeUnexpected, grammar.CodeMore, codes.SectionVersion,
}

// Refusals returns the lines with errors, each at least once.
func (c *Checker) Refusals(found grammar.Diagnostics) (lines []Refusal) {
	text := c.File.Source.Text
	for _, d := range found {
		if d.Severity != grammar.Error && d.Code != grammar.CodeMore {
			continue
		}
		start := bytes.LastIndexByte(text[:min(d.Span.Start, len(text))], '\n') + 1
		if n := len(lines); n > 0 && lines[n-1].at == start && lines[n-1].code == d.Code {
			continue
		}
		line, _, _ := bytes.Cut(text[start:min(len(text), start+MaxTextBytes)], []byte("\n"))
		lines = append(lines, Refusal{d.Code, start, strings.ToLower(string(line))})
	}
	return lines
}

// Lost reports whether a line of the section that was refused may have been the entry of a key that is missing: one that
// is no entry, one of an unknown key, or one of that key.
func (c *Checker) Lost(section, key string) bool {
	return c.lostLine(section, func(r Refusal) bool {
		return !codes.OfKnownKey(r.code) || // otherwise the line begins with that key, or is one of a block
			strings.Contains(r.text, key) || strings.HasPrefix(r.text, " ") || strings.HasPrefix(r.text, "\t")
	})
}

// LostPart reports whether a line of the section that was refused names a part that its keys have in common: the symbol
// of a token, or the name of a cap.
func (c *Checker) LostPart(section, name string) bool {
	name = strings.ToLower(name)
	return c.lostLine(section, func(r Refusal) bool {
		return strings.Contains(r.text, "."+name+".") || strings.Contains(r.text, "."+name+":")
	})
}

// lostLine reports whether maybe holds of a line of the section that was refused. Where as many lines were refused as are
// reported nothing else need be, and the work stays within bounds.
func (c *Checker) lostLine(section string, maybe func(Refusal) bool) bool {
	if len(c.Refused) > grammar.MaxDiagnostics {
		return true
	}
	from, to := 0, len(c.File.Source.Text)
	for i, s := range c.File.Sections {
		if s.Name != section {
			continue
		}
		from = s.Heading.Span.Start
		if i+1 < len(c.File.Sections) {
			to = c.File.Sections[i+1].Heading.Span.Start
		}
	}
	return slices.ContainsFunc(c.Refused, func(r Refusal) bool {
		return slices.Contains(loosening, r.code) || r.at >= from && r.at < to && maybe(r)
	})
}
