package command

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A runner is a command that runs another one, which its arguments name. The text between the two are options,
// their values, operands and, for some, NAME=value.
type runner struct {
	values   string   // the short options whose value may be the next word
	long     []string // the long options whose value may be the next word
	asks     string   // the short options with which it runs nothing
	operands int      // how many words are in front of the command
	assigns  bool     // NAME=value may be in front of the other command
	shell    bool     // it reads options as shells do: "+" starts one too, and values follow the whole word
	joined   bool     // its arguments together are the text of a command
	reads    bool     // without a command it is a shell that reads its input
	readsFor string   // the short options with which it is one
	text     string   // the short options whose value is the text of a command
	longText []string // the long options whose value is
}

// aShell takes the text of a command after -c, and the name of a script without it. A script that is named by an
// expansion is as unknown as a command that is.
var aShell = runner{values: "oO", long: []string{"rcfile", "init-file", "emulate"}, shell: true}

// runners are the commands behind which another one is looked for. The options are those of GNU, BSD and bash
// together; a letter that is an option of one of them only is an error to the others.
var runners = map[string]runner{
	"builtin": {},
	"busybox": {},
	"chroot":  {operands: 1, long: []string{"userspec", "groups"}, values: "ugG", reads: true},
	"command": {asks: "vV"},
	"doas":    {values: "uC", asks: "L", readsFor: "s"},
	"env": {values: "uCaPLUS", long: []string{"unset", "chdir", "argv0", "split-string"}, assigns: true, text: "S",
		longText: []string{"split-string"}},
	"exec":     {values: "a"},
	"flock":    {operands: 1, values: "wEc", long: []string{"wait", "timeout", "conflict-exit-code", "command"}, text: "c", longText: []string{"command"}},
	"nice":     {values: "n", long: []string{"adjustment"}},
	"nohup":    {},
	"parallel": {joined: true, reads: true, values: "ajnNLlsPSICdEX", long: []string{"jobs", "arg-file", "max-args", "colsep", "delimiter", "sshlogin", "results", "joblog", "timeout", "delay"}},
	"script": {values: "cEImoOBTt", long: []string{"command", "echo", "log-in", "log-out", "log-io", "log-timing", "output-limit", "logging-format"},
		reads: true, text: "c", longText: []string{"command"}},
	"setsid": {},
	"ssh":    {operands: 1, joined: true, reads: true, values: "BbcDEeFIiJLlmOopPQRSWw", asks: "GNOQVW"},
	"su":     {values: "cgGsTw", long: []string{"command", "session-command", "group", "supp-group", "shell", "whitelist-environment"}, reads: true, text: "c", longText: []string{"command", "session-command"}},
	"sudo": {values: "aCcDghpRrTtUu", long: []string{"auth-type", "chdir", "chroot", "close-from", "command-timeout", "group", "host",
		"login-class", "other-user", "prompt", "role", "type", "user"}, assigns: true, readsFor: "si"},
	"time":    {values: "fo", long: []string{"format", "output"}}, // the program; the parser knows the word of bash
	"timeout": {operands: 1, values: "ks", long: []string{"kill-after", "signal"}},
	"watch":   {joined: true, values: "nqi", long: []string{"interval", "equexit"}},
	"xargs": {values: "adEIJLnPRSs", long: []string{"arg-file", "delimiter", "max-args", "max-chars", "max-procs",
		"process-slot-var"}},
	"sh": aShell, "bash": aShell, "rbash": aShell, "dash": aShell, "ash": aShell, "zsh": aShell, "ksh": aShell, "mksh": aShell,
	"csh": aShell, "tcsh": aShell, "fish": aShell,
}

// IsShell reports whether a name is that of a shell.
func IsShell(name string) bool { return runners[name].shell }

// IsRunner reports whether a command runs its argument as a command.
func IsRunner(name string) bool { _, known := runners[name]; return known }

// A place says what becomes of a command's words before it runs.
type place struct {
	appended bool     // others are appended, which the text does not hold
	replaced []string // these texts in them are replaced by such
}

