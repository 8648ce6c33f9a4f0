package grammar

import (
	"regexp"
	"strings"
)

// Other formats write lists, sections and comments otherwise: YAML, JSON, TOML, Markdown. Lines in such a form are taken
// together, as one finding with the lines that a policy has in their place.

// A foreignForm recognises one such form. It returns the lines that are in it, from the one at hand on, none where that is
// not in this form; and what a policy has in place of them, "" where that cannot be told.
type foreignForm func(s *scanner, first line) (lines []line, d Diagnostic, meant string, known bool)

// foreignForms are the forms in the order in which they are looked for.
var foreignForms = []foreignForm{
	(*scanner).frontMatter, (*scanner).fence, (*scanner).jsonText, (*scanner).xmlText, (*scanner).otherRules, (*scanner).blocks, (*scanner).placeholderKeys, (*scanner).table,
	(*scanner).tables, (*scanner).continued, (*scanner).compared, (*scanner).members, (*scanner).openList, (*scanner).nested, (*scanner).bullets, (*scanner).quotedKeys, (*scanner).indented, (*scanner).ruler,
}

// scanForeign takes the lines that are in one foreign form, beginning with l, and reports them; l is not blank.
func (s *scanner) scanForeign(l line) bool {
	for _, form := range foreignForms {
		lines, d, meant, known := form(s, l)
		if len(lines) == 0 {
			continue
		}
		last := lines[len(lines)-1]
		span := Span{l.start, last.full}
		if known && meant == "" { // the lines go, with their end
			span.End = s.after(last)
		}
		if known {
			d = d.WithFix(span, strings.ReplaceAll(meant, "\n", s.lineEnd(l)))
		}
		s.found.add(d)
		s.versionRefused = s.versionRefused || strings.Contains(strings.ToLower(s.text[l.start:last.full]), versionKey)
		s.next = s.after(last)
		return true
	}
	return false
}

