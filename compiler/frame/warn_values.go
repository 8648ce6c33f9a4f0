package frame

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// LintUnmatched warns of a text that no value of a field ever compares with as the rule says: the decoder takes no such
// value, or gives it another form.
func (c *Checker) LintUnmatched(path string, operator Operator, item grammar.Item) {
	if as := slot.At(path).Form; (as == form.Amount || as == form.Decimal) && operator != Equals && operator != NotEquals {
		c.Add(grammar.At(codes.AmountPart, item.Span, "`%s` compares a part of an amount, which is written `0.2` however it is sent", operator).
			WithHint("use `equals` for one amount, and the maximums of the sections for all above one"))
	}
	if operator == Matches {
		return
	}
	whole := operator == Equals || operator == NotEquals
	fix, never := neverCompares(path, item.Text, whole)
	if !never {
		return
	}
	d := grammar.At(codes.NeverMatches, item.Span, "no request has a `%s` that is `%s` or has it in it", path, Shorten(item.Text))
	if whole {
		d = grammar.At(codes.NeverMatches, item.Span, "no request has the `%s` `%s`", path, Shorten(item.Text))
	}
	switch {
	case fix != "":
		d = d.WithHint("write `%s`", fix).WithFix(item.Span, fix)
	case slot.At(path).Form == form.Address || path == SlotTarget:
		d = d.WithHint("it is always an address, and names are not resolved: write 0x and 40 hexadecimal digits")
	}
	c.Add(d)
}

// neverCompares reports whether no value of the field is the text, or where part of it counts, has it in it; fix is what
// was probably meant.
func neverCompares(path, text string, whole bool) (fix string, never bool) {
	switch path {
	case SlotChainID:
		if JSONNumber.MatchString(text) && ShortestNumber(text) != text {
			return "", false // the finding about the form of numbers says so
		}
		return neverOneOf(slot.ChainIDs(), text, strings.TrimLeft(text, "0"), whole)
	case SlotMethod:
		return neverOneOf(slot.Methods(), text, strings.ToUpper(text), whole)
	case SlotAmountUnit:
		return neverOneOf([]string{"base"}, text, strings.ToLower(text), whole)
	case slot.Host.String():
		_, err := httpurl.Host(text)
		return "", whole && err != nil
	case SlotTarget:
		if _, err := evmaddr.Normalize(text); whole || err == nil {
			return "", err != nil
		}
		return "", noPartOfAddress(text)
	case SlotToken:
		if _, err := evmaddr.Normalize(text); err == nil || !strings.HasPrefix(strings.ToLower(text), "0x") {
			return "", false
		}
		if whole {
			return "", true
		}
		return "", noPartOfAddress(text)
	case SlotCalldata:
		return "", strings.Trim(strings.ToLower(text), "0123456789abcdefx") != ""
	case SlotTaskID:
		return "", len(text) > MaxActionBytes || strings.Trim(text, NameLetters) != ""
	case slot.Framework.String():
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
		if lower := strings.ToLower(text); strings.Trim(lower, letters) == "" {
			return lower, lower != text
		}
		return "", true
	case slot.TxCommit.String():
		return "", strings.Trim(text, "0123456789abcdef") != "" || len(text) > 64 || whole && len(text) != 64
	case SlotAction:
		return "", !IsAction(text)
	}
	return "", false
}

// noPartOfAddress reports whether no address has a text in it, in whatever case.
func noPartOfAddress(text string) bool {
	return len(text) > len("0x")+40 || strings.Trim(strings.ToLower(text), "0123456789abcdefx") != ""
}

// neverOneOf is neverCompares for a field that has one of few values; other is another form of the text.
func neverOneOf(values []string, text, other string, whole bool) (fix string, never bool) {
	has := func(text string) bool {
		return slices.ContainsFunc(values, func(value string) bool {
			return value == text || !whole && strings.Contains(value, text)
		})
	}
	switch {
	case has(text):
		return "", false
	case other != "" && has(other):
		return other, true
	}
	return "", true
}

// AsItem returns a text as an item of a list says it: between quotes where it would be divided, or read otherwise.
func AsItem(text string) string {
	if text == strings.TrimSpace(text) && !strings.ContainsAny(text, ",\"'#<") {
		return text
	}
	for _, quote := range []string{`"`, `'`} {
		if !strings.Contains(text, quote) {
			return quote + text + quote
		}
	}
	return text
}

// LintPlain warns of a pattern that is a plain text, for which there is a plain operator.
func (c *Checker) LintPlain(operator, plain Operator, span grammar.Span, pattern string) {
	if operator != Matches {
		return
	}
	if found, text, ok := PlainText(pattern, plain); ok {
		c.Add(grammar.At(codes.PlainPattern, span, "this pattern is a plain text").
			WithHint("write `%s` and `%s`, which reads no pattern, and texts of any length", found, Shorten(AsItem(text))))
	}
}

// PlainText returns the text that a pattern means, and the operator that says the same of it; plain is the one of a
// text without anchors.
func PlainText(pattern string, plain Operator) (found Operator, text string, ok bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return plain, "", false
	}
	literal := func(r *syntax.Regexp) bool { return r.Op == syntax.OpLiteral && r.Flags&syntax.FoldCase == 0 }
	switch sub := tree.Sub; {
	case literal(tree):
		return plain, string(tree.Rune), true
	case tree.Op == syntax.OpConcat && plain == Contains:
		starts, ends := sub[0].Op == syntax.OpBeginText, sub[len(sub)-1].Op == syntax.OpEndText
		middle := sub
		if starts {
			middle = middle[1:]
		}
		if ends {
			middle = middle[:max(len(middle)-1, 0)]
		}
		if len(middle) == 1 && literal(middle[0]) {
			found = map[[2]bool]Operator{{true, true}: Equals, {true, false}: StartsWith, {false, true}: EndsWith}[[2]bool{starts, ends}]
			return found, string(middle[0].Rune), true
		}
	}
	return plain, "", false
}

// HoldsNumbers reports whether a request can have a number at a path.
func HoldsNumbers(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	field := slot.Find(first)
	return field.Row().Type.Object() || field == slot.ChainID
}

// JSONNumber is the form of numbers in requests.
var JSONNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// ShortestNumber returns the form in which the number of a text is compared (RFC 8785, section 3.2.2.3), or "" where no
// request can have it.
func ShortestNumber(text string) string {
	value, err := strconv.ParseFloat(text, 64)
	switch size := math.Abs(value); {
	case err != nil || size > MaxCount:
		return ""
	case size == 0:
		return "0"
	case size < 1e-6:
		return strings.Replace(strconv.FormatFloat(value, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// OtherNumber reports a number that is not written as numbers are compared.
func OtherNumber(item grammar.Item) grammar.Diagnostic {
	d := grammar.At(codes.NumberForm, item.Span, "numbers are compared in their shortest form, so that none ever equals `%s`", Shorten(item.Text))
	if shortest := ShortestNumber(item.Text); shortest != "" {
		return d.WithHint("write `%s`; if the text is meant, put it between quotes", shortest).WithFix(item.Span, shortest)
	}
	return d.WithHint("no request can have this number; if the text is meant, put it between quotes")
}
