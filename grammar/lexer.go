package grammar

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The kinds of tokens. Each line of a policy becomes one of
//
//	Heading Name EOL
//	Name [Scope [Name]] Word* Colon Item* EOL
//	Indent Name Colon Item* EOL
//
// where Item means Quoted, too, and a key's Name is all of its names, with the dots between. Blank lines and
// comments become none, and neither does a line that was refused: its error is in scanner.found, and the productions go
// on with the next line. So one pass finds every error, and the productions need a single token to tell what comes.
const (
	tokenHeading lexer.TokenType = lexer.EOF - 1 - iota
	tokenName
	tokenScope
	tokenWord
	tokenColon
	tokenIndent
	tokenItem
	tokenQuoted
	tokenEOL
)

var symbols = map[string]lexer.TokenType{
	"EOF": lexer.EOF, "Heading": tokenHeading, "Name": tokenName, "Scope": tokenScope,
	"Word": tokenWord, "Colon": tokenColon, "Indent": tokenIndent, "Item": tokenItem, "Quoted": tokenQuoted,
	"EOL": tokenEOL,
}

// scanner cuts a text into tokens, in one pass and in linear time. It cuts a line when the tokens of the one before have
// been taken.
type scanner struct {
	text     string
	next     int           // where the next line starts
	tokens   []lexer.Token // of the line that was cut last
	taken    int           // how many of them were handed on
	comments []Comment
	found    collector
	unclosed bool // there is no "-->" any more

	significant bool // a line was cut that is neither blank nor a comment
	prose       bool // the last one of these was refused as nothing that a policy has

	versionRefused bool // a line was refused that begins like the version's
}

// line is one line without its line end, and without white space after it.
type line struct {
	start int // where it starts
	at    int // its first character that is no white space
	end   int
	full  int // its end, with white space
}

// cut takes the next line.
func (s *scanner) cut() line {
	l := line{start: s.next, full: len(s.text)}
	s.next = len(s.text)
	if i := strings.IndexByte(s.text[l.start:], '\n'); i >= 0 {
		l.full, s.next = l.start+i, l.start+i+1
		l.full = l.start + len(strings.TrimSuffix(s.text[l.start:l.full], "\r"))
	}
	l.end = l.start + len(strings.TrimRight(s.text[l.start:l.full], " \t"))
	l.at = s.skip(l.start, l.end)
	return l
}

func (s *scanner) scanLine(l line) {
	rest := s.text[l.at:l.end]
	switch {
	case rest == "":
		return
	case strings.HasPrefix(rest, commentOpen):
		s.scanComment(l.at)
	case strings.HasPrefix(rest, "##"):
		s.scanHeading(l)
	case rest[0] == '#':
		s.comments = append(s.comments, Comment{Span{l.at, l.end}, rest})
		s.refuseCommentIn(l.at, l.end)
		return
	case s.scanForeign(l):
		s.prose = false
	default:
		s.scanRule(l)
	}
	s.significant = true
}

// scanRule cuts an entry or a block line, and takes its tokens back if it is refused.
func (s *scanner) scanRule(l line) {
	mark, before := len(s.tokens), s.found
	scan := s.scanEntry
	if l.at > l.start {
		scan = s.scanBlockLine
	}
	if !scan(l) {
		s.tokens = s.tokens[:mark]
		if d, is := s.refusedFlow(l); is {
			s.found = before
			s.found.add(d)
		}
		s.versionRefused = s.versionRefused || strings.HasPrefix(strings.ToLower(strings.TrimLeft(s.text[l.at:l.end], "*_`-\"' ")), versionKey)
		return
	}
	s.prose = false
	s.emit(tokenEOL, l.end, l.end)
}

// scanHeading cuts a heading. One that is misspelt but can be recognised still opens its section, so that
// the text below it is read as what it was meant to be; of any other the name is left empty.
func (s *scanner) scanHeading(l line) {
	s.prose = false
	name := strings.Trim(s.text[l.at:l.end], "# \t:")
	at := l.at + strings.Index(s.text[l.at:l.end], name)
	known := isSection(strings.ToLower(name))
	switch {
	case resemblesHeading([]byte(s.text[l.start:l.full])): // framing has reported it
		name = ""
	case name != "" && s.text[l.start:l.full] == "## "+name && !strings.ContainsAny(name, " \t"):
		known = true // or is reported with the section
	case l.at > l.start:
		s.found.add(At(CodeIndentedHead, Span{l.start, l.end}, "a heading begins at the start of its line").
			WithHint("remove the white space before it").WithFix(Span{l.start, l.at}, ""))
	default:
		s.refuseHeading(l, name, known)
	}
	if !known {
		name = ""
	}
	s.emit(tokenHeading, l.at, l.at+2)
	s.tokens = append(s.tokens, token(tokenName, at, name))
	s.emit(tokenEOL, l.end, l.end)
}

func (s *scanner) refuseHeading(l line, name string, known bool) {
	d := At(CodeBadHeading, Span{l.start, l.full}, "a line that starts with `##` must be a heading, `## name`")
	if known {
		d = d.WithHint("write `## %s`, with nothing before or after it", name).WithFix(Span{l.start, l.full}, "## "+name)
	} else {
		d = d.WithHint("a comment starts with a single `#`; the sections are %s", strings.Join(sectionNames, ", "))
	}
	s.found.add(d)
}

// skip returns the offset of the first character from at on that is neither space nor tab.
func (s *scanner) skip(at, end int) int {
	for at < end && (s.text[at] == ' ' || s.text[at] == '\t') {
		at++
	}
	return at
}

// byteAt returns the byte at an offset of a line, or 0 at its end.
func (s *scanner) byteAt(at, end int) byte {
	if at >= end {
		return 0
	}
	return s.text[at]
}

// nameEnd returns where the name or word that starts at an offset ends; the same offset if none does.
func (s *scanner) nameEnd(at, end int) int {
	for start := at; at < end; {
		r, size := utf8.DecodeRuneInString(s.text[at:end])
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_$@", r) ||
			at > start && (strings.ContainsRune("-/+", r) || unicode.IsMark(r))
		if !inside {
			break
		}
		at += size
	}
	return at
}

func (s *scanner) emit(kind lexer.TokenType, start, end int) {
	s.tokens = append(s.tokens, token(kind, start, s.text[start:end]))
}

func token(kind lexer.TokenType, offset int, value string) lexer.Token {
	return lexer.Token{Type: kind, Value: value, Pos: lexer.Position{Offset: offset}}
}

// Next implements lexer.Lexer.
func (s *scanner) Next() (lexer.Token, error) {
	for s.taken == len(s.tokens) {
		if s.next >= len(s.text) {
			return lexer.EOFToken(lexer.Position{Offset: len(s.text)}), nil
		}
		s.tokens, s.taken = s.tokens[:0], 0
		s.scanLine(s.cut())
	}
	s.taken++
	return s.tokens[s.taken-1], nil
}
