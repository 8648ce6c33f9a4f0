package command

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Arithmetic, subscripts, ${!x} and test -v evaluate the value of a variable, and run a substitution that they find in it.
// A text in which no single piece holds a substitution may still put one together, or print one. So what is evaluated must
// not come from a value that only the shell knows: of each variable it is noted what it is assigned.

// A flow is what a command assigns, and what of it is evaluated.
type flow struct {
	assigned  []assigned
	uses      []use
	calls     []assigned // the arguments of commands, by the command's name
	functions []string
	arrays    []string // associative ones, whose subscripts are not evaluated
	integers  []string
	unset     []string
	compound  []use      // values of declare and its like, which bash parses where they go to an array
	lists     []string   // arrays of all kinds
	later     []assigned // what is evaluated if a shell is started
	alias     bool       // a word may mean another command
	foreign   bool       // functions or scripts get arguments that the text does not hold
	reference bool       // a name may mean another variable
	names     []string   // references
	loops     []string   // variables of for and select, which give a reference another target
}

// assigned is one assignment. Without words, only the shell knows the value.
type assigned struct {
	name  string
	words []*syntax.Word
}

// A use is a word that is evaluated, as the subscript of an array or by itself.
type use struct {
	walker *walker
	word   *syntax.Word
	array  string
}

// evaluatedNames are the variables whose value the shell evaluates, and whether only another shell does.
var evaluatedNames = map[string]bool{"PS4": false, "PROMPT_COMMAND": false, "BASH_ENV": false, "ENV": true, "PS0": true, "PS1": true, "PS2": true}

// isForbidden reports whether what is assigned to a variable changes which commands run, in a way that is not followed.
func isForbidden(name string) bool {
	return name == "BASH_ALIASES" || name == "BASH_CMDS" || name == "SHELLOPTS" || name == "BASHOPTS" || strings.HasPrefix(name, "BASH_FUNC_")
}

// unknowns are the variables that the shell itself fills with texts.
var unknowns = map[string]bool{"_": true, "REPLY": true, "MAPFILE": true, "OPTARG": true, "BASH_REMATCH": true, "BASH_COMMAND": true,
	"BASH_EXECUTION_STRING": true, "BASH_ARGV": true, "BASH_ARGV0": true, "BASH_SOURCE": true, "FUNCNAME": true, "DIRSTACK": true, "PWD": true,
	"OLDPWD": true, "COMP_LINE": true, "COMP_WORDS": true, "COMPREPLY": true, "READLINE_LINE": true}

// evaluatedIntegers are the variables that are integers from the start: bash evaluates what they are assigned.
var evaluatedIntegers = map[string]bool{"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "OPTIND": true, "HISTCMD": true,
	"BASHPID": true, "BASH_SUBSHELL": true, "EPOCHSECONDS": true}

func (f *flow) declare(node *syntax.FuncDecl) {
	if node.Name != nil {
		f.functions = append(f.functions, node.Name.Value)
	}
}

func (f *flow) call(name string, args []*syntax.Word) {
	if len(args) > 0 {
		f.calls = append(f.calls, assigned{name, args})
	}
}

// positional notes words that become $1 and its successors.
func (f *flow) positional(words []*syntax.Word) {
	if len(words) > 0 {
		f.assigned = append(f.assigned, assigned{"@", words})
	}
}

// set notes that only the shell knows what a variable holds.
func (f *flow) set(name string) { f.assigned = append(f.assigned, assigned{name: name}) }

// assign reads NAME=value, NAME[i]=value and NAME=(…).
func (w *walker) assign(a *syntax.Assign, integer bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	var words []*syntax.Word
	if a.Value != nil {
		words = append(words, a.Value)
	}
	if a.Array != nil || a.Index != nil {
		w.flow.lists = append(w.flow.lists, name)
	}
	if a.Array != nil {
		words = append(words, &syntax.Word{}) // an empty list is known
		for _, element := range a.Array.Elems {
			w.subscript(name, element.Index)
			if element.Value != nil {
				words = append(words, element.Value)
			}
		}
	}
	w.subscript(name, a.Index)
	for _, word := range words {
		w.value(name, a.Append, word, isPlain(word.Parts, false), w.text(word.Parts, false))
	}
	if len(words) == 0 && isForbidden(name) {
		w.refuse(errName, a)
	}
	w.assigns(name, words, integer)
}

