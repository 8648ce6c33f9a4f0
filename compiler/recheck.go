package compiler

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
)

// formal are the errors whose fix puts right how lines are written, and nothing of what they say.
var formal = []grammar.Code{
	grammar.CodeForeignForm, grammar.CodeNoVersion, grammar.CodeBadVersion, grammar.CodeBadHeading, grammar.CodeIndentedHead,
	grammar.CodeUnknownSection, grammar.CodeNotAnEntry, grammar.CodeSpaceColon, grammar.CodeIndentedEntry, grammar.CodeBadKey,
	grammar.CodeStrayBlockLine, grammar.CodeInlineComment,
}

// maxRechecks bounds how often a text is checked anew: one fix may bring another to light.
const maxRechecks = 4

// recheck returns the findings about a text that has formal errors: those, and what is wrong with the text in which their
// fixes are made. What only follows from a line that cannot be read is no finding then, and what is wrong with such a
// line otherwise is one. It reports whether the text has formal errors.
func recheck(src *grammar.Source, found grammar.Diagnostics, limit vm.Limit, rounds int) (grammar.Diagnostics, bool) {
	fixable := slices.DeleteFunc(slices.Clone(found), func(d grammar.Diagnostic) bool {
		return d.Severity != grammar.Error || d.Fix == nil || !slices.Contains(formal, d.Code)
	})
	text, made := src.Mend(fixable)
	if len(made) == 0 || rounds == 0 || limit.Stop != nil && limit.Stop() {
		return found, false
	}
	mended := grammar.NewSource(src.Name, text)
	file, later := grammar.Parse(mended)
	later = append(withVersion(file, later), strayHeadings(file)...)
	all := slices.Clone(made)
	for _, d := range found {
		if d.Severity != grammar.Error {
			all = append(all, d)
		}
	}
	if again, formal := recheck(mended, later, limit, rounds-1); formal {
		later = again
	} else {
		c := frame.NewChecker(file, later, frame.Options{Limit: limit})
		checkSections(c)
		later = append(nameSymbols(mended, later), c.Found...)
	}
	was := newOrigins(src, text, made)
	for _, d := range later {
		if d.Severity == grammar.Error {
			all = append(all, was.before(d))
		}
	}
	return all, true
}

// withVersion returns the findings with the version in them that a policy without one should have: the earliest that has its
// sections and keys, from 2.0 on.
func withVersion(file *grammar.File, found grammar.Diagnostics) grammar.Diagnostics {
	needed := frame.V20
	raise := func(since frame.FormatVersion) {
		if since.Major > needed.Major || since.Major == needed.Major && since.Minor > needed.Minor {
			needed = since
		}
	}
	for _, section := range file.Sections {
		of := findSection(section.Name)
		raise(of.Since)
		for _, entry := range section.Entries {
			for _, row := range of.RowsFor(entry.Key) {
				raise(row.Since)
			}
		}
	}
	meant := needed.String() + ".0"
	for i, d := range found {
		if d.Code != grammar.CodeNoVersion || meant == grammar.DefaultVersion {
			continue
		}
		found[i].Hint = strings.Replace(d.Hint, grammar.DefaultVersion, meant, 1)
		if d.Fix != nil {
			found[i] = found[i].WithFix(d.Fix.Span, strings.Replace(d.Fix.Replacement, grammar.DefaultVersion, meant, 1))
		}
	}
	return found
}

