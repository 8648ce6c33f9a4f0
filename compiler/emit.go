package compiler

import (
	"slices"
	"sort"
	"strings"

	"bailiff/grammar"
	"bailiff/runtime/code"
	"bailiff/vm"
	"bailiff/vm/address"
	"bailiff/vm/amount"
)

// emitter writes the program of a policy that has no errors.
//
// A program runs in this order: what an intent's class makes invalid; the denials of `## custom`; the section of
// the class; the allowances of `## custom`; execution limits. Where the code differs by class it starts with a
// switch on the action. Holds are recorded by the section that reads the amount: the machine keeps them apart, and
// they count only where nothing denies.
//
// Every denial stands straight behind the tests that could let an intent pass it, and names where to go on when
// all violations are wanted. A test of something unreadable never jumps, so that it arrives at the denial.
type emitter struct {
	*vm.Builder
	policy *Policy
	lines  []int // the offset of each line's start
}

// The keys whose rules the emitter denies, holds and counts by. Their names and codes are those of the schema.
var (
	keyChains       = mustFind("evm", "allowed_chains")
	keyActions      = mustFind("evm", "allowed_actions")
	keyChainActions = mustFind("evm", "chain_actions")
	keyMaximum      = mustFind("evm", "max_transaction_eth")
	keyConsensus    = mustFind("evm", "consensus_threshold_eth")
	keyTokenMaximum = mustFind("evm", "token.<SYM>.max_transaction")
	keyTokenPins    = mustFind("evm", "token.<SYM>.addresses")
	keyTools        = mustFind("tool_calls", "allowed")
	keyCommands     = mustFind("tool_calls", "bash.blocked_commands")
	keyDomains      = mustFind("tool_calls", "web_fetch.blocked_domains")
	keyPaths        = mustFind("tool_calls", "file_write.blocked_paths")
	keyDenyIf       = mustFind("custom", "deny_if.<path> <operator>")
	keyDenyString   = mustFind("custom", "deny_string")
	keyAllowances   = mustFind("custom", "allow_only.<path>")
	keyPerTask      = mustFind("execution_limits", "max_tool_calls_per_task")
	keyPerHour      = mustFind("execution_limits", "max_tool_calls_per_hour")
)

// The rules that stand for what no key says (decisions, section 1).
const (
	ruleNoToken = "evm.token"         // there is no rule for the token
	ruleNoMCP   = "mcp.allowed_tools" // there is no section that could grant an MCP tool
)

// absent is what a field holds that was not sent: nothing, or null inside metadata.
var absent = vm.Kinds(vm.Missing, vm.Null)

