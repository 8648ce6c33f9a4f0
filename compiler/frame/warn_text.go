package frame

import (
	"strings"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// curlyQuotes are what word processors put in place of plain quotes. In a policy they are letters like any other.
const curlyQuotes = "‘’“”"

// OpensCurly reports whether a text begins with a curly quote.
func OpensCurly(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune(curlyQuotes, first)
}

// ClosesCurly reports whether a text ends with a curly quote.
func ClosesCurly(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(curlyQuotes, last)
}

// closingItem returns which item ends the quote that item i opens: i itself where none does.
func closingItem(items []grammar.Item, i int) int {
	for j := i + 1; j < len(items) && !items[j].Quoted && !OpensCurly(items[j].Text); j++ {
		if ClosesCurly(items[j].Text) {
			return j
		}
	}
	return i
}

// CurlyQuoted reports a text between curly quotes. The fix is there where plain quotes can take their place.
func (c *Checker) CurlyQuoted(span grammar.Span) {
	inner := strings.Trim(c.File.Source.Slice(span), curlyQuotes)
	d := grammar.At(codes.CurlyQuotes, span, "%s", curlyMessage).WithHint("%s", curlyHint)
	for _, quote := range []string{`"`, `'`} {
		if inner != "" && !strings.ContainsAny(inner, quote+curlyQuotes) {
			c.Add(d.WithFix(span, quote+inner+quote))
			return
		}
	}
	c.Add(d)
}

const (
	curlyMessage = "curly quotes are part of the text here"
	curlyHint    = "to mean a curly quote, put plain quotes around it; otherwise write plain quotes, or none"
)