// assigns notes an assignment. An integer is evaluated when it is assigned.
func (w *walker) assigns(name string, words []*syntax.Word, integer bool) {
	if integer {
		w.flow.integers = append(w.flow.integers, name)
	}
	if len(words) > 0 {
		w.flow.assigned = append(w.flow.assigned, assigned{name, words})
	}
	if integer || evaluatedIntegers[name] {
		for _, word := range words {
			w.use(word)
		}
	}
}

// value reads the value of a variable that the shell evaluates.
func (w *walker) value(name string, appended bool, word *syntax.Word, plain bool, text string) {
	if isForbidden(name) {
		w.refuse(errName, word)
		return
	}
	later, ok := evaluatedNames[name]
	if !ok {
		return
	}
	isPrompt := strings.HasPrefix(name, "PS")
	hidden := !plain || appended || isPrompt && strings.IndexByte(text, '\\') >= 0 // decoding may make a dollar of \044
	switch {
	case later && hidden:
		w.flow.later = append(w.flow.later, assigned{w.source(word), []*syntax.Word{word}})
	case later:
		w.flow.later = append(w.flow.later, assigned{name: text})
	case hidden:
		w.refuse(errText, word)
	case name == "BASH_ENV" && isInput(text) && text != "":
		w.refuse(errInput, word)
	default:
		w.evaluated(text)
	}
}

// declared reads the arguments of declare and its like.
func (w *walker) declared(decl *syntax.DeclClause) {
	w.openEnd = true
	options := ""
	for _, arg := range decl.Args {
		if arg.Name != nil {
			continue
		}
		text := w.text(arg.Value.Parts, false)
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
			options += text
		}
	}
	integer := strings.Contains(options, "i")
	for _, arg := range decl.Args {
		if w.err != nil {
			return
		}
		if decl.Variant.Value != "export" && strings.Contains(options, "n") {
			w.flow.reference = true
			if arg.Name != nil && (arg.Value == nil || !isPlain(arg.Value.Parts, false) || !w.refers(arg.Name.Value, w.text(arg.Value.Parts, false))) {
				w.refuse(errName, arg)
				return
			}
		}
		if arg.Name == nil {
			w.declaredWord(arg.Value, options)
			continue
		}
		if strings.Contains(options, "A") {
			w.associative(arg.Name.Value)
		}
		w.assign(arg, integer)
		if strings.ContainsAny(options, "aA") {
			w.flow.lists = append(w.flow.lists, arg.Name.Value)
		}
		if arg.Value != nil {
			w.declaredText(arg.Name.Value, arg.Value, w.text(arg.Value.Parts, false))
		}
		if integer && arg.Naked {
			w.flow.integers = append(w.flow.integers, arg.Name.Value)
		}
	}
}

// refers notes a reference to another variable, and reports whether its target is a name that means nothing else. Bash evaluates a
// subscript whenever it reads the reference, and takes what one without a target is assigned first for its target.
func (w *walker) refers(name, target string) bool {
	w.flow.names = append(w.flow.names, name)
	return target != "" && strings.IndexByte(target, '[') < 0 && !isEvaluated(target)
}

// declaredWord reads a NAME=value that the parser takes for a plain word, or a name.
func (w *walker) declaredWord(word *syntax.Word, options string) {
	text := w.text(word.Parts, false)
	name, value, given := strings.Cut(text, "=")
	name = strings.TrimSuffix(name, "+")
	if strings.ContainsAny(options, "aA") {
		w.flow.lists = append(w.flow.lists, name)
	}
	if given {
		w.declaredText(name, word, value)
	}
	if option := strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"); !option && strings.Contains(options, "n") && (!w.refers(name, value) || !isPlain(word.Parts, false)) {
		w.refuse(errName, word)
	}
	w.assignWord(word, strings.Contains(options, "i"))
}

