package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// emit returns the program, and why a text that is not in force yet may not be put in force with it; no program where the
// machine does not take it.
func emit(version *grammar.Version, parts frame.Parts, file *grammar.File, limit vm.Limit) (*vm.Program, grammar.Diagnostics) {
	e := &frame.Emitter{Builder: vm.NewBuilder(version.Text), Version: version, Parts: parts, Text: file.Source.Text, Lines: frame.LineStarts(file.Source.Text)}
	e.Within(limit)
	e.At(version.Span)
	sections.EmitTokenTable(e)
	emitProgram(e)
	program, err := e.Program()
	if err != nil {
		return nil, refused(e, file, err)
	}
	return program, weigh(e, program, file)
}

func emitProgram(e *frame.Emitter) {
	for steps := emitSteps(e); len(steps) > 0; {
		if steps[0].Shared != nil {
			steps[0].Shared()
			steps = steps[1:]
			continue
		}
		n := 1
		for n < len(steps) && steps[n].Of != nil {
			n++
		}
		fork(e, steps[:n])
		steps = steps[n:]
	}
	e.At(e.Version.Span)
	e.End()
}

// emitSteps returns the parts of the program in their order (docs/judging.md, "Order").
func emitSteps(e *frame.Emitter) []frame.Step {
	steps := []frame.Step{{Of: func(class vm.Class) { validate(e, class) }, Skips: func(vm.Class) bool { return false }}}
	if len(sections.DenialsOf(e)) > 0 {
		steps = append(steps, frame.Step{Shared: func() { sections.EmitDenials(e) }})
	}
	declared := profiles.Of(e.Parts).Declared()
	if declared {
		steps = append(steps, frame.Step{Shared: func() { profiles.EmitBoundary(e) }})
	}
	steps = append(steps, gates(e)...)
	if declared {
		steps = append(steps, frame.Step{Shared: func() { profiles.EmitRules(e) }})
	}
	steps = append(steps, frame.Step{Of: func(class vm.Class) { emitSection(e, class) }, Skips: func(class vm.Class) bool { return skipsSection(e, class) }})
	if len(sections.AllowancesOf(e)) > 0 {
		steps = append(steps, frame.Step{Shared: func() { sections.EmitAllowances(e) }})
	}
	steps = append(steps, approvals(e)...)
	if declared {
		steps = append(steps, frame.Step{Shared: func() { profiles.EmitApprovals(e) }}, frame.Step{Shared: func() { profiles.EmitLimits(e) }})
	}
	return append(steps, emitLimits(e)...)
}

// classes are the kinds of intents. The last one is what every action is that is of no other kind.
var classes = []vm.Class{vm.EVM, vm.MCP, vm.Model, vm.Tool}

// fork emits steps that differ by class, for each class in turn. Classes whose steps are the same share the code.
func fork(e *frame.Emitter, steps []frame.Step) {
	done := e.NewLabel()
	var labels [vm.Model + 1]vm.Label
	var busy []vm.Class // one of each that have code of their own
	for _, class := range classes {
		twin := slices.IndexFunc(busy, func(other vm.Class) bool { return sameSteps(steps, class, other) })
		switch {
		case !slices.ContainsFunc(steps, func(s frame.Step) bool { return !s.Skips(class) }):
			labels[class] = done
		case twin >= 0:
			labels[class] = labels[busy[twin]]
		default:
			labels[class] = e.NewLabel()
			busy = append(busy, class)
		}
	}
	if len(busy) > 0 {
		e.At(e.Version.Span)
		e.Switch(e.Field(derived.Action), labels[vm.Tool], classCases(e, labels)...)
	}
	for i, class := range busy {
		e.Place(labels[class])
		for _, step := range steps {
			if !step.Skips(class) {
				step.Of(class)
			}
		}
		if i < len(busy)-1 {
			e.Jump(done)
		}
	}
	e.Place(done)
}

// sameSteps reports whether two classes take the same of some steps, all of which are the same for both.
func sameSteps(steps []frame.Step, a, b vm.Class) bool {
	return !slices.ContainsFunc(steps, func(s frame.Step) bool {
		return s.Skips(a) != s.Skips(b) || !s.Skips(a) && !s.Same
	})
}

// classCases says which actions are of which class (decisions, section 2, "Kinds of intents"). The checks have seen
// to it that no EVM list holds an MCP or model action.
func classCases(e *frame.Emitter, labels [vm.Model + 1]vm.Label) []vm.Case {
	cases := []vm.Case{
		{Text: slot.MCPPrefix, Prefix: true, To: labels[vm.MCP]},
		{Text: slot.ModelAction, To: labels[vm.Model]},
	}
	known := map[string]bool{}
	add := func(action string) {
		if lower := strings.ToLower(action); !known[lower] {
			known[lower] = true
			cases = append(cases, vm.Case{Text: lower, To: labels[vm.EVM]})
		}
	}
	for _, action := range slot.CoreEVMActions() {
		add(action)
	}
	if evm := frame.Part[sections.EVM](e.Parts); evm != nil {
		for _, action := range evm.Actions() {
			add(action.Text)
		}
	}
	return cases
}

// validate records the class and refuses what an intent of it must have, or must not.
func validate(e *frame.Emitter, class vm.Class) {
	e.Class(class)
	if class == vm.EVM {
		e.Require(frame.SlotChainID, "chainId: is missing; an EVM intent names its chain")
		return
	}
	for _, name := range []string{frame.SlotTarget, frame.SlotToken, frame.SlotAmount, frame.SlotAmountUnit, frame.SlotCalldata, frame.SlotMaxFee} {
		e.Forbid(name)
	}
}

// emitSection judges the intent by the section of its class.
func emitSection(e *frame.Emitter, class vm.Class) {
	switch class {
	case vm.EVM:
		sections.EmitEVM(e)
		return
	case vm.MCP:
		sections.EmitChainIfPresent(e)
		sections.EmitMCP(e)
	case vm.Tool:
		sections.EmitChainIfPresent(e)
		sections.EmitTools(e)
	}
}

// skipsSection reports whether a class is judged by no section.
func skipsSection(e *frame.Emitter, class vm.Class) bool {
	switch class {
	case vm.Model: // which is on no chain, whatever chain it names
		return true
	case vm.Tool:
		return policyOf(*e.Version, e.Parts).PassesTools()
	}
	return false
}
