package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxForeignDepth bounds the nesting that is written flat.
const maxForeignDepth = 8

// jsonText takes a whole text in JSON.
func (s *scanner) jsonText(l line) (lines []line, d Diagnostic, meant string, known bool) {
	if s.significant || !strings.HasPrefix(s.rest(l), "{") {
		return nil, d, "", false
	}
	lines = s.while(l, func(line) bool { return true })
	w := writer{}
	decoder := json.NewDecoder(strings.NewReader(s.text[l.start:]))
	decoder.UseNumber()
	known = w.json(decoder, nil)
	meant = w.String()
	d = At(CodeForeignForm, Span{l.at, l.end}, "this is JSON, and a policy is lines of text")
	if !known {
		return lines, d.WithHint("write `version: 2.0.0`, then headings such as `## tool_calls` with lines such as `allowed: bash` below"), "", false
	}
	return lines, d.WithHint("write %s", quotedLines(meant)), meant, true
}

// json writes one value of JSON, with the names above it. It reports whether a policy can say it.
func (w *writer) json(decoder *json.Decoder, path []string) bool {
	token, err := decoder.Token()
	if err != nil || len(path) > maxForeignDepth {
		return false
	}
	switch token {
	case json.Delim('{'):
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil || !w.json(decoder, append(slices.Clone(path), fmt.Sprint(key))) {
				return false
			}
		}
		_, err = decoder.Token()
		return err == nil
	case json.Delim('['):
		var items []string
		for decoder.More() {
			item, err := decoder.Token()
			if _, nests := item.(json.Delim); nests || err != nil {
				return false
			}
			items = append(items, quotedItem(fmt.Sprint(item)))
		}
		_, err = decoder.Token()
		return err == nil && w.below(path, strings.Join(items, ", "))
	}
	return token != nil && w.below(path, fmt.Sprint(token))
}

// quotedItem returns a text as an item of a list.
func quotedItem(text string) string {
	if !strings.ContainsAny(text, ",#;|") && text == strings.TrimSpace(text) {
		return text
	}
	if !strings.Contains(text, `"`) {
		return `"` + text + `"`
	}
	return "'" + text + "'"
}

// below writes an entry, whose names are one below the other. It reports whether a policy can say it.
func (w *writer) below(path []string, value string) bool {
	at := slices.IndexFunc(path, func(name string) bool { return isSection(strings.ToLower(name)) })
	if at >= 0 && at < len(path)-1 {
		w.heading(strings.ToLower(path[at]))
		path = path[at+1:]
	}
	key := path[len(path)-1]
	if len(path) == 2 && strings.EqualFold(path[0], "chain_actions") {
		if w.block == 0 || slices.ContainsFunc(w.lines[w.block:], func(line string) bool { return !isNote(line) }) {
			w.line(path[0] + ":")
		}
		w.line(`  "` + strings.Trim(key, `"'`) + `": ` + value)
		w.block = len(w.lines)
		return true
	}
	if len(path) > 0 && strings.ContainsAny(strings.Join(path, ""), " \t\n:") || strings.Contains(value, "\n") {
		return false
	}
	w.line(strings.Join(path, ".") + ": " + value)
	return true
}

// heading writes the heading of a section, unless the lines below it are being written.
func (w *writer) heading(name string) {
	if w.section == name {
		return
	}
	w.section = name
	if len(w.lines) > 0 {
		w.line("")
	}
	w.line("## " + name)
}

// A level is a key that is alone, by its indentation.
type level struct {
	indent int
	name   string
}

// A nester writes keys that are indented below others flat.
type nester struct {
	*writer
	path  []level
	items []string // of the list that is below the path
	known bool     // all lines could be written
}