// replaces reports whether a text is not what will be there.
func (p place) replaces(text string) bool {
	return slices.ContainsFunc(p.replaced, func(part string) bool { return strings.Contains(text, part) })
}

// inPlace is a command that runs as it is written.
var inPlace = place{}

// A run is what follows a runner.
type run struct {
	words  []*syntax.Word // from the command on
	hidden *syntax.Word   // a word in front of it that hides which one that is
	asked  bool           // nothing runs
	option string         // the letters of all its short options
	text   bool           // it was given the text of a command
	place  place
}

// runs reads the command that words are: a command word must be plain, also behind runners, and what is evaluated is read.
func (w *walker) runs(words []*syntax.Word, redirs []*syntax.Redirect, at place) {
	for len(words) > 0 && w.err == nil {
		if !isPlain(words[0].Parts, false) {
			w.refuse(errDynamic, words[0])
			return
		}
		name := w.text(words[0].Parts, false)
		if at.replaces(name) {
			w.refuse(errDynamic, words[0])
			return
		}
		name = baseName(name)
		if evaluate, ok := evaluators[name]; ok {
			w.openEnd = true
			evaluate(w, words[1:], redirs, at)
			return
		}
		r, ok := runners[name]
		if !ok {
			return
		}
		if name == "exec" && w.fed {
			w.exchange(redirs)
		}
		next := w.skip(r, words[1:], at)
		if next.hidden != nil {
			w.refuse(errDynamic, next.hidden)
			return
		}
		if name == "xargs" && at.appended && len(next.words) == 0 {
			w.refuse(errText, words[0])
			return
		}
		if name == "xargs" {
			at = supplied(w, words[1:len(words)-len(next.words)], at)
		}
		outer := w.dialect
		if r.shell {
			w.dialect = dialects[name]
		}
		done := w.start(r, next, words[0], redirs, at)
		if w.dialect = outer; done {
			return
		}
		words = next.words
	}
}

// supplied returns what xargs, whose options are given, does with the words behind them.
func supplied(w *walker, options []*syntax.Word, at place) place {
	supply := place{appended: true, replaced: at.replaced}
	replace := func(text string) {
		if text == "" {
			text = "{}"
		}
		supply = place{replaced: append(slices.Clone(at.replaced), text)} // the last one counts
	}
	xargs := runners["xargs"]
	for i := 0; i < len(options); i++ {
		text := w.text(options[i].Parts, false)
		if value, ok := strings.CutPrefix(text, "--replace"); ok {
			replace(strings.TrimPrefix(value, "="))
		} else if !strings.HasPrefix(text, "--") {
			first := strings.IndexAny(text, xargs.values+"iel")
			if first > 0 && text[first] == 'i' {
				replace(text[first+1:])
			}
			if first > 0 && (text[first] == 'I' || text[first] == 'J') {
				value := text[first+1:]
				if value == "" && i+1 < len(options) {
					value = w.text(options[i+1].Parts, false)
				}
				replace(value)
			}
		}
		i += xargs.following(text)
	}
	return supply
}

// start reads what a runner runs where that is not the command that follows, and reports whether all is read.
func (w *walker) start(r runner, next run, name *syntax.Word, redirs []*syntax.Redirect, at place) (done bool) {
	isShell := r.shell || r.reads || strings.ContainsAny(next.option, r.readsFor)
	w.shell = w.shell || isShell
	if isShell {
		w.input(redirs, w.feed)
	}
	switch {
	case next.asked || next.text && !r.shell && len(next.words) == 0:
		return true
	case len(next.words) == 0:
		w.open(next, name, redirs, at, isShell)
		return true
	case r.joined:
		if at.appended {
			w.refuse(errText, name)
			return true
		}
		w.joined(next.words, at)
		return true
	case r.shell:
		w.interpret(next, redirs, at)
		return true
	}
	return false
}

