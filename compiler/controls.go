package compiler

import (
	"bailiff/grammar"
	"bailiff/vm/errcode"
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

// controls returns the controls of a section that has them.
func (c *checker) controls(section string) *Controls { return findSection(section).controls(c.policy) }

// finishControls reports sections that say nothing but `require_shim: false`.
func (c *checker) finishControls() {
	for _, section := range c.file.Sections {
		controls := c.controls(section.Name)
		if controls == nil || c.lost(section.Name, "") || len(section.Entries) != 1 || controls.Shim == nil || controls.Shim.On {
			continue
		}
		c.add(grammar.At(CodeOnlyShimFalse, controls.Shim.Span, "section `%s` says nothing but `require_shim: false`, which does nothing", section.Name).
			WithHint("write `require_shim: true` if a shim is meant, or what else the section should say"))
		c.partial = true
	}
}

// controls reports whether a section that binds intents of every kind asks for approvals or a shim.
func (p *Policy) controls() bool {
	asks := func(c Controls) bool { return c.Approval != nil || isOn(c.Shim) }
	return p.Custom != nil && asks(p.Custom.Controls) || p.SoftLimits != nil && asks(p.SoftLimits.Controls) ||
		p.ExecutionLimits != nil && asks(p.ExecutionLimits.Controls)
}
