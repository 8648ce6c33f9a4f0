package command

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxText is the longest command that is read, in bytes.
	MaxText = 8 << 10

	// MaxDepth is how deep compound commands, substitutions, expansions and arithmetic may nest. People write
	// three or four levels.
	MaxDepth = 32

	// MaxBrackets is how many opening brackets and back quotes a command may hold in all, quoted ones included.
	// Programs in here-documents have one in every ten bytes or so; 8 KiB of nothing else took the parser 55 ms,
	// and this many take it 4 ms.
	MaxBrackets = 2 << 10
)

// Why a command can't be judged, worded to stand after a colon or a "because". Where commands are blocked, each of
// them means that it is denied.
var (
	ErrTooLong = errors.New("the command is longer than 8 KiB; put it into a script, or split it")
	ErrTooDeep = errors.New("the command nests deeper than 32 levels, or holds more than 2048 brackets; put it into a script")
	ErrNUL     = errors.New("the command holds a NUL, which no shell takes")
	ErrSyntax  = errors.New("the command does not parse as bash")
	ErrDynamic = errors.New("its command word is an expansion, or follows one")
	ErrGlob    = errors.New("an extended glob in it holds an expansion")
)

// Forms are the texts in which blocked commands are sought.
type Forms struct {
	Raw       string   // as received
	Collapsed string   // runs of white space are one space
	Unquoted  string   // every quote and backslash removed, then collapsed
	Commands  []string // the words of each simple command, joined by one space, in the order of the text
}

// All returns the forms as one list, the raw text first, without those that repeat the one before.
func (f Forms) All() []string {
	all := append(make([]string, 0, 3+len(f.Commands)), f.Raw)
	for _, form := range append([]string{f.Collapsed, f.Unquoted}, f.Commands...) {
		if form != all[len(all)-1] {
			all = append(all, form)
		}
	}
	return all
}

// Read returns the forms of raw. The errors are [ErrTooLong], [ErrNUL], [ErrTooDeep], [ErrSyntax] (wrapped, with
// the place), and [ErrDynamic] and [ErrGlob] (wrapped, with the word as written, which may be long).
func Read(raw string) (Forms, error) {
	if err := precheck(raw); err != nil {
		return Forms{}, err
	}
	file, err := parse(raw)
	if err != nil {
		return Forms{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	w := walker{raw: raw, elifs: map[*syntax.IfClause]bool{}}
	syntax.Walk(file, w.visit)
	if w.err != nil {
		return Forms{}, w.err
	}
	return Forms{Raw: raw, Collapsed: Collapse(raw), Unquoted: Collapse(stripQuotes(raw)), Commands: w.commands}, nil
}

// Entry returns the texts to seek for an entry of a list of blocked commands: the entry as written, and collapsed
// where that differs. A command is blocked if one of them is a substring of one of its forms. White space at an
// entry's ends counts: "rm " finds rm only where something follows.
func Entry(text string) (needles []string, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("a blocked command must hold more than white space: it would block every command")
	case len(text) > MaxText:
		return nil, errors.New("a blocked command is longer than 8 KiB: no command that long is run")
	case strings.ContainsRune(text, 0):
		return nil, errors.New("a blocked command holds a NUL: remove it")
	}
	if collapsed := Collapse(text); collapsed != text {
		return []string{text, collapsed}, nil
	}
	return []string{text}, nil
}

// Collapse returns text with each run of white space replaced by one space, also at its ends.
func Collapse(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	inSpace := false
	for i, r := range text {
		space := unicode.IsSpace(r)
		switch {
		case space && !inSpace:
			b.WriteByte(' ')
		case !space:
			b.WriteString(text[i : i+runeLength(text[i:], r)])
		}
		inSpace = space
	}
	return b.String()
}

// precheck applies the limits that must hold before the parser sees the text.
func precheck(raw string) error {
	switch {
	case len(raw) > MaxText:
		return ErrTooLong
	case strings.IndexByte(raw, 0) >= 0:
		return ErrNUL
	case !bracketsWithin(raw):
		return ErrTooDeep
	}
	return nil
}

// bracketsWithin reports whether raw keeps to MaxBrackets and, as far as brackets tell without knowing about
// quotes, to MaxDepth. A closing bracket in quotes can deceive the second count, never the first; the depth
// of what was parsed is checked exactly afterwards.
func bracketsWithin(raw string) bool {
	var round, square, curly, total int
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '(':
			round, total = round+1, total+1
		case ')':
			round = max(round-1, 0)
		case '[':
			square, total = square+1, total+1
		case ']':
			square = max(square-1, 0)
		case '{':
			curly, total = curly+1, total+1
		case '}':
			curly = max(curly-1, 0)
		case '`':
			total++
		}
		// "$((" is one level to the tree and two brackets here, hence the factor.
		if round > 2*MaxDepth || square+curly > 2*MaxDepth || total > MaxBrackets {
			return false
		}
	}
	return true
}

// parsers holds parsers for reuse: each brings buffers of several kilobytes.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

func parse(raw string) (*syntax.File, error) {
	parser := parsers.Get().(*syntax.Parser)
	defer parsers.Put(parser)
	return parser.Parse(strings.NewReader(raw), "")
}
