package grammar

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreignCommas look like a comma and divide nothing.
const foreignCommas = "，､、︐﹐"

// minus looks like a hyphen, and is not among the dashes of Unicode.
const minus = '−'

// plain returns what a character was probably meant to be that is taken for a plain one, or for nothing at all: a comma,
// a hyphen, a space, or "". It reports false for all others.
func plain(r rune) (meant string, ok bool) {
	switch {
	case r < utf8.RuneSelf:
		return "", false
	case strings.ContainsRune(foreignCommas, r):
		return ",", true
	case r == minus || unicode.Is(unicode.Pd, r):
		return "-", true
	case unicode.IsSpace(r):
		return " ", true
	}
	return "", invisible(r)
}

// checkLookalikes reports the first character of each unquoted item that is taken for another or can't be seen: the item
// would be sought with it, and found in nothing that anybody sends.
func checkLookalikes(value *Value, found *collector) {
	if value == nil {
		return
	}
	for _, item := range value.Items {
		if item.Quoted {
			continue
		}
		at := strings.IndexFunc(item.Raw, func(r rune) bool { _, ok := plain(r); return ok })
		if at < 0 {
			continue
		}
		r, size := utf8.DecodeRuneInString(item.Raw[at:])
		span := Span{item.Span.Start + at, item.Span.Start + at + size}
		meant, _ := plain(r)
		found.add(lookalike(r, meant, span))
	}
}

func lookalike(r rune, meant string, span Span) Diagnostic {
	d := At(CodeLookalike, span, "U+%04X can't be seen, and would be part of the text", r)
	const unless = "; if the character is meant, put the text between quotes"
	switch meant {
	case "":
		d = d.WithHint("remove it" + unless)
	case " ":
		d.Message = At(CodeLookalike, span, "U+%04X is a space of another kind, and would be part of the text", r).Message
		d = d.WithHint("write a plain space, or none" + unless)
	default:
		d.Message = At(CodeLookalike, span, "%s (U+%04X) only looks like `%s`", shown(string(r)), r, meant).Message
		d = d.WithHint("write `%s`"+unless, meant)
	}
	return d.WithFix(span, meant)
}

// withoutSeen leaves out the warnings about characters that an error is about.
func withoutSeen(found Diagnostics) Diagnostics {
	refused := map[Span]bool{}
	for _, d := range found {
		if d.Code == CodeLookalike {
			refused[d.Span] = true
		}
	}
	return slices.DeleteFunc(found, func(d Diagnostic) bool { return d.Code == CodeInvisible && refused[d.Span] })
}