// emit returns the program, or why the machine does not take it.
func emit(policy *Policy, src *grammar.Source) (*vm.Program, grammar.Diagnostics) {
	e := &emitter{Builder: vm.NewBuilder(policy.Version.Text), policy: policy, lines: lineStarts(src.Text)}
	e.at(policy.Version.Span)
	e.program()
	program, err := e.Program()
	if err != nil {
		return nil, grammar.Diagnostics{grammar.At(CodeTooLarge, policy.Version.Span, "the machine does not take this policy: %s", err).
			WithHint("shorten its lists, or divide what it governs among several keys")}
	}
	return program, nil
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

// at says which text the instructions that follow come from.
func (e *emitter) at(span grammar.Span) {
	line := sort.SearchInts(e.lines, span.Start+1)
	e.SetSpan(vm.Span{Start: int32(span.Start), End: int32(span.End), Line: int32(line)})
}

// A step is a part of the program: either shared by all classes, or one for each.
type step struct {
	shared func()
	of     func(vm.Class)
	skips  func(vm.Class) bool // the classes for which there is nothing to do
	same   bool                // it is the same for every class that it does not skip
}

func (e *emitter) program() {
	steps := []step{{of: e.validate, skips: func(vm.Class) bool { return false }}}
	if len(e.denials()) > 0 {
		steps = append(steps, step{shared: e.emitDenials})
	}
	if e.policy.Profiles.declared() {
		steps = append(steps, step{shared: e.boundary}, step{shared: e.profiles})
	}
	steps = append(steps, step{of: e.section, skips: e.skipsSection})
	if len(e.allowances()) > 0 {
		steps = append(steps, step{shared: e.emitAllowances})
	}
	if e.policy.Profiles.declared() {
		steps = append(steps, step{shared: e.profileApprovals}, step{shared: e.profileLimits})
	}
	steps = append(steps, step{of: e.limits, skips: e.unlimited, same: true})
	for len(steps) > 0 {
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

// classes are the kinds of intents. The last one is what every action is that is of no other kind.
var classes = []vm.Class{vm.EVM, vm.MCP, vm.Model, vm.Tool}

// fork emits steps that differ by class, for each class in turn. Classes whose steps are the same share the code.
func (e *emitter) fork(steps []step) {
	done := e.NewLabel()
	var labels [vm.Model + 1]vm.Label
	var busy []vm.Class // one of each that have code of their own
	for _, class := range classes {
		switch {
		case allSkip(steps, class):
			labels[class] = done
		case len(busy) > 0 && allSame(steps):
			labels[class] = labels[busy[0]]
		default:
			labels[class] = e.NewLabel()
			busy = append(busy, class)
		}
	}
	if len(busy) > 0 {
		e.at(e.policy.Version.Span)
		e.Switch(e.Field(slotLowerAction), labels[vm.Tool], e.classCases(labels)...)
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

func allSame(steps []step) bool {
	return !slices.ContainsFunc(steps, func(s step) bool { return !s.same })
}

func allSkip(steps []step, class vm.Class) bool {
	return !slices.ContainsFunc(steps, func(s step) bool { return !s.skips(class) })
}

// classCases says which actions are of which class (decisions, section 2, "Kinds of intents"). The checks have seen
// to it that no EVM list holds an MCP or model action.
func (e *emitter) classCases(labels [vm.Model + 1]vm.Label) []vm.Case {
	cases := []vm.Case{
		{Text: mcpPrefix, Prefix: true, To: labels[vm.MCP]},
		{Text: modelAction, To: labels[vm.Model]},
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
		for _, action := range e.policy.EVM.actions() {
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
	for _, name := range []string{slotTarget, slotToken, slotAmount, slotAmountUnit, slotCalldata} {
		e.forbid(name)
	}
}

// require refuses a request without the field.
func (e *emitter) require(name, message string) {
	ok := e.NewLabel()
	e.Kind(vm.Unless, e.Field(name), absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(code.ValidationSchema), Message: message}))
	e.Place(ok)
}

// forbid refuses a request with the field.
func (e *emitter) forbid(name string) {
	ok := e.NewLabel()
	e.Kind(vm.If, e.Field(name), absent, ok)
	e.Reject(e.Rule(vm.Rule{Name: name, Code: string(code.ValidationSchema), Message: name + ": is accepted on EVM intents only; leave it out"}))
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
		e.refuse(ruleNoMCP, code.ToolCallNotAllowed, "the policy has no mcp section, which would have to grant the MCP tool")
	case vm.Model:
		e.chainIfPresent()
	case vm.Tool:
		e.chainIfPresent()
		e.tools()
	}
}

// skipsSection reports whether a class is judged by no section.
func (e *emitter) skipsSection(class vm.Class) bool {
	p := e.policy
	switch class {
	case vm.Model:
		return p.EVM == nil
	case vm.Tool:
		return p.EVM == nil && p.ToolCalls == nil
	}
	return false
}

// unlimited reports whether no execution limit counts intents of a class.
func (e *emitter) unlimited(class vm.Class) bool {
	l := e.policy.ExecutionLimits
	none := l == nil || l.CallsPerTask == nil && l.CallsPerHour == nil
	return none || class != vm.Tool && class != vm.MCP
}

// deny denies by a rule and goes on at resume where all violations are wanted.
func (e *emitter) deny(name string, c code.Code, message string, resume vm.Label) {
	e.Deny(e.Rule(vm.Rule{Name: name, Code: string(c), Message: message}), resume)
}

// refuse denies whatever arrives here because of its action, and goes on behind it. A violation shows what was looked
// at last, and the switch, all of whose ways are one, sees to it that this is the action.
func (e *emitter) refuse(name string, c code.Code, message string) {
	here, next := e.NewLabel(), e.NewLabel()
	e.Switch(e.Field(slotAction), here, vm.Case{Text: modelAction, To: here})
	e.Place(here)
	e.deny(name, c, message, next)
	e.Place(next)
}

// unless denies where a test does not let the intent jump, and goes on behind it.
func (e *emitter) unless(test func(pass vm.Label), name string, c code.Code, message string) {
	next := e.NewLabel()
	test(next)
	e.deny(name, c, message, next)
	e.Place(next)
}

// exactly returns the set of texts as they are.
func (e *emitter) exactly(texts ...string) vm.Const {
	entries := make([]vm.Entry, len(texts))
	for i, text := range texts {
		entries[i] = vm.Entry{Text: text}
	}
	return e.Texts(entries...)
}

// folded returns the set of texts, in which address literals match in any case.
func (e *emitter) folded(texts ...string) vm.Const {
	entries := make([]vm.Entry, len(texts))
	for i, text := range texts {
		entries[i] = entryOf(text)
	}
	return e.Texts(entries...)
}

// entryOf returns a rule's text as the machine seeks it.
func entryOf(text string) vm.Entry {
	for range address.Literals(text) {
		return vm.Entry{Text: address.FoldLiterals(text), Fold: true}
	}
	return vm.Entry{Text: text}
}

// limits plans the counters of `## execution_limits`.
func (e *emitter) limits(vm.Class) {
	l := e.policy.ExecutionLimits
	if l.CallsPerTask != nil {
		e.at(l.CallsPerTask.Span)
		e.perTask(l.CallsPerTask)
	}
	if l.CallsPerHour != nil {
		e.at(l.CallsPerHour.Span)
		e.Reserve(e.counter(keyPerHour, l.CallsPerHour, vm.Hour, vm.NoSlot, "the tool calls of this hour reach the limit"))
	}
}

func (e *emitter) perTask(limit *Count) {
	next, has := e.NewLabel(), e.NewLabel()
	task := e.Field(slotTaskID)
	e.Kind(vm.Unless, task, absent, has)
	e.deny(keyPerTask.Rule, code.TaskIDRequired, "the policy limits tool calls per task, and the intent has no task_id", next)
	e.Place(has)
	e.Reserve(e.counter(keyPerTask, limit, vm.Task, task, "the tool calls of this task reach the limit"))
	e.Place(next)
}

// counter returns the counter of an execution limit.
func (e *emitter) counter(key *Key, limit *Count, window vm.Window, group uint16, message string) uint16 {
	c := vm.Counter{
		Name:   key.Rule,
		Rule:   e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}),
		Op:     vm.Count,
		Limit:  amount.FromUint64(limit.N),
		Amount: vm.NoSlot,
		Window: window,
		Group:  group,
	}
	if group != vm.NoSlot {
		c.GroupName = slotTaskID
	}
	return e.Counter(c)
}
