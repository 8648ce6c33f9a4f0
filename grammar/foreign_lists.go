package grammar

import (
	"regexp"
	"slices"
	"strings"
)

// bullet is a line of a list in YAML or Markdown.
var bullet = regexp.MustCompile(`^(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(.*)$`)

// alone is a key that is alone on its line.
var alone = regexp.MustCompile("^[*_`\"']*([A-Za-z][A-Za-z0-9_.$/+@-]*)[*_`\"']*[ \t]*:[*_`]*[ \t]*([\\[{|>]?)-?$")

// openList takes a key whose items are on the lines below it.
func (s *scanner) openList(l line) (lines []line, d Diagnostic, meant string, known bool) {
	text, key, items := s.rest(l), "", []string(nil)
	open := ""
	if match := alone.FindStringSubmatch(text); match != nil {
		key, open = match[1], match[2]
	} else if name, value, found := strings.Cut(text, ":"); found && keyName.MatchString(name) && (strings.HasSuffix(value, ",") || opensList(text)) {
		key, items = name, []string{strings.TrimSpace(value)}
		if opensList(text) {
			open = "["
		}
	}
	if key == "" || open == "{" {
		return nil, d, "", false
	}
	done, single := false, len(items) == 0
	more := !single && open == ""
	lines = s.while(l, func(next line) bool {
		item := s.rest(next)
		match := bullet.FindStringSubmatch(item)
		switch {
		case done:
			return false
		case open == "[" && s.beginsEntry(next):
			return false
		case open == "[":
			done = strings.HasPrefix(item, "]") || strings.HasSuffix(strings.TrimSuffix(item, ","), "]")
		case match != nil && (!pair.MatchString(match[1]) || numbered.MatchString(match[1])):
			item = match[1]
		case match == nil && s.numberEnd(next.at, next.end) > 0:
			return false
		case match != nil || next.at == next.start || pair.MatchString(item) || numbered.MatchString(item) || text[len(text)-1] != ',' && strings.HasPrefix(item, "-"):
			return false
		case !single && !more && open == "":
			return false
		}
		more = strings.HasSuffix(item, ",")
		items = append(items, item)
		return true
	})
	if len(lines) == 1 || open == "[" && !done {
		return nil, d, "", false
	}
	w := writer{}
	for _, at := range lines[1:] {
		if s.isComment(at) {
			w.line(s.rest(at))
		}
	}
	block := w.listOrBlock(key, items)
	meant = w.String()
	d = At(CodeForeignForm, Span{l.at, l.end}, "a list is on the line of its key, with commas between its items").
		WithHint("write %s", quotedLines(meant[strings.LastIndexByte(meant, '\n')+1:]))
	if block {
		d.Message = "a line of a block has no dash before it"
		d = d.WithHint("write the lines below it without dashes: `  %s`", items[0])
	}
	return lines, d, meant, true
}

// listOrBlock writes a key and its items, and reports whether they are the lines of a block.
func (w *writer) listOrBlock(key string, items []string) (block bool) {
	if !strings.EqualFold(key, "chain_actions") || slices.ContainsFunc(items, func(item string) bool { return !numbered.MatchString(item) }) {
		w.list(key, items)
		return false
	}
	for _, item := range items {
		chain, value, _ := strings.Cut(item, ":")
		w.attribute([]string{key}, strings.TrimSpace(chain), []string{strings.TrimSpace(value)})
	}
	return true
}

// beginsEntry reports whether a line may be a heading or an entry as it is.
func (s *scanner) beginsEntry(l line) bool {
	text := s.rest(l)
	return l.at == l.start && (strings.HasPrefix(text, "##") || strings.HasPrefix(text, denyIf) || s.nameEnd(l.at, l.end) > l.at && strings.Contains(text, ":"))
}

var (
	pair     = regexp.MustCompile(`^["']?[A-Za-z][A-Za-z0-9_.-]*["']?[ \t]*:(?:[ \t]|$)`)
	numbered = regexp.MustCompile(`^["']?[0-9]+["']?[ \t]*:[ \t]`)
)

