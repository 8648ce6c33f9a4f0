package compiler

import (
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/vm"
	"bailiff/vm/slot/derived"
)

// asks reports whether a section that binds intents of every kind asks for approvals or a shim.
func (p *Policy) asks() bool {
	asks := func(c frame.Controls) bool { return c.Approval != nil || frame.IsOn(c.Shim) }
	return p.Custom != nil && asks(p.Custom.Controls) || p.SoftLimits != nil && asks(p.SoftLimits.Controls) ||
		p.ExecutionLimits != nil && asks(p.ExecutionLimits.Controls)
}

// A control is what a section says of its intents as a whole.
type control struct {
	*frame.Section
	*frame.Controls
}

// emitControls returns the controls of the sections that are there, in the order in which they judge.
func emitControls(e *frame.Emitter) (all []control) {
	for _, s := range table {
		if controls := controlsOf(s, e.Parts); controls != nil {
			all = append(all, control{s, controls})
		}
	}
	return all
}

// step returns a step for the control's intents.
func (c control) step(emit func()) frame.Step {
	if c.Classes == nil {
		return frame.Step{Shared: emit}
	}
	return frame.Only(emit, c.Classes...)
}

// gates returns the steps that deny a section's intents from a key without shim provenance.
func gates(e *frame.Emitter) (steps []frame.Step) {
	for _, c := range emitControls(e) {
		if frame.IsOn(c.Shim) {
			steps = append(steps, c.step(func() {
				e.At(c.Shim.Span)
				e.Unless(func(pass vm.Label) {
					e.Test(vm.OpIn, vm.If, e.Field(derived.Provenance), e.Exactly("shim"), pass)
				}, c.ShimKey.Rule, c.ShimKey.Code, "the intent needs a key whose provenance is a shim", e.Value(derived.Provenance))
			}))
		}
	}
	return steps
}

// approvals returns the steps that hold intents on which a person has to decide.
func approvals(e *frame.Emitter) (steps []frame.Step) {
	for _, c := range emitControls(e) {
		if t := frame.Part[sections.ToolCalls](e.Parts); c.Section == sections.ToolsSection {
			if t.HeldCommands != nil {
				steps = append(steps, c.step(func() { sections.EmitCommandApproval(e) }))
			}
			if frame.IsOn(t.Email.Approval) {
				steps = append(steps, c.step(func() { sections.EmitEmailApproval(e) }))
			}
		}
		switch {
		case c.Approval == nil:
		case c.Section == sections.MCPSection:
			steps = append(steps, c.step(func() { sections.EmitMCPApproval(e) }))
		default:
			steps = append(steps, c.step(func() { e.Approval(c.ApprovalKey, c.Approval) }))
		}
	}
	return steps
}
