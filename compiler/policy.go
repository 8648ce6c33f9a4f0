package compiler

import (
	"bailiff/grammar"
	"bailiff/vm/amount"
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

// Item is one item of a list, in its normal form.
type Item struct {
	Text string
	Span grammar.Span
}

// List is the list of one entry. A nil List is absent.
type List struct {
	Span  grammar.Span // of the entry
	Items []Item
}

// texts returns the items' texts.
func (l *List) Texts() []string {
	if l == nil {
		return nil
	}
	texts := make([]string, len(l.Items))
	for i, item := range l.Items {
		texts[i] = item.Text
	}
	return texts
}

// Limit is a decimal in human units, read exactly. A nil Limit is absent.
type Limit struct {
	Span     grammar.Span  // of the entry
	Amount   amount.Amount // in base units of 10^-Decimals
	Decimals uint8
}

// Flag is a boolean. A nil Flag is absent.
type Flag struct {
	Span grammar.Span // of the entry
	On   bool
}

// Count is a positive integer. A nil Count is absent.
type Count struct {
	Span grammar.Span // of the entry
	N    uint64
}

// Text is the text of one entry. A nil Text is absent.
type Text struct {
	Span grammar.Span // of the entry
	Item
}
