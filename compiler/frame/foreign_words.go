package frame

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/grammar"
)

// isConjunction reports whether a word connects the last items of a list in prose.
func isConjunction(word string) bool {
	return strings.EqualFold(word, "and") || strings.EqualFold(word, "or")
}

// dividesConjunctions reports whether the items of a list may have white space in them, so that only a conjunction shows
// that several were meant.
func dividesConjunctions(row *Key) bool {
	return !isFree(row) && row.Type != TypeMethods && (row.Type == TypePaths || !dividesBlanks(row))
}

// splitAtConjunctions divides an item at `and` and `or`, in front of it or between two items. That is a warning in every list:
// a command may have these words.
func splitAtConjunctions(_ *Key, text string) []string {
	var parts []string
	var part []string
	for _, word := range strings.Fields(text) {
		if isConjunction(word) {
			parts = append(parts, strings.Join(part, " "))
			part = nil
			continue
		}
		part = append(part, word)
	}
	divided := withoutEmpty(append(parts, strings.Join(part, " ")))
	if len(parts) == 0 || len(divided) == 0 {
		return []string{text}
	}
	return divided
}

// negation is what other formats put before an item that is an exception.
var negation = regexp.MustCompile(`^(?:![^ ]|(?i:not|except|but not)[ \t]+[^ \t])`)

// findNegations finds items that begin as exceptions do in other formats. What was meant is a rule of another list, so that
// there is no fix.
func findNegations(row *Key, value *grammar.Value) (listFault, bool) {
	from := slices.IndexFunc(value.Items, func(item grammar.Item) bool { return !item.Quoted && negation.MatchString(item.Text) })
	if from < 0 {
		return listFault{}, false
	}
	mark := "!"
	if text := value.Items[from].Text; text[0] != '!' {
		mark, _, _ = strings.Cut(text, " ")
	}
	hint := "an item cannot exclude what another item covers; list each intended item"
	if !row.Blocks {
		hint = "to deny something, put it into a list that blocks, or into `deny_if` in `## custom`"
	}
	return listFault{span: value.Items[from].Span, hint: hint, unlessQuoted: true,
		message: "an item that begins with `" + mark + "` is not an exception: the `" + mark + "` is part of the text"}, true
}
