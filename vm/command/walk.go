package command

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A walker collects the simple commands of a parsed text, and the first reason to refuse it.
type walker struct {
	raw      string
	commands []string
	err      error
	depth    int
	nested   []bool // for each open node, whether it adds a level
	elifs    map[*syntax.IfClause]bool
}

// visit is called by syntax.Walk for each node, and with nil when the node's children are done.
func (w *walker) visit(node syntax.Node) bool {
	if node == nil {
		w.leave()
		return true
	}
	if w.err != nil {
		return false
	}
	if w.enter(node); w.err != nil {
		return false
	}
	switch node := node.(type) {
	case *syntax.CallExpr:
		w.call(node)
	case *syntax.DeclClause:
		w.declaration(node)
	case *syntax.ExtGlob:
		w.pattern(node)
	}
	return w.err == nil
}

// enter counts a level where node nests, and refuses one too many.
func (w *walker) enter(node syntax.Node) {
	nests := w.nests(node)
	if nests {
		w.depth++
	}
	w.nested = append(w.nested, nests)
	if w.depth > MaxDepth {
		w.err = ErrTooDeep
	}
}

// leave undoes enter.
func (w *walker) leave() {
	last := len(w.nested) - 1
	if w.nested[last] {
		w.depth--
	}
	w.nested = w.nested[:last]
}

// nests reports whether node is a level of its own. Chains (pipes, lists, elif) are not: they read as a row.
func (w *walker) nests(node syntax.Node) bool {
	switch node := node.(type) {
	case *syntax.IfClause:
		if node.Else != nil {
			w.elifs[node.Else] = true
		}
		return !w.elifs[node]
	case *syntax.Subshell, *syntax.Block, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.FuncDecl, *syntax.CoprocClause, *syntax.TimeClause, *syntax.TestClause, *syntax.ArithmCmd,
		*syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArrayExpr,
		*syntax.ParenArithm, *syntax.ParenTest, *syntax.UnaryArithm, *syntax.UnaryTest:
		return true
	}
	return false
}

// call adds a simple command. The words that say what is run must be plain.
func (w *walker) call(call *syntax.CallExpr) {
	if len(call.Args) == 0 {
		return
	}
	if word := w.dynamic(call.Args); word != nil {
		w.err = fmt.Errorf("%w: write out %s", ErrDynamic, w.source(word))
		return
	}
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		words[i] = w.text(word.Parts, false)
	}
	w.commands = append(w.commands, Collapse(strings.Join(words, " ")))
}

// declaration adds export, declare and their like, which the parser keeps apart from simple commands. Arrays stay as
// written.
func (w *walker) declaration(decl *syntax.DeclClause) {
	words := []string{decl.Variant.Value}
	for _, arg := range decl.Args {
		word := w.source(arg)
		if arg.Value != nil {
			quoted := w.source(arg.Value)
			word = strings.TrimSuffix(word, quoted) + w.text(arg.Value.Parts, false)
		}
		words = append(words, word)
	}
	w.commands = append(w.commands, Collapse(strings.Join(words, " ")))
}

// pattern refuses an extended glob that holds an expansion: bash would run what stands in it, and the parser leaves it
// unread.
func (w *walker) pattern(glob *syntax.ExtGlob) {
	if text := glob.Pattern.Value; strings.ContainsAny(text, "$`") || strings.Contains(text, "<(") || strings.Contains(text, ">(") {
		w.err = fmt.Errorf("%w: write out %s", ErrGlob, w.source(glob))
	}
}

// text returns the parts of a word without their quoting. Expansions stay as written.
func (w *walker) text(parts []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(single(part))
		case *syntax.DblQuoted:
			b.WriteString(w.text(part.Parts, true))
		default:
			b.WriteString(w.source(part))
		}
	}
	return b.String()
}

// source returns what stands in the raw text for node.
func (w *walker) source(node syntax.Node) string {
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start > end || end > len(w.raw) {
		return ""
	}
	return w.raw[start:end]
}

// isPlain reports whether the parts of a word say by themselves what the shell will run. A "[" that is the whole word is
// the command of that name.
func isPlain(parts []syntax.WordPart, quoted bool) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !quoted && expands(part.Value) && (part.Value != "[" || len(parts) > 1) {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !isPlain(part.Parts, true) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// expands reports whether an unquoted literal holds an unescaped character that the shell expands.
func expands(literal string) bool {
	for i := 0; i < len(literal); i++ {
		switch literal[i] {
		case '\\':
			i++
		case '{', '[', '*', '?', '$', '`':
			return true
		}
	}
	return false
}
