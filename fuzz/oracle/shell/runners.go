package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A runner is a command that runs another one: "Runners, whose argument is a command word, in one table". In front of it
// stand options, which may have values, for some NAME=value, and for some operands of its own.
type runner struct {
	short    string // the options of one letter whose value may be the next word
	long     string // the names of the long options whose value may be the next word
	question string // the options of one letter with which it runs nothing
	texts    string // of short, those whose value is a command of its own
	longText string // of long, those whose value is one
	alone    string // the options of one letter with which it starts a shell where no command follows; "*" for always
	operands int    // words between the options and the command
	assigns  bool
	shell    bool // "+" starts options too, and the values of all letters of a word follow that word
	joins    bool // a shell reads what follows, joined
	splits   bool // what follows a text belongs to its words
	feeds    bool // words that are not in the text follow the command's own
	stays    bool // its redirections may be the shell's
}

var shellRunner = runner{short: "oO", long: "rcfile init-file emulate", shell: true}

var runners = map[string]runner{
	"builtin": {}, "nohup": {}, "setsid": {}, "busybox": {},
	"command": {question: "vV"},
	"exec":    {short: "a", stays: true},
	"nice":    {short: "n", long: "adjustment"},
	"time":    {short: "fo", long: "format output"},
	"timeout": {short: "ks", long: "kill-after signal", operands: 1},
	"env": {short: "uCaPLUS", long: "unset chdir argv0 split-string", texts: "S", longText: "split-string", assigns: true,
		splits: true},
	"sudo": {short: "aCcDghpRrTtUu", assigns: true, alone: "is", long: "auth-type chdir chroot close-from command-timeout " +
		"group host login-class other-user prompt role type user"},
	"doas":   {short: "aCu", alone: "s"},
	"xargs":  {feeds: true, short: "adEIJLnPRSs", long: "arg-file delimiter max-args max-chars max-procs process-slot-var"},
	"chroot": {long: "userspec groups", operands: 1, alone: "*"},
	"flock":  {short: "wEc", long: "timeout wait conflict-exit-code command", texts: "c", longText: "command", operands: 1},
	"watch":  {short: "nq", long: "interval equexit", joins: true},
	"ssh":    {short: "BbcDEeFIiJLlmOoPpQRSWw", operands: 1, joins: true},
	"su": {short: "cgGsw", long: "command session-command group supp-group shell whitelist-environment", texts: "c",
		longText: "command session-command", operands: 1, alone: "*"},
	"script": {short: "cIOBTEmo", long: "command log-in log-out log-io log-timing echo logging-format output-limit", texts: "c",
		longText: "command", operands: 1, alone: "*"},
	"parallel": {feeds: true, short: "aCDdEIJjLlNnPSs", alone: "*", joins: true, long: "arg-file colsep delay delimiter eof halt jobs joblog " +
		"max-args max-chars max-procs max-replace-args memfree results retries sshlogin sshloginfile tmpdir timeout workdir"},
	"sh": shellRunner, "bash": shellRunner, "rbash": shellRunner, "dash": shellRunner, "ash": shellRunner, "zsh": shellRunner,
	"ksh": shellRunner, "mksh": shellRunner, "fish": shellRunner, "csh": shellRunner, "tcsh": shellRunner,
}

