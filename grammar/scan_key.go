package grammar

import "strings"

// denyIf is the one key whose entry needs no colon.
const denyIf = "deny_if"

// allowOnly is the one key that takes a scope.
const allowOnly = "allow_only"

// keyScan is what is known of a key while it is cut.
type keyScan struct {
	start   int // where the line's text starts
	at, end int // what is left of the line
	first   string
	names   int // names and words so far
}

// takesJSON reports whether the key, cut up to its colon, is the one whose value is a JSON string.
func (s *scanner) takesJSON(k *keyScan) bool { return s.text[k.start:k.at] == jsonKey }

// jsonKey is the one key whose value is a JSON string, with the escapes that no other value has.
const jsonKey = "response.deny_string"

// scanEntry cuts an entry at the start of a line. It reports whether it could.
func (s *scanner) scanEntry(l line) bool {
	if numberEnd := s.numberEnd(l.at, l.end); numberEnd > 0 || isQuote(s.text[l.at]) {
		return s.refuseBlockKey(l, numberEnd)
	}
	k := keyScan{start: l.at, at: l.at, end: l.end}
	if !s.scanNames(&k) || !s.scanScope(&k) {
		return false
	}
	if k.first == denyIf {
		return s.scanDenyIf(&k)
	}
	if !s.scanWords(&k) {
		return false
	}
	scan := s.scanValue
	if s.takesJSON(&k) {
		scan = s.scanJSON
	}
	return s.scanColon(&k) && scan(k.at, k.end)
}

// scanNames cuts names with dots between. All of them are one token.
func (s *scanner) scanNames(k *keyScan) bool {
	for start := k.at; ; k.at++ {
		from := k.at
		for k.names > 0 && s.byteAt(from, k.end) == '-' { // only a key's first name can't be taken for a list's dash
			from++
		}
		nameEnd := s.nameEnd(from, k.end)
		if nameEnd == k.at {
			return s.refuseKey(k)
		}
		if k.names == 0 {
			k.first = s.text[k.at:nameEnd]
		}
		if k.names++; k.names > MaxSegments {
			return s.refuse(At(CodeTooManySegs, Span{k.at, nameEnd}, "a key has at most %d names", MaxSegments))
		}
		k.at = nameEnd
		if s.byteAt(k.at, k.end) != '.' {
			s.emit(tokenName, start, k.at)
			return true
		}
	}
}

// scanScope cuts `[action=pattern]` and the names after it, if there is a scope.
func (s *scanner) scanScope(k *keyScan) bool {
	if s.byteAt(k.at, k.end) != '[' {
		return true
	}
	rest := s.text[k.at:k.end]
	length := strings.IndexByte(rest, ']') + 1
	pattern, ok := strings.CutPrefix(rest[:length], scopeOpen)
	if !ok || len(pattern) == 1 || strings.ContainsAny(pattern, "[ \t\"'") {
		return s.refuseScope(Span{k.at, k.at + max(length, 1)})
	}
	s.emit(tokenScope, k.at, k.at+length)
	k.at += length
	if s.byteAt(k.at, k.end) != '.' {
		return true
	}
	k.at++
	return s.scanNames(k)
}

// scopeOpen is what every scope begins with.
const scopeOpen = "[action="

// scanWords cuts the modifiers between a key's name and its colon.
func (s *scanner) scanWords(k *keyScan) bool {
	for {
		at := s.skip(k.at, k.end)
		if at == k.at || at == k.end {
			return true
		}
		if s.text[at] == ':' {
			return s.refuseSpace(k.at, at, true)
		}
		k.at = at
		if !s.scanWord(k) {
			return false
		}
	}
}

func (s *scanner) scanWord(k *keyScan) bool {
	wordEnd := s.nameEnd(k.at, k.end)
	if wordEnd == k.at {
		return s.refuseKey(k)
	}
	if k.names++; k.names > MaxSegments {
		return s.refuse(At(CodeTooManySegs, Span{k.at, wordEnd}, "a key has at most %d names and words", MaxSegments))
	}
	s.emit(tokenWord, k.at, wordEnd)
	k.at = wordEnd
	return true
}

