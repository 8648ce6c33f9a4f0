package compiler

import (
	"slices"
	"strings"
	"time"

	"bailiff/grammar"
	"bailiff/vm"
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
	Profiles        Profiles
	Deployment      *Deployment
}

// Controls are what every section but the profiles can say of its intents as a whole.
type Controls struct {
	Approval *List // action patterns in lower case; of `## mcp` tool patterns in lower case
	Shim     *Flag
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
	Controls
	Span           grammar.Span // of the heading
	AllowedActions *List        // exact
	AllowedChains  *List        // decimal, without leading zeros
	ChainActions   []ChainActions
	MaxTransaction *Limit // in wei
	MaxFee         *Limit // in wei
	PaymasterFees  *Flag  // whether they count; nil for yes
	Consensus      *Limit // in wei
	RequireHold    *Flag
	Tokens         []*Token // in the order of their first lines

	AccountCalls *Flag // whether call data may run further calls; nil for no

	// Enrichment asks for a shim's account of every call; UnknownSelector is set where other methods than the known
	// ones are to be allowed (On) or denied.
	Enrichment      *Flag
	UnknownSelector *Flag
}

// enriched reports whether calls need a shim's account.
func (e *EVM) enriched() bool { return isOn(e.Enrichment) }

// pins reports whether a token rule pins an address.
func (e *EVM) pins() bool {
	return slices.ContainsFunc(e.Tokens, func(token *Token) bool { return token.Addresses != nil })
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
	Addresses      *List  // lower case, with the chain's id and a colon in front where one is named; Span is of the first line
	Methods        *List  // selectors: 0x and eight digits in lower case
	Consensus      *Limit // in base units of the token
}

// Pins returns the contracts that the rule pins.
func (t *Token) Pins() []vm.Pin {
	var pins []vm.Pin
	for _, text := range t.Addresses.texts() {
		pins = append(pins, pinOf(text))
	}
	return pins
}

// pinOf reads an address with or without a chain in front.
func pinOf(text string) vm.Pin {
	if chain, address, found := strings.Cut(text, ":"); found {
		return vm.Pin{Chain: chain, Address: address}
	}
	return vm.Pin{Address: text}
}

// ToolCalls is the section `## tool_calls`.
type ToolCalls struct {
	Controls
	Span            grammar.Span // of the heading
	Allowed         *List        // exact
	BlockedCommands *List        // the texts to seek
	BlockedDomains  *List        // canonical hosts
	HeldCommands    *List        // the texts to seek
	ListedCommands  *List        // the beginnings of simple commands
	Write, Read     Paths
	Email           Email
	HTTP            HTTP
}

// Paths is what the keys of a tool for files say.
type Paths struct {
	Blocked *List // patterns over cleaned paths
	Allowed *List // patterns over the exact readings of paths
}

// Email is what the keys `email.…` say.
type Email struct {
	Approval *Flag
	Exempt   *List // patterns over mailboxes
	Allowed  *List // patterns over mailboxes
	Blocked  *List // patterns over mailboxes
}

// lists reports whether recipients are restricted.
func (m *Email) lists() bool { return m.Allowed != nil || m.Blocked != nil }

// span returns where a list of recipients stands: the allowed one where there is one.
func (m *Email) span() grammar.Span {
	if m.Allowed != nil {
		return m.Allowed.Span
	}
	return m.Blocked.Span
}

// HTTP is what the keys `http.…` say.
type HTTP struct {
	AllowedMethods *List
	BlockedMethods *List
	AllowedHosts   *List         // canonical hosts, and `*.` and a name for what is below it
	Rules          []*MethodRule // in the order of their first lines
}

// MethodRule is what the keys `http.method_rules.<METHOD>.…` say of one method.
type MethodRule struct {
	Method string
	Deny   *Flag
	Query  *Query
}

// rules reports whether anything is said of typed HTTP.
func (h *HTTP) rules() bool {
	return h.AllowedMethods != nil || h.BlockedMethods != nil || h.AllowedHosts != nil || len(h.Rules) > 0
}

// span returns where the first line about the method stands that says anything.
func (r *MethodRule) span() grammar.Span {
	if r.Query == nil || r.Deny != nil && r.Deny.Span.Start < r.Query.Span.Start {
		return r.Deny.Span
	}
	return r.Query.Span
}

