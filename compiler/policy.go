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
}