// run reads a simple command's words from the command word on. It reports false where a command word is an expansion, or a
// word between a runner and its command could become several or an option that takes another value, and for texts that
// are not literal.
func (r *commandReading) run(command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool {
	if len(words) == 0 {
		return true
	}
	if expands(words[0].Parts) {
		return false
	}
	name := wordText(command, words[0].Parts)
	name = name[strings.LastIndex(name, "/")+1:]
	if own, ok := readers[name]; ok {
		return own(r, command, words[1:], redirs, depth)
	}
	w, ok := runners[name]
	if !ok {
		for _, word := range words[1:] {
			if text := wordText(command, word.Parts); slices.Contains(givers, name) && slices.Contains(readNames, text) {
				return false
			}
		}
		return true
	}
	if w.shell {
		return r.runShell(w, command, words[1:], redirs, depth)
	}
	return r.runOther(w, command, words[1:], redirs, depth)
}

// givers give a value to a variable that they are told the name of.
var givers = []string{"read", "printf", "mapfile", "readarray", "getopts"}

// options are what stands in front of a runner's command.
type options struct {
	letters string // all letters that were given
	ended   bool
}

// runOther reads a runner that is not a shell.
func (r *commandReading) runOther(w runner, command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool {
	if w.stays && r.script && !r.exchanged(command, redirs, depth) {
		return false
	}
	rest, given, ok := r.options(w, command, words, depth)
	if !ok || given.letters != "" && strings.ContainsAny(given.letters, w.question) {
		return ok
	}
	if w.splits && strings.ContainsAny(given.letters, w.texts) {
		return r.splitText(command, words, depth)
	}
	hasText := given.letters != "" && strings.ContainsAny(given.letters, w.texts)
	for n := 0; n < w.operands && len(rest) > 0; n++ {
		if !plainOption(rest[0]) && (w.joins || expands(rest[0].Parts)) {
			if !staysOneWord(command, rest[0].Parts) {
				return false
			}
		}
		rest = rest[1:]
	}
	if hasText {
		return r.operandTexts(w, command, rest, depth)
	}
	switch {
	case r.fed && (len(rest) == 0 || w.joins):
		return false // what is fed to it is the command, or a shell reads it
	case len(rest) == 0:
		return w.alone != "*" && (w.alone == "" || !strings.ContainsAny(given.letters, w.alone))
	case w.joins && strings.HasPrefix(wordText(command, rest[0].Parts), ":::"):
		return r.eachLiteral(command, rest[1:], depth)
	case w.joins && !anyExpands(rest):
		return r.literalText(command, rest, depth)
	}
	fed := r.fed
	r.fed = fed || w.feeds
	ok = r.run(command, rest, redirs, depth)
	r.fed = fed
	return ok
}

// splitText: `env -S text word…` runs the words of the text and those behind it, as if they had been written there.
func (r *commandReading) splitText(command string, words []*syntax.Word, depth int) bool {
	for at, word := range words {
		text := wordText(command, word.Parts)
		option, value, assigned := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(text, "--") && strings.HasPrefix("--split-string", option) && assigned:
		case strings.HasPrefix(text, "--") && strings.HasPrefix("--split-string", option):
			value = ""
		case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "S"):
			_, value, _ = strings.Cut(text, "S")
		default:
			continue
		}
		if rest := words[at+1:]; len(rest) > 0 {
			source := between(command, rest[0].Pos().Offset(), rest[len(rest)-1].End().Offset())
			if value == "" {
				value = wordText(command, rest[0].Parts)
				source = between(command, rest[0].End().Offset(), rest[len(rest)-1].End().Offset())
			}
			value += " " + source
		}
		return r.read("env "+value, depth+1)
	}
	return false
}

// operandTexts: the text of `flock FILE -c text` stands behind its operand.
func (r *commandReading) operandTexts(w runner, command string, rest []*syntax.Word, depth int) bool {
	_, _, ok := r.options(w, command, rest, depth)
	return ok
}

func anyExpands(words []*syntax.Word) bool {
	for _, word := range words {
		if expands(word.Parts) {
			return true
		}
	}
	return false
}

func (r *commandReading) eachLiteral(command string, words []*syntax.Word, depth int) bool {
	for _, word := range words {
		if !r.literalText(command, []*syntax.Word{word}, depth) {
			return false
		}
	}
	return true
}

