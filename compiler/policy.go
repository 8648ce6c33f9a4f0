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
	ExecutionLimits *ExecutionLimits
	Profiles        Profiles
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
func (l *List) texts() []string {
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

// EVM is the section `## evm`.
type EVM struct {
	Span           grammar.Span // of the heading
	AllowedActions *List        // exact
	AllowedChains  *List        // decimal, without leading zeros
	ChainActions   []ChainActions
	MaxTransaction *Limit // in wei
	Consensus      *Limit // in wei
	RequireHold    *Flag
	Tokens         []*Token // in the order of their first lines
}

// pins returns the addresses of all token rules.
func (e *EVM) pins() []string {
	var all []string
	for _, token := range e.Tokens {
		all = append(all, token.Addresses.texts()...)
	}
	return all
}

// ChainActions is one line of the block `chain_actions`: the actions of one chain, in place of AllowedActions.
type ChainActions struct {
	Chain   Item // decimal, without leading zeros
	Actions List
}

// Token is what the keys `token.<SYM>.…` say of one token.
type Token struct {
	Symbol         string // as written
	Span           grammar.Span
	Decimals       *Count // 0 to 36
	MaxTransaction *Limit // in base units of the token
	Addresses      *List  // lower case; Span is of the first line
}

// ToolCalls is the section `## tool_calls`.
type ToolCalls struct {
	Span            grammar.Span // of the heading
	Allowed         *List        // exact
	BlockedCommands *List        // the texts to seek
	BlockedDomains  *List        // canonical hosts
	BlockedPaths    *List        // patterns over cleaned paths
}

// Custom is the section `## custom`: its rules in file order.
type Custom struct {
	Denials    []Denial
	Allowances []*Allowance
}

// Operator compares a value of the request with one of a custom rule.
type Operator uint8

// The operators.
const (
	Equals Operator = iota
	NotEquals
	Contains
	StartsWith
	EndsWith
	Matches
)

var operatorNames = [...]string{"equals", "not_equals", "contains", "starts_with", "ends_with", "matches"}

// String returns the operator as policies spell it.
func (o Operator) String() string { return operatorNames[o] }

// Denial is one `deny_if`, or one `deny_string`, which has no path.
type Denial struct {
	Span     grammar.Span // of the entry
	Path     string       // without `intent.`
	Operator Operator     // Contains for a deny_string
	Value    Item
}

// Allowance is what the `allow_only` lines for one path and scope say together.
type Allowance struct {
	Span     grammar.Span // of the first entry
	Path     string       // without `intent.`
	Scope    string       // an action, or the beginning of actions and `*`; empty for all
	Attested bool
	Operator Operator // not NotEquals
	Values   []Item
}

// texts returns the values' texts.
func (a *Allowance) texts() []string {
	texts := make([]string, len(a.Values))
	for i, value := range a.Values {
		texts[i] = value.Text
	}
	return texts
}

// ExecutionLimits is the section `## execution_limits`.
type ExecutionLimits struct {
	CallsPerTask *Count
	CallsPerHour *Count
}
