package compiler

import (
	"slices"
	"sort"
	"strings"

	"bailiff/compiler/codes"
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
	policy *Policy
	text   []byte
	lines  []int // the offset of each line's start
}

// The rules that mean what no key says (decisions, section 1).
const (
	ruleNoToken   = "evm.token"                       // there is no rule for the token
	ruleUnbounded = "evm.calldata.unbounded_approval" // a call approves 2^256-1
)

// absent is what a field holds that was not sent: nothing, or null inside metadata.
var absent = vm.Kinds(vm.Missing, vm.Null)

// emit returns the program, and why a text that is not in force yet may not be put in force with it; no program where the
// machine does not take it.
func emit(policy *Policy, file *grammar.File, limit vm.Limit) (*vm.Program, grammar.Diagnostics) {
	e := &emitter{Builder: vm.NewBuilder(policy.Version.Text), policy: policy, text: file.Source.Text, lines: lineStarts(file.Source.Text)}
	e.Within(limit)
	e.at(policy.Version.Span)
	e.tokenTable()
	e.program()
	program, err := e.Program()
	if err != nil {
		return nil, e.refused(file, err)
	}
	return program, e.weigh(program, file)
}

// longList is how many items a list has that is likely what weighs too much.
const longList = 100

// tooLarge reports that the machine does not take a policy. It points at the longest list, if there is a long one:
// mostly that is what is too much.
func tooLarge(policy *Policy, file *grammar.File, err error) grammar.Diagnostic {
	problem := strings.TrimPrefix(err.Error(), "vm: ")
	section, entry := longestList(file)
	if entry == nil || len(entry.Value.Items) < longList {
		return grammar.At(codes.TooLarge, policy.Version.Span, "the machine does not take this policy: %s", problem).
			WithHint("use fewer rules, or divide what they govern among several keys, each with a policy of its own")
	}
	return grammar.At(codes.TooLarge, entry.Key.Span, "the machine does not take this policy, of which the %d items of `%s` are the longest list: %s",
		len(entry.Value.Items), Shorten(entry.Key.Text), problem).
		WithHint("%s", remedyForList(section, entry.Key.Text))
}

// longestList returns the entry with the most items, and its section; nil where no entry has any.
func longestList(file *grammar.File) (section string, longest *grammar.Entry) {
	for _, s := range file.Sections {
		for _, entry := range s.Entries {
			if entry.Value != nil && (longest == nil || len(entry.Value.Items) > len(longest.Value.Items)) {
				section, longest = s.Name, entry
			}
		}
	}
	return section, longest
}

