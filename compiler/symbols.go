package compiler

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// symbolLine is a line of a custom rule with a symbol in place of its operator, up to the symbol. The grammar knows no
// operators, and so can't say what is wrong with it.
var symbolLine = regexp.MustCompile(`^(?:deny_if|(allow_only)(?:\[[^\]]*\])?)[^\s\[:=!<>~]*:?([ \t]*(?:attested[ \t]+)?)([=!<>~]+)[ \t]*`)

// symbolOperators are the operators that symbols of other languages mean.
var symbolOperators = map[string]frame.Operator{
	"=": frame.Equals, "==": frame.Equals, "===": frame.Equals, "!=": frame.NotEquals, "!==": frame.NotEquals, "<>": frame.NotEquals, "~": frame.Matches, "=~": frame.Matches,
}

// nameSymbols puts the finding that a symbol is no operator in place of what the grammar says of such lines.
func nameSymbols(src *grammar.Source, found grammar.Diagnostics) grammar.Diagnostics {
	named := slices.Clone(found)
	for i, d := range found {
		if d.Code != grammar.CodeBadDenyIf && d.Code != grammar.CodeBadKey && d.Code != grammar.CodeNotAnEntry {
			continue
		}
		start := bytes.LastIndexByte(src.Text[:d.Span.Start], '\n') + 1
		line, _, _ := bytes.Cut(src.Text[start:], []byte("\n"))
		if at := symbolLine.FindSubmatchIndex(line); at != nil {
			named[i] = symbol(src, at[2] >= 0, grammar.Span{Start: start + at[6], End: start + at[7]}, start+at[1])
		}
	}
	return named
}

// symbol reports a symbol in place of an operator. The value begins at rest.
func symbol(src *grammar.Source, allows bool, span grammar.Span, rest int) grammar.Diagnostic {
	text := src.Slice(span)
	d := grammar.At(codes.Operator, span, "`%s` is not an operator here", frame.Shorten(text))
	operator, known := symbolOperators[text]
	switch {
	case !known && strings.ContainsAny(text, "<>"):
		return d.WithHint("no operator compares numbers: amounts have limits such as `max_transaction_eth`, and sums `cap.<name>.max_sum_usd` in `## soft_limits`")
	case !known:
		return d.WithHint("%s", frame.ListOfOperators)
	case allows && operator == frame.NotEquals:
		return d.WithHint("allow_only has no not_equals; write a deny_if with `equals`")
	}
	return d.WithHint("write `%s`; %s", operator, frame.ListOfOperators).
		WithFix(grammar.Span{Start: span.Start, End: rest}, apart(src.Text[span.Start-1], operator.String(), src.Text[rest:]))
}

// apart returns a word with a space on each side that needs one: not behind a space, nor before a colon.
func apart(before byte, word string, after []byte) string {
	if before != ' ' && before != '\t' {
		word = " " + word
	}
	if bytes.HasPrefix(after, []byte(":")) {
		return word
	}
	return word + " "
}
