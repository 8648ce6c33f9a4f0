package grammar

import (
	"regexp"
	"strings"
)

// The lines of a block of HCL: its opening, with the labels after its name, and its attributes.
var (
	blockOpen = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)((?:[ \t]+(?:"[^"]*"|[A-Za-z][A-Za-z0-9_-]*))*)[ \t]*\{$`)
	attribute = regexp.MustCompile(`^"?([A-Za-z][A-Za-z0-9_.-]*)"?[ \t]*=[ \t]*(.+)$`)
)

// blocks takes a block of HCL, `tool_calls {`, to its closing brace, and the blocks that follow it.
func (s *scanner) blocks(l line) (lines []line, d Diagnostic, meant string, known bool) {
	if l.at > l.start || !blockOpen.MatchString(s.rest(l)) {
		return nil, d, "", false
	}
	depth := 1
	lines = s.while(l, func(next line) bool {
		text := s.rest(next)
		if depth == 0 && !blockOpen.MatchString(text) {
			return false
		}
		depth += strings.Count(text, "{") - strings.Count(text, "}")
		return true
	})
	w := writer{}
	known = w.blocks(s, lines) && depth == 0
	d = At(CodeForeignForm, Span{l.at, l.end}, "a section is a heading, and has no braces around its entries")
	if !known {
		return lines, d.WithHint("write a heading such as `## tool_calls`, and below it lines such as `allowed: bash`"), "", false
	}
	meant = w.String()
	return lines, d.WithHint("write %s", quotedLines(meant)), meant, true
}

// blocks writes the attributes in blocks of HCL as entries. It reports whether a policy can say all of it.
func (w *writer) blocks(s *scanner, lines []line) (known bool) {
	var path, items []string
	key := ""
	for _, at := range lines {
		text := s.rest(at)
		opens, entry := blockOpen.FindStringSubmatch(text), attribute.FindStringSubmatch(text)
		switch {
		case text == "":
		case key != "":
			items = append(items, text)
			if strings.HasSuffix(text, "]") {
				w.attribute(path, key, items)
				key, items = "", nil
			}
		case s.isComment(at) || strings.HasPrefix(text, "//"):
			w.note(text)
		case opens != nil && opens[2] == "" && len(path) < maxForeignDepth:
			path = append(path, opens[1])
		case text == "}" && len(path) > 0:
			path = path[:len(path)-1]
		case entry == nil || len(path) == 0 || strings.HasPrefix(entry[2], "{"):
			return false
		case opensList(text):
			key, items = entry[1], []string{entry[2]}
		default:
			w.attribute(path, entry[1], []string{entry[2]})
		}
	}
	return key == "" && len(path) == 0
}

// attribute writes a value, or the lines of a list, below a path. Its names have no white space, so that a policy can say it.
func (w *writer) attribute(path []string, key string, values []string) {
	one := writer{}
	if strings.HasPrefix(values[0], "[") {
		one.list("", values)
	} else {
		one.entry("", values[0])
	}
	last := len(one.lines) - 1
	w.lines = append(w.lines, one.lines[:last]...)
	w.below(append(path[:len(path):len(path)], key), strings.TrimPrefix(one.lines[last], ": "))
}

// The opening of an element of XML, and what begins a text in it.
var (
	element = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9_.:-]*)(?:[ \t][^<>]*)?>`)
	xmlHead = regexp.MustCompile(`^<(?:\?xml\b|!DOCTYPE\b|!--)`)
)

// xmlText takes elements of XML. What they mean is for their author to say: there is no fix.
func (s *scanner) xmlText(l line) (lines []line, d Diagnostic, meant string, known bool) {
	first := element.FindStringSubmatch(s.rest(l))
	isXML := xmlHead.MatchString(s.rest(l)) || first != nil && strings.Contains(s.text[l.at:], "</"+first[1]+">")
	if !isXML {
		return nil, d, "", false
	}
	lines = s.while(l, func(next line) bool { return !s.beginsEntry(next) })
	d = At(CodeForeignForm, Span{l.at, l.end}, "this is XML, and a policy is lines of text")
	return lines, d.WithHint("write `version: 2.0.0`, then headings such as `## tool_calls` with lines such as `allowed: bash` below"), "", false
}

