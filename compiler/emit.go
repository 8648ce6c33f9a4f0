package compiler

import (
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/slot/derived"
)

// emit returns the program, and why a text that is not in force yet may not be put in force with it; no program where the
// machine does not take it.
func emit(version *grammar.Version, parts Parts, file *grammar.File, limit vm.Limit) (*vm.Program, grammar.Diagnostics) {
	e := &emitter{Builder: vm.NewBuilder(version.Text), version: version, parts: parts, text: file.Source.Text, lines: lineStarts(file.Source.Text)}
	e.Within(limit)
	e.at(version.Span)
	e.tokenTable()
	e.program()
	program, err := e.Program()
	if err != nil {
		return nil, e.refused(file, err)
	}
	return program, e.weigh(program, file)
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
	e.at(e.version.Span)
	e.End()
}

// steps returns the parts of the program in their order (docs/judging.md, "Order").
func (e *emitter) steps() []step {
	steps := []step{{of: e.validate, skips: func(vm.Class) bool { return false }}}
	if len(e.denials()) > 0 {
		steps = append(steps, step{shared: e.emitDenials})
	}
	declared := profilesOf(e.parts).Declared()
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
		e.at(e.version.Span)
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
	if evm := part[EVM](e.parts); evm != nil {
		for _, action := range evm.Actions() {
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
	switch class {
	case vm.Model: // which is on no chain, whatever chain it names
		return true
	case vm.Tool:
		return policyOf(*e.version, e.parts).PassesTools()
	}
	return false
}