// remedyForList returns how one entry of a list can take the place of several.
func remedyForList(section, key string) string {
	const otherwise = ", or divide what it governs among several keys, each with a policy of its own"
	switch key {
	case "file_write.blocked_paths", "file_read.blocked_paths", "blocked_paths":
		return "block a folder in place of what lies below it, and write whole paths where they are known: names that may stand anywhere (`.env`, `~/x`) cost most" + otherwise
	case "web_fetch.blocked_domains":
		return "block a domain in place of its subdomains" + otherwise
	case "email.allowed_recipients", "email.blocked_recipients":
		return "write `*@example.com` in place of the addresses of a domain" + otherwise
	}
	if section == "mcp" {
		return "write `server.*` in place of the tools of a server" + otherwise
	}
	return "shorten the list" + otherwise
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

func (e *emitter) program() {
	for steps := e.steps(); len(steps) > 0; {
		if steps[0].shared != nil {
			steps[0].shared()
			steps = steps[1:]
			continue
		}
		n := 1
		for n < len(steps) && steps[n].of != nil {
			n++
		}
		e.fork(steps[:n])
		steps = steps[n:]
	}
	e.at(e.policy.Version.Span)
	e.End()
}

// steps returns the parts of the program in their order (docs/judging.md, "Order").
func (e *emitter) steps() []step {
	steps := []step{{of: e.validate, skips: func(vm.Class) bool { return false }}}
	if len(e.denials()) > 0 {
		steps = append(steps, step{shared: e.emitDenials})
	}
	declared := e.policy.Profiles.Declared()
	if declared {
		steps = append(steps, step{shared: e.boundary})
	}
	steps = append(steps, e.gates()...)
	if declared {
		steps = append(steps, step{shared: e.profiles})
	}
	steps = append(steps, step{of: e.section, skips: e.skipsSection})
	if len(e.allowances()) > 0 {
		steps = append(steps, step{shared: e.emitAllowances})
	}
	steps = append(steps, e.approvals()...)
	if declared {
		steps = append(steps, step{shared: e.profileApprovals}, step{shared: e.profileLimits})
	}
	return append(steps, e.limits()...)
}

// only returns a step that is the same for some classes, and that the others skip.
func only(emit func(), classes ...vm.Class) step {
	return step{
		of:    func(vm.Class) { emit() },
		skips: func(class vm.Class) bool { return !slices.Contains(classes, class) },
		same:  true,
	}
}

// classes are the kinds of intents. The last one is what every action is that is of no other kind.
var classes = []vm.Class{vm.EVM, vm.MCP, vm.Model, vm.Tool}

// fork emits steps that differ by class, for each class in turn. Classes whose steps are the same share the code.
func (e *emitter) fork(steps []step) {
	done := e.NewLabel()
	var labels [vm.Model + 1]vm.Label
	var busy []vm.Class // one of each that have code of their own
	for _, class := range classes {
		twin := slices.IndexFunc(busy, func(other vm.Class) bool { return sameSteps(steps, class, other) })
		switch {
		case !slices.ContainsFunc(steps, func(s step) bool { return !s.skips(class) }):
			labels[class] = done
		case twin >= 0:
			labels[class] = labels[busy[twin]]
		default:
			labels[class] = e.NewLabel()
			busy = append(busy, class)
		}
	}
	if len(busy) > 0 {
		e.at(e.policy.Version.Span)
		e.Switch(e.Field(derived.Action), labels[vm.Tool], e.classCases(labels)...)
	}
	for i, class := range busy {
		e.Place(labels[class])
		for _, step := range steps {
			if !step.skips(class) {
				step.of(class)
			}
		}
		if i < len(busy)-1 {
			e.Jump(done)
		}
	}
	e.Place(done)
}

// sameSteps reports whether two classes take the same of some steps, all of which are the same for both.
func sameSteps(steps []step, a, b vm.Class) bool {
	return !slices.ContainsFunc(steps, func(s step) bool {
		return s.skips(a) != s.skips(b) || !s.skips(a) && !s.same
	})
}

// classCases says which actions are of which class (decisions, section 2, "Kinds of intents"). The checks have seen
// to it that no EVM list holds an MCP or model action.
func (e *emitter) classCases(labels [vm.Model + 1]vm.Label) []vm.Case {
	cases := []vm.Case{
		{Text: MCPPrefix, Prefix: true, To: labels[vm.MCP]},
		{Text: ModelAction, To: labels[vm.Model]},
	}
	known := map[string]bool{}
	add := func(action string) {
		if lower := strings.ToLower(action); !known[lower] {
			known[lower] = true
			cases = append(cases, vm.Case{Text: lower, To: labels[vm.EVM]})
		}
	}
	for _, action := range coreEVMActions {
		add(action)
	}
	if e.policy.EVM != nil {
		for _, action := range e.policy.EVM.Actions() {
			add(action.Text)
		}
	}
	return cases
}

// validate records the class and refuses what an intent of it must have, or must not.
func (e *emitter) validate(class vm.Class) {
	e.Class(class)
	if class == vm.EVM {
		e.require(slotChainID, "chainId: is missing; an EVM intent names its chain")
		return
	}
	for _, name := range []string{slotTarget, slotToken, fieldAmount, slotAmountUnit, slotCalldata, slotMaxFee} {
		e.forbid(name)
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

// section judges the intent by the section of its class.
func (e *emitter) section(class vm.Class) {
	switch class {
	case vm.EVM:
		e.evm()
		return
	case vm.MCP:
		e.chainIfPresent()
		e.mcp()
	case vm.Tool:
		e.chainIfPresent()
		e.tools()
	}
}

// skipsSection reports whether a class is judged by no section.
func (e *emitter) skipsSection(class vm.Class) bool {
	p := e.policy
	switch class {
	case vm.Model: // which is on no chain, whatever chain it names
		return true
	case vm.Tool:
		return p.PassesTools()
	}
	return false
}

// passesTools reports whether tools need no grant (decisions, section 2, "Kinds of intents, and what grants them").
func (p *Policy) PassesTools() bool {
	return p.EVM == nil && p.ToolCalls == nil && p.MCP == nil && !p.Profiles.Declared()
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
