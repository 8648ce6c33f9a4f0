package compiler

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

// emitter writes the program of a policy that has no errors.
//
// A program runs in this order: what an intent's class makes invalid; the denials of `## custom`; gates; the section of
// the class; the allowances of `## custom`; approvals; limits. Where the code differs by class it starts with a
// switch on the action. Consensus is recorded by the section that reads the amount: the machine keeps holds apart, and
// they count only where nothing denies.
//
// Every denial is straight behind the tests that could let an intent pass it, and names where to go on when
// all violations are wanted. A test of something unreadable never jumps, so that it arrives at the denial.
type emitter struct {
	*vm.Builder
	version *grammar.Version
	parts   Parts
	text    []byte
	lines   []int // the offset of each line's start
}

// absent is what a field holds that was not sent: nothing, or null inside metadata.
var absent = vm.Kinds(vm.Missing, vm.Null)

// at says which text the instructions that follow come from. They are about no list.
func (e *emitter) at(span grammar.Span) {
	e.SetSpan(vm.Span{Start: int32(span.Start), End: int32(span.End), Line: int32(e.line(span))})
	e.Words(nil)
}

// line returns the line, from 1, that a span begins in.
func (e *emitter) line(span grammar.Span) int { return sort.SearchInts(e.lines, span.Start+1) }

// A step is a part of the program: either shared by all classes, or one for each.
type step struct {
	shared func()
	of     func(vm.Class)
	skips  func(vm.Class) bool // the classes for which there is nothing to do
	same   bool                // it is the same for every class that it does not skip
}

// only returns a step that is the same for some classes, and that the others skip.
func only(emit func(), classes ...vm.Class) step {
	return step{
		of:    func(vm.Class) { emit() },
		skips: func(class vm.Class) bool { return !slices.Contains(classes, class) },
		same:  true,
	}
}

// require refuses a request without the field.
func (e *emitter) require(name, message string) {
	ok := e.NewLabel()
	e.Kind(vm.Unless, e.Field(name), absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(errcode.ValidationSchema), Message: message}), e.Field(name))
	e.Place(ok)
}

// forbid refuses a request with the field.
func (e *emitter) forbid(name string) {
	ok := e.NewLabel()
	read := name
	if sent := map[string]string{slotToken: derived.Token, fieldAmount: derived.Amount}[name]; sent != "" { // there in any form
		read = sent
	}
	e.Kind(vm.If, e.Field(read), absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(errcode.ValidationSchema), Message: name + ": is accepted on EVM intents only; leave it out"}), e.Field(read))
	e.Place(ok)
}

// value blames all that a slot holds.
func (e *emitter) value(slot string) vm.Blame { return vm.Blame{Slot: e.Field(slot)} }

// element blames the element of a slot's list that the test before decided by, and all of a value that is not a list.
func (e *emitter) element(slot string) vm.Blame {
	return vm.Blame{Slot: e.Field(slot), Element: true}
}

// deny denies by a rule, blames a value, and continues at resume where all violations are wanted.
func (e *emitter) deny(name string, c errcode.Code, message string, blame vm.Blame, resume vm.Label) {
	e.Deny(e.Rule(vm.Rule{Name: name, Code: string(c), Message: message}), blame, resume)
}

// refuse denies every intent that gets here, blaming its action, and continues with the next instruction.
func (e *emitter) refuse(name string, c errcode.Code, message string) {
	next := e.NewLabel()
	e.deny(name, c, message, e.value(slotAction), next)
	e.Place(next)
}

// unless denies where a test does not let the intent jump, and continues after it.
func (e *emitter) unless(test func(pass vm.Label), name string, c errcode.Code, message string, blame vm.Blame) {
	next := e.NewLabel()
	test(next)
	e.deny(name, c, message, blame, next)
	e.Place(next)
}

// allow denies by a key where a test of a list that allows lets a value not pass. With vm.Every all elements of a list
// have to pass, and the one that does not is blamed.
func (e *emitter) allow(key *Key, list *List, op vm.Op, when vm.When, slot string, set vm.Const, message string) {
	blame := vm.Blame{Slot: e.Field(slot), Element: when&vm.Every != 0}
	e.allowing(list)
	e.unless(func(pass vm.Label) { e.Test(op, when, blame.Slot, set, pass) }, key.Rule, key.Code, message, blame)
}

// exactly returns the set of texts as they are.
func (e *emitter) exactly(texts ...string) vm.Const {
	entries := make([]match.Entry, len(texts))
	for i, text := range texts {
		entries[i] = match.Entry{Text: text}
	}
	return e.Texts(entries...)
}

// lowered returns the set of the actions of a list, which have no case.
func (e *emitter) lowered(actions *List) vm.Const {
	texts := actions.Texts()
	for i, text := range texts {
		texts[i] = strings.ToLower(text)
	}
	return e.exactly(texts...)
}

// A setTest is a test of a text by a set.
type setTest struct {
	op  vm.Op
	set vm.Const
}

// unlessAny goes on at next unless one of the tests holds. What can't be judged goes on below, as what one holds for.
func (e *emitter) unlessAny(slot uint16, tests []setTest, next vm.Label) {
	holds := e.NewLabel()
	last := len(tests) - 1
	for _, test := range tests[:last] {
		e.Test(test.op, vm.If, slot, test.set, holds)
	}
	e.Test(tests[last].op, vm.Unless, slot, tests[last].set, next)
	e.Place(holds)
}

// fewPaths is the number of patterns up to which one test of them all is quickest.
const fewPaths = 64

// pathTests returns the tests that hold for the paths that the patterns cover. Many plain patterns are looked up by
// their hash, where a test by patterns would go through them one by one: a plain one covers its own text, and what goes
// on behind it with a slash.
func (e *emitter) pathTests(patterns []string) (tests []setTest) {
	var plain, below, others []string
	for _, pattern := range patterns {
		if strings.Contains(pattern, "*") || pattern == "/" {
			others = append(others, pattern)
		} else {
			plain, below = append(plain, pattern), append(below, pattern+"/")
		}
	}
	if len(plain) <= fewPaths {
		others, plain = patterns, nil
	}
	if len(plain) > 0 {
		tests = append(tests, setTest{vm.OpIn, e.exactly(plain...)}, setTest{vm.OpStarts, e.exactly(below...)})
	}
	if len(others) > 0 {
		tests = append(tests, setTest{vm.OpPath, e.Paths(others...)})
	}
	return tests
}

// folded returns the set of texts, in which address literals match in any case.
func (e *emitter) folded(texts ...string) vm.Const {
	entries := make([]match.Entry, len(texts))
	for i, text := range texts {
		entries[i] = entryOf(text)
	}
	return e.Texts(entries...)
}

// entryOf returns a rule's text as the machine seeks it.
func entryOf(text string) match.Entry {
	for range evmaddr.Literals(text) {
		return match.Entry{Text: evmaddr.FoldLiterals(text), Fold: true}
	}
	return match.Entry{Text: text}
}

// hold records that a key's rule asks for a human decision.
func (e *emitter) hold(key *Key, message string) {
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
}

// lineStarts returns where the lines of a text begin.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// actionCases returns the cases of the actions that patterns cover.
func actionCases(actions []string, to vm.Label) []vm.Case {
	cases := make([]vm.Case, len(actions))
	for i, pattern := range actions {
		start, isPrefix := strings.CutSuffix(pattern, "*")
		cases[i] = vm.Case{Text: start, Prefix: isPrefix, To: to}
	}
	return cases
}

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
