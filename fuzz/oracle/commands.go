package oracle

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of a command that can be judged (decisions, section 2, "Matching").
const (
	maxCommand = 8 << 10
	maxNesting = 32
)

// commandForms returns the texts in which blocked commands are sought: "the raw command, … it with runs of white
// space collapsed, … it with shell quoting removed and then collapsed, and … each simple command's words joined by
// one space". It reports false for a command that cannot be judged: one "that does not parse, is longer than 8 KiB or
// nests deeper than 32, or whose command word is an expansion (`$`, backquote, brace)"; a NUL, which shells skip or
// stop at, does not parse.
func commandForms(command string) (forms []string, ok bool) {
	if len(command) > maxCommand || strings.Contains(command, "\x00") {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || nesting(file) > maxNesting {
		return nil, false
	}
	forms = []string{command, collapsed(command), collapsed(unquoted(command, file))}
	ok = true
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			if len(node.Args) > 0 {
				forms = append(forms, callWords(command, node))
				ok = ok && !expands(node.Args[0].Parts)
			}
		case *syntax.DeclClause: // `export`, `declare` and the like, which are simple commands too
			forms = append(forms, declarationWords(command, node))
		}
		return true
	})
	return forms, ok
}

func callWords(command string, call *syntax.CallExpr) string {
	var words []string
	for _, word := range call.Args {
		words = append(words, wordText(command, word.Parts, false))
	}
	return strings.Join(words, " ")
}

func declarationWords(command string, declaration *syntax.DeclClause) string {
	words := []string{declaration.Variant.Value}
	for _, assign := range declaration.Args {
		switch {
		case assign.Name == nil && assign.Value != nil:
			words = append(words, wordText(command, assign.Value.Parts, false))
		case assign.Name != nil && assign.Naked:
			words = append(words, assign.Name.Value)
		case assign.Name != nil && assign.Value != nil && assign.Index == nil && !assign.Append:
			words = append(words, assign.Name.Value+"="+wordText(command, assign.Value.Parts, false))
		default: // arrays and the like, as they were written
			words = append(words, between(command, assign.Pos().Offset(), assign.End().Offset()))
		}
	}
	return strings.Join(words, " ")
}

// collapsed makes every run of white space one space.
func collapsed(command string) string {
	var b strings.Builder
	space := false
	for _, r := range command {
		if !unicode.IsSpace(r) {
			b.WriteRune(r)
		} else if !space {
			b.WriteByte(' ')
		}
		space = unicode.IsSpace(r)
	}
	return b.String()
}

// An edit replaces command[from:to].
type edit struct {
	from, to uint
	by       string
}

// unquoted removes the quoting of every word from a command: quotes, and backslashes where they quote. Here documents
// are not quoted, and stay.
func unquoted(command string, file *syntax.File) string {
	var edits []edit
	quoteMarks(file, func(node, parent syntax.Node, closing bool) {
		from, to := node.Pos().Offset(), node.End().Offset()
		switch node := node.(type) {
		case *syntax.Lit:
			_, double := parent.(*syntax.DblQuoted)
			edits = append(edits, edit{from, to, unescaped(between(command, from, to), double)})
		case *syntax.SglQuoted:
			edits = append(edits, edit{from, to, singleQuoted(node)})
		case *syntax.DblQuoted:
			switch {
			case closing:
				edits = append(edits, edit{to - 1, to, ""})
			case node.Dollar:
				edits = append(edits, edit{from, from + 2, ""})
			default:
				edits = append(edits, edit{from, from + 1, ""})
			}
		}
	})
	sort.SliceStable(edits, func(a, b int) bool { return edits[a].from < edits[b].from })
	var b strings.Builder
	end := uint(0)
	for _, e := range edits {
		if end <= e.from {
			b.WriteString(continued(between(command, end, e.from)) + e.by)
			end = e.to
		}
	}
	return b.String() + continued(between(command, end, uint(len(command))))
}

// continued joins the lines that a backslash continues between words.
func continued(gap string) string { return strings.ReplaceAll(gap, "\\\n", "") }

// between returns command[from:to], and nothing where the parser's positions make no sense.
func between(command string, from, to uint) string {
	if from > to || to > uint(len(command)) {
		return ""
	}
	return command[from:to]
}

// quoteMarks visits every literal and every quoted part of words, a double-quoted one at both of its ends.
func quoteMarks(file *syntax.File, visit func(node, parent syntax.Node, closing bool)) {
	documents := map[syntax.Node]bool{}
	var parents []syntax.Node
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			last := len(parents) - 1
			if _, ok := parents[last].(*syntax.DblQuoted); ok {
				visit(parents[last], nil, true)
			}
			parents = parents[:last]
			return true
		}
		if redirect, ok := node.(*syntax.Redirect); ok && redirect.Hdoc != nil {
			documents[redirect.Hdoc] = true
		}
		if documents[node] {
			return false
		}
		var parent syntax.Node
		if len(parents) > 0 {
			parent = parents[len(parents)-1]
		}
		switch node.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
			visit(node, parent, false)
		}
		parents = append(parents, node)
		return true
	})
}