// continued takes an entry whose value goes on below a backslash at the end of its line, as in a shell.
func (s *scanner) continued(l line) (lines []line, d Diagnostic, meant string, known bool) {
	key, value, found := strings.Cut(s.rest(l), ":")
	if l.at > l.start || !found || !keyName.MatchString(key) || !strings.HasSuffix(value, `\`) {
		return nil, d, "", false
	}
	open, parts := true, []string{strings.Trim(value, " \t\\")}
	lines = s.while(l, func(next line) bool {
		if !open || s.beginsEntry(next) {
			return false
		}
		open = strings.HasSuffix(s.rest(next), `\`)
		parts = append(parts, strings.Trim(s.rest(next), " \t\\"))
		return true
	})
	if len(lines) == 1 {
		return nil, d, "", false
	}
	divided := true
	for _, part := range parts[:len(parts)-1] {
		divided = divided && strings.HasSuffix(part, ",")
	}
	meant = key + ": " + strings.Join(parts, " ")
	d = At(CodeForeignForm, Span{l.at, l.end}, "a value ends with its line: a backslash does not continue it")
	if !divided { // one item of several words, or several items without commas
		return lines, d.WithHint("write all of it on the line of its key, with commas between the items: `%s`", beginning(key+": "+strings.Join(parts, ", "))), "", false
	}
	return lines, d.WithHint("write %s", quotedLines(meant)), meant, true
}

// comparison is an entry with a sign of comparison in the place of its colon.
var comparison = regexp.MustCompile(`^([a-z][A-Za-z0-9_.]*)[ \t]*(<=|>=|=<|=>|<|>)[ \t]*([^\s=<>!].*)$`)

// compared takes an entry with a sign of comparison in the place of its colon. Most keys are limits, which `<=` says, too; what
// any other sign was to say is for the author to tell.
func (s *scanner) compared(l line) (lines []line, d Diagnostic, meant string, known bool) {
	match := comparison.FindStringSubmatch(s.rest(l))
	if match == nil || l.at > l.start || strings.HasPrefix(match[1], denyIf) || strings.HasPrefix(match[1], allowOnly) {
		return nil, d, "", false
	}
	meant = match[1] + ": " + match[3]
	d = At(CodeForeignForm, Span{l.at, l.end}, "a colon separates a key and its value, not `%s`", match[2])
	if match[2] != "<=" && match[2] != "=<" && match[2] != "=>" {
		return []line{l}, d.WithHint("how a key compares is in its name: write `%s`, if that is meant", beginning(meant)), "", false
	}
	return []line{l}, d.WithHint("write `%s`", beginning(meant)), meant, true
}

// membership is a custom rule that tests whether a value is in a list.
var membership = regexp.MustCompile(`^((?:deny_if|allow_only)\S*\.[^\s:]+)[ \t]+(in|one_of|any_of)[ \t]+(\[.*\]|\{.*\}|\(.*\)|[^\s=\[({].*)$`)

// members takes such a rule. A deny_if has one value, so each item gets a line; an allow_only has a list.
func (s *scanner) members(l line) (lines []line, d Diagnostic, meant string, known bool) {
	match := membership.FindStringSubmatch(s.rest(l))
	if match == nil || l.at > l.start {
		return nil, d, "", false
	}
	denies, list := strings.HasPrefix(match[1], denyIf), match[3][0] == '[' || match[3][0] == '{' || match[3][0] == '('
	if denies && !list { // the compiler knows the operators
		return nil, d, "", false
	}
	value := match[3]
	if list {
		value = value[1 : len(value)-1]
	}
	w := writer{}
	if denies {
		for _, item := range splitItems(value) {
			if item = strings.TrimSpace(item); item != "" {
				w.line(match[1] + " equals " + item)
			}
		}
	} else {
		w.list(match[1], []string{value})
	}
	meant = w.String()
	if meant == "" || strings.HasSuffix(meant, ": ") {
		return nil, d, "", false
	}
	d = At(CodeForeignForm, Span{l.at, l.end}, "an allow_only has a colon after its path, and `%s` is not an operator", match[2])
	if denies {
		d.Message = "a deny_if has one value, and `" + match[2] + "` is not an operator"
	}
	return []line{l}, d.WithHint("write %s", quotedLines(meant)), meant, true
}
