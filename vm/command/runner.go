package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A runner is a command that runs another one, which its arguments name. What stands between the two are options,
// their values and, for some, NAME=value.
type runner struct {
	values  string   // the short options whose value may be the next word
	long    []string // the long options whose value may be the next word
	asks    string   // the short options that make it tell about the other command instead
	assigns bool     // NAME=value may stand in front of the other command
	shell   bool     // it reads options as shells do: "+" starts one too, and values follow the whole word
	script  bool     // all of its arguments together are the text of a command
}

// aShell takes the text of a command after -c, and the name of a script without it. A script that is named by an
// expansion is as unknown as a command that is.
var aShell = runner{values: "oO", long: []string{"rcfile", "init-file", "emulate"}, shell: true}

// runners are the commands behind which another one is looked for. The options are those of GNU, BSD and bash
// together; a letter that is an option of one of them only is an error to the others.
var runners = map[string]runner{
	"builtin": {},
	"command": {asks: "vV"},
	"env":     {values: "uCaPLU", long: []string{"unset", "chdir", "argv0"}, assigns: true}, // the value of -S is a command
	"eval":    {script: true},
	"exec":    {values: "a"},
	"nice":    {values: "n", long: []string{"adjustment"}},
	"nohup":   {},
	"sudo": {values: "aCcDghpRrTtUu", long: []string{"auth-type", "chdir", "chroot", "close-from", "command-timeout", "group", "host",
		"login-class", "other-user", "prompt", "role", "type", "user"}, assigns: true},
	"time": {values: "fo", long: []string{"format", "output"}}, // the program; the parser knows the word of bash
	"xargs": {values: "adEIJLnPRSs", long: []string{"arg-file", "delimiter", "max-args", "max-chars", "max-procs",
		"process-slot-var"}},
	"sh": aShell, "bash": aShell, "dash": aShell, "zsh": aShell, "ksh": aShell,
}

// dynamic returns the first word of a simple command that hides what is run: a command word that is an expansion,
// also behind runners, or a word in front of one that could turn into several. It returns nil where there is none.
func (w *walker) dynamic(words []*syntax.Word) *syntax.Word {
	for len(words) > 0 {
		if !isPlain(words[0].Parts, false) {
			return words[0]
		}
		name := w.text(words[0].Parts, false)
		r, ok := runners[name[strings.LastIndexByte(name, '/')+1:]]
		if !ok {
			return nil
		}
		if words = words[1:]; r.script {
			return firstDynamic(words)
		}
		var hidden *syntax.Word
		if words, hidden = w.skip(r, words); hidden != nil {
			return hidden
		}
	}
	return nil
}

// firstDynamic returns the first word that is not plain, or nil.
func firstDynamic(words []*syntax.Word) *syntax.Word {
	for _, word := range words {
		if !isPlain(word.Parts, false) {
			return word
		}
	}
	return nil
}

// skip returns the words from the command on that r runs, or the word in front of it that hides which one that is.
func (w *walker) skip(r runner, words []*syntax.Word) (rest []*syntax.Word, hidden *syntax.Word) {
	options := true
	for len(words) > 0 {
		text, taken := w.text(words[0].Parts, false), 1
		switch {
		case options && text == "--":
			options = false
		case options && r.isOption(text):
			taken = min(1+r.following(text), len(words))
			for _, word := range words[:taken] {
				if !isPlainOption(word) {
					return nil, word
				}
			}
			if r.isQuestion(text) {
				return nil, nil
			}
		case r.assigns && strings.Contains(literal(words[0].Parts), "="):
			if !w.isOneWord(words[0].Parts) {
				return nil, words[0]
			}
		default:
			return words, nil
		}
		words = words[taken:]
	}
	return nil, nil
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

// literal returns what of a word is there whatever the expansions in it turn into.
func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(single(part))
		case *syntax.DblQuoted:
			b.WriteString(literal(part.Parts))
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
