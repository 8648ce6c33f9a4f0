package frame

import (
	"slices"
	"strings"

	"bailiff/grammar"
)

// A listFault is the part of a list that is written in a foreign form, and how it should be written.
type listFault struct {
	span         grammar.Span
	message      string
	hint         string // what to do; the corrected list follows it
	replacement  string // of the span; empty where what was meant cannot be told
	unlessQuoted bool   // quotes make it mean what it says
}

// IsListKey reports whether the value of a key is a list.
func IsListKey(row *Key) bool { return row.Type.IsList() }

// isFree reports whether the items of a list are texts of the author's, in which any character may be meant.
func isFree(row *Key) bool { return row.Section == "custom" && row.Type == TypeTexts }

// dividesBlanks reports whether no item of a list has white space in it, or a path has none before another path.
func dividesBlanks(row *Key) bool {
	switch row.Type {
	case TypeTexts, TypeMethods, TypeRoots, TypeResources:
		return false
	case TypeNames:
		return row.Name == "allowed_servers" || row.Name == "protected_environments"
	}
	return true
}

// partOf returns the span from the first to the last item that wrong holds of, and what the items there should be.
func partOf(items []grammar.Item, texts []string, wrong func(grammar.Item) bool) (grammar.Span, string) {
	from := slices.IndexFunc(items, wrong)
	to := from
	for i := from; i < len(items); i++ {
		if wrong(items[i]) {
			to = i
		}
	}
	return items[from].Span.To(items[to].Span), joined(texts[from : to+1])
}

func withoutEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' })
}

// joined returns texts as a list.
func joined(texts []string) string {
	trimmed := make([]string, 0, len(texts))
	for _, text := range texts {
		trimmed = append(trimmed, strings.TrimSpace(text))
	}
	return strings.Join(withoutEmpty(trimmed), ", ")
}

func (f listFault) diagnostic(code grammar.Code, row *Key) grammar.Diagnostic {
	d := grammar.At(code, f.span, "%s", f.message)
	hint := f.hint
	if f.replacement != "" {
		hint = strings.Replace(f.hint+": `"+Shorten(f.replacement)+"`", "write: ", "write ", 1)
		d = d.WithFix(f.span, f.replacement)
	}
	if f.unlessQuoted && !row.Bare && slices.Contains([]Type{TypeTexts, TypePaths, TypeActions, TypePatterns, TypeTools}, row.Type) {
		hint += "; if the characters are meant, put the item between quotes"
	}
	return d.WithHint("%s", hint)
}
