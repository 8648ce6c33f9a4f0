package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxText is the longest command that is read, in bytes.
	maxText = 8 << 10

	// maxDepth is how deep compound commands, substitutions, expansions and arithmetic may nest. People write
	// three or four levels.
	maxDepth = 32

	// maxBrackets is how many opening brackets and back quotes a command may hold in all, quoted ones included.
	// Programs in here-documents have one in every ten bytes or so; 8 KiB of nothing else took the parser 55 ms,
	// and this many take it 4 ms.
	maxBrackets = 2 << 10
)

// maxInner bounds the texts that are read as commands of their own, in bytes and all together. A text may hold another
// one for every level of quoting, so that reading each takes more than the length of the whole.
const maxInner = 8 * maxText

// Why a command can't be judged, worded to be after a colon or a "because". Where commands are blocked, each of
// them means that it is denied.
var (
	errTooLong   = errors.New("the command is longer than 8 KiB; put it into a script, or split it")
	errTooDeep   = errors.New("the command nests deeper than 32 levels, or holds more than 2048 brackets; put it into a script")
	errEmpty     = errors.New("the command is empty; write the command that is to run")
	errNUL       = errors.New("the command holds a NUL, which no shell takes")
	errCR        = errors.New("the command holds a carriage return, which bash takes for a letter; end lines with a line feed alone")
	errSyntax    = errors.New("the command does not parse as bash")
	errDynamic   = errors.New("its command word is an expansion, or follows one")
	errGlob      = errors.New("an extended glob in it holds an expansion")
	errComment   = errors.New("a comment in it ends in a backslash, or does not follow white space")
	errBare      = errors.New("`let`, `coproc` and `time --` take bare words only, without quotes, expansions and redirections")
	errText      = errors.New("the shell evaluates a text in it that is not written out")
	errDelimiter = errors.New("bash may end a here-document in it at another line; give it a delimiter of its own, like END or 'END', on a line of its own, and no backquotes around it")
	errInput     = errors.New("a shell in it would read commands that this text does not hold; give them after -c")
	errName      = errors.New("it assigns to a variable whose name is not written out, or that changes what commands mean")
	errIndirect  = errors.New("bash evaluates a value as arithmetic or as a name, and may run what it holds; use [ ] with \"…\" instead of [[ ]], or expr")
	errRewrites  = errors.New("history expansion and `set -k` rewrite the commands that follow; leave `fc`, `set -H`, `set -k` and their -o forms out")
)

// Forms are the texts in which blocked commands are sought.
type Forms struct {
	Raw       string   // as received
	Collapsed string   // runs of white space are one space
	Unquoted  string   // every quote and backslash removed, then collapsed
	Inner     []string // the same without the decoding of $'…' where there is one, and the forms of texts that the shell evaluates
	Tight     string   // Unquoted without the white space around operators
	Commands  []string // the words of each simple command, joined by one space, in the order of the text
}

// All returns the forms as one list in lower case, the raw text first, without those that repeat the one before.
func (f Forms) All() []string {
	all := append(make([]string, 0, 4+len(f.Inner)+len(f.Commands)), strings.ToLower(f.Raw))
	add := func(form string) {
		if form = strings.ToLower(form); form != all[len(all)-1] {
			all = append(all, form)
		}
	}
	add(f.Collapsed)
	add(f.Unquoted)
	add(f.Tight)
	for _, form := range f.Inner {
		add(form)
	}
	for _, form := range f.Commands {
		add(form)
	}
	return all
}

// formsOf returns the forms of a text that need no parser.
func formsOf(raw string) Forms {
	f := Forms{Raw: raw, Collapsed: Collapse(raw)}
	f.Unquoted = f.Collapsed
	if strings.ContainsAny(raw, `'"\`) {
		f.Unquoted = Collapse(stripQuotes(raw, true))
	}
	f.Tight = tight(f.Unquoted)
	if strings.Contains(raw, `$'`) {
		plain := Collapse(stripQuotes(raw, false))
		f.Inner = append(f.Inner, plain, tight(plain))
	}
	return f
}

// Read returns the forms of raw. The errors are the ones of this package, most of them wrapped with the place or with
// the word as written, which may be long.
func Read(raw string) (Forms, error) {
	r := reader{left: maxInner}
	forms := formsOf(raw)
	if r.script(raw); r.err == nil && r.empty {
		r.err = errEmpty
	}
	if r.err == nil {
		r.finish()
	}
	if r.err != nil {
		return Forms{}, r.err
	}
	forms.Inner, forms.Commands = append(forms.Inner, r.inner...), r.commands
	return forms, nil
}