// nested takes a key that is alone, with further keys indented below it.
func (s *scanner) nested(l line) (lines []line, d Diagnostic, meant string, known bool) {
	match := alone.FindStringSubmatch(s.rest(l))
	if match == nil || strings.EqualFold(match[1], "chain_actions") || l.at > l.start || match[2] != "" && match[2] != "{" {
		return nil, d, "", false
	}
	if next, more := s.significantAfter(l); !more || next.at == next.start || !pair.MatchString(s.rest(next)) {
		return nil, d, "", false
	}
	outer := isSection(strings.ToLower(match[1])) || match[1] == "policy" || match[1] == "warranty"
	lines = s.while(l, func(next line) bool {
		if next.at > next.start {
			return true
		}
		name := alone.FindStringSubmatch(s.rest(next)) // another section, nested too
		after, more := s.significantAfter(next)
		return outer && name != nil && isSection(strings.ToLower(name[1])) && more && after.at > after.start
	})
	w := writer{}
	known = w.nest(s, lines)
	meant = w.String()
	d = At(CodeForeignForm, Span{l.at, l.end}, "keys do not nest: every entry is one line at the start of the line, with its whole key")
	if outer {
		d.Message = "a section is a heading, `## " + strings.ToLower(match[1]) + "`, and the entries below it are not indented"
	}
	return lines, d.WithHint("write %s", quotedLines(meant)), meant, known
}

// significantAfter returns the next line that is neither blank nor a comment.
func (s *scanner) significantAfter(l line) (next line, more bool) {
	for next, more = s.follow(l); more && (s.rest(next) == "" || s.isComment(next)); {
		next, more = s.follow(next)
	}
	return next, more
}

// bullets takes entries behind the dashes or stars of a list, or with marks of Markdown around their keys.
func (s *scanner) bullets(l line) (lines []line, d Diagnostic, meant string, known bool) {
	isOne := func(at line) bool { return decorated.MatchString(s.rest(at)) }
	if !isOne(l) {
		return nil, d, "", false
	}
	lines = s.while(l, isOne)
	w := writer{}
	for _, at := range lines {
		if match := decorated.FindStringSubmatch(s.rest(at)); match != nil {
			w.entry(match[1], strings.TrimSpace(match[2]))
		} else {
			w.line(s.rest(at))
		}
	}
	meant = w.String()
	d = At(CodeForeignForm, Span{l.at, l.end}, "a key has no dash before it, and no marks of Markdown").WithHint("write %s", quotedLines(meant))
	return lines, d, meant, true
}

// decorated is an entry behind the dash or star of a list, or with its key in bold, italics or code.
var decorated = regexp.MustCompile("^(?:[-*+•][ \t]+[*_`]*|[*_`]+)([A-Za-z][A-Za-z0-9_.-]*?)[*_`]*:[*_`]*(?:[ \t]+(.*))?$")

// A writer writes the lines that a policy has in place of those in a foreign form.
type writer struct {
	lines   []string
	section string // the section that is being written
	block   int    // the number of lines when the last one of a block was written
}

func (w *writer) String() string { return strings.Join(w.lines, "\n") }

func (w *writer) line(text string) { w.lines = append(w.lines, text) }

// note writes a comment, if there is something to say.
func (w *writer) note(text string) {
	if text = strings.TrimSpace(strings.TrimLeft(text, "#;/ ")); text != "" {
		w.line("# " + text)
	}
}

// entry writes a key and its value, as YAML, JSON or TOML have it.
func (w *writer) entry(key, value string) {
	value = w.withoutComment(value)
	if strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") {
		w.list(key, []string{value})
		return
	}
	w.line(strings.Trim(key, `"'`) + ": " + bare(value))
}

// withoutComment cuts the comment off a value, and writes it on a line of its own.
func (w *writer) withoutComment(value string) string {
	if at := strings.Index(value, " #"); at >= 0 && strings.Count(value[:at], `"`)%2 == 0 {
		w.note(value[at:])
		return strings.TrimSpace(value[:at])
	}
	return value
}

// list writes a key and its items, which may have brackets, quotes and commas of their own.
func (w *writer) list(key string, items []string) {
	var texts []string
	for _, item := range items {
		item = strings.Trim(w.withoutComment(item), " \t")
		item = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(item, "["), "]"))
		for _, part := range splitItems(item) {
			if part = strings.TrimSpace(part); part != "" && part != "]" {
				texts = append(texts, bare(part))
			}
		}
	}
	w.line(key + ": " + strings.Join(texts, ", "))
}

// splitItems divides at commas outside of quotes.
func splitItems(text string) (items []string) {
	start, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case isQuote(c) && strings.TrimSpace(text[start:i]) == "":
			quote = c
		case c == ',':
			items = append(items, text[start:i])
			start = i + 1
		}
	}
	return append(items, text[start:])
}

// bare returns a text without the quotes that it does not need in a policy.
func bare(text string) string {
	if len(text) < 2 || !isQuote(text[0]) || text[len(text)-1] != text[0] {
		return text
	}
	if inner := text[1 : len(text)-1]; inner != "" && strings.TrimSpace(inner) == inner && !strings.ContainsAny(inner, "\"',#<\\;|") {
		return inner
	}
	return text
}
