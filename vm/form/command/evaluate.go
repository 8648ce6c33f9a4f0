package command

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An evaluator reads the arguments of a command that evaluates some of them.
type evaluator func(w *walker, words []*syntax.Word, redirs []*syntax.Redirect, at place)

// evaluators are the commands that take the text of a command, or the name of a variable, whose subscript bash evaluates.
// It is filled by init, since they read commands themselves.
var evaluators map[string]evaluator

func init() {
	evaluators = map[string]evaluator{
		"eval": (*walker).eval, "trap": (*walker).trap, "alias": (*walker).alias, "source": (*walker).sourced, ".": (*walker).sourced,
		"mapfile": (*walker).mapfile, "readarray": (*walker).mapfile, "compgen": (*walker).completion, "complete": (*walker).completion,
		"bind": (*walker).bind, "fc": (*walker).fc, "set": (*walker).set, "shopt": (*walker).set, "hash": (*walker).hash, "jobs": (*walker).jobs,
		"find": (*walker).find, "printf": (*walker).printf, "read": (*walker).readNames, "getopts": (*walker).readNames,
		"test": (*walker).test, "[": (*walker).test, "unset": (*walker).unset, "wait": (*walker).names,
		"let": (*walker).letBuiltin, "declare": (*walker).declareBuiltin, "typeset": (*walker).declareBuiltin, "local": (*walker).declareBuiltin,
		"export": (*walker).declareBuiltin, "readonly": (*walker).declareBuiltin,
	}
}

// plainTexts returns the texts of words that must be written out.
func (w *walker) plainTexts(words []*syntax.Word, reason error) []string {
	texts := make([]string, len(words))
	for i, word := range words {
		if !isPlain(word.Parts, false) {
			w.refuse(reason, word)
			return nil
		}
		texts[i] = w.text(word.Parts, false)
	}
	return texts
}

// final reads a text to which the shell appends words: none of its commands may wait for them.
func (w *walker) final(text string, word *syntax.Word) {
	outer := w.openEnd
	w.openEnd = false
	w.evaluated(text)
	if w.openEnd {
		w.refuse(errText, word)
	}
	w.openEnd = outer
}

func (w *walker) eval(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	texts := w.plainTexts(words, errDynamic)
	if len(texts) > 0 && texts[0] == "--" {
		texts = texts[1:]
	}
	w.evaluated(strings.Join(texts, " "))
}

func (w *walker) trap(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	ended := false
	for len(words) > 0 && !ended && w.text(words[0].Parts, false) == "--" {
		words, ended = words[1:], true
	}
	if len(words) == 0 {
		return
	}
	if texts := w.plainTexts(words[:1], errText); len(texts) > 0 && len(words) > 1 && texts[0] != "-" && (ended || !strings.HasPrefix(texts[0], "-")) {
		w.evaluated(texts[0])
	}
}

// alias reads the text of aliases. The words that follow one's use join it, so that it must be whole commands, and its name
// must not be a word of the grammar.
func (w *walker) alias(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	texts := w.plainTexts(words, errText)
	for i, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			continue
		}
		w.flow.alias = true
		if isReserved(name) || name == "" || strings.Trim(name, letters+".-") != "" || strings.ContainsAny(value, "#\n<") || strings.TrimSpace(value) == "" {
			w.refuse(errText, words[i])
			return
		}
		value = strings.TrimSpace(value)
		if last := value[len(value)-1]; strings.IndexByte(letters+"'\"-./=,:%+@~", last) < 0 {
			w.refuse(errText, words[i])
			return
		}
		w.final(value, words[i])
	}
}

// sourced reads what the shell is told to read: not its input, and no file that only the shell can name.
func (w *walker) sourced(words []*syntax.Word, redirs []*syntax.Redirect, _ place) {
	w.input(redirs, w.evaluated)
	if len(words) > 0 && w.text(words[0].Parts, false) == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	w.flow.positional(words[1:])
	file := words[0]
	name := w.text(file.Parts, false)
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case isPlain(file.Parts, false) && !isInput(name):
	case isInput(name) && isPlain(file.Parts, false):
		if !isStandardInput(name, "") || !hasInput(redirs) {
			w.refuse(errInput, file)
		}
	case !w.isOneWord(file.Parts) || base == name || base == "" || strings.ContainsAny(base, "$`<>(){}\"'*?[") || isInput(base):
		w.refuse(errInput, file)
	}
}

// isInput reports whether a file name is a shell's input or another open file.
func isInput(name string) bool {
	clean := path.Clean(name)
	base := path.Base(clean)
	return name == "-" || base == "stdin" || base == "stdout" || base == "stderr" || base == "tty" || strings.Contains(clean, "/fd/") ||
		strings.Trim(base, "0123456789") == ""
}