// options reads the options and assignments in front of a runner's command, and returns the words behind them.
func (r *commandReading) options(w runner, command string, words []*syntax.Word, depth int) (rest []*syntax.Word, given options, ok bool) {
	for len(words) > 0 {
		text := wordText(command, words[0].Parts)
		option := !given.ended && (strings.HasPrefix(text, "-") && text != "-" || w.shell && strings.HasPrefix(text, "+"))
		switch {
		case option && text == "--":
			given.ended = true
			words = words[1:]
		case option:
			own := min(len(words), 1+w.values(text))
			if !r.optionTexts(w, command, words[:own], depth) {
				return nil, given, false
			}
			if !strings.HasPrefix(text, "--") {
				given.letters += text[1:]
			} else if w.longNames(text, w.longText) {
				given.letters += w.texts
			}
			words = words[own:]
		case w.assigns && strings.Contains(withoutExpansions(words[0].Parts), "="):
			if !staysOneWord(command, words[0].Parts) || !r.assignedWord(command, words[0], depth) {
				return nil, given, false
			}
			words = words[1:]
		default:
			return words, given, true
		}
	}
	return nil, given, true
}

// optionTexts reads an option with its value: both are written out, and a value that is a command is read as one.
func (r *commandReading) optionTexts(w runner, command string, own []*syntax.Word, depth int) bool {
	for _, word := range own {
		if !plainOption(word) {
			return false
		}
	}
	text := wordText(command, own[0].Parts)
	if strings.HasPrefix(text, "--") {
		_, value, assigned := strings.Cut(text, "=")
		switch {
		case !w.longNames(text, w.longText):
			return true
		case assigned:
			return r.read(value, depth+1)
		}
		return len(own) == 2 && r.literalText(command, own[1:], depth)
	}
	at := strings.IndexAny(text, w.texts)
	switch {
	case w.texts == "" || at < 0:
		return true
	case at+1 < len(text):
		return r.read(text[at+1:], depth+1)
	}
	return len(own) == 2 && r.literalText(command, own[1:], depth)
}

// longNames reports whether a long option, which may be cut short, is one of those.
func (w runner) longNames(option, names string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
	for _, each := range strings.Fields(names) {
		if name != "" && strings.HasPrefix(each, name) {
			return true
		}
	}
	return false
}

// values returns how many words behind an option are its values. Long options may be cut short, and hold their value
// behind "=" instead; a letter may hold it in the same word.
func (w runner) values(option string) int {
	if strings.HasPrefix(option, "--") {
		if !strings.Contains(option, "=") && w.longNames(option, w.long) {
			return 1
		}
		return 0
	}
	count := 0
	for at, letter := range option {
		switch {
		case !strings.ContainsRune(w.short, letter):
		case w.shell:
			count++
		case at == len(option)-1:
			return 1
		default:
			return 0
		}
	}
	return count
}

// standardInput finds the names by which a shell reads what is not a script on a disk.
var standardInput = regexp.MustCompile(`^(-|/dev/stdin|/dev/fd/.*|/proc/.*/fd/.*|/dev/tty|/dev/tcp/.*|/dev/udp/.*)$`)

