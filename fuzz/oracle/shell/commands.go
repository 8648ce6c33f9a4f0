package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of a command that can be judged (decisions, section 2, "Matching").
const (
	maxCommand = 8 << 10
	maxNesting = 32
)

// textForms are the forms of a text as such: "the raw command, … it with runs of white space collapsed, … it with shell
// quoting removed and then collapsed", and "one more form": each with the white space around operators removed.
func textForms(command string) []string {
	forms := []string{command, Collapsed(command)}
	for _, plainer := range []string{unquoted(command), quotesRead(command)} {
		forms = append(forms, Collapsed(plainer), Collapsed(unmarked(plainer)))
	}
	forms = append(forms, Collapsed(unmarked(command)))
	for _, form := range forms[1:] {
		forms = append(forms, squeezed(form))
	}
	return forms
}

// operatorSpace finds white space around an operator.
var operatorSpace = regexp.MustCompile(`[\p{Z}\t-\r\x{85}]*(\|\||\||&&|&|;|\(|\)|<<<|<|>>|>)[\p{Z}\t-\r\x{85}]*`)

// squeezed is a text "with the white space around `| || & && ; ( ) < > >> <<<` removed, in quotes too".
func squeezed(text string) string { return operatorSpace.ReplaceAllString(text, "$1") }

// marks are quotes and backslashes, and the line ends behind these.
var marks = regexp.MustCompile(`\\+\n?|['"]`)

// unmarked is a text without them, whatever they quote: what is decoded of $'…' is quoted once more where `eval` reads it.
func unmarked(text string) string { return marks.ReplaceAllString(text, "") }

// Needles are the texts that are sought of an entry: "as written and with its white space collapsed" (choices),
// squeezed; "an entry with quotes is sought without them as well".
func Needles(entry string) []string {
	var all []string
	for _, text := range []string{entry, Collapsed(entry), Collapsed(unquoted(entry)), Collapsed(unmarked(entry))} {
		for _, each := range []string{text, squeezed(text)} {
			if strings.TrimSpace(each) != "" {
				if each = strings.ToLower(each); !slices.Contains(all, each) {
					all = append(all, each)
				}
			}
		}
	}
	return all
}

// quotesRead is unquoted for a reader that knows where it stands: a `$'` inside of quotes opens none.
func quotesRead(command string) string {
	var b strings.Builder
	for i := 0; i < len(command); {
		rest := command[i:]
		switch {
		case strings.HasPrefix(rest, "$'"):
			found := quoting.FindStringSubmatch(rest)
			b.WriteString(ansiValue(found[1]))
			i += len(found[0])
		case rest[0] == '\'':
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				end = len(rest) - 1
			}
			b.WriteString(rest[1 : 1+end])
			i += end + 2
		case rest[0] == '"' || strings.HasPrefix(rest, `$"`):
			start := strings.IndexByte(rest, '"') + 1
			end := start
			for end < len(rest) && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(rest))
			b.WriteString(unescaped(rest[start:end], true))
			i += end + 1
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(strings.TrimPrefix(rest[1:2], "\n"))
			i += 2
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// bracketsNest is the bound on the text itself, "quoted ones included": "more than 64 open round brackets, or square
// and curly ones, or more than 2048 opening brackets and backquotes in all" (choices).
func bracketsNest(command string) bool {
	round, others, all := 0, [2]int{}, 0
	for _, r := range command {
		switch r {
		case '(':
			round++
		case ')':
			round = max(0, round-1)
		case '[':
			others[0]++
		case ']':
			others[0] = max(0, others[0]-1)
		case '{':
			others[1]++
		case '}':
			others[1] = max(0, others[1]-1)
		}
		if strings.ContainsRune("([{`", r) {
			all++
		}
		if round > 64 || others[0]+others[1] > 64 || all > 2048 {
			return false
		}
	}
	return true
}

func callWords(command string, call *syntax.CallExpr) string {
	var words []string
	for _, word := range call.Args {
		words = append(words, wordText(command, word.Parts))
	}
	return strings.Join(words, " ")
}

// emptiedWords: "where a simple command has expansions, its words are sought without the words that are nothing else, and without
// those in options, too" (choices).
func emptiedWords(command string, call *syntax.CallExpr) string {
	var words []string
	for _, word := range call.Args {
		kept := writtenText(word.Parts, false)
		if kept != "" && kept[0] != '-' {
			kept = wordText(command, word.Parts)
		}
		if kept != "" {
			words = append(words, kept)
		}
	}
	return strings.Join(words, " ")
}

// writtenText returns a word without its quoting and without what is expanded in it.
func writtenText(parts []syntax.WordPart, double bool) string {
	return textOf(parts, double, func(syntax.WordPart) string { return "" })
}

// textOf returns a word without its quoting, with expanded's text for each part that is neither written out nor quoted.
func textOf(parts []syntax.WordPart, double bool, expanded func(syntax.WordPart) string) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value, double))
		case *syntax.SglQuoted:
			b.WriteString(singleQuoted(part))
		case *syntax.DblQuoted:
			b.WriteString(textOf(part.Parts, true, expanded))
		default:
			b.WriteString(expanded(part))
		}
	}
	return b.String()
}