// nest writes keys that are indented below others flat. It reports whether all lines could be written.
func (w *writer) nest(s *scanner, lines []line) (known bool) {
	n := nester{writer: w, known: true}
	for _, at := range lines {
		text := s.rest(at)
		switch {
		case text == "":
		case s.isComment(at):
			w.line(text)
		case !n.item(text):
			n.flush()
			n.key(text, at.at-at.start)
		}
	}
	n.flush()
	return n.known
}

// item takes a line that is an item of a list, or closes one or an object.
func (n *nester) item(text string) bool {
	match := bullet.FindStringSubmatch(text)
	isKey := pair.MatchString(text) || numbered.MatchString(text) || alone.MatchString(text)
	switch {
	case match != nil && len(n.path) > 0 && !pair.MatchString(match[1]):
		n.items = append(n.items, match[1])
	case strings.Trim(text, "},") == "" || len(n.items) > 0 && strings.Trim(text, "]},") == "":
	case len(n.items) > 0 && !isKey:
		n.items = append(n.items, text)
	default:
		return false
	}
	return true
}

// flush writes the list that is below the path, if there is one.
func (n *nester) flush() {
	if len(n.items) > 0 {
		list := writer{}
		list.list("", n.items)
		n.value(n.names(), list.lines)
	}
	n.items = nil
}

// value writes the last of the lines, which has a value, as an entry, and those before it as they are.
func (n *nester) value(path, lines []string) {
	last := len(lines) - 1
	n.lines = append(n.lines, lines[:last]...)
	n.known = n.below(path, strings.TrimPrefix(lines[last], ": ")) && n.known
}

func (n *nester) names() (names []string) {
	for _, at := range n.path {
		names = append(names, at.name)
	}
	return names
}

// key takes a line with a key, at its indentation.
func (n *nester) key(text string, indent int) {
	for len(n.path) > 0 && n.path[len(n.path)-1].indent >= indent {
		n.path = n.path[:len(n.path)-1]
	}
	name, value, found := strings.Cut(text, ":")
	name, value = strings.Trim(name, "\"'*_` \t"), strings.TrimSpace(value)
	switch {
	case !found || len(n.path) > maxForeignDepth:
		n.known = false
	case value == "" || value == "{" || value == "[":
		if section := strings.ToLower(name); len(n.path) == 0 && isSection(section) {
			n.heading(section)
		}
		n.path = append(n.path, level{indent, name})
	default:
		one := writer{}
		one.entry("", strings.TrimSuffix(value, ","))
		n.value(append(n.names(), name), one.lines)
	}
}

// table writes lines of INI and TOML.
func (w *writer) table(s *scanner, lines []line) {
	prefix, open, items := "", "", []string(nil)
	for _, at := range lines {
		text := s.rest(at)
		heading, entry := tableHeading.FindStringSubmatch(text), tableLine.FindStringSubmatch(text)
		switch {
		case open != "":
			items = append(items, text)
			if strings.HasSuffix(strings.TrimSuffix(text, ","), "]") {
				w.list(open, items)
				open, items = "", nil
			}
		case heading != nil:
			w.heading(strings.ToLower(strings.TrimSpace(heading[1])))
			prefix = strings.TrimPrefix(heading[2]+".", ".")
		case entry != nil:
			key := prefix + strings.Trim(entry[1], `"`)
			if opensList(text) {
				open, items = key, []string{entry[2]}
				continue
			}
			w.entry(key, entry[2])
		case strings.HasPrefix(text, ";"):
			w.note(text)
		default:
			w.line(strings.TrimRight(s.text[at.start:at.full], " \t"))
		}
	}
}

// quotedLines returns the beginning of what a policy has instead, for a hint.
func quotedLines(text string) string {
	const mostLines, mostLetters = 4, 200
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	joined := "`" + strings.Join(lines[:min(len(lines), mostLines)], "`, `") + "`"
	if runes := []rune(joined); len(runes) > mostLetters {
		return string(runes[:mostLetters]) + "…`"
	}
	if len(lines) > mostLines {
		joined += ", …"
	}
	return joined
}