// declaredText reads a value that declare and its like take as one word. Bash parses one in parentheses, with all that
// is in it, where it goes to an array.
func (w *walker) declaredText(name string, word *syntax.Word, text string) {
	switch {
	case strings.HasPrefix(text, "("):
		w.refuse(errText, word)
	case strings.HasPrefix(text, "$") || strings.HasPrefix(text, "`"):
		w.flow.compound = append(w.flow.compound, use{w, word, name})
	}
}

// associative notes an array whose subscripts are texts, if it is certain to be one: it is declared once, in the outermost
// list of commands, before anything else is assigned to it.
func (w *walker) associative(name string) {
	const outermost = 3 // file, statement, declaration
	certain := w.depth == 0 && len(w.nested) == outermost && !w.uncertain
	for _, a := range w.flow.assigned {
		certain = certain && a.name != name
	}
	for _, known := range w.flow.arrays {
		certain = certain && known != name
	}
	if certain {
		w.flow.arrays = append(w.flow.arrays, name)
	} else {
		w.flow.unset = append(w.flow.unset, name)
	}
}

// isEvaluated reports whether the shell evaluates a variable, or takes commands from it.
func isEvaluated(name string) bool {
	_, ok := evaluatedNames[name]
	return ok || isForbidden(name)
}

// assignWord reads a NAME=value that the parser takes for a plain word.
func (w *walker) assignWord(word *syntax.Word, integer bool) {
	text := w.text(word.Parts, false)
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		if !isPlain(word.Parts, false) {
			w.refuse(errName, word)
		}
		return
	}
	known := w.known(word)
	name, _, ok := strings.Cut(known, "=")
	if !ok {
		if !isPlain(word.Parts, false) {
			w.refuse(errName, word)
		} else if integer {
			w.flow.integers = append(w.flow.integers, text)
		}
		return
	}
	name, appended := strings.CutSuffix(name, "+")
	if at := strings.IndexByte(name, '['); at >= 0 {
		name = name[:at]
		w.use(word)
	}
	_, value, _ := strings.Cut(text, "=")
	w.value(name, appended, word, isPlain(word.Parts, false), value)
	w.assigns(name, []*syntax.Word{word}, integer)
}

// known returns what of a word is in front of its first expansion, without quotes.
func (w *walker) known(word *syntax.Word) string {
	known, done := "", false
	var read func(parts []syntax.WordPart, quoted bool)
	read = func(parts []syntax.WordPart, quoted bool) {
		for _, part := range parts {
			if done {
				return
			}
			switch part := part.(type) {
			case *syntax.Lit:
				known += unescape(part.Value, quoted)
			case *syntax.SglQuoted:
				known += single(part)
			case *syntax.DblQuoted:
				read(part.Parts, true)
			default:
				done = true
			}
		}
	}
	read(word.Parts, false)
	return known
}

// target notes a name to which a command assigns what only the shell knows.
func (w *walker) target(name string, word *syntax.Word) {
	name, _, indexed := strings.Cut(name, "[")
	if isEvaluated(name) {
		w.refuse(errName, word)
		return
	}
	if indexed {
		w.use(word)
	}
	w.flow.lists = append(w.flow.lists, name)
	w.flow.set(name)
	if evaluatedIntegers[name] {
		w.refuse(errIndirect, word)
	}
}