// isStandardInput reports whether a shell that is given this file and these options reads its standard input.
func isStandardInput(name, options string) bool {
	return name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" || strings.Contains(options, "s")
}

// hasInput reports whether a here-document or here-string is all that a command reads.
func hasInput(redirs []*syntax.Redirect) bool {
	given := false
	for _, redir := range redirs {
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if redir.N != nil && redir.N.Value != "0" {
				return false
			}
			given = true
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return false
		}
	}
	return given
}

// mapfile reads the text that mapfile -C evaluates for each line.
func (w *walker) mapfile(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	w.options(words, "dnOsuCc")
	w.flow.foreign = true
	w.assignsTo(words)
}

// completion reads what compgen and complete run or expand.
func (w *walker) completion(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	w.options(words, "AGWFCXPSoV")
	w.flow.foreign = true
	for _, word := range words {
		if text := w.text(word.Parts, false); strings.Contains(text, "<(") || strings.Contains(text, ">(") {
			w.refuse(errText, word) // the words of -W are expanded as a command's are
		}
	}
}

// options reads the text that follows -C among the options of a builtin; all of its words must be written out.
func (w *walker) options(words []*syntax.Word, values string) {
	texts := w.plainTexts(words, errText)
	for i := 0; i < len(texts); i++ {
		option := texts[i]
		at := strings.IndexAny(option, values)
		if !strings.HasPrefix(option, "-") || at < 1 {
			continue
		}
		value := option[at+1:]
		if value == "" && i+1 < len(texts) {
			i++
			value = texts[i]
		}
		if option[at] == 'C' {
			w.final(value, words[i])
		}
	}
}

// bind reads the commands that bind -x ties to keys.
func (w *walker) bind(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	for i, text := range w.plainTexts(words, errText) {
		if _, command, ok := strings.Cut(text, ":"); ok {
			if command = strings.TrimSpace(command); len(command) > 1 && command[0] == '"' {
				command = strings.Trim(command, `"`)
			}
			w.final(command, words[i])
		}
	}
}

// fc runs what the history holds, and an editor that variables name. With -l it lists, unless -s is there too.
func (w *walker) fc(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	options := ""
	for _, text := range w.plainTexts(words, errText) {
		if strings.HasPrefix(text, "-") {
			options += text
		}
	}
	if !strings.Contains(options, "l") || strings.ContainsAny(options, "se") {
		w.fail(errRewrites)
	}
}

// set looks for options that rewrite the commands that follow; shopt -o sets the same ones. What follows -- or a word that is
// no option are positional parameters.
func (w *walker) set(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	w.flow.positional(words)
	for i, word := range words {
		text := w.text(word.Parts, false)
		if !isPlain(word.Parts, false) {
			w.refuse(errText, word) // it may be any option; behind -- it is none
			return
		}
		if text == "--" || text == "-" || i == 0 && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") {
			return
		}
		w.shellOption(text)
	}
}

// shellOption refuses options of a shell that rewrite the commands that follow.
func (w *walker) shellOption(text string) {
	letters, short := strings.CutPrefix(text, "-")
	if text == "histexpand" || text == "history" || text == "keyword" || short && !strings.HasPrefix(letters, "-") && strings.ContainsAny(letters, "Hk") {
		w.fail(errRewrites)
	}
}

// hash -p gives a program another name.
func (w *walker) hash(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	w.plainTexts(words, errText)
}

// jobs -x runs a command.
func (w *walker) jobs(words []*syntax.Word, redirs []*syntax.Redirect, at place) {
	runs := false
	for i, word := range words {
		if !isPlain(word.Parts, false) {
			w.refuse(errDynamic, word)
			return
		}
		text := w.text(word.Parts, false)
		if !strings.HasPrefix(text, "-") {
			if runs {
				w.runs(words[i:], redirs, at)
			}
			return
		}
		runs = runs || strings.Contains(text, "x")
	}
}

// find reads the commands of -exec and its relatives, up to the ; or + that ends each one. An expansion in front of an end
// that no written -exec has may be one.
func (w *walker) find(words []*syntax.Word, redirs []*syntax.Redirect, at place) {
	if at.appended {
		w.fail(fmt.Errorf("%w: xargs find", errText))
		return
	}
	var open *syntax.Word
	for i := 0; i < len(words); i++ {
		text := w.text(words[i].Parts, false)
		switch {
		case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
			end := i + 1
			for end < len(words) && !w.endsExec(words[end], words[end-1]) {
				end++
			}
			w.runs(words[i+1:end], redirs, place{replaced: append(slices.Clone(at.replaced), "{}")})
			i = end
		case (text == ";" || text == "+") && open != nil:
			w.refuse(errDynamic, open)
			return
		case isPlain(words[i].Parts, false) || isPattern(words[i]):
		case !w.isOneWord(words[i].Parts):
			w.refuse(errDynamic, words[i])
			return
		case !strings.HasPrefix(literal(words[i].Parts[:1], false), "/") && !strings.HasPrefix(literal(words[i].Parts[:1], false), "."):
			open = words[i]
		}
		if w.err != nil {
			return
		}
	}
}

