package frame

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/amount"
	"bailiff/vm/slot"
)

// otherWords are what other formats call some of the words that keys can have.
var otherWords = map[string]string{
	"daily": "day", "days": "day", "1d": "day", "24h": "day",
	"hourly": "hour", "hours": "hour", "1h": "hour", "60m": "hour",
	"tasks": "task", "per_task": "task", "session": "task",
	"remove": "delete", "unlink": "delete", "move": "rename", "exec": "execute", "run": "execute",
}

// suggestWord adds which of the words a text was probably meant to be: one that is spelled nearly so or is called so
// elsewhere, with a fix; or the only one that begins so, without, for that says more than the author did.
func suggestWord(d grammar.Diagnostic, item grammar.Item, words []string) grammar.Diagnostic {
	near := grammar.Closest(item.Text, words)
	if other := otherWords[strings.ToLower(item.Text)]; near == "" && slices.Contains(words, other) {
		near = other
	}
	if near != "" {
		return d.WithHint("did you mean `%s`?", near).WithFix(item.Span, near)
	}
	if longer := OnlyContinuation(item.Text, words); longer != "" {
		return d.WithHint("did you mean `%s`? The words are %s", longer, Alternatives(words))
	}
	return d.WithHint("write %s", Alternatives(words))
}

// SameWords reports whether the words of two names are the same but for their spelling. A key of which one word is
// altogether another means something else: a limit by day is not mended by one by task.
func SameWords(written, meant string) bool {
	parts := func(name string) []string {
		return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	}
	a, b := parts(written), parts(meant)
	if len(a) != len(b) {
		return true // words run together, or one is missing
	}
	for i := range a {
		if !strings.HasPrefix(b[i], a[i]) && !strings.HasPrefix(a[i], b[i]) && grammar.Closest(a[i], b[i:i+1]) == "" {
			return false
		}
	}
	return true
}

// thousands is a number with commas between its thousands, and decimalComma one with a comma before its fraction.
var (
	thousands    = regexp.MustCompile(`^[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?$`)
	decimalComma = regexp.MustCompile(`^[0-9]+,[0-9]+$`)
)

// numberParts are a number with what people write around it: a currency in front; a unit, a rate or a type behind.
var numberParts = regexp.MustCompile(`^(?:[$€£Ξ¥]|[A-Za-z]{2,5})?[ \t]*([0-9.][0-9._,]*)[ \t]*((?:[A-Za-z]+|[$€£Ξ])?(?:[ \t]*/[ \t]*[A-Za-z]+|[ \t]+per[ \t]+[A-Za-z]+)?[ \t]*(?:\([A-Za-z ]+\))?)$`)

// plainNumber returns the number in a text, without what is around it.
func plainNumber(text string) string {
	parts := numberParts.FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	plain := strings.ReplaceAll(parts[1], "_", "")
	switch {
	case thousands.MatchString(plain):
		plain = strings.ReplaceAll(plain, ",", "")
	case decimalComma.MatchString(plain):
		plain = strings.Replace(plain, ",", ".", 1)
	}
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	return strings.TrimSuffix(plain, ".")
}

// suggestDecimal adds how to write what is not a plain decimal number. Decimals of unit have at most that many fraction digits.
func suggestDecimal(d grammar.Diagnostic, value *grammar.Value, unit string, decimals uint8) grammar.Diagnostic {
	text := strings.ToLower(value.Text)
	otherUnit := strings.HasSuffix(text, "wei") && !strings.EqualFold(unit, "wei") || hasMultiple.MatchString(text)
	switch plain := plainNumber(value.Text); {
	case strings.Contains(value.Text, "%"):
		return d.WithHint("a limit is an amount and no share of another one; write the amount, such as 0.25")
	case otherUnit:
		return d.WithHint("an amount is in the unit of its key; write it in that unit, such as 0.5")
	case plain == "":
	default:
		if parsed, err := amount.Parse(plain, decimals); err == nil && !parsed.IsZero() {
			return d.WithHint("write `%s`", plain).WithFix(value.Span, plain)
		}
	}
	return d.WithHint("write digits, or digits, a point and digits, such as 0.5")
}

// hasMultiple is a number in thousands or millions, by a letter.
var hasMultiple = regexp.MustCompile(`[0-9][kmb]$`)

// chainNames are the ids of the supported chains by their names.
var chainNames = func() map[string]string {
	ids := map[string]string{}
	for _, chain := range slot.Chains() {
		for _, name := range chain.Names {
			ids[name] = chain.ID
		}
	}
	return ids
}()

// hexID is a chain id as JSON-RPC has it.
var hexID = regexp.MustCompile(`^0[xX][0-9a-fA-F]{1,12}$`)

// OnlyContinuation returns the one candidate, without placeholders, that goes on where start ends, or "".
func OnlyContinuation(start string, candidates []string) string {
	const least = 3 // fewer letters are the beginning of anything
	only := ""
	for _, candidate := range candidates {
		if len(start) < least || !strings.HasPrefix(candidate, start) || strings.Contains(candidate, "<") {
			continue
		}
		if only != "" {
			return ""
		}
		only = candidate
	}
	return only
}

// Alternatives returns words as a sentence lists them.
func Alternatives(words []string) string {
	const between = "`, `"
	last := len(words) - 1
	if last == 0 {
		return "`" + words[0] + "`"
	}
	return "`" + strings.Join(words[:last], between) + "` or `" + words[last] + "`"
}
