package grammar

import "strings"

// refuse reports an error and returns false, for callers that give up on the line with it.
func (s *scanner) refuse(d Diagnostic) bool {
	s.found.add(d)
	return false
}

// refuseKey reports what is where a name, a word or the colon of a key was expected.
func (s *scanner) refuseKey(k *keyScan) bool {
	lineStart := strings.LastIndexByte(s.text[:k.at], '\n') + 1
	if k.first == "" || !strings.Contains(s.text[k.at:k.end], ":") {
		span := Span{lineStart, k.end}
		if near := Closest(k.first, []string{denyIf}); near != "" && k.names > 1 {
			return s.refuse(At(CodeNotAnEntry, span, "this line has no colon").WithHint("did you mean `%s`?", near).
				WithFix(Span{lineStart, lineStart + len(k.first)}, near))
		}
		return s.refuseLine(span)
	}
	if s.text[k.at] == '[' && strings.TrimRight(s.text[lineStart:k.at], " \t") == allowOnly {
		at := Span{lineStart + len(allowOnly), k.at}
		return s.refuse(At(CodeBadKey, at, "a scope follows its key at once").WithHint("remove the space").WithFix(at, ""))
	}
	if s.text[k.at-1] == ']' {
		at := Span{k.at, k.at}
		return s.refuse(At(CodeBadKey, Span{k.at, k.at + 1}, "a dot must follow a scope").
			WithHint("write it as `allow_only[action=bash].metadata.team`").WithFix(at, "."))
	}
	if space := lineStart + len(allowOnly); k.first == allowOnly && s.text[space] == ' ' && s.text[k.at] == '.' {
		at := Span{space, s.skip(space, k.end)}
		return s.refuse(At(CodeBadKey, at, "the path follows its key at once, after a dot").WithHint("write it as `allow_only.metadata.team`").WithFix(at, "."))
	}
	length := len(firstCharacter(s.text[k.at:k.end]))
	span := Span{k.at, k.at + length}
	if before := s.text[max(k.at-1, lineStart)]; s.text[k.at] == '.' && k.names > 1 && before != '.' && before != ' ' && before != '\t' {
		return s.refuse(At(CodeBadKey, span, "a name cannot contain white space").WithHint("join its words by `_` or `-`"))
	}
	if s.text[k.at] == '.' || s.text[k.at] == ':' {
		return s.refuse(At(CodeBadKey, span, "a name is missing here"))
	}
	return s.refuse(At(CodeBadKey, span, "a key cannot contain %s", shown(s.text[span.Start:span.End])).
		WithHint("a key has names of letters, digits and _ - @ $ / +, with single dots between, then perhaps words, then a colon"))
}

func firstCharacter(text string) string {
	for i := range text {
		if i > 0 {
			return text[:i]
		}
	}
	return text
}

// refuseScope reports what a bracket opens that is no scope. Where the pattern can be told, or only the word before it
// is misspelt, it proposes how to write it.
func (s *scanner) refuseScope(span Span) bool {
	d := At(CodeBadScope, span, "a scope is written `[action=pattern]`")
	inner, closed := strings.CutSuffix(s.text[span.Start+1:span.End], "]")
	name, pattern, hasName := strings.Cut(inner, "=")
	if !hasName {
		name, pattern = "action", inner
	}
	switch meant := name == "action" || Closest(name, []string{"action"}) != ""; {
	case !closed || pattern == "" || strings.ContainsAny(inner, "[ \t\"'"):
		return s.refuse(d.WithHint("close the bracket, and leave no spaces or quotes in it"))
	case !meant || strings.Contains(pattern, "="):
		return s.refuse(d.WithHint("a rule can be for some actions only, and for nothing else"))
	}
	return s.refuse(d.WithHint("did you mean `%s%s]`?", scopeOpen, pattern).WithFix(span, scopeOpen+pattern+"]"))
}

// refuseSpace reports the white space before a colon, and proposes to remove it if the colon is surely the
// key's.
func (s *scanner) refuseSpace(start, colon int, surely bool) bool {
	d := At(CodeSpaceColon, Span{start, colon + 1}, "a key must not have a space before its colon").
		WithHint("remove the space; a value that begins with a colon must be quoted")
	if next := s.byteAt(colon+1, len(s.text)); surely && isSign(next) {
		sign := Span{start, colon + 2}
		return s.refuse(At(CodeSpaceColon, sign, "a key and its value have a colon between them, and %s is none", shown(strings.TrimSpace(s.text[start:sign.End]))).
			WithHint("write `: ` there, and quotes around a value that begins with `%c`", next))
	}
	if surely {
		d = d.WithFix(Span{start, colon}, "")
	}
	return s.refuse(d)
}