func declarationWords(command string, declaration *syntax.DeclClause) string {
	words := []string{declaration.Variant.Value}
	for _, assign := range declaration.Args {
		if assign.Value == nil { // names alone, and arrays, as they were written
			words = append(words, between(command, assign.Pos().Offset(), assign.End().Offset()))
			continue
		}
		name := between(command, assign.Pos().Offset(), assign.Value.Pos().Offset())
		words = append(words, name+wordText(command, assign.Value.Parts))
	}
	return strings.Join(words, " ")
}

// whiteSpace is what is collapsed.
var whiteSpace = regexp.MustCompile(`[\p{Z}\t-\r\x{85}]+`)

// Collapsed makes every run of white space one space. Bytes that are no UTF-8, as $'\xff' makes, stay.
func Collapsed(command string) string { return whiteSpace.ReplaceAllString(command, " ") }

// quoting finds what the removal of shell quoting takes out of a text: a $'…', which is decoded, up to its end or that
// of the text; the dollar of a $"…" with its quote; a backslash, and a quote, a backslash or a line end behind it;
// every other quote. The backslash in front of anything else goes alone.
var quoting = regexp.MustCompile(`(?s)\$'((?:[^'\\]|\\.)*\\?)(?:'|\z)|\$"|\\.|['"\\]`)

// unquoted is a command "with shell quoting removed": "every quote and backslash is gone, escaped ones too" (choices),
// whatever they stand in.
func unquoted(command string) string {
	return quoting.ReplaceAllStringFunc(command, func(mark string) string {
		switch {
		case strings.HasPrefix(mark, "$'"):
			return ansiValue(quoting.FindStringSubmatch(mark)[1])
		case len(mark) > 1 && mark[0] == '\\' && !strings.Contains("\\'\"\n", mark[1:]):
			return mark[1:]
		}
		return ""
	})
}

// between returns command[from:to], and nothing where the parser's positions make no sense.
func between(command string, from, to uint) string {
	if from > to || to > uint(len(command)) {
		return ""
	}
	return command[from:to]
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

// ansiValue decodes the escapes of a $'…' string (Bash manual, "ANSI-C Quoting"). A NUL ends it.
func ansiValue(literal string) string {
	var b strings.Builder
	for i := 0; i < len(literal); {
		if literal[i] != '\\' || i+1 == len(literal) {
			b.WriteByte(literal[i])
			i++
			continue
		}
		decoded, length := ansiEscape(literal[i+1:])
		if decoded == "\x00" {
			break
		}
		b.WriteString(decoded)
		i += 1 + length
	}
	return b.String()
}

// bracedByte is a byte of any number of digits, of which the last two count; the brace may stay open.
var bracedByte = regexp.MustCompile(`\Ax\{([0-9a-fA-F]*)\}?`)

// ansiEscape decodes one escape without its backslash, and returns how many bytes it takes.
func ansiEscape(rest string) (decoded string, length int) {
	if c, ok := ansiEscapes[rest[0]]; ok {
		return string(rune(c)), 1
	}
	if found := bracedByte.FindStringSubmatch(rest); found != nil {
		digits := "00" + found[1]
		value, _ := strconv.ParseUint(digits[len(digits)-2:], 16, 8)
		return string([]byte{byte(value)}), len(found[0])
	}
	switch c := rest[0]; {
	case strings.HasPrefix(rest, `c\\`):
		return "\x1c", 3
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
func wordText(command string, parts []syntax.WordPart) string {
	return textOf(parts, false, func(part syntax.WordPart) string {
		return between(command, part.Pos().Offset(), part.End().Offset())
	})
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

// unquotedGlob reports whether a literal holds the beginning of a glob, a brace or an expansion, closed or not, since
// shells differ there.
func unquotedGlob(literal string) bool { return strings.ContainsAny(literal, "*?[{$`") }

// nesting returns how deep the compound parts of a command nest. What follows `elif` or `else` lies as deep as its `if`.
func nesting(file *syntax.File) int {
	depth, deepest := 0, 0
	var compound []bool
	otherwise := map[syntax.Node]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			if compound[len(compound)-1] {
				depth--
			}
			compound = compound[:len(compound)-1]
			return true
		}
		if clause, ok := node.(*syntax.IfClause); ok && clause.Else != nil {
			otherwise[clause.Else] = true
		}
		compound = append(compound, isCompound(node) && !otherwise[node])
		if compound[len(compound)-1] {
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
		*syntax.FuncDecl, *syntax.CoprocClause, *syntax.TimeClause, *syntax.TestClause, *syntax.ParenTest, *syntax.UnaryTest,
		*syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArrayExpr,
		*syntax.ArithmExp, *syntax.ArithmCmd, *syntax.ParenArithm, *syntax.UnaryArithm:
		return true
	}
	return false
}
