package compiler

import (
	"bailiff/vm"
	"bailiff/vm/slot/derived"
)

// controls reports whether a section that binds intents of every kind asks for approvals or a shim.
func (p *Policy) controls() bool {
	asks := func(c Controls) bool { return c.Approval != nil || IsOn(c.Shim) }
	return p.Custom != nil && asks(p.Custom.Controls) || p.SoftLimits != nil && asks(p.SoftLimits.Controls) ||
		p.ExecutionLimits != nil && asks(p.ExecutionLimits.Controls)
}

// A control is what a section says of its intents as a whole.
type control struct {
	*Section
	*Controls
}

// controls returns the controls of the sections that are there, in the order in which they judge.
func (e *emitter) controls() (all []control) {
	for _, s := range sections {
		if controls := s.controls(e.parts); controls != nil {
			all = append(all, control{s, controls})
		}
	}
	return all
}

// step returns a step for the control's intents.
func (c control) step(emit func()) step {
	if c.classes == nil {
		return step{shared: emit}
	}
	return only(emit, c.classes...)
}

// gates returns the steps that deny a section's intents from a key without shim provenance.
func (e *emitter) gates() (steps []step) {
	for _, c := range e.controls() {
		if IsOn(c.Shim) {
			steps = append(steps, c.step(func() {
				e.at(c.Shim.Span)
				e.unless(func(pass vm.Label) {
					e.Test(vm.OpIn, vm.If, e.Field(derived.Provenance), e.exactly("shim"), pass)
				}, c.shim.Rule, c.shim.Code, "the intent needs a key whose provenance is a shim", e.value(derived.Provenance))
			}))
		}
	}
	return steps
}

// approvals returns the steps that hold intents on which a person has to decide.
func (e *emitter) approvals() (steps []step) {
	for _, c := range e.controls() {
		if t := part[ToolCalls](e.parts); c.Section == tools {
			if t.HeldCommands != nil {
				steps = append(steps, c.step(e.commandApproval))
			}
			if IsOn(t.Email.Approval) {
				steps = append(steps, c.step(e.emailApproval))
			}
		}
		switch {
		case c.Approval == nil:
		case c.Section == mcp:
			steps = append(steps, c.step(e.mcpApproval))
		default:
			steps = append(steps, c.step(func() { e.approval(c.approval, c.Approval) }))
		}
	}
	return steps
}
