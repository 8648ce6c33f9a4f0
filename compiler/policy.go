package compiler

import (
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/compiler/sections"
	"bailiff/grammar"
)

// Policy is what a policy says, with types: numbers read, lists split, patterns compiled, names normalised. Each
// part carries the span of the text that says it. A nil section is absent.
type Policy struct {
	Version         grammar.Version
	EVM             *sections.EVM
	ToolCalls       *sections.ToolCalls
	Custom          *sections.Custom
	MCP             *sections.MCP
	SoftLimits      *sections.SoftLimits
	ExecutionLimits *sections.ExecutionLimits
	profiles.Profiles
	Deployment *sections.Deployment

	parts frame.Parts
}

// policyOf returns the policy that has those sections.
func policyOf(version grammar.Version, parts frame.Parts) *Policy {
	return &Policy{
		Version:         version,
		EVM:             frame.Part[sections.EVM](parts),
		ToolCalls:       frame.Part[sections.ToolCalls](parts),
		Custom:          frame.Part[sections.Custom](parts),
		MCP:             frame.Part[sections.MCP](parts),
		SoftLimits:      frame.Part[sections.SoftLimits](parts),
		ExecutionLimits: frame.Part[sections.ExecutionLimits](parts),
		Profiles:        *profiles.Of(parts),
		Deployment:      frame.Part[sections.Deployment](parts),
		parts:           parts,
	}
}

// PassesTools reports whether tools need no grant (decisions, section 2, "Kinds of intents, and what grants them").
func (p *Policy) PassesTools() bool {
	return p.EVM == nil && p.ToolCalls == nil && p.MCP == nil && !p.Profiles.Declared()
}