// open reads a runner without a command: a shell reads its input then, and others do nothing, unless words are appended.
func (w *walker) open(next run, name *syntax.Word, redirs []*syntax.Redirect, at place, isShell bool) {
	w.openEnd = true
	program := baseName(w.text(name.Parts, false))
	if at.appended && !next.text && program != "xargs" {
		w.refuse(errText, name)
		return
	}
	if isShell && !next.text && !hasInput(redirs) {
		w.refuse(errInput, name)
	}
}

// baseName returns the name by which a program is known, whatever folder it is in. Case makes no difference on some systems.
func baseName(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) }

// interpret reads the arguments of a shell: the text of -c, or else the name of a script.
func (w *walker) interpret(next run, redirs []*syntax.Redirect, at place) {
	first := next.words[0]
	if !isPlain(first.Parts, false) {
		w.refuse(errDynamic, first)
		return
	}
	text := w.text(first.Parts, false)
	if at.replaces(text) {
		w.refuse(errText, first)
		return
	}
	if at.appended || at.replaced != nil {
		w.flow.foreign = true
	}
	w.flow.positional(next.words[min(2, len(next.words)):])
	switch {
	case strings.Contains(next.option, "c"):
		w.evaluated(text)
	case (isInput(text) || strings.Contains(next.option, "s")) && !(isStandardInput(text, next.option) && hasInput(redirs)):
		w.refuse(errInput, first)
	}
}

// joined reads words whose text, joined by spaces, is a command.
func (w *walker) joined(words []*syntax.Word, at place) {
	texts := make([]string, len(words))
	for i, word := range words {
		if texts[i] = w.text(word.Parts, false); !isPlain(word.Parts, false) {
			w.refuse(errDynamic, word)
			return
		}
		if strings.HasPrefix(texts[i], ":::") {
			texts = texts[:i]
			break
		}
	}
	text := strings.Join(texts, " ")
	if text == "" || at.replaces(text) {
		w.refuse(errText, words[0])
		return
	}
	w.final(text, words[0]) // parallel appends words
}

// skip returns what follows the options, operands and assignments of r, or the word in front of it that hides what does.
func (w *walker) skip(r runner, words []*syntax.Word, at place) (next run) {
	next.place = at
	options, operands := true, r.operands
	for len(words) > 0 {
		text, taken := w.text(words[0].Parts, false), 1
		switch {
		case options && text == "--":
			options = false
		case options && r.isOption(text):
			taken = min(1+r.following(text), len(words))
			for _, word := range words[:taken] {
				if !isPlainOption(word) {
					next.hidden = word
					return next
				}
			}
			w.option(r, &next, text, words[:taken])
		case r.assigns && strings.Contains(literal(words[0].Parts, false), "="):
			if !w.isOneWord(words[0].Parts) {
				next.hidden = words[0]
				return next
			}
			w.assignWord(words[0], false)
		case operands > 0 || r.text != "" && r.reads: // su and script take options behind operands
			if !w.isOperand(words[0]) || at.replaces(text) {
				next.hidden = words[0]
				return next
			}
			operands--
		default:
			next.words = words
			return next
		}
		words = words[taken:]
	}
	return next
}

// option notes an option with its values, and reads the texts of commands among them.
func (w *walker) option(r runner, next *run, text string, words []*syntax.Word) {
	if name, long := strings.CutPrefix(text, "--"); long {
		name, value, given := strings.Cut(name, "=")
		if !given && len(words) > 1 {
			value, given = w.text(words[1].Parts, false), true
		}
		if given && slices.ContainsFunc(r.longText, func(long string) bool { return name != "" && strings.HasPrefix(long, name) }) {
			w.given(r, next, value)
		}
		next.asked = next.asked || name == "version" || name == "help"
		return
	}
	next.option += text[1:]
	if r.shell {
		w.shellOption(text)
	}
	next.asked = next.asked || r.isQuestion(text)
	for _, word := range words[1:] {
		if value := w.text(word.Parts, false); r.shell && isInput(value) {
			w.refuse(errInput, word)
		} else if r.shell {
			w.shellOption(value)
		}
	}
	at := strings.IndexAny(text, r.values)
	if at < 1 || r.shell {
		return
	}
	value := text[at+1:]
	if value == "" && len(words) > 1 {
		value = w.text(words[1].Parts, false)
	}
	if strings.IndexByte(r.text, text[at]) >= 0 {
		w.given(r, next, value)
	} else if name, command, ok := strings.Cut(strings.Replace(value, " ", "=", 1), "="); ok && strings.HasSuffix(strings.ToLower(name), "command") {
		w.evaluated(command) // ssh -o ProxyCommand=…
	}
}