// lineEnd returns how a line ends, so that what takes its place ends so too.
func (s *scanner) lineEnd(l line) string {
	if strings.HasPrefix(s.text[l.full:], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// after returns where the line after l starts.
func (s *scanner) after(l line) int {
	return min(l.full+len(s.lineEnd(l)), len(s.text))
}

// rest returns the text of a line, without white space around it.
func (s *scanner) rest(l line) string { return s.text[l.at:l.end] }

// follow returns the line after l, and whether there is one.
func (s *scanner) follow(l line) (line, bool) {
	ahead := scanner{text: s.text, next: s.after(l)}
	if ahead.next >= len(s.text) {
		return line{}, false
	}
	return ahead.cut(), true
}

// while returns the lines from l on for which takes holds, without those at their end that are blank or comments. It looks
// at no more than maxForeign lines.
func (s *scanner) while(l line, takes func(line) bool) []line {
	lines, kept := []line{l}, 1
	for next, more := s.follow(l); more && len(lines) < maxForeign; next, more = s.follow(next) {
		if s.rest(next) != "" && !s.isComment(next) {
			if strings.HasPrefix(s.rest(next), commentOpen) || !takes(next) {
				break
			}
			kept = len(lines) + 1
		}
		lines = append(lines, next)
	}
	return lines[:kept]
}

// maxForeign bounds the lines that are taken as one form.
const maxForeign = 1000

func (s *scanner) isComment(l line) bool { return isNote(s.rest(l)) }

func isNote(text string) bool { return strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "##") }

// frontMatter takes the block between two lines of dashes that some programs put before a document.
func (s *scanner) frontMatter(l line) (lines []line, d Diagnostic, meant string, known bool) {
	mark := s.rest(l)
	if s.significant || mark != "---" && mark != "+++" {
		return nil, d, "", false
	}
	closed := false
	lines = s.while(l, func(next line) bool {
		if closed {
			return false
		}
		closed = s.rest(next) == mark
		return true
	})
	if !closed {
		return nil, d, "", false
	}
	var kept []string
	for _, inner := range lines[1 : len(lines)-1] {
		text := s.rest(inner)
		if text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(strings.ToLower(text), versionKey) {
			text = "# " + text
		}
		kept = append(kept, strings.Replace(text, " = ", ": ", 1))
	}
	d = At(CodeForeignForm, Span{l.at, l.end}, "a policy cannot have front matter between lines of `%s`", mark).
		WithHint("remove both lines of `%s`; the version line comes first, and other text between them can be a comment", mark)
	return lines, d, strings.Join(kept, "\n"), true
}

// fence takes the text between the marks of a block of code, which a document has around it.
func (s *scanner) fence(l line) (lines []line, d Diagnostic, meant string, known bool) {
	mark := s.rest(l)
	if !strings.HasPrefix(mark, "```") && !strings.HasPrefix(mark, "~~~") {
		return nil, d, "", false
	}
	mark = mark[:3]
	closed := false
	lines = s.while(l, func(next line) bool {
		if closed {
			return false
		}
		closed = s.rest(next) == mark
		return true
	})
	d = At(CodeForeignForm, Span{l.at, l.end}, "a policy is not fenced as code")
	if !closed {
		return lines[:1], d.WithHint("remove the line"), "", true
	}
	var kept []string
	for _, inner := range lines[1 : len(lines)-1] {
		kept = append(kept, s.text[inner.start:inner.full])
	}
	return lines, d.WithHint("remove this line and the one of the closing marks; `version: 2.0.0` or its like is then the first line"), strings.Join(kept, "\n"), true
}

// ruler takes a line that only divides.
func (s *scanner) ruler(l line) (lines []line, d Diagnostic, meant string, known bool) {
	text := s.rest(l)
	if len(text) < 3 || strings.Trim(text, text[:1]) != "" || !strings.Contains("-=*_~", text[:1]) {
		return nil, d, "", false
	}
	return []line{l}, At(CodeForeignForm, Span{l.at, l.end}, "a policy has no rulers between its parts").WithHint("remove the line"), "", true
}

// tables takes sections of INI and TOML, `[evm]`, with the lines below them.
func (s *scanner) tables(l line) (lines []line, d Diagnostic, meant string, known bool) {
	isHeading := func(at line) bool { return tableHeading.MatchString(s.rest(at)) }
	isLine := func(at line) bool {
		return tableLine.MatchString(s.rest(at)) && !strings.HasPrefix(s.rest(at), denyIf) && !strings.HasPrefix(s.rest(at), allowOnly)
	}
	if l.at > l.start || !isHeading(l) && !isLine(l) {
		return nil, d, "", false
	}
	headed, open := isHeading(l), false
	lines = s.while(l, func(next line) bool {
		text := s.rest(next)
		headed = headed || isHeading(next)
		switch {
		case open:
			open = !strings.HasSuffix(strings.TrimSuffix(text, ","), "]")
			return true
		case isLine(next):
			open = opensList(text)
			return true
		}
		return isHeading(next) || strings.HasPrefix(text, ";") || headed && !strings.HasPrefix(text, "##") && !strings.HasPrefix(text, "|")
	})
	d = At(CodeForeignForm, Span{l.at, l.end}, "a colon separates a key and its value, not an equals sign")
	w := writer{}
	w.table(s, lines)
	meant = w.String()
	if headed {
		d.Message = "a section is a heading, `## name`, not a name in brackets"
	}
	return lines, d.WithHint("write %s", quotedLines(meant)), meant, true
}

var (
	tableHeading = regexp.MustCompile(`^\[\[?([A-Za-z][A-Za-z0-9_ -]*)((?:\.[A-Za-z0-9_<>$-]+)*)\]?\]$`)
	tableLine    = regexp.MustCompile(`^("?[A-Za-z_][A-Za-z0-9_.-]*"?)[ \t]*=[ \t]*([^=>~\s].*)$`)
)

// opensList reports whether a list in brackets begins on a line and goes on below it.
func opensList(text string) bool {
	at := strings.LastIndexByte(text, '[')
	return at > 0 && !strings.Contains(text[at:], "]") && strings.ContainsAny(text[at-1:at], " \t:=")
}

// table takes a table of Markdown.
func (s *scanner) table(l line) (lines []line, d Diagnostic, meant string, known bool) {
	isRow := func(at line) bool { return strings.HasPrefix(s.rest(at), "|") && strings.Count(s.rest(at), "|") > 2 }
	if !isRow(l) {
		return nil, d, "", false
	}
	lines = s.while(l, isRow)
	w := writer{}
	for i, at := range lines {
		cells := strings.Split(strings.Trim(s.rest(at), "|"), "|")
		for j, cell := range cells {
			cells[j] = strings.Trim(strings.TrimSpace(cell), "`*")
		}
		switch ruled := i+1 < len(lines) && isRule(s.rest(lines[i+1])); {
		case s.rest(at) == "" || s.isComment(at) || isRule(s.rest(at)) || ruled:
		case len(cells) < 2 || !keyName.MatchString(cells[0]):
			w.note(strings.Join(cells, " "))
		default:
			w.note(strings.Join(cells[2:], " "))
			w.entry(cells[0], cells[1])
		}
	}
	meant = w.String()
	d = At(CodeForeignForm, Span{l.at, l.end}, "a policy has no tables: each entry is a line `key: value`").
		WithHint("write %s", quotedLines(meant))
	return lines, d, meant, meant != ""
}

func isRule(row string) bool { return row != "" && strings.Trim(row, "|:- \t") == "" }

var keyName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.$/+@<>-]*$`)

// quotedKeys takes lines of JSON or YAML whose keys are between quotes.
func (s *scanner) quotedKeys(l line) (lines []line, d Diagnostic, meant string, known bool) {
	isOne := func(at line) bool { return quotedKey.MatchString(s.rest(at)) }
	if l.at > l.start || !isOne(l) {
		return nil, d, "", false
	}
	lines = s.while(l, isOne)
	w := writer{}
	for _, at := range lines {
		if match := quotedKey.FindStringSubmatch(s.rest(at)); match != nil {
			w.entry(match[1], strings.TrimSuffix(strings.TrimSpace(match[2]), ","))
		} else {
			w.line(s.rest(at))
		}
	}
	meant = w.String()
	return lines, At(CodeForeignForm, Span{l.at, l.end}, "keys are not quoted").WithHint("write %s", quotedLines(meant)), meant, true
}

var quotedKey = regexp.MustCompile(`^["']([A-Za-z][A-Za-z0-9_.-]*)["'][ \t]*:[ \t]*(.+)$`)
