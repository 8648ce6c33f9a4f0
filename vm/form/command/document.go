package command

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// document reads the body of a here-document that a shell is given, as it is written where its delimiter is quoted. Otherwise quotes are
// characters in it like any other, also behind a backslash.
func (w *walker) document(redir *syntax.Redirect, read func(text string)) {
	delimiter := w.source(redir.Word)
	if !isDelimiter(delimiter) {
		w.refuse(errDelimiter, redir.Word)
		return
	}
	if redir.Hdoc == nil {
		return
	}
	quoted := strings.ContainsAny(delimiter, `'"\`)
	var b strings.Builder
	for _, part := range redir.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case !ok:
			w.refuse(errText, redir.Hdoc)
			return
		case quoted:
			b.WriteString(lit.Value)
		default:
			b.WriteString(unescapeOnly(lit.Value, documentEscapes))
		}
	}
	read(b.String())
}

// inDelimiter are the characters of delimiters, beside spaces in quoted ones.
const inDelimiter = letters + ".-"

// isDelimiter reports whether bash and the parser read the delimiter of a here-document alike, from its source: a word of these characters, all
// of it quoted or nothing, or behind one backslash. With other quotes, patterns and expansions they end the document at different lines, and in
// a substitution bash 5.2 reads << -E as <<-E.
func isDelimiter(source string) bool {
	name, characters := strings.TrimPrefix(source, `\`), inDelimiter
	if last := len(source) - 1; last > 0 && (source[0] == '\'' || source[0] == '"') && source[last] == source[0] {
		name, characters = source[1:last], inDelimiter+" "
	}
	return name != "" && strings.IndexByte(" .-", name[0]) < 0 && strings.Trim(name, characters) == ""
}

// ended refuses here-documents that bash may end at another line than the parser. From the line behind the first with a delimiter on, each line
// that begins with that, behind tabs, has to be the end of one: bash ends a document in a substitution also at one like "END)", and at lines
// that a backslash joins.
func (w *walker) ended() {
	slices.SortFunc(w.documents, func(a, b *syntax.Redirect) int { return cmp.Compare(a.OpPos.Offset(), b.OpPos.Offset()) })
	with := map[string]int{}
	for _, redir := range w.documents {
		with[w.delimiter(redir)]++
	}
	for _, redir := range w.documents {
		delimiter := w.delimiter(redir)
		documents, from := with[delimiter], min(int(redir.OpPos.Offset()), len(w.raw))
		if delete(with, delimiter); documents > 0 && !endsEach(w.raw[from:], delimiter, documents) {
			w.refuse(errDelimiter, redir.Word)
		}
	}
}

// delimiter returns the delimiter of a here-document, of which isDelimiter is true.
func (w *walker) delimiter(redir *syntax.Redirect) string {
	return strings.Trim(w.source(redir.Word), `'"\`)
}

// endsEach reports whether so many lines after the first one begin with a delimiter, and each of them is nothing else.
func endsEach(text, delimiter string, documents int) bool {
	lines := strings.Split(text, "\n")
	joins := false // the line before ends in a backslash that is none itself
	for i, line := range lines {
		slashes := len(line) - len(strings.TrimRight(line, `\`))
		joined := joins
		joins = slashes%2 == 1
		line = strings.TrimLeft(line, "\t")
		switch {
		case i == 0:
		case strings.HasPrefix(line, delimiter):
			if documents--; joined || line != delimiter {
				return false
			}
		case joins && strings.HasPrefix(delimiter, line[:max(0, len(line)-1)]):
			return false
		}
	}
	return documents == 0
}

// enclosed refuses here-documents in a substitution that end at it: those in backquotes, and those whose body would begin behind it.
func (w *walker) enclosed(node syntax.Node, right syntax.Pos, backquotes bool) {
	if !strings.Contains(w.raw, "<<") {
		return
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		redir, ok := node.(*syntax.Redirect)
		if ok && isDocument(redir) && (backquotes || right.Line() <= redir.Word.End().Line()) {
			w.refuse(errDelimiter, redir.Word)
		}
		return w.err == nil
	})
}

func isDocument(redir *syntax.Redirect) bool {
	return redir.Op == syntax.Hdoc || redir.Op == syntax.DashHdoc
}