// refuseDenyIf reports a deny_if that lacks a part.
func (s *scanner) refuseDenyIf(k *keyScan) bool {
	lineStart := strings.LastIndexByte(s.text[:k.at], '\n') + 1
	d := At(CodeBadDenyIf, Span{lineStart, k.end}, "a deny_if needs a path, an operator and a value")
	line := s.text[lineStart:k.end]
	path, value, hasValue := strings.Cut(strings.TrimSpace(line), ":")
	value = strings.TrimSpace(value)
	if hasValue && value != "" && value != "equals" && strings.HasPrefix(path, denyIf+".") && !strings.ContainsAny(path+value, " \t") {
		return s.refuse(d.WithHint("write it as `%s equals %s`, or with another operator", path, beginning(value)))
	}
	return s.refuse(d.WithHint("write it as `deny_if.metadata.env equals production`"))
}

// refuseBlockKey reports a line that starts with a number or a quote at the start of its line.
func (s *scanner) refuseBlockKey(l line, numberEnd int) bool {
	span := Span{l.at, l.end}
	switch rest := s.text[l.at:l.end]; {
	case !strings.Contains(rest, ":"):
		return s.refuseLine(span)
	case numberEnd > 0:
		return s.refuse(At(CodeStrayBlockLine, span, "a numeric line belongs, indented, into a block").
			WithHint("indent it below a key that is alone on its line").WithFix(Span{l.at, l.at}, "  "))
	}
	return s.refuse(At(CodeBadKey, span, "keys are not quoted").WithHint("remove the quotes"))
}

// isSign reports whether a byte at once behind a colon makes one sign of both, such as `:=`: the value was not meant to begin
// with it.
func isSign(b byte) bool { return b == '=' || b == '>' || b == ':' }

// refuseLine reports a line that is nothing a policy has.
func (s *scanner) refuseLine(span Span) bool {
	line := s.text[span.Start:span.End]
	if s.prose { // one finding says it of all lines that follow one another
		return false
	}
	s.prose = true
	if strings.HasPrefix(line, "- ") {
		return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
			WithHint("a list is on the line of its key, with commas between its items: `allowed: bash, http`"))
	}
	if strings.HasPrefix(line, `\#`) {
		return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
			WithHint("a comment begins with `#`, without a backslash before it"))
	}
	if strings.HasPrefix(line, denyIf) || strings.HasPrefix(line, allowOnly) {
		return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
			WithHint("write `deny_if.<path> <operator> <value>` or `allow_only.<path>: <values>`, with single dots between the names of the path"))
	}
	if before := s.lineBefore(span.Start); !strings.HasPrefix(before, "#") && (strings.HasSuffix(before, `\`) || strings.HasSuffix(before, ",")) {
		return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
			WithHint("a value ends with its line: write the whole list on the line of its key, with commas between"))
	}
	if first, _, _ := strings.Cut(line, " "); strings.ContainsAny(line, "=<{}") || strings.HasPrefix(line, "**") || strings.Contains(first, "_") || strings.Contains(strings.TrimRight(first, "."), ".") {
		return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
			WithHint("an entry is `key: value`, a heading is `## name`, a comment begins with `#`"))
	}
	return s.refuse(At(CodeNotAnEntry, span, "this line is not an entry, a comment or a heading").
		WithHint("if it is a comment, begin it with `#`: `# %s`; a rule is one line, `key: value`; a heading is `## name`", beginning(line)))
}

// lineBefore returns the line before the one at an offset, without the white space around it.
func (s *scanner) lineBefore(at int) string {
	before := s.text[:strings.LastIndexByte(s.text[:at], '\n')+1]
	before = strings.TrimSuffix(before, "\n")
	return strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
}

// beginning returns a line for a message, at most a screen wide.
func beginning(line string) string {
	const most = 100
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// refuseIndented reports an indented line that is no line of a block.
func (s *scanner) refuseIndented(l line) bool {
	rest := s.text[l.at:l.end]
	if isQuote(rest[0]) {
		return s.refuse(At(CodeBadBlockLine, Span{l.at, l.end}, "a line of a block has a number before its colon").
			WithHint(`write it as "8453": a, b`))
	}
	return s.refuseLine(Span{l.at, l.end})
}