func singleQuoted(part *syntax.SglQuoted) string {
	if part.Dollar {
		return ansiValue(part.Value)
	}
	return part.Value
}

// unescaped removes backslashes: all of them outside of double quotes, and between these those before $, backquote,
// double quote, backslash and line end (POSIX Shell Command Language, 2.2.1 and 2.2.3). A backslash and the line end
// behind it vanish together.
func unescaped(literal string, double bool) string {
	var b strings.Builder
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' || i+1 == len(literal) || double && !strings.Contains("$`\"\\\n", literal[i+1:i+2]) {
			b.WriteByte(literal[i])
			continue
		}
		i++
		if literal[i] != '\n' {
			b.WriteByte(literal[i])
		}
	}
	return b.String()
}

// ansiEscapes are the escapes of one letter.
var ansiEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiValue decodes the escapes of a $'…' string (Bash manual, "ANSI-C Quoting").
func ansiValue(literal string) string {
	var b strings.Builder
	for i := 0; i < len(literal); {
		if literal[i] != '\\' || i+1 == len(literal) {
			b.WriteByte(literal[i])
			i++
			continue
		}
		decoded, length := ansiEscape(literal[i+1:])
		b.WriteString(decoded)
		i += 1 + length
	}
	return b.String()
}

// ansiEscape decodes one escape without its backslash, and returns how many bytes it takes.
func ansiEscape(rest string) (decoded string, length int) {
	if c, ok := ansiEscapes[rest[0]]; ok {
		return string(rune(c)), 1
	}
	switch c := rest[0]; {
	case c == 'c' && len(rest) > 1:
		return string(rune(rest[1] & 0x1f)), 2
	case '0' <= c && c <= '7':
		return ansiNumber(rest, 0, 3, 8)
	case c == 'x':
		return ansiNumber(rest, 1, 2, 16)
	case c == 'u':
		return ansiNumber(rest, 1, 4, 16)
	case c == 'U':
		return ansiNumber(rest, 1, 8, 16)
	}
	return `\` + rest[:1], 1
}

// ansiNumber decodes up to most digits from start on.
func ansiNumber(rest string, start, most, base int) (string, int) {
	end := start
	for end < len(rest) && end < start+most {
		if _, err := strconv.ParseUint(rest[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	code, err := strconv.ParseUint(rest[start:end], base, 32)
	if err != nil {
		return `\` + rest[:1], 1
	}
	if rest[0] == 'u' || rest[0] == 'U' {
		return string(utf8.AppendRune(nil, rune(code))), end
	}
	return string([]byte{byte(code)}), end
}

// wordText returns a word without its quoting; what is expanded stays as it was written ("Arguments are not
// expanded", choices).
func wordText(command string, parts []syntax.WordPart, double bool) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value, double))
		case *syntax.SglQuoted:
			b.WriteString(singleQuoted(part))
		case *syntax.DblQuoted:
			b.WriteString(wordText(command, part.Parts, true))
		default:
			b.WriteString(between(command, part.Pos().Offset(), part.End().Offset()))
		}
	}
	return b.String()
}

// expands reports whether a command word is no plain word: an expansion, or "an unquoted glob or a process
// substitution" (choices).
func expands(parts []syntax.WordPart) bool {
	if len(parts) == 1 {
		if lit, plain := parts[0].(*syntax.Lit); plain && lit.Value == "[" {
			return false // the command test
		}
	}
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
		case *syntax.Lit:
			if unquotedGlob(withoutEscapes(part.Value)) {
				return true
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if _, plain := inner.(*syntax.Lit); !plain {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// withoutEscapes drops every escaped character.
func withoutEscapes(literal string) string {
	var b strings.Builder
	for i := 0; i < len(literal); i++ {
		if literal[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(literal[i])
	}
	return b.String()
}

// unquotedGlob reports whether a literal holds the beginning of a glob or a brace, closed or not, since shells differ
// there.
func unquotedGlob(literal string) bool { return strings.ContainsAny(literal, "*?[{") }

// nesting returns how deep the compound parts of a command nest.
func nesting(file *syntax.File) int {
	depth, deepest := 0, 0
	var compound []bool
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			if compound[len(compound)-1] {
				depth--
			}
			compound = compound[:len(compound)-1]
			return true
		}
		compound = append(compound, isCompound(node))
		if isCompound(node) {
			depth++
			deepest = max(deepest, depth)
		}
		return true
	})
	return deepest
}

func isCompound(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.FuncDecl, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd,
		*syntax.ParenArithm, *syntax.TestClause, *syntax.ParenTest:
		return true
	}
	return false
}
