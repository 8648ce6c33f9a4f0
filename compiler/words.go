package compiler

import (
	"unicode/utf8"

	"bailiff/vm"
)

// allowing says that the instructions that follow come from a list, and that what they deny is not on it.
func (e *emitter) allowing(list *List) {
	e.at(list.Span)
	e.listed(true, e.words(list.Items))
}

// blocking says that the instructions that follow come from a list, and that what they deny is on it.
func (e *emitter) blocking(list *List) {
	e.at(list.Span)
	e.listed(false, e.words(list.Items))
}

// A word is an item in its author's words and in its normal form.
type word struct{ text, form string }

// words returns the items of a list as their author wrote them.
func (e *emitter) words(items []Item) []word {
	words := make([]word, len(items))
	for i, item := range items {
		words[i] = word{e.asWritten(item), item.Text}
	}
	return words
}

// asWritten returns an item as its author wrote it, without the quotes around it.
func (e *emitter) asWritten(item Item) string {
	if item.Span.Start < 0 || item.Span.End > len(e.text) || item.Span.Start >= item.Span.End {
		return item.Text
	}
	text := string(e.text[item.Span.Start:item.Span.End])
	if n := len(text); n > 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// listed says that the denials that follow are about a list, for their answers.
func (e *emitter) listed(allows bool, words []word) {
	list := &vm.WordList{Allows: allows, Count: len(words)}
	if allows && len(words) > vm.MaxAllowedWords {
		words = words[:vm.MaxAllowedWords]
	}
	if len(words) > vm.MaxWords || len(words) == 0 {
		return // the machine takes no set of so many
	}
	list.Count = min(list.Count, vm.MaxWords)
	for _, w := range words {
		list.Texts = append(list.Texts, cutWord(w.text))
		if !allows {
			list.Forms = append(list.Forms, w.form)
		}
	}
	e.Words(list)
}

// operated returns words with the operator by which they are compared, where that is not equality.
func operated(operator Operator, words []word) []word {
	if operator == Equals || operator == NotEquals {
		return words
	}
	for i := range words {
		words[i].text = operator.String() + " " + words[i].text
	}
	return words
}

// cutWord returns a word cut to the length that a program keeps.
func cutWord(text string) string {
	const more = "…"
	if len(text) <= vm.MaxWord {
		return text
	}
	end := vm.MaxWord - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