func (w *walker) endsExec(word, before *syntax.Word) bool {
	text := w.text(word.Parts, false)
	return text == ";" || text == "+" && w.text(before.Parts, false) == "{}"
}

// isPattern reports whether a word becomes file names alone: it has glob characters, and neither expansions nor a brace
// that may begin an option.
func isPattern(word *syntax.Word) bool {
	lit := word.Lit()
	return lit != "" && !strings.ContainsAny(lit, "$`") && (strings.IndexByte(lit, '{') < 0 || strings.IndexByte(lit, '-') < 0)
}

// printf -v assigns to a variable that it names.
func (w *walker) printf(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	if len(words) == 0 {
		return
	}
	first := w.text(words[0].Parts, false)
	switch {
	case strings.HasPrefix(first, "-v"):
		w.assignsTo(words[:min(2, len(words))])
	case !isPlain(words[0].Parts, false) && len(words) > 1 && strings.HasPrefix(first, "$"):
		w.use(words[0])
	}
}

// readNames are the commands all of whose operands are names.
func (w *walker) readNames(words []*syntax.Word, _ []*syntax.Redirect, _ place) { w.assignsTo(words) }

// assignsTo notes that what words name is assigned to what only the shell knows. Options may have values that are
// expansions in double quotes.
func (w *walker) assignsTo(words []*syntax.Word) {
	w.flow.set("REPLY")
	w.flow.set("MAPFILE")
	for i, word := range words {
		text := w.text(word.Parts, false)
		if isPlain(word.Parts, false) {
			w.target(strings.TrimPrefix(text, "-v"), word)
			continue
		}
		isValue := i > 0 && strings.HasPrefix(w.text(words[i-1].Parts, false), "-") && w.isOneWord(word.Parts)
		if isValue {
			before := w.text(words[i-1].Parts, false)
			isValue = !strings.HasPrefix(before, "-v") && !strings.HasSuffix(before, "a") && !strings.HasSuffix(before, "r") && !strings.HasSuffix(before, "s")
		}
		if !isValue {
			w.refuse(errName, word)
			return
		}
	}
}

// names are the commands that evaluate the subscripts of what they name.
func (w *walker) names(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	for _, word := range words {
		w.use(word)
	}
}

func (w *walker) unset(words []*syntax.Word, redirs []*syntax.Redirect, at place) {
	for _, word := range words {
		w.flow.unset = append(w.flow.unset, w.text(word.Parts, false))
		w.flow.reference = w.flow.reference || !isPlain(word.Parts, false) && len(w.flow.arrays) > 0
	}
	w.names(words, redirs, at)
}

// test evaluates the subscript of what -v names. An expansion may come to a -v: one that is several words or none, one
// behind a dash, and the first of two words.
func (w *walker) test(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	if n := len(words); n > 0 && w.text(words[n-1].Parts, false) == "]" {
		words = words[:n-1]
	}
	named := len(words) == 2 && !isPlain(words[0].Parts, false)
	for _, word := range words {
		text, plain := w.text(word.Parts, false), isPlain(word.Parts, false)
		named = named || text == "-v" || text == "-R" || !plain && (strings.HasPrefix(text, "-") || !w.isOneWord(word.Parts))
	}
	for _, word := range words {
		if named && !isPlain(word.Parts, false) {
			w.use(word)
		}
	}
}

func (w *walker) letBuiltin(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	for _, word := range words {
		if w.bare(word, letters+"+*/%=,:?^-"); w.err == nil {
			w.use(word)
		}
	}
}

// declareBuiltin reads declare and its like behind builtin or command, where the parser does not know them.
func (w *walker) declareBuiltin(words []*syntax.Word, _ []*syntax.Redirect, _ place) {
	options := ""
	for _, word := range words {
		text := w.text(word.Parts, false)
		if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
			if !isPlain(word.Parts, false) {
				w.refuse(errName, word)
			}
			options += text
			continue
		}
		name, value, _ := strings.Cut(text, "=")
		w.flow.unset = append(w.flow.unset, name)
		if strings.Contains(options, "n") {
			w.flow.reference = true
			if isEvaluated(value) {
				w.refuse(errName, word)
			}
		}
		w.declaredWord(word, options)
	}
}