// scanColon cuts the colon that ends a key.
func (s *scanner) scanColon(k *keyScan) bool {
	if s.byteAt(k.at, k.end) != ':' {
		return s.refuseKey(k)
	}
	s.emit(tokenColon, k.at, k.at+1)
	k.at++
	return true
}

// scanDenyIf cuts what follows the path of a deny_if. Its three forms give the same tokens:
//
//	deny_if.path operator value
//	deny_if.path operator: value
//	deny_if.path: operator value
//
// A colon straight after the path or, if there is none, straight after the operator is the key's. All others
// belong to the value. A value that begins with a colon, after a space, must be quoted.
func (s *scanner) scanDenyIf(k *keyScan) bool {
	afterPath := s.byteAt(k.at, k.end) == ':'
	if afterPath {
		k.at++
	} else if !s.startsWord(k, true) {
		return false
	}
	k.at = s.skip(k.at, k.end)
	if k.names < 2 || s.nameEnd(k.at, k.end) == k.at {
		return s.refuseDenyIf(k)
	}
	if !s.scanWord(k) {
		return false
	}
	s.emit(tokenColon, k.at, k.at)
	if s.byteAt(k.at, k.end) == ':' && !afterPath {
		k.at++
	} else if !s.startsWord(k, false) {
		return false
	}
	if s.skip(k.at, k.end) == k.end {
		return s.refuseDenyIf(k)
	}
	return s.scanValue(k.at, k.end)
}

// startsWord reports whether white space and then something other than a colon follows. After the path a
// colon can only be the key's; after the operator it might be the value's, so that nothing can be proposed.
func (s *scanner) startsWord(k *keyScan, afterPath bool) bool {
	at := s.skip(k.at, k.end)
	switch {
	case at == k.at:
		return s.refuseDenyIf(k)
	case s.byteAt(at, k.end) == ':':
		return s.refuseSpace(k.at, at, afterPath)
	}
	return true
}

// scanBlockLine cuts an indented line: a number, quoted or not, a colon, and the values.
func (s *scanner) scanBlockLine(l line) bool {
	numberEnd := s.numberEnd(l.at, l.end)
	if numberEnd == 0 {
		return s.refuseIndented(l)
	}
	s.emit(tokenIndent, l.start, l.at)
	s.emit(tokenName, l.at, numberEnd)
	if at := s.skip(numberEnd, l.end); at > numberEnd && s.byteAt(at, l.end) == ':' {
		return s.refuseSpace(numberEnd, at, true)
	}
	if s.byteAt(numberEnd, l.end) != ':' {
		return s.refuse(At(CodeBadBlockLine, Span{l.at, l.end}, "a colon must follow the number").
			WithHint(`write it as "8453": a, b`))
	}
	s.emit(tokenColon, numberEnd, numberEnd+1)
	if s.skip(numberEnd+1, l.end) == l.end {
		s.refuse(At(CodeNoValue, Span{l.at, l.end}, "this line has no value"))
		return true // the line still belongs to its block
	}
	return s.scanValue(numberEnd+1, l.end)
}

// numberEnd returns where the number, quoted or not, that starts at an offset and is no part of a longer
// name ends; 0 if there is none.
func (s *scanner) numberEnd(at, end int) int {
	quote := s.byteAt(at, end)
	if isQuote(quote) {
		at++
	}
	start := at
	for at < end && s.text[at] >= '0' && s.text[at] <= '9' {
		at++
	}
	switch {
	case at == start:
		return 0
	case isQuote(quote):
		if s.byteAt(at, end) != quote {
			return 0
		}
		return at + 1
	case s.nameEnd(start, end) > at || s.byteAt(at, end) == '.':
		return 0
	}
	return at
}
