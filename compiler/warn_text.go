package compiler

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/slot"
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

// lintDenial warns of what the value of a denial probably was not meant to say.
func (c *checker) lintDenial(d Denial, value *grammar.Value) {
	if !value.Quoted && (opensCurly(value.Text) || closesCurly(value.Text)) {
		c.curlyQuoted(value.Span)
	}
	if dividing(d.Operator, value) {
		c.add(grammar.At(codes.CommaInText, value.Span, "the comma does not divide this value: all of it is one text").
			WithHint("write one line for each value: %s; if one text is meant, put it between quotes", c.lineEach(value)))
	}
	item := grammar.Item{Text: value.Text, Span: value.Span, Quoted: value.Quoted}
	c.lintEqual(d.Path, d.Operator, item)
	c.lintUnmatched(d.Path, d.Operator, item)
	c.lintPlain(d.Operator, Contains, item.Span, item.Text)
}

// lineEach returns the lines that have each item of a value by itself.
func (c *checker) lineEach(value *grammar.Value) string {
	start := strings.LastIndexByte(string(c.file.Source.Text[:value.Span.Start]), '\n') + 1
	key := c.file.Source.Slice(grammar.Span{Start: start, End: value.Span.Start})
	var lines []string
	for _, item := range value.Items[:min(len(value.Items), 5)] {
		lines = append(lines, "`"+Shorten(key+item.Raw)+"`")
	}
	return strings.Join(lines, ", ")
}

// dividing reports whether a value has a comma that could be meant to divide it. Those inside the brackets of a pattern
// are not.
func dividing(operator Operator, value *grammar.Value) bool {
	for _, item := range value.Items[:len(value.Items)-1] {
		before := value.Raw[:item.Span.End-value.Span.Start]
		if operator != Matches || !endsInside(before) {
			return true
		}
	}
	return false
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

// insteadOfStar returns what says what a star in a value probably was meant to.
func insteadOfStar(operator Operator, text string) string {
	bare, rule := strings.Trim(text, "*"), "write"
	if operator == NotEquals {
		rule = "write an allow_only with"
	}
	part := Contains
	switch {
	case bare == "":
		part, bare = Matches, ".*"
	case !strings.HasPrefix(text, "*"):
		part = StartsWith
	case !strings.HasSuffix(text, "*"):
		part = EndsWith
	}
	return rule + " `" + part.String() + "` and `" + Shorten(bare) + "`"
}

// holdsNumbers reports whether a request can have a number at a path.
func holdsNumbers(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	field := slot.Find(first)
	return field.Row().Type.Object() || field == slot.ChainID
}

// jsonNumber is the form of numbers in requests.
var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// shortestNumber returns the form in which the number of a text is compared (RFC 8785, section 3.2.2.3), or "" where no
// request can have it.
func shortestNumber(text string) string {
	value, err := strconv.ParseFloat(text, 64)
	switch size := math.Abs(value); {
	case err != nil || size > maxCount:
		return ""
	case size == 0:
		return "0"
	case size < 1e-6:
		return strings.Replace(strconv.FormatFloat(value, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// otherNumber reports a number that is not written as numbers are compared.
func otherNumber(item grammar.Item) grammar.Diagnostic {
	d := grammar.At(codes.NumberForm, item.Span, "numbers are compared in their shortest form, so that none ever equals `%s`", Shorten(item.Text))
	if shortest := shortestNumber(item.Text); shortest != "" {
		return d.WithHint("write `%s`; if the text is meant, put it between quotes", shortest).WithFix(item.Span, shortest)
	}
	return d.WithHint("no request can have this number; if the text is meant, put it between quotes")
}
