package compiler

import (
	"bailiff/grammar"
)

// Policy is what a policy says, with types: numbers read, lists split, patterns compiled, names normalised. Each
// part carries the span of the text that says it. A nil section is absent.
type Policy struct {
	Version         grammar.Version
	EVM             *EVM
	ToolCalls       *ToolCalls
	Custom          *Custom
	MCP             *MCP
	SoftLimits      *SoftLimits
	ExecutionLimits *ExecutionLimits
	Profiles
	Deployment *Deployment

	parts Parts
}

// policyOf returns the policy that has those sections.
func policyOf(version grammar.Version, parts Parts) *Policy {
	return &Policy{
		Version: version, EVM: part[EVM](parts), ToolCalls: part[ToolCalls](parts), Custom: part[Custom](parts), MCP: part[MCP](parts),
		SoftLimits: part[SoftLimits](parts), ExecutionLimits: part[ExecutionLimits](parts), Profiles: *profilesOf(parts), Deployment: part[Deployment](parts),
		parts: parts,
	}
}

// PassesTools reports whether tools need no grant (decisions, section 2, "Kinds of intents, and what grants them").
func (p *Policy) PassesTools() bool {
	return p.EVM == nil && p.ToolCalls == nil && p.MCP == nil && !p.Profiles.Declared()
}
