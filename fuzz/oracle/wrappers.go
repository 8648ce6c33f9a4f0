package oracle

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapper is a command that exists to run another one: "what they run is a command word too" (choices). In front of
// it stand options, which may have values, and for some NAME=value.
type wrapper struct {
	short    string // the options of one letter whose value may be the next word
	long     string // the names of the long options whose value may be the next word
	question string // the options of one letter with which it runs nothing
	assigns  bool
	shell    bool // "+" starts options too, and the values of all letters of a word follow that word
}

var shellWrapper = wrapper{short: "oO", long: "rcfile init-file emulate", shell: true}

// wrappers are all but `eval`, every word of which is a command word. Their options are those of GNU, BSD and bash.
var wrappers = map[string]wrapper{
	"builtin": {}, "nohup": {},
	"command": {question: "vV"},
	"exec":    {short: "a"},
	"nice":    {short: "n", long: "adjustment"},
	"time":    {short: "fo", long: "format output"},
	"env":     {short: "uCaPLU", long: "unset chdir argv0", assigns: true},
	"sudo": {short: "aCcDghpRrTtUu", assigns: true, long: "auth-type chdir chroot close-from command-timeout group host " +
		"login-class other-user prompt role type user"},
	"xargs": {short: "adEIJLnPRSs", long: "arg-file delimiter max-args max-chars max-procs process-slot-var"},
	"sh":    shellWrapper, "bash": shellWrapper, "dash": shellWrapper, "zsh": shellWrapper, "ksh": shellWrapper,
}

// hidesCommand reports whether a simple command does not say what it runs: a command word is an expansion, or a word
// between a wrapper and its command could become several or an option that takes another value.
func hidesCommand(command string, words []*syntax.Word) bool {
	if len(words) == 0 {
		return false
	}
	if expands(words[0].Parts) {
		return true
	}
	name := wordText(command, words[0].Parts, false)
	name = name[strings.LastIndex(name, "/")+1:]
	if name == "eval" {
		for _, word := range words {
			if expands(word.Parts) {
				return true
			}
		}
		return false
	}
	w, ok := wrappers[name]
	if !ok {
		return false
	}
	rest, hidden := w.command(command, words[1:])
	return hidden || hidesCommand(command, rest)
}

// command returns the words from the command on that a wrapper runs, and whether one in front of it hides it.
func (w wrapper) command(command string, words []*syntax.Word) (rest []*syntax.Word, hidden bool) {
	for ended := false; len(words) > 0; {
		text := wordText(command, words[0].Parts, false)
		option := !ended && (strings.HasPrefix(text, "-") || w.shell && strings.HasPrefix(text, "+"))
		switch {
		case option && text == "--":
			ended = true
			words = words[1:]
		case option:
			own := min(len(words), 1+w.values(text))
			for _, word := range words[:own] {
				if !plainOption(word) {
					return nil, true
				}
			}
			if !strings.HasPrefix(text, "--") && w.question != "" && strings.ContainsAny(text[1:], w.question) {
				return nil, false
			}
			words = words[own:]
		case w.assigns && strings.Contains(withoutExpansions(words[0].Parts), "="):
			if !staysOneWord(command, words[0].Parts) {
				return nil, true
			}
			words = words[1:]
		default:
			return words, false
		}
	}
	return nil, false
}

// values returns how many words behind an option are its values. Long options may be cut short, and hold their value
// behind "=" instead; a letter may hold it in the same word.
func (w wrapper) values(option string) int {
	if name, long := strings.CutPrefix(option, "--"); long {
		for _, each := range strings.Fields(w.long) {
			if strings.HasPrefix(each, name) {
				return 1
			}
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

// plainOption reports whether an option, or its value, is written out. {} is for xargs to replace, not for the shell.
func plainOption(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if _, literal := part.(*syntax.Lit); !literal {
			return !expands(word.Parts)
		}
	}
	return !unquotedGlob(withoutEscapes(strings.ReplaceAll(word.Lit(), "{}", "")))
}

// withoutExpansions returns what of a word stands there whatever its expansions become.
func withoutExpansions(parts []syntax.WordPart) string {
	text := ""
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += part.Value
		case *syntax.SglQuoted:
			text += singleQuoted(part)
		case *syntax.DblQuoted:
			text += withoutExpansions(part.Parts)
		}
	}
	return text
}

// staysOneWord reports whether a NAME=value is one word whatever its expansions become: they stand in double quotes,
// and are substitutions, or parameters other than "@" and without operators.
func staysOneWord(command string, parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
		case *syntax.Lit:
			if unquotedGlob(withoutEscapes(part.Value)) {
				return false
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if !staysWhole(command, inner) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

func staysWhole(command string, part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.CmdSubst, *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		if part.Param == nil || part.Param.Value == "@" {
			return false
		}
		source, name := between(command, part.Pos().Offset(), part.End().Offset()), part.Param.Value
		return source == "$"+name || source == "${"+name+"}"
	}
	return false
}
