package compiler

import (
	"strings"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// curlyQuotes are what word processors put in place of plain quotes. In a policy they are letters like any other.
const curlyQuotes = "‘’“”"

func opensCurly(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune(curlyQuotes, first)
}

func closesCurly(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(curlyQuotes, last)
}

// closingItem returns which item ends the quote that item i opens: i itself where none does.
func closingItem(items []grammar.Item, i int) int {
	for j := i + 1; j < len(items) && !items[j].Quoted && !opensCurly(items[j].Text); j++ {
		if closesCurly(items[j].Text) {
			return j
		}
	}
	return i
}

// curlyQuoted reports a text between curly quotes. The fix is there where plain quotes can take their place.
func (c *checker) curlyQuoted(span grammar.Span) {
	inner := strings.Trim(c.file.Source.Slice(span), curlyQuotes)
	d := grammar.At(codes.CurlyQuotes, span, "%s", curlyMessage).WithHint("%s", curlyHint)
	for _, quote := range []string{`"`, `'`} {
		if inner != "" && !strings.ContainsAny(inner, quote+curlyQuotes) {
			c.add(d.WithFix(span, quote+inner+quote))
			return
		}
	}
	c.add(d)
}

// lintEqual warns of a text without quotes that no value, or not what it looks like, can be equal to.
func (c *checker) lintEqual(path string, operator Operator, item grammar.Item) {
	if item.Quoted || operator == Matches {
		return
	}
	whole, starred := operator == Equals || operator == NotEquals, strings.HasPrefix(item.Text, "*") || strings.HasSuffix(item.Text, "*")
	switch {
	case starred && !whole:
		c.add(grammar.At(codes.LiteralStar, item.Span, "`*` is a plain character here, not a wildcard").
			WithHint("leave it out: `%s` compares a part anyway; if the `*` is meant, put the value between quotes", operator))
	case starred:
		c.add(grammar.At(codes.LiteralStar, item.Span, "`*` is a plain character here, not a wildcard").
			WithHint("%s; if the `*` is meant, put the value between quotes", insteadOfStar(operator, item.Text)))
	case whole && holdsNumbers(path) && jsonNumber.MatchString(item.Text) && shortestNumber(item.Text) != item.Text:
		c.add(otherNumber(item))
	}
}

// lintCommand warns of a blocked command without quotes that is written as a pattern: it is sought as it is.
func (c *checker) lintCommand(item grammar.Item) {
	if item.Quoted {
		return
	}
	plain := strings.ReplaceAll(strings.Trim(item.Text, "*^$"), `\b`, "")
	plain = strings.TrimSuffix(strings.TrimPrefix(plain, "."), ".")
	d := grammar.At(codes.LiteralStar, item.Span, "a blocked command is not a pattern: it is searched for as written")
	switch {
	case !strings.Contains(item.Text, "*") && !strings.HasPrefix(item.Text, "^") && !strings.Contains(item.Text, `\b`):
		return
	case plain == "" || strings.Contains(plain, "*"):
		d = d.WithHint("write a part of the commands that are meant; if the characters are meant, put the entry between quotes")
	default:
		d = d.WithHint("write `%s`, which blocks what has it anywhere; if the characters are meant, put the entry between quotes", Shorten(AsItem(plain)))
	}
	c.add(d)
}

const (
	curlyMessage = "curly quotes are part of the text here"
	curlyHint    = "to mean a curly quote, put plain quotes around it; otherwise write plain quotes, or none"
)
