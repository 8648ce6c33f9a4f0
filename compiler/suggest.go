package compiler

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/amount"
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
	if longer := onlyContinuation(item.Text, words); longer != "" {
		return d.WithHint("did you mean `%s`? The words are %s", longer, alternatives(words))
	}
	return d.WithHint("write %s", alternatives(words))
}

// otherOperators are what other languages call the operators of custom rules.
var otherOperators = map[string]Operator{
	"is": Equals, "eq": Equals, "equal_to": Equals,
	"is_not": NotEquals, "isnt": NotEquals, "ne": NotEquals, "neq": NotEquals, "not": NotEquals,
	"includes": Contains, "include": Contains, "has": Contains,
	"begins_with": StartsWith, "starts": StartsWith, "ends": EndsWith, "suffix": EndsWith,
	"regex": Matches, "regexp": Matches, "re": Matches,
}

// suggestOperator adds which operator of a custom rule a word was probably meant to be.
func suggestOperator(d grammar.Diagnostic, word grammar.Word, denies bool) grammar.Diagnostic {
	words := operatorNames[:]
	if !denies {
		words = append(slices.DeleteFunc(slices.Clone(words), func(name string) bool { return name == NotEquals.String() }), wordAttested)
	}
	near := grammar.Closest(word.Text, words)
	if other, known := otherOperators[strings.ToLower(word.Text)]; known {
		near = other.String()
	} else if word.Text == "in" && !denies {
		near = Equals.String() // the list is what allow_only has in any case
	}
	switch {
	case near == NotEquals.String() && !denies, word.Text == NotEquals.String():
		return d.WithHint("allow_only has no not_equals; write a deny_if with `equals`")
	case near != "":
		return d.WithHint("did you mean `%s`?", near).WithFix(word.Span, near)
	}
	return d.WithHint("%s", listOfOperators)
}

// sameWords reports whether the words of two names are the same but for their spelling. A key of which one word is
// altogether another means something else: a limit by day is not mended by one by task.
func sameWords(written, meant string) bool {
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

// thousands is a number with commas between its thousands.
var thousands = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$`)

// suggestDecimal adds how to write what is no plain decimal. Decimals of unit have at most that many fraction digits.
func suggestDecimal(d grammar.Diagnostic, value *grammar.Value, unit string, decimals uint8) grammar.Diagnostic {
	if thousands.MatchString(value.Text) {
		return d.WithHint("a decimal has no commas; write `%s` if they divide thousands", strings.ReplaceAll(value.Text, ",", ""))
	}
	plain := strings.ReplaceAll(value.Text, "_", "")
	plain = trimFold(trimFold(plain, unit), map[string]string{"USD": "$", "ETH": "Ξ"}[unit])
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	plain = strings.TrimSuffix(plain, ".")
	if parsed, err := amount.Parse(plain, decimals); err == nil && !parsed.IsZero() {
		return d.WithHint("write `%s`", plain).WithFix(value.Span, plain)
	}
	return d.WithHint("write digits, or digits, a point and digits, such as 0.5")
}

// trimFold takes a word off the start or the end of a text, in any case, with the spaces beside it.
func trimFold(text, word string) string {
	n := len(text) - len(word)
	switch {
	case n < 0 || word == "":
	case strings.EqualFold(text[n:], word):
		return strings.TrimRight(text[:n], " ")
	case strings.EqualFold(text[:len(word)], word):
		return strings.TrimLeft(text[len(word):], " ")
	}
	return text
}

// chainNames are the names of the supported chains.
var chainNames = map[string]string{
	"ethereum": "1", "mainnet": "1", "eth": "1", "optimism": "10", "op": "10", "bsc": "56", "bnb": "56",
	"polygon": "137", "matic": "137", "hyperevm": "999", "hyperliquid": "999", "base": "8453", "arbitrum": "42161",
}

// hexID is a chain id as JSON-RPC has it.
var hexID = regexp.MustCompile(`^0[xX][0-9a-fA-F]{1,12}$`)
