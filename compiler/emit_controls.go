package compiler

import (
	"slices"

	"bailiff/vm"
)

// A control is what a section says of its intents as a whole, and which intents those are.
type control struct {
	section string
	*Controls
	classes []vm.Class // nil for all
}

// controls returns the controls of the sections that are there, in the order in which they judge.
func (e *emitter) controls() []control {
	var all []control
	p := e.policy
	add := func(section string, controls *Controls, classes ...vm.Class) {
		all = append(all, control{section, controls, classes})
	}
	if p.EVM != nil {
		add("evm", &p.EVM.Controls, vm.EVM)
	}
	if p.ToolCalls != nil {
		add("tool_calls", &p.ToolCalls.Controls, vm.Tool)
	}
	if p.Custom != nil {
		add("custom", &p.Custom.Controls)
	}
	if p.MCP != nil {
		add("mcp", &p.MCP.Controls, vm.MCP)
	}
	if p.SoftLimits != nil {
		add("soft_limits", &p.SoftLimits.Controls)
	}
	if p.ExecutionLimits != nil {
		add("execution_limits", &p.ExecutionLimits.Controls)
	}
	return all
}

// step returns a step for the control's intents.
func (c *control) step(emit func()) step {
	if c.classes == nil {
		return step{shared: emit}
	}
	return only(emit, c.classes...)
}

// gates returns the steps that deny a section's intents from a key without shim provenance.
func (e *emitter) gates() (steps []step) {
	for _, c := range e.controls() {
		if isOn(c.Shim) {
			steps = append(steps, c.step(func() {
				e.at(c.Shim.Span)
				key := mustFind(c.section, nameShim)
				e.unless(func(pass vm.Label) {
					e.Test(vm.OpIn, vm.If, e.Field(slotProvenance), e.exactly("shim"), pass)
				}, key.Rule, key.Code, "the intent needs a key whose provenance is a shim", e.value(slotProvenance))
			}))
		}
	}
	return steps
}

// approvals returns the steps that hold intents on which a person has to decide.
func (e *emitter) approvals() (steps []step) {
	for _, c := range e.controls() {
		if t := e.policy.ToolCalls; c.section == "tool_calls" {
			if t.HeldCommands != nil {
				steps = append(steps, c.step(e.commandApproval))
			}
			if isOn(t.Email.Approval) {
				steps = append(steps, c.step(e.emailApproval))
			}
		}
		switch {
		case c.Approval == nil:
		case c.section == "mcp":
			steps = append(steps, c.step(e.mcpApproval))
		default:
			steps = append(steps, c.step(func() { e.approval(c.section, c.Approval) }))
		}
	}
	return steps
}

// approval holds the intents whose action a pattern of a section covers.
func (e *emitter) approval(section string, patterns *List) {
	hold, next := e.NewLabel(), e.NewLabel()
	e.blocking(patterns)
	if slices.Contains(patterns.texts(), "*") {
		e.hold(mustFind(section, nameApproval), "a person has to decide on every action")
		return
	}
	e.Switch(e.Field(slotLowerAction), next, actionCases(patterns.texts(), hold)...)
	e.Place(hold)
	e.hold(mustFind(section, nameApproval), "a person has to decide on this action")
	e.Place(next)
}

// commandApproval holds commands in which an entry is found, and what can't be read: a test of that never jumps.
func (e *emitter) commandApproval() {
	held, hold, next := e.policy.ToolCalls.HeldCommands, e.NewLabel(), e.NewLabel()
	e.blocking(held)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly("bash"), next)
	e.Kind(vm.If, e.Field(slotCommand), absent, hold)
	e.Test(vm.OpContains, vm.Unless, e.Field(slotCommand), e.exactly(held.texts()...), next)
	e.Place(hold)
	e.hold(keyHeldCommands, "a person has to decide on this command")
	e.Place(next)
}

// emailApproval holds every e-mail but those whose recipients are all exempt.
func (e *emitter) emailApproval() {
	next := e.NewLabel()
	e.at(e.policy.ToolCalls.Email.Approval.Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly(emailAction), next)
	if exempt := e.policy.ToolCalls.Email.Exempt; exempt != nil {
		e.Test(vm.OpGlob, vm.If|vm.Every, e.Field(slotRecipients), e.Globs(vm.Mailbox, exempt.texts()...), next)
	}
	e.hold(keyEmailApproval, "a person has to decide on every e-mail")
	e.Place(next)
}

// emailAction is the tool that sends e-mail.
const emailAction = "email.send"

// hold records that a key's rule asks for a human decision.
func (e *emitter) hold(key *Key, message string) {
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
}
