package grammar

import "strings"

// scanValue cuts a value into items, at its commas. No items at all are no error here: the key may have a block.
//
// An item that begins with a quote, single or double, reaches to the next such quote, takes all between as
// it is, and is followed by a comma or the end of the line. A quote anywhere else is an ordinary character
// (it's), and so is a quote of the other kind inside. There are no escapes.
func (s *scanner) scanValue(at, end int) bool {
	if at = s.skip(at, end); at == end {
		return true
	}
	for count := 1; ; count++ {
		at = s.skip(at, end)
		if count > MaxItems {
			return s.refuse(At(CodeTooManyItems, Span{at, end}, "a list has at most %d items", MaxItems).
				WithHint("divide it, or use a pattern"))
		}
		next, ok := s.scanItem(at, end)
		if !ok || next == end {
			return ok
		}
		at = next + 1
	}
}

// scanItem cuts one item and returns the offset of the comma after it, or end.
func (s *scanner) scanItem(at, end int) (next int, ok bool) {
	if at < end && isQuote(s.text[at]) {
		return s.scanQuoted(at, end)
	}
	next = end
	if i := strings.IndexByte(s.text[at:end], ','); i >= 0 {
		next = at + i
	}
	itemEnd := at + len(strings.TrimRight(s.text[at:next], " \t"))
	if s.refuseInline(at, itemEnd, end) || s.refuseCommentIn(at, itemEnd) {
		return 0, false
	}
	s.emit(tokenItem, at, itemEnd)
	return next, true
}

// scanJSON cuts a value that is a JSON string: it ends at the first quote that no backslash escapes. Whether the
// escapes are right is checked when Value.Raw is decoded. A value of any other form is cut as ever.
func (s *scanner) scanJSON(at, end int) bool {
	if at = s.skip(at, end); s.byteAt(at, end) != '"' {
		return s.scanValue(at, end)
	}
	for i := at + 1; i < end; i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			if i+1 < end {
				return s.refuse(At(CodeAfterQuote, Span{i + 1, end}, "the end of the line must follow a JSON string").
					WithHint(`escape a quote that is part of the text, as in "say \"no\""`))
			}
			s.emit(tokenQuoted, at, end)
			return true
		}
	}
	return s.refuse(At(CodeOpenQuote, Span{at, end}, "this JSON string is not closed on its line").
		WithHint(`close it; a quote that is part of the text is written \"`))
}

func (s *scanner) scanQuoted(at, end int) (next int, ok bool) {
	length := strings.IndexByte(s.text[at+1:end], s.text[at])
	if length < 0 {
		return 0, s.refuse(At(CodeOpenQuote, Span{at, end}, "this quote is not closed on its line").
			WithHint("close it; if the quote is part of the text, put the whole value between quotes of the other kind"))
	}
	itemEnd := at + 1 + length + 1
	next = s.skip(itemEnd, end)
	switch {
	case next == end || s.text[next] == ',':
		s.emit(tokenQuoted, at, itemEnd)
		return next, true
	case s.text[next] == '#' && next > itemEnd:
		return 0, s.refuse(s.inlineComment(next, next, end))
	}
	return 0, s.refuse(At(CodeAfterQuote, Span{next, end}, "a comma or the end of the line must follow a closing quote").
		WithHint("if the quotes are part of the text, put the whole value between quotes of the other kind"))
}

// refuseInline reports a `#` at the start of an unquoted item or after white space in it.
func (s *scanner) refuseInline(at, itemEnd, end int) bool {
	for i := at; i < itemEnd; i++ {
		if s.text[i] == '#' && (i == at || s.text[i-1] == ' ' || s.text[i-1] == '\t') {
			s.found.add(s.inlineComment(i, at, end))
			return true
		}
	}
	return false
}

// inlineComment reports the `#` at an offset, in or after the item that starts at another. What looks like a
// comment is moved above its line, what looks like a word is quoted.
func (s *scanner) inlineComment(sign, item, end int) Diagnostic {
	d := At(CodeInlineComment, Span{sign, end}, "a comment must be on its own line").
		WithHint("move it above this line, or quote the value if the `#` belongs to it")
	if s.byteAt(sign+1, end) == ' ' || sign > item {
		start := strings.LastIndexByte(s.text[:sign], '\n') + 1
		moved := s.text[sign:end] + "\n" + strings.TrimRight(s.text[start:sign], " \t")
		if note := strings.TrimSpace(s.text[sign:end]); note != "#" {
			d = d.WithHint("move it above this line: `%s`; or quote the value if the `#` belongs to it", beginning(note))
		}
		return d.WithFix(Span{start, end}, moved)
	}
	itemEnd := end
	if i := strings.IndexByte(s.text[item:end], ','); i >= 0 {
		itemEnd = item + i
	}
	if text := strings.TrimRight(s.text[item:itemEnd], " \t"); !strings.Contains(text, `"`) {
		return d.WithFix(Span{item, item + len(text)}, `"`+text+`"`)
	}
	return d
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }
