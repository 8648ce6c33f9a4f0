package frame

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/match"
	"bailiff/vm/slot/derived"
)

// Emitter writes the program of a policy that has no errors.
//
// A program runs in this order: what an intent's class makes invalid; the denials of `## custom`; gates; the section of
// the class; the allowances of `## custom`; approvals; limits. Where the code differs by class it starts with a
// switch on the action. Consensus is recorded by the section that reads the amount: the machine keeps holds apart, and
// they count only where nothing denies.
//
// Every denial directly follows the tests that could let an intent pass it, and names where to continue when
// all violations are wanted. A test of something unreadable never jumps, so that it arrives at the denial.
type Emitter struct {
	*vm.Builder
	Version *grammar.Version
	Parts   Parts
	Text    []byte
	Lines   []int // the offset of each line's start
}

// Absent is what a field holds that was not sent: nothing, or null inside metadata.
var Absent = vm.Kinds(vm.Missing, vm.Null)

// At says which text the instructions that follow come from. They are about no list.
func (e *Emitter) At(span grammar.Span) {
	e.SetSpan(vm.Span{Start: int32(span.Start), End: int32(span.End), Line: int32(e.Line(span))})
	e.Words(nil)
}

// Line returns the line, from 1, that a span begins in.
func (e *Emitter) Line(span grammar.Span) int { return sort.SearchInts(e.Lines, span.Start+1) }

// A Step is a part of the program: either shared by all classes, or one for each.
type Step struct {
	Shared func()
	Of     func(vm.Class)
	Skips  func(vm.Class) bool // the classes for which there is nothing to do
	Same   bool                // it is the same for every class that it does not skip
}

// Only returns a step that is the same for some classes, and that the others skip.
func Only(emit func(), classes ...vm.Class) Step {
	return Step{
		Of:    func(vm.Class) { emit() },
		Skips: func(class vm.Class) bool { return !slices.Contains(classes, class) },
		Same:  true,
	}
}

// Require refuses a request without the field.
func (e *Emitter) Require(name, message string) {
	ok := e.NewLabel()
	e.Kind(vm.Unless, e.Field(name), Absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(errcode.ValidationSchema), Message: message}), e.Field(name))
	e.Place(ok)
}

// Forbid refuses a request with the field.
func (e *Emitter) Forbid(name string) {
	ok := e.NewLabel()
	read := name
	if sent := map[string]string{SlotToken: derived.Token, SlotAmount: derived.Amount}[name]; sent != "" { // there in any form
		read = sent
	}
	e.Kind(vm.If, e.Field(read), Absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(errcode.ValidationSchema), Message: name + ": is accepted on EVM intents only; leave it out"}), e.Field(read))
	e.Place(ok)
}

// Value blames all that a slot holds.
func (e *Emitter) Value(slot string) vm.Blame { return vm.Blame{Slot: e.Field(slot)} }

// Element blames the element of a slot's list that the test before decided by, and all of a value that is not a list.
func (e *Emitter) Element(slot string) vm.Blame {
	return vm.Blame{Slot: e.Field(slot), Element: true}
}

// DenyBy denies by a rule, blames a value, and continues at resume where all violations are wanted.
func (e *Emitter) DenyBy(name string, c errcode.Code, message string, blame vm.Blame, resume vm.Label) {
	e.Deny(e.Rule(vm.Rule{Name: name, Code: string(c), Message: message}), blame, resume)
}

// Refuse denies every intent that gets here, blaming its action, and continues with the next instruction.
func (e *Emitter) Refuse(name string, c errcode.Code, message string) {
	next := e.NewLabel()
	e.DenyBy(name, c, message, e.Value(SlotAction), next)
	e.Place(next)
}

// Unless denies where a test does not let the intent jump, and continues after it.
func (e *Emitter) Unless(test func(pass vm.Label), name string, c errcode.Code, message string, blame vm.Blame) {
	next := e.NewLabel()
	test(next)
	e.DenyBy(name, c, message, blame, next)
	e.Place(next)
}

// Allow denies by a key where a test of a list that allows lets a value not pass. With vm.Every all elements of a list
// have to pass, and the one that does not is blamed.
func (e *Emitter) Allow(key *Key, list *List, op vm.Op, when vm.When, slot string, set vm.Const, message string) {
	blame := vm.Blame{Slot: e.Field(slot), Element: when&vm.Every != 0}
	e.Allowing(list)
	e.Unless(func(pass vm.Label) { e.Test(op, when, blame.Slot, set, pass) }, key.Rule, key.Code, message, blame)
}

// Exactly returns the set of texts as they are.
func (e *Emitter) Exactly(texts ...string) vm.Const {
	entries := make([]match.Entry, len(texts))
	for i, text := range texts {
		entries[i] = match.Entry{Text: text}
	}
	return e.Texts(entries...)
}

// Lowered returns the set of the actions of a list, which have no case.
func (e *Emitter) Lowered(actions *List) vm.Const {
	texts := actions.Texts()
	for i, text := range texts {
		texts[i] = strings.ToLower(text)
	}
	return e.Exactly(texts...)
}

// A SetTest is a test of a text by a set.
type SetTest struct {
	Op  vm.Op
	Set vm.Const
}

// UnlessAny goes on at next unless one of the tests holds. What can't be judged goes on below, as what one holds for.
func (e *Emitter) UnlessAny(slot uint16, tests []SetTest, next vm.Label) {
	holds := e.NewLabel()
	last := len(tests) - 1
	for _, test := range tests[:last] {
		e.Test(test.Op, vm.If, slot, test.Set, holds)
	}
	e.Test(tests[last].Op, vm.Unless, slot, tests[last].Set, next)
	e.Place(holds)
}

// FewPaths is the number of patterns up to which one test of them all is quickest.
const FewPaths = 64

// PathTests returns the tests that hold for the paths that the patterns cover. Many plain patterns are looked up by
// their hash, where a test by patterns would go through them one by one: a plain one covers its own text, and what goes
// on behind it with a slash.
func (e *Emitter) PathTests(patterns []string) (tests []SetTest) {
	var plain, below, others []string
	for _, pattern := range patterns {
		if strings.Contains(pattern, "*") || pattern == "/" {
			others = append(others, pattern)
		} else {
			plain, below = append(plain, pattern), append(below, pattern+"/")
		}
	}
	if len(plain) <= FewPaths {
		others, plain = patterns, nil
	}
	if len(plain) > 0 {
		tests = append(tests, SetTest{vm.OpIn, e.Exactly(plain...)}, SetTest{vm.OpStarts, e.Exactly(below...)})
	}
	if len(others) > 0 {
		tests = append(tests, SetTest{vm.OpPath, e.Paths(others...)})
	}
	return tests
}

// Folded returns the set of texts, in which address literals match in any case.
func (e *Emitter) Folded(texts ...string) vm.Const {
	entries := make([]match.Entry, len(texts))
	for i, text := range texts {
		entries[i] = EntryOf(text)
	}
	return e.Texts(entries...)
}

// EntryOf returns a rule's text as the machine seeks it.
func EntryOf(text string) match.Entry {
	for range evmaddr.Literals(text) {
		return match.Entry{Text: evmaddr.FoldLiterals(text), Fold: true}
	}
	return match.Entry{Text: text}
}

// HoldBy records that a key's rule asks for a human decision.
func (e *Emitter) HoldBy(key *Key, message string) {
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
}

// LineStarts returns where the lines of a text begin.
func LineStarts(text []byte) []int {
	starts := []int{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// ActionCases returns the cases of the actions that patterns cover.
func ActionCases(actions []string, to vm.Label) []vm.Case {
	cases := make([]vm.Case, len(actions))
	for i, pattern := range actions {
		start, isPrefix := strings.CutSuffix(pattern, "*")
		cases[i] = vm.Case{Text: start, Prefix: isPrefix, To: to}
	}
	return cases
}

// Allowing says that the instructions that follow come from a list, and that what they deny is not on it.
func (e *Emitter) Allowing(list *List) {
	e.At(list.Span)
	e.Listed(true, e.WordsOf(list.Items))
}

// Blocking says that the instructions that follow come from a list, and that what they deny is on it.
func (e *Emitter) Blocking(list *List) {
	e.At(list.Span)
	e.Listed(false, e.WordsOf(list.Items))
}

// A Word is an item in its author's words and in its normal form.
type Word struct{ Text, Form string }

// WordsOf returns the items of a list as their author wrote them.
func (e *Emitter) WordsOf(items []Item) []Word {
	words := make([]Word, len(items))
	for i, item := range items {
		words[i] = Word{e.AsWritten(item), item.Text}
	}
	return words
}

// AsWritten returns an item as its author wrote it, without the quotes around it.
func (e *Emitter) AsWritten(item Item) string {
	if item.Span.Start < 0 || item.Span.End > len(e.Text) || item.Span.Start >= item.Span.End {
		return item.Text
	}
	text := string(e.Text[item.Span.Start:item.Span.End])
	if n := len(text); n > 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// Listed says that the denials that follow are about a list, for their answers.
func (e *Emitter) Listed(allows bool, words []Word) {
	list := &vm.WordList{Allows: allows, Count: len(words)}
	if allows && len(words) > vm.MaxAllowedWords {
		words = words[:vm.MaxAllowedWords]
	}
	if len(words) > vm.MaxWords || len(words) == 0 {
		return // the machine takes no set of so many
	}
	list.Count = min(list.Count, vm.MaxWords)
	for _, w := range words {
		list.Texts = append(list.Texts, cutWord(w.Text))
		if !allows {
			list.Forms = append(list.Forms, w.Form)
		}
	}
	e.Words(list)
}

// Operated returns words with the operator by which they are compared, where that is not equality.
func Operated(operator Operator, words []Word) []Word {
	if operator == Equals || operator == NotEquals {
		return words
	}
	for i := range words {
		words[i].Text = operator.String() + " " + words[i].Text
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