// Query is a pattern that a whole query has to match. A nil Query is absent.
type Query struct {
	Span    grammar.Span // of the entry
	Pattern Item
}

// Custom is the section `## custom`: its rules in file order.
type Custom struct {
	Controls
	Span         grammar.Span // of the heading
	Denials      []Denial
	Allowances   []*Allowance
	ResponseDeny *Text // for clients: what the result of a tool must not hold
}

// judges reports whether the section has a rule.
func (c *Custom) judges() bool { return c != nil && len(c.Denials)+len(c.Allowances) > 0 }

// Text is the text of one entry. A nil Text is absent.
type Text struct {
	Span grammar.Span // of the entry
	Item
}

// MCP is the section `## mcp`. All names and patterns are in lower case.
type MCP struct {
	Controls
	Span           grammar.Span // of the heading
	AllowedServers *List
	AllowedTools   *List
	BlockedTools   *List
	Response       Response
}

// grants reports whether the section can grant anything.
func (m *MCP) grants() bool { return m != nil && (m.AllowedServers != nil || m.AllowedTools != nil) }

// Response is what the keys `response.…` tell clients about the results of tools. It judges no intent.
type Response struct {
	WebFetchTools  *List // in lower case
	HTTPTools      *List // in lower case
	Ruleset        *Text
	BlockClasses   *List
	RedactClasses  *List
	Scanner        Scanner
	ObserveClasses *List
	ObserveUntil   *Moment
}

// covers reports whether any tool's results are inspected.
func (r *Response) covers() bool { return r.WebFetchTools != nil || r.HTTPTools != nil }

// Scanner is what a client's scanner has to be and to look for.
type Scanner struct {
	Required   *Flag
	Profile    *Text
	Classes    *List
	Confidence *Limit // with four decimals, at most 1; zero may be meant
}

// Moment is a time. A nil Moment is absent.
type Moment struct {
	Span grammar.Span // of the entry
	Time time.Time    // UTC
}

// MaxObserve is how far ahead `mcp.response.observe_until` may lie when a policy is deployed.
const MaxObserve = 30 * 24 * time.Hour

// ObserveUntil returns when a client's observing of results ends, or the zero time where the policy names none. A
// policy's text has no clock: who deploys it at now refuses it where this is later than now plus [MaxObserve].
func (p *Policy) ObserveUntil() time.Time {
	if p.MCP == nil || p.MCP.Response.ObserveUntil == nil {
		return time.Time{}
	}
	return p.MCP.Response.ObserveUntil.Time
}

// SoftLimits is the section `## soft_limits`. Version 1.x only informs.
type SoftLimits struct {
	Controls
	Span       grammar.Span // of the heading
	DailyEVM   *Limit       // in wei
	DailyFee   *Limit       // in wei
	DailyToken []DailyToken // in the order of their lines
	DailyCalls *Count
	Caps       []*Cap // in the order of their first lines
}

// limits reports whether the section limits anything.
func (s *SoftLimits) limits() bool {
	return s != nil && (s.DailyEVM != nil || s.DailyFee != nil || len(s.DailyToken) > 0 || s.DailyCalls != nil || len(s.Caps) > 0)
}

// DailyToken is one line `daily_token.<SYM>`.
type DailyToken struct {
	Token *Token
	Most  *Limit // in base units of the token
}

// Cap is what the keys `cap.<name>.…` say of one cap.
type Cap struct {
	Name   string
	Span   grammar.Span // of its first line
	Count  *Count       // either this
	SumUSD *Limit       // or that, with 18 decimals
	Window *Text        // day, hour or task
	Action *Text        // an action pattern in lower case
	Group  *Text        // a path without `intent.`; nil for one group
	Amount *Text        // a path below metadata or arguments; only with SumUSD
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
	Controls
	Span          grammar.Span // of the heading
	CallsPerTask  *Count
	CallsPerHour  *Count
	SpendPerTask  *Limit // with six decimals
	TokensPerTask *Count
}

// limits reports whether the section limits anything.
func (l *ExecutionLimits) limits() bool {
	return l != nil && (l.CallsPerTask != nil || l.CallsPerHour != nil || l.budgets())
}

// budgets reports whether a model budget is declared.
func (l *ExecutionLimits) budgets() bool {
	return l != nil && (l.SpendPerTask != nil || l.TokensPerTask != nil)
}