// given reads the text of a command that an option holds. What env -S makes of backslashes is its own.
func (w *walker) given(r runner, next *run, text string) {
	next.text = true
	isWords := strings.Contains(next.option, "S") || r.assigns // env -S splits it, and takes options from it
	if next.place.replaces(text) || isWords && (strings.Contains(text, `\`) || strings.HasPrefix(strings.TrimSpace(text), "-")) {
		w.fail(fmt.Errorf("%w: write out %s", errText, text))
		return
	}
	outer := w.openEnd
	w.openEnd = false
	w.evaluated(text)
	if w.openEnd && isWords { // the words that follow are appended
		w.fail(fmt.Errorf("%w: write out %s", errText, text))
	}
	w.openEnd = outer
}

// isOption reports whether a word in front of the command is an option.
func (r runner) isOption(text string) bool {
	return strings.HasPrefix(text, "-") || r.shell && strings.HasPrefix(text, "+")
}

// isQuestion reports whether an option makes the runner tell about a command instead of running it.
func (r runner) isQuestion(option string) bool {
	return !strings.HasPrefix(option, "--") && strings.ContainsAny(option[1:], r.asks)
}

// following returns how many words after an option are values of it. Long options may be cut short.
func (r runner) following(option string) int {
	if name, ok := strings.CutPrefix(option, "--"); ok {
		if slices.ContainsFunc(r.long, func(long string) bool { return strings.HasPrefix(long, name) }) {
			return 1
		}
		return 0
	}
	if r.shell {
		count := 0
		for _, letter := range r.values {
			count += strings.Count(option, string(letter))
		}
		return count
	}
	if first := strings.IndexAny(option, r.values); first >= 0 && first == len(option)-1 {
		return 1 // else the value is what follows the letter in the word
	}
	return 0
}

// isPlainOption reports whether a word says by itself what it is. "{}", which xargs puts its input for, is left alone
// by shells.
func isPlainOption(word *syntax.Word) bool {
	if lit := word.Lit(); lit != "" {
		return !expands(strings.ReplaceAll(lit, "{}", ""))
	}
	return isPlain(word.Parts, false)
}

// isOperand reports whether a word is one word and no option.
func (w *walker) isOperand(word *syntax.Word) bool {
	if isPlain(word.Parts, false) {
		return true
	}
	first := literal(word.Parts[:1], false)
	return w.isOneWord(word.Parts) && first != "" && first[0] != '-'
}

// literal returns what of a word is there whatever the expansions in it turn into.
func literal(parts []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(single(part))
		case *syntax.DblQuoted:
			b.WriteString(literal(part.Parts, true))
		}
	}
	return b.String()
}

// isOneWord reports whether a word stays one word, whatever the expansions in it turn into. In double quotes all do
// but "$@" and its relatives, of which there are many, so only the plain parameters are taken.
func (w *walker) isOneWord(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if expands(part.Value) {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if slices.ContainsFunc(part.Parts, w.splits) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// splits reports whether a part in double quotes may turn into several words.
func (w *walker) splits(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.CmdSubst, *syntax.ArithmExp:
		return false
	case *syntax.ParamExp:
		source := w.source(part)
		return part.Param == nil || part.Param.Value == "@" ||
			source != "$"+part.Param.Value && source != "${"+part.Param.Value+"}"
	}
	return true
}