// Entry returns the texts to seek for an entry of a list of blocked commands, in lower case: the entry as written, and
// where they differ collapsed, without its quotes, and both without the white space around operators. A command is
// blocked if one of them is a substring of one of its forms. White space at an entry's ends counts: "rm " finds rm only
// where something follows.
func Entry(text string) (needles []string, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the text to seek must hold more than white space: it would be found in every command")
	case len(text) > maxText:
		return nil, errors.New("the text to seek is longer than 8 KiB: no command that long is run")
	case strings.ContainsRune(text, 0):
		return nil, errors.New("the text to seek holds a NUL: remove it")
	}
	forms := formsOf(text)
	for _, needle := range []string{text, forms.Collapsed, tight(forms.Collapsed), forms.Unquoted, forms.Tight} {
		needle = strings.ToLower(needle)
		if strings.TrimSpace(needle) != "" && !slices.Contains(needles, needle) {
			needles = append(needles, needle)
		}
	}
	return needles, nil
}

// Collapse returns text with each run of white space replaced by one space, also at its ends.
func Collapse(text string) string {
	if isCollapsed(text) {
		return text
	}
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

// isCollapsed reports whether a text is ASCII without runs of white space.
func isCollapsed(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= utf8.RuneSelf, c >= '\t' && c <= '\r', c == ' ' && i > 0 && text[i-1] == ' ':
			return false
		}
	}
	return true
}

// tight returns a collapsed text without the white space around the operators | || & && ; ( ) < > >> <<<.
func tight(text string) string {
	const operators = "|&;()<>"
	if !strings.ContainsAny(text, operators) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' && (i > 0 && strings.IndexByte(operators, text[i-1]) >= 0 || i+1 < len(text) && strings.IndexByte(operators, text[i+1]) >= 0) {
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// precheck applies the limits that must hold before the parser sees the text.
func precheck(raw string) error {
	switch {
	case len(raw) > maxText:
		return errTooLong
	case strings.IndexByte(raw, 0) >= 0:
		return errNUL
	case strings.IndexByte(raw, '\r') >= 0:
		return errCR
	case joinsOperators(raw):
		return fmt.Errorf("%w: a backslash joins two lines within an operator; put a space in front of it", errSyntax)
	case !bracketsWithin(raw):
		return errTooDeep
	}
	return nil
}

// joinsOperators reports whether a backslash at the end of a line joins two characters of which bash, but not the parser,
// may make one operator: (( out of two parentheses. A dollar is joined with anything.
func joinsOperators(raw string) bool {
	const operators = "|&;()<>=+{}[]!#@*?~`"
	for rest := raw; ; {
		at := strings.Index(rest, "\\\n")
		if at < 0 {
			return false
		}
		before, after := rest[:at], rest[at:]
		for strings.HasPrefix(after, "\\\n") {
			after = after[2:]
		}
		if before != "" && (before[len(before)-1] == '$' ||
			after != "" && strings.IndexByte(operators, before[len(before)-1]) >= 0 && strings.IndexByte(operators, after[0]) >= 0) {
			return true
		}
		rest = after
	}
}

// bracketsWithin reports whether raw keeps to maxBrackets and, as far as brackets tell without knowing about
// quotes, to maxDepth. A closing bracket in quotes can deceive the second count, never the first; the depth
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
		if round > 2*maxDepth || square+curly > 2*maxDepth || total > maxBrackets {
			return false
		}
	}
	return true
}

// parsers holds parsers for reuse, by dialect: each brings buffers of several kilobytes.
var parsers = map[syntax.LangVariant]*sync.Pool{
	syntax.LangBash: poolOf(syntax.LangBash), syntax.LangPOSIX: poolOf(syntax.LangPOSIX),
	syntax.LangMirBSDKorn: poolOf(syntax.LangMirBSDKorn), syntax.LangZsh: poolOf(syntax.LangZsh),
}

func poolOf(dialect syntax.LangVariant) *sync.Pool {
	return &sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(dialect), syntax.KeepComments(true)) }}
}

func parse(raw string, dialect syntax.LangVariant) (*syntax.File, error) {
	pool := parsers[dialect]
	parser := pool.Get().(*syntax.Parser)
	defer pool.Put(parser)
	return parser.Parse(strings.NewReader(raw), "")
}

// document parses a text as the body of a here-document: quotes mean themselves in it, and expansions do not.
func document(text string) (*syntax.Word, error) {
	pool := parsers[syntax.LangBash]
	parser := pool.Get().(*syntax.Parser)
	defer pool.Put(parser)
	return parser.Document(strings.NewReader(text))
}
