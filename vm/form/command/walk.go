package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A reader collects what a command and the texts that the shell evaluates in it come to: the simple commands, and the
// first reason to refuse it.
type reader struct {
	commands   []string
	lists      bool     // for a list of allowed commands
	listed     []string // for that, the simple commands in its form
	inner      []string // the forms of evaluated texts
	flow       flow
	err        error
	empty      bool // the last script had no command
	depth      int
	left       int    // how many bytes of evaluated texts may still be read
	shell      bool   // a shell is started somewhere
	dialect    string // what the texts that are evaluated here are read as beside bash
	fed        bool   // a shell takes the text from its standard input
	takes      bool   // a command in that text may take a part of the input
	backquotes int    // how many hold the text, which is read anew without their backslashes
	openEnd    bool   // in the script that was read last, words that are appended to a command may be evaluated
}

// A walker reads one text.
type walker struct {
	*reader
	raw       string
	quotes    bool        // the text may hold a substitution in quotes
	body      syntax.Node // the body of the here-document that is walked next
	documents []*syntax.Redirect
	uncertain bool   // the statement may not run, or not in this shell
	nested    []bool // for each open node, whether it adds a level
	elifs     map[*syntax.IfClause]bool
}

// script reads a text as a shell reads one that it is given.
func (r *reader) script(text string) {
	if r.err != nil {
		return
	}
	if r.err = precheck(text); r.err != nil {
		return
	}
	if trailing := len(text) - len(strings.TrimRight(text, `\`)); trailing%2 == 1 {
		r.err = fmt.Errorf("%w: it ends in a backslash", errSyntax) // which bash drops
		return
	}
	r.parsed(text, syntax.LangBash)
	switch {
	case r.err != nil || r.dialect == "":
	case r.dialect == anyDialect:
		if strings.Trim(text, letters+"./:=@%+,-;|& \n") != "" {
			r.err = fmt.Errorf("%w: the shell that reads it takes more than plain words otherwise; use bash", errSyntax)
		}
	default:
		r.parsed(text, variants[r.dialect])
	}
}

// parsed reads a text in one dialect of the shell.
func (r *reader) parsed(text string, dialect syntax.LangVariant) {
	file, err := parse(text, dialect)
	if err != nil {
		r.err = fmt.Errorf("%w: %w", errSyntax, err)
		if dialect != syntax.LangBash {
			r.err = fmt.Errorf("%w and as %s, whose shell is given it; use bash -c: %w", errSyntax, dialect, err)
		}
		return
	}
	r.walk(text, file)
	r.empty = len(file.Stmts) == 0
}

// dialects are the shells that read some texts otherwise than bash. What they are given is read both ways, or has to be
// plain words where there is no parser for theirs.
var dialects = map[string]string{"sh": "sh", "dash": "sh", "ash": "sh", "ksh": "ksh", "mksh": "ksh", "zsh": "zsh", "csh": anyDialect, "tcsh": anyDialect, "fish": anyDialect}

// anyDialect is one without a parser.
const anyDialect = "any"

var variants = map[string]syntax.LangVariant{"sh": syntax.LangPOSIX, "ksh": syntax.LangMirBSDKorn, "zsh": syntax.LangZsh}

func (r *reader) walk(text string, node syntax.Node) {
	w := walker{reader: r, raw: text, elifs: map[*syntax.IfClause]bool{}}
	w.quotes = strings.ContainsAny(text, "`(") || strings.Contains(text, "$'") || strings.Contains(text, "${")
	if syntax.Walk(node, w.visit); w.err == nil {
		w.ended()
	}
}

// evaluated reads a text that the shell reads as a command when it runs. An empty one does nothing.
func (r *reader) evaluated(text string) {
	if !r.spend(text) || strings.TrimSpace(text) == "" {
		return
	}
	forms := formsOf(text)
	r.inner = append(r.inner, forms.Collapsed, forms.Unquoted, forms.Tight)
	r.inner = append(r.inner, forms.Inner...)
	r.depth++
	r.script(text)
	r.depth--
}

// documentEnd is where the parser ends a document, whatever follows.
const documentEnd = "MVDAN_CC_SH_SYNTAX_EOF"

// substitutions reads the substitutions in a quoted text, which bash runs where it evaluates the text as arithmetic, as a
// name or as a prompt. What evaluates it once more takes a backslash in front of each dollar and back quote away before.
func (r *reader) substitutions(text string) {
	for r.spend(text) {
		word, err := document(text + "\n")
		if strings.Contains(text, documentEnd) {
			err = errors.New("it holds " + documentEnd)
		}
		if err != nil {
			r.fail(fmt.Errorf("%w: in quotes: %w", errSyntax, err))
			return
		}
		if word != nil {
			r.depth++
			r.walk(text, word)
			r.depth--
		}
		again := strings.NewReplacer(`\$`, "$", "\\`", "`").Replace(text)
		if again == text {
			return
		}
		text = again
	}
}

// spend takes an evaluated text from what may be read in all, and reports whether it may be read.
func (r *reader) spend(text string) bool {
	if r.err != nil {
		return false
	}
	if r.left -= len(text); r.left < 0 || r.depth >= maxDepth {
		r.err = errTooDeep
	} else {
		r.err = precheck(text)
	}
	return r.err == nil
}

// fail keeps the first reason to refuse the command.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// refuse refuses the command for the text in the text as node.
func (w *walker) refuse(reason error, node syntax.Node) {
	advice := ""
	if slices.Contains([]error{errDynamic, errGlob, errText, errName}, reason) {
		advice = "write out "
	}
	w.fail(fmt.Errorf("%w: %s%s", reason, advice, w.source(node)))
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
	w.enter(node)
	subst, ok := node.(*syntax.CmdSubst)
	if ok && subst.Backquotes && w.err == nil && w.backquoted(subst) {
		w.leave()
		return false
	}
	if w.err == nil && w.lists {
		w.listable(node)
	}
	if w.err == nil {
		w.look(node)
	}
	if w.err != nil {
		w.leave()
		return false
	}
	return true
}

// backquoted reads a substitution in backquotes that holds a backslash anew: bash takes backslashes away first and parses
// then, those in front of double quotes only where the backquotes are in such. It reports whether it did.
func (w *walker) backquoted(node *syntax.CmdSubst) bool {
	text := w.source(node)
	if len(text) < 2 {
		return false
	}
	if text = text[1 : len(text)-1]; strings.IndexByte(text, '\\') < 0 {
		return false
	}
	read := map[string]bool{}
	for _, escapes := range backquoteEscapes {
		if inner := escapes.Replace(text); !read[inner] {
			read[inner] = true
			w.backquotes++
			w.evaluated(inner)
			w.backquotes--
		}
	}
	return true
}

// backquoteEscapes are the ways in which backslashes are taken away: outside of double quotes and in them, and each with those
// before a line end and without, which bash takes away, but not everywhere.
var backquoteEscapes = [...]*strings.Replacer{
	strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$"),
	strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$", "\\\"", "\""),
	strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$", "\\\n", ""),
	strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$", "\\\"", "\"", "\\\n", ""),
}

// look is one flat switch over the nodes that matter.
func (w *walker) look(node syntax.Node) {
	switch node := node.(type) {
	case *syntax.Stmt:
		w.openEnd = w.openEnd || node.Cmd == nil
		w.uncertain = node.Background || node.Coprocess || len(node.Redirs) > 0
		if call, ok := node.Cmd.(*syntax.CallExpr); ok {
			w.call(call, node.Redirs)
		}
	case *syntax.DeclClause:
		w.declaration(node)
	case *syntax.ExtGlob:
		w.pattern(node)
	case *syntax.Comment:
		w.comment(node)
	case *syntax.Word:
		if w.quotes && node != w.body {
			w.quoted(node)
		}
	case *syntax.Redirect:
		w.redirect(node)
	case *syntax.CmdSubst:
		w.enclosed(node, node.Right, node.Backquotes)
	case *syntax.ProcSubst:
		w.enclosed(node, node.Rparen, false)
	case *syntax.TimeClause:
		w.openEnd = true
		w.timed(node)
	case *syntax.LetClause:
		w.openEnd = true
		w.bare(node, letters+"+*/%=,:?^- \t")
		for _, x := range node.Exprs {
			w.arithmetic(x)
		}
	case *syntax.CoprocClause:
		w.bare(node, letters+"./:=@%+,- \t")
		if node.Name != nil {
			w.refuse(errBare, node)
		}
	case *syntax.FuncDecl:
		w.flow.declare(node)
	case *syntax.ParamExp:
		w.parameter(node)
	case *syntax.ForClause:
		w.loop(node)
	case *syntax.ArithmExp:
		w.arithmetic(node.X)
	case *syntax.ArithmCmd:
		w.arithmetic(node.X)
	case *syntax.BinaryTest:
		w.comparison(node)
	case *syntax.UnaryTest:
		if word, ok := node.X.(*syntax.Word); ok && (node.Op == syntax.TsVarSet || node.Op == syntax.TsRefVar) {
			w.use(word)
		}
	}
}

// letters are what bare words are made of, beside the text in each kind of them.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// bare refuses a node with other characters than these, which the parser and bash read differently.
func (w *walker) bare(node syntax.Node, characters string) {
	if strings.Trim(w.source(node), characters) != "" {
		w.refuse(errBare, node)
	}
}

// timed reads time --, whose dashes the parser takes for a command.
func (w *walker) timed(node *syntax.TimeClause) {
	stmt := node.Stmt
	for stmt != nil {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		stmt = pipe.X
	}
	if stmt == nil {
		return
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || w.text(call.Args[0].Parts, false) != "--" {
		return
	}
	if len(stmt.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) == 1 {
		w.refuse(errBare, node)
		return
	}
	w.bare(call, letters+"./:@%+,- \t")
	if first := w.text(call.Args[1].Parts, false); isReserved(first) || first == "--" || first == "-p" {
		w.refuse(errBare, node)
	}
	w.runs(call.Args[1:], nil, inPlace)
}

// isReserved reports whether bash takes a word in front of a command for a part of its grammar.
func isReserved(word string) bool {
	switch word {
	case "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
		"then", "time", "until", "while":
		return true
	}
	return false
}

// comment refuses a comment that the parser and bash see differently: bash joins no lines in one, and begins one only
// where a word begins.
func (w *walker) comment(node *syntax.Comment) {
	at := int(node.Hash.Offset())
	if at >= len(w.raw) || w.raw[at] != '#' {
		w.fail(errComment)
		return
	}
	line := w.raw[at:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	before := w.raw[:at]
	for strings.HasSuffix(before, "\\\n") {
		before = before[:len(before)-2]
	}
	if strings.HasSuffix(line, `\`) || before != "" && strings.IndexByte(" \t\n;&|(", before[len(before)-1]) < 0 {
		w.fail(fmt.Errorf("%w: %s", errComment, line))
	}
}

// quoted reads the substitutions that are in quotes within a word.
func (w *walker) quoted(word *syntax.Word) {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && (strings.Contains(lit.Value, "<(") || strings.Contains(lit.Value, ">(")) {
			w.refuse(errGlob, word) // the parser takes a substitution for text
			return
		}
	}
	text, found := w.literals(word.Parts, false)
	if !found {
		return
	}
	for _, opening := range []string{"$(", "`", "${ ", "${|", "${\t", "${\n"} {
		if strings.Contains(text, opening) {
			w.substitutions(text)
			return
		}
	}
}

// literals returns a word without its quotes, with some expansion in place of each one, and whether it has quotes at all.
func (w *walker) literals(parts []syntax.WordPart, double bool) (text string, found bool) {
	for _, part := range parts {
		piece, quoted := "${_}", true
		switch part := part.(type) {
		case *syntax.Lit:
			piece, quoted = unescape(part.Value, double), double || strings.IndexByte(part.Value, '\\') >= 0
		case *syntax.SglQuoted:
			piece = single(part)
		case *syntax.DblQuoted:
			piece, _ = w.literals(part.Parts, true)
		default:
			quoted = false
		}
		text, found = text+piece, found || quoted
	}
	return text, found
}

// redirect notes the body of a here-document, which is data unless a shell reads it.
func (w *walker) redirect(node *syntax.Redirect) {
	w.body = nil
	if node.Hdoc != nil {
		w.body = node.Hdoc
	}
	if isDocument(node) {
		w.documents = append(w.documents, node)
		if w.backquotes > 0 || !isDelimiter(w.source(node.Word)) {
			w.refuse(errDelimiter, node.Word)
		}
	}
	if node.Op == syntax.DplOut || node.Op == syntax.DplIn {
		if text := w.source(node.Word); len(text) > 1 && text[0] == '-' { // bash ends the word behind the dash
			w.fail(fmt.Errorf("%w: put a space behind the dash of %s", errSyntax, w.source(node)))
		}
		if !isPlain(node.Word.Parts, false) { // bash expands what it comes to once more
			w.use(node.Word)
		} else if strings.IndexByte(w.text(node.Word.Parts, false), '(') >= 0 {
			w.refuse(errText, node.Word)
		}
	}
	if node.N != nil && strings.ContainsAny(node.N.Value, "[$`") {
		w.refuse(errName, node)
	}
}

// enter counts a level where node nests, and refuses one too many.
func (w *walker) enter(node syntax.Node) {
	nests := w.nests(node)
	if nests {
		w.depth++
	}
	w.nested = append(w.nested, nests)
	if w.depth > maxDepth {
		w.err = errTooDeep
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
func (w *walker) call(call *syntax.CallExpr, redirs []*syntax.Redirect) {
	for _, assign := range call.Assigns {
		w.assign(assign, false)
	}
	if len(call.Args) == 0 || w.err != nil {
		w.openEnd = true
		return
	}
	words := make([]string, len(call.Args))
	expands := false
	for i, word := range call.Args {
		words[i] = w.text(word.Parts, false)
		expands = expands || strings.IndexByte(words[i], '$') >= 0 || strings.IndexByte(words[i], '`') >= 0
		w.takes = w.takes || takesInput(baseName(words[i]))
	}
	w.commands = append(w.commands, Collapse(strings.Join(words, " ")))
	if expands {
		w.emptied(call.Args)
	}
	if w.lists {
		w.list(call.Args)
	}
	w.flow.call(words[0], call.Args[1:])
	w.runs(call.Args, redirs, inPlace)
}

// emptied adds the words of a simple command as they are where expansions come to nothing: words of nothing else are left
// out, and options lose those in them. Others stay as they are: /x is seldom what $dir/x means.
func (w *walker) emptied(args []*syntax.Word) {
	var words []string
	for _, word := range args {
		if rest := literal(word.Parts, false); strings.HasPrefix(rest, "-") {
			words = append(words, rest)
		} else if rest != "" {
			words = append(words, w.text(word.Parts, false))
		}
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
	w.declared(decl)
}

// pattern refuses an extended glob that holds an expansion: bash would run the text in it, and the parser leaves it
// unread.
func (w *walker) pattern(glob *syntax.ExtGlob) {
	if text := glob.Pattern.Value; strings.ContainsAny(text, "$`") || strings.Contains(text, "<(") || strings.Contains(text, ">(") {
		w.refuse(errGlob, glob)
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

// source returns the text in the raw text for node.
func (w *walker) source(node syntax.Node) string {
	if word, ok := node.(*syntax.Word); ok && len(word.Parts) == 0 {
		return ""
	}
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