// loop notes what for and select assign.
func (w *walker) loop(node *syntax.ForClause) {
	w.takes = w.takes || node.Select
	switch loop := node.Loop.(type) {
	case *syntax.WordIter:
		name := loop.Name.Value
		w.flow.loops = append(w.flow.loops, name)
		if isEvaluated(name) {
			w.refuse(errName, loop)
		}
		if loop.InPos.IsValid() {
			w.assigns(name, loop.Items, false)
		} else {
			w.flow.set(name)
		}
	case *syntax.CStyleLoop:
		w.arithmetic(loop.Init)
		w.arithmetic(loop.Cond)
		w.arithmetic(loop.Post)
	}
}

// parameter reads what an expansion evaluates and assigns.
func (w *walker) parameter(p *syntax.ParamExp) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	if p.Index != nil {
		if !isWhole(p.Index) {
			w.subscript(name, p.Index)
		}
	}
	if p.Slice != nil {
		w.arithmetic(p.Slice.Offset)
		w.arithmetic(p.Slice.Length)
	}
	if p.Excl && p.Names == 0 && !isWhole(p.Index) {
		w.flow.uses = append(w.flow.uses, use{w, &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Dollar: p.Dollar, Rbrace: p.Rbrace, Param: p.Param}}}, ""})
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if isEvaluated(name) {
			w.refuse(errName, p)
		} else if p.Exp.Word != nil {
			w.assigns(name, []*syntax.Word{p.Exp.Word}, false)
		}
	case syntax.OtherParamOps:
		if p.Exp.Word != nil && strings.Contains(w.text(p.Exp.Word.Parts, false), "P") {
			w.refuse(errText, p)
		}
	}
}

// isWhole reports whether a subscript is @ or *, which mean the whole array.
func isWhole(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

func (w *walker) subscript(array string, index syntax.ArithmExpr) { w.arithmeticOf(index, array) }

func (w *walker) arithmetic(x syntax.ArithmExpr) { w.arithmeticOf(x, "") }

// arithmeticOf notes the words of an expression.
func (w *walker) arithmeticOf(x syntax.ArithmExpr, array string) {
	switch x := x.(type) {
	case *syntax.Word:
		w.flow.uses = append(w.flow.uses, use{w, x, array})
	case *syntax.BinaryArithm:
		w.arithmeticOf(x.X, array)
		w.arithmeticOf(x.Y, array)
	case *syntax.UnaryArithm:
		w.arithmeticOf(x.X, array)
	case *syntax.ParenArithm:
		w.arithmeticOf(x.X, array)
	}
}

// comparison notes the sides of [[ a -eq b ]] and its relatives.
func (w *walker) comparison(node *syntax.BinaryTest) {
	switch node.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{node.X, node.Y} {
			if word, ok := side.(*syntax.Word); ok {
				w.use(word)
			}
		}
	}
}

// use notes a word that is evaluated.
func (w *walker) use(word *syntax.Word) { w.flow.uses = append(w.flow.uses, use{w, word, ""}) }

// finish reads what only the whole text decides.
func (r *reader) finish() {
	if r.shell {
		for _, value := range r.flow.later {
			if value.words != nil {
				r.fail(fmt.Errorf("%w: write out %s", errText, value.name))
			}
			r.evaluated(value.name)
		}
	}
	for _, name := range r.flow.loops {
		if contains(r.flow.names, name) {
			r.fail(fmt.Errorf("%w: %s", errName, name))
		}
	}
	if len(r.flow.uses)+len(r.flow.integers)+len(r.flow.compound) == 0 || r.err != nil {
		return
	}
	t := tracer{flow: &r.flow, known: map[string]bool{}}
	for _, name := range r.flow.integers {
		if t.isUnknownName(name) {
			r.fail(fmt.Errorf("%w: %s", errIndirect, name))
			return
		}
	}
	for _, use := range r.flow.compound {
		if contains(r.flow.lists, use.array) {
			use.array = ""
			r.flow.uses = append(r.flow.uses, use)
		}
	}
	for _, use := range r.flow.uses {
		if t.isText(use.array) {
			continue
		}
		if t.isUnknown(use.word.Parts) {
			use.walker.refuse(errIndirect, use.word)
			return
		}
	}
}
