package compiler

import (
	"slices"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// Controls are what every section but the profiles can say of its intents as a whole.
type Controls struct {
	Approval *List // action patterns in lower case; of `## mcp` tool patterns in lower case
	Shim     *Flag
}

func (c *Controls) controls() *Controls { return c }

// approvalKey returns the row of `require_approval` of a section whose intents the sentence names.
func approvalKey(field func(*Policy) *Controls, about, example string) *Key {
	return key(actionPatterns, func(p *Policy) **List { return &field(p).Approval }, Key{Name: nameApproval, Since: v20, Blocks: true,
		Code: errcode.HoldApproval, control: func(s *Section) **Key { return &s.approval },
		Doc:     "The actions of " + about + " on which a person has to decide: an action, or the beginning of actions and `*`.",
		Example: "require_approval: " + example})
}

// shimKey returns the row of `require_shim` of a section whose intents the sentence names.
func shimKey(field func(*Policy) *Controls, about string) *Key {
	return key(booleans, func(p *Policy) **Flag { return &field(p).Shim }, Key{Name: nameShim, Since: v20,
		Code: errcode.ProvenanceRequired, Default: "false", control: func(s *Section) **Key { return &s.shim },
		Doc: "Whether " + about + " need a key whose provenance is a shim.", Example: "require_shim: true"})
}

const (
	nameApproval = "require_approval"
	nameShim     = "require_shim"
)

// ControlsOf returns the controls of a section of a policy, nil where it has none.
func (p *Policy) ControlsOf(section string) *Controls { return findSection(section).controls(p) }

// finishControls reports sections that say nothing but `require_shim: false`.
func (c *checker) finishControls() {
	for _, section := range c.file.Sections {
		controls := c.policy.ControlsOf(section.Name)
		if controls == nil || c.lost(section.Name, "") || len(section.Entries) != 1 || controls.Shim == nil || controls.Shim.On {
			continue
		}
		c.add(grammar.At(codes.OnlyShimFalse, controls.Shim.Span, "section `%s` says nothing but `require_shim: false`, which does nothing", section.Name).
			WithHint("write `require_shim: true` if a shim is meant, or what else the section should say"))
		c.partial = true
	}
}

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
		if controls := s.controls(e.policy); controls != nil {
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
		if t := e.policy.ToolCalls; c.Section == tools {
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

// approval holds the intents whose action a pattern of a section covers.
func (e *emitter) approval(key *Key, patterns *List) {
	hold, next := e.NewLabel(), e.NewLabel()
	e.blocking(patterns)
	if slices.Contains(patterns.Texts(), "*") {
		e.hold(key, "a person has to decide on every action")
		return
	}
	e.Switch(e.Field(derived.Action), next, actionCases(patterns.Texts(), hold)...)
	e.Place(hold)
	e.hold(key, "a person has to decide on this action")
	e.Place(next)
}

// hold records that a key's rule asks for a human decision.
func (e *emitter) hold(key *Key, message string) {
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
}