// runShell reads a shell: "the text behind `-c`", its here-documents, or a script. "A shell that reads standard input, a
// pipe or a process substitution otherwise" is denied.
func (r *commandReading) runShell(w runner, command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool {
	r.shell = true
	rest, given, ok := r.options(w, command, words, depth)
	for _, word := range words[:len(words)-len(rest)] {
		text := word.Lit()
		if text == "--version" || text == "--help" {
			return ok
		}
		if w.longNames(text, "command init-command") && strings.HasPrefix(text, "--c") || strings.HasPrefix(text, "--init-command") {
			return false // fish reads their values as commands
		}
	}
	switch {
	case !ok:
		return false
	case strings.Contains(given.letters, "c"):
		if len(rest) == 0 {
			return false
		}
		return r.literalText(command, rest[:1], depth)
	case len(rest) > 0 && expands(rest[0].Parts):
		return false
	}
	if len(rest) > 0 && !strings.Contains(given.letters, "s") && !standardInput.MatchString(wordText(command, rest[0].Parts)) {
		return true // a script on a disk
	}
	read, ok := r.inputs(command, redirs, depth, r.sharedScript)
	return read && ok
}

// readers are builtins, and `find`, that run what some of their words say.
var readers map[string]func(r *commandReading, command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool

func init() {
	optionC := func(r *commandReading, command string, words []*syntax.Word, _ []*syntax.Redirect, depth int) bool {
		return r.valuesOf("C", command, words, depth)
	}
	readers = map[string]func(*commandReading, string, []*syntax.Word, []*syntax.Redirect, int) bool{
		"eval": func(r *commandReading, command string, words []*syntax.Word, _ []*syntax.Redirect, depth int) bool {
			return r.literalText(command, withoutDashes(words), depth)
		},
		"trap": func(r *commandReading, command string, words []*syntax.Word, _ []*syntax.Redirect, depth int) bool {
			words = withoutDashes(words)
			return len(words) == 0 || r.literalText(command, words[:1], depth)
		},
		"let": func(_ *commandReading, command string, words []*syntax.Word, _ []*syntax.Redirect, _ int) bool {
			for _, word := range words {
				if !bareWords.MatchString(between(command, word.Pos().Offset(), word.End().Offset())) {
					return false
				}
			}
			return true
		},
		"alias":   (*commandReading).aliases,
		"source":  (*commandReading).sourced,
		".":       (*commandReading).sourced,
		"find":    (*commandReading).found,
		"mapfile": optionC, "readarray": optionC, "compgen": optionC, "complete": optionC,
		"bind": func(r *commandReading, command string, words []*syntax.Word, _ []*syntax.Redirect, depth int) bool {
			return r.valuesOf("x", command, words, depth)
		},
	}
}

func withoutDashes(words []*syntax.Word) []*syntax.Word {
	if len(words) > 0 && words[0].Lit() == "--" {
		return words[1:]
	}
	return words
}

// aliases reads `alias name=text`.
func (r *commandReading) aliases(command string, words []*syntax.Word, _ []*syntax.Redirect, depth int) bool {
	for _, word := range words {
		_, text, _ := strings.Cut(wordText(command, word.Parts), "=")
		if expands(word.Parts) || !r.read(text, depth+1) {
			return false
		}
	}
	return true
}

// sourced reads `source` and `.`, whose file has to be written out and on a disk, or a here-document.
func (r *commandReading) sourced(command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool {
	words = withoutDashes(words)
	if len(words) == 0 {
		return true
	}
	if expands(words[0].Parts) {
		return false
	}
	if !standardInput.MatchString(wordText(command, words[0].Parts)) {
		return true
	}
	read, ok := r.inputs(command, redirs, depth, r.read)
	return read && ok
}

// found reads what `find` runs.
func (r *commandReading) found(command string, words []*syntax.Word, redirs []*syntax.Redirect, depth int) bool {
	for at, word := range words {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, wordText(command, word.Parts)) &&
			!r.run(command, words[at+1:], redirs, depth) {
			return false
		}
	}
	return true
}

// valuesOf reads the values of an option of one letter, of all words that could be one.
func (r *commandReading) valuesOf(letter, command string, words []*syntax.Word, depth int) bool {
	for at, word := range words {
		text := wordText(command, word.Parts)
		if !strings.HasPrefix(text, "-") {
			if slices.Contains(readNames, text) { // the array that `mapfile` fills
				return false
			}
			continue
		}
		_, value, ok := strings.Cut(text, letter)
		switch {
		case strings.HasPrefix(text, "--") || !ok:
			if !plainOption(word) {
				return false
			}
		case value != "":
			if expands(word.Parts) || !r.read(withoutKey(letter, value), depth+1) {
				return false
			}
		case at+1 < len(words):
			if expands(words[at+1].Parts) || !r.read(withoutKey(letter, wordText(command, words[at+1].Parts)), depth+1) {
				return false
			}
		}
	}
	return true
}

// withoutKey drops the key of `bind -x '"key": command'`.
func withoutKey(letter, text string) string {
	if _, command, ok := strings.Cut(text, ":"); ok && letter == "x" {
		return command
	}
	return text
}
