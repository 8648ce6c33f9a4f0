package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