// strayHeadings reports comments that name a section and have entries of that section below them: headings with one sign.
func strayHeadings(file *grammar.File) grammar.Diagnostics {
	var stray []grammar.Comment
	within, entries := (*frame.Section)(nil), file.Preamble
	next := 0
	for _, comment := range file.Comments {
		for next < len(file.Sections) && file.Sections[next].Heading.Span.Start < comment.Span.Start {
			within, entries = findSection(file.Sections[next].Name), file.Sections[next].Entries
			next++
		}
		match := commentHeading.FindStringSubmatch(comment.Text)
		if match == nil {
			continue
		}
		named := findSection(strings.ToLower(match[1]))
		if named == nil || named == within {
			continue
		}
		below, _ := slices.BinarySearchFunc(entries, comment.Span.Start, func(e *grammar.Entry, start int) int { return e.Span.Start - start })
		if below < len(entries) && len(named.RowsFor(entries[below].Key)) > 0 && (within == nil || len(within.RowsFor(entries[below].Key)) == 0) {
			stray = append(stray, comment)
		}
	}
	if len(stray) == 0 {
		return nil
	}
	var text strings.Builder
	var names []string
	at := stray[0].Span.Start
	for _, comment := range stray {
		heading := "## " + strings.ToLower(commentHeading.FindStringSubmatch(comment.Text)[1])
		names = append(names, "`"+heading+"`")
		text.WriteString(file.Source.Slice(grammar.Span{Start: at, End: comment.Span.Start}) + heading)
		at = comment.Span.End
	}
	return grammar.Diagnostics{grammar.At(grammar.CodeBadHeading, stray[0].Span, "this is a comment, since a heading has two signs").
		WithHint("write %s", strings.Join(names, " and ")).WithFix(grammar.Span{Start: stray[0].Span.Start, End: at}, text.String())}
}

// commentHeading is a comment that has nothing but a name.
var commentHeading = regexp.MustCompile(`^#[ \t]*([A-Za-z_]+)[ \t]*:?$`)

// origins finds where a part of a mended text stood before.
type origins struct {
	src    *grammar.Source
	pieces []piece
}

// A piece is a part of the mended text that stood in the text before as it is.
type piece struct{ after, before, length int }

func newOrigins(src *grammar.Source, mended []byte, made grammar.Diagnostics) *origins {
	p := &origins{src: src}
	before, after := 0, 0
	for _, d := range made { // Mend gives them in order
		span, text := d.Fix.Span, d.Fix.Replacement
		p.pieces = append(p.pieces, piece{after, before, span.Start - before})
		after += span.Start - before
		p.align(src.Slice(span), text, span.Start, after)
		before, after = span.End, after+len(text)
	}
	p.pieces = append(p.pieces, piece{after, before, len(mended) - after})
	return p
}

// bareWord is a part of a text that a fix keeps as it is.
var bareWord = regexp.MustCompile("[^ \t\r\n,:;=|\"'`\\[\\]{}]+")

// maxApart bounds how far in front of a word others may have been left out, so that the work stays within bounds.
const maxApart = 4096

// align finds the words of a replacement in what it replaces, in order.
func (p *origins) align(old, text string, before, after int) {
	at := 0
	for _, found := range bareWord.FindAllStringIndex(text, -1) {
		if i := strings.Index(old[at:min(at+maxApart, len(old))], text[found[0]:found[1]]); i >= 0 {
			p.pieces = append(p.pieces, piece{after + found[0], before + at + i, found[1] - found[0]})
			at += i + found[1] - found[0]
		}
	}
}

// before returns a finding about the mended text as one about the text before. A fix stays where all of it stood there.
func (p *origins) before(d grammar.Diagnostic) grammar.Diagnostic {
	start, _ := p.at(d.Span.Start)
	end, _ := p.at(max(d.Span.Start, d.Span.End-1))
	d.Span = grammar.Span{Start: start, End: max(start, min(end+1, len(p.src.Text)))}
	if d.Fix != nil {
		from, exact := p.at(d.Fix.Span.Start)
		to, exactToo := p.at(d.Fix.Span.End)
		d.Fix = &grammar.Fix{Span: grammar.Span{Start: from, End: to}, Replacement: d.Fix.Replacement}
		if !exact || !exactToo || from > to {
			d.Fix = nil
		}
	}
	return d
}

// at returns where an offset of the mended text was before, and whether exactly there; otherwise where the piece after it
// was, or the end of the one before it.
func (p *origins) at(offset int) (before int, exact bool) {
	for _, piece := range p.pieces {
		switch {
		case piece.length > 0 && offset < piece.after:
			return piece.before, false
		case offset <= piece.after+piece.length && offset >= piece.after && piece.length > 0:
			return piece.before + offset - piece.after, true
		}
	}
	return len(p.src.Text), false
}
