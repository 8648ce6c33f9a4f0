package frame

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/slot"
)

// Operator compares a value of the request with one of a custom rule.
type Operator uint8

// The operators.
const (
	Equals Operator = iota
	NotEquals
	Contains
	StartsWith
	EndsWith
	Matches
)

var operatorNames = [...]string{"equals", "not_equals", "contains", "starts_with", "ends_with", "matches"}

// String returns the operator as policies spell it.
func (o Operator) String() string { return operatorNames[o] }

// ListOfOperators says in messages which operators there are.
const ListOfOperators = "the operators are equals, contains, starts_with, ends_with and matches; deny_if also has not_equals"

// Operations says which operation compares by which operator.
var Operations = [...]vm.Op{Equals: vm.OpIn, NotEquals: vm.OpIn, Contains: vm.OpContains, StartsWith: vm.OpStarts, EndsWith: vm.OpEnds, Matches: vm.OpMatch}

// Conditions says in words what is wrong with a denied value.
var Conditions = [...]string{
	Equals:     "equals what custom.deny_if denies",
	NotEquals:  "is missing, or not what custom.deny_if demands",
	Contains:   "contains what custom.deny_if denies",
	StartsWith: "starts with what custom.deny_if denies",
	EndsWith:   "ends with what custom.deny_if denies",
	Matches:    "matches what custom.deny_if denies, or is too long to tell",
}

// Operator reads the operator of a custom rule.
func (c *Checker) Operator(word grammar.Word, denies bool) (Operator, bool) {
	if word.Text == "prefix" {
		return StartsWith, true
	}
	for i, name := range operatorNames {
		if name == word.Text && (denies || Operator(i) != NotEquals) {
			return Operator(i), true
		}
	}
	d := grammar.At(codes.Operator, word.Span, "`%s` is not an operator here", Shorten(word.Text))
	c.Add(suggestOperator(d, word, denies))
	return 0, false
}

// Path reads the path of a custom rule, without `intent.` in front, or reports what is wrong with it.
func (c *Checker) Path(segments []grammar.Segment) (string, bool) {
	if len(segments) > 1 && segments[0].Text == "intent" {
		segments = segments[1:]
	}
	if len(segments) == 0 { // the schema's <path> means at least one name
		return "", false
	}
	path := JoinSegments(segments)
	span := segments[0].Span.To(segments[len(segments)-1].Span)
	first := slot.Find(segments[0].Text)
	switch {
	case first == slot.NoField:
		c.Add(unknownField(segments[0], path))
	case first.Row().Type.Object() && len(segments) == 1:
		c.Add(grammar.At(codes.PathObject, span, "`%s` is an object, and rules compare texts", first).
			WithHint("name a member of it, such as `%s.env`", first))
	case !first.Row().Type.Object() && len(segments) > 1:
		c.Add(grammar.At(codes.PathObject, span, "`%s` has no members, so `%s` can't exist", first, Shorten(path)).
			WithHint("data of your own is below `metadata`"))
	case len(path) > MaxPathBytes:
		c.Add(grammar.At(codes.TextLong, span, "a path has at most %d bytes, and this one %d", MaxPathBytes, len(path)))
	default:
		return path, true
	}
	return "", false
}

func unknownField(first grammar.Segment, path string) grammar.Diagnostic {
	d := grammar.At(codes.PathField, first.Span, "a request has no field `%s`", Shorten(first.Text))
	if near := grammar.Closest(first.Text, fieldNames()); near != "" {
		return d.WithHint("did you mean `%s`?", near).WithFix(first.Span, near)
	}
	if first.Text == "intent" {
		return d.WithHint("name the field, such as `intent.action`")
	}
	return d.WithHint("data of your own is below metadata: `metadata.%s`", Shorten(path)).
		WithFix(grammar.Span{Start: first.Span.Start, End: first.Span.Start}, "metadata.")
}

// The prefixes of slots that hold what denials read of a path, beside its normal form.
const (
	EachPrefix = slot.EachPrefix
	SentPrefix = slot.SentPrefix
)

// suggestOperator adds which operator of a custom rule a word was probably meant to be.
func suggestOperator(d grammar.Diagnostic, word grammar.Word, denies bool) grammar.Diagnostic {
	words := operatorNames[:]
	if !denies {
		words = append(slices.DeleteFunc(slices.Clone(words), func(name string) bool { return name == NotEquals.String() }), WordAttested)
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
	return d.WithHint("%s", ListOfOperators)
}

// otherOperators are what other languages call the operators of custom rules.
var otherOperators = map[string]Operator{
	"is": Equals, "eq": Equals, "equal_to": Equals,
	"is_not": NotEquals, "isnt": NotEquals, "ne": NotEquals, "neq": NotEquals, "not": NotEquals,
	"includes": Contains, "include": Contains, "has": Contains,
	"begins_with": StartsWith, "starts": StartsWith, "ends": EndsWith, "suffix": EndsWith,
	"regex": Matches, "regexp": Matches, "re": Matches,
}
