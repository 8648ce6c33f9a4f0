// Package lint warns about policies that compile but probably do not mean what they say. It is a pass over the typed policy, run by
// `check`, `sign` and deployments; no program depends on it.
package lint

import (
	"slices"
	"strings"

	"bailiff/compiler"
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm/slot"
)

// Compile is [compiler.Compile] with the warnings of this package among its findings.
func Compile(src *grammar.Source) (*compiler.Compiled, grammar.Diagnostics) {
	return with(compiler.Compile(src))
}

// CompileWithin is [compiler.CompileWithin] with the warnings of this package among its findings.
func CompileWithin(src *grammar.Source, stop func() bool) (*compiler.Compiled, grammar.Diagnostics) {
	return with(compiler.CompileWithin(src, stop))
}

func with(compiled *compiler.Compiled, found grammar.Diagnostics) (*compiler.Compiled, grammar.Diagnostics) {
	return compiled, append(found, warnings(compiled)...).Sorted()
}

// warnings returns those about a typed policy. There are none where it lacks what a line with an error says.
func warnings(compiled *compiler.Compiled) grammar.Diagnostics {
	if !compiled.Whole {
		return nil
	}
	c := &linter{file: compiled.File, policy: compiled.Policy, foreign: compiled.Foreign}
	c.lint()
	return c.withoutForeign(c.found)
}

// A linter collects the warnings about a typed policy.
type linter struct {
	file    *grammar.File
	policy  *compiler.Policy
	foreign []grammar.Span // the parts of lists that are written in the form of another format
	found   grammar.Diagnostics
}

func (c *linter) add(d grammar.Diagnostic) { c.found = append(c.found, d) }

func (c *linter) lint() {
	c.lintSigns()
	if c.policy.EVM != nil {
		c.lintConsensus()
		c.lintChains()
		c.lintAmounts()
		c.lintActions()
		c.lintEnrichment()
		c.lintMoney()
	}
	if c.policy.ToolCalls != nil {
		c.lintTools()
		c.lintContents()
		c.lintSpend()
		c.lintMethods()
		c.lintFetch()
	}
	if c.policy.MCP != nil {
		c.lintMCP()
		c.lintResponse()
	}
	c.lintElsewhere()
	c.lintCovered()
	c.lintPasses()
	c.lintLimits()
	c.lintSoftLimits()
	c.lintApprovals()
	c.lintProfiles()
}

// ungranted are the warnings about what is not granted.
var ungranted = []grammar.Code{
	codes.ListUnused, codes.LimitUnused, codes.CapUnused, codes.ApprovalUnused, codes.ServerNotAllowed, codes.BlockedOnly, codes.GovernsNothing,
}

// withoutForeign leaves out the warnings that follow from lists in the form of another format: those about their parts,
// and that something is not granted.
func (c *linter) withoutForeign(found grammar.Diagnostics) grammar.Diagnostics {
	return slices.DeleteFunc(found, func(d grammar.Diagnostic) bool {
		return len(c.foreign) > 0 && slices.Contains(ungranted, d.Code) || slices.ContainsFunc(c.foreign, d.Span.Overlaps)
	})
}

// lintPasses warns of a policy under which tools need no grant.
func (c *linter) lintPasses() {
	if c.file.Version != nil && c.policy.PassesTools() {
		c.add(grammar.At(codes.PassesTools, c.file.Version.Span, "this policy passes every tool intent that no rule denies").
			WithHint("list the tools that are meant: `## tool_calls` with `allowed: …`"))
	}
}

// lintConsensus warns of thresholds that are never reached, and of what is not said about them.
func (c *linter) lintConsensus() {
	e := c.policy.EVM
	first := e.Consensus
	unreached := func(threshold, maximum *frame.Limit, key string) {
		if threshold != nil && maximum != nil && threshold.Amount.Cmp(maximum.Amount) > 0 {
			c.add(grammar.At(codes.ThresholdUnreached, threshold.Span, "the threshold is above `%s`, so it is never reached", key).
				WithHint("lower the threshold, or raise the maximum"))
		}
	}
	unreached(e.Consensus, e.MaxTransaction, "max_transaction_eth")
	for _, token := range e.Tokens {
		unreached(token.Consensus, token.MaxTransaction, "token."+token.Symbol+".max_transaction")
		if first == nil {
			first = token.Consensus
		}
	}
	switch {
	case first != nil && e.RequireHold == nil:
		c.add(grammar.At(codes.HoldImplied, first.Span, "without `consensus_require_hold` the threshold holds intents").
			WithHint("say so: `consensus_require_hold: true`; or `false`, which only notes it"))
	case first == nil && e.RequireHold != nil:
		c.add(grammar.At(codes.HoldUseless, e.RequireHold.Span, "there is no threshold, so this does nothing").
			WithHint("add `consensus_threshold_eth: …`, the amount from which on a person decides"))
	}
}

// lintEnrichment warns of a shim's account that no token rule can be held against.
func (c *linter) lintEnrichment() {
	if e := c.policy.EVM; e.Enriched() && !e.Pins() {
		c.add(grammar.At(codes.EnrichmentUnpinned, e.Enrichment.Span, "no token rule pins an address, so every transfer and approval by `contract.call` is denied").
			WithHint("add `token.<SYM>.addresses` for the tokens that are meant"))
	}
}

// lintChains warns of chains that no request can name, or that grant nothing.
func (c *linter) lintChains() {
	e := c.policy.EVM
	allowed, own := map[string]bool{}, map[string]bool{}
	for _, line := range e.ChainActions {
		own[line.Chain.Text] = true
	}
	if e.AllowedChains != nil {
		for _, chain := range e.AllowedChains.Items {
			allowed[chain.Text] = true
			c.lintChain(chain)
			if e.AllowedActions == nil && !own[chain.Text] {
				c.add(grammar.At(codes.ChainWithoutActions, chain.Span, "no action is granted on chain %s", chain.Text).
					WithHint("give it a line in `chain_actions`, or write `allowed_actions`"))
			}
		}
	}
	for _, line := range e.ChainActions {
		if !allowed[line.Chain.Text] {
			c.add(grammar.At(codes.ChainActionsUnused, line.Chain.Span, "chain %s is not in `allowed_chains`, so this line does nothing", line.Chain.Text).
				WithHint("add the chain there, or remove the line"))
		}
	}
}

func (c *linter) lintChain(chain frame.Item) {
	if !slices.Contains(slot.ChainIDs(), chain.Text) {
		c.add(grammar.At(codes.ChainUnknown, chain.Span, "no request can name chain %s", chain.Text).
			WithHint("the supported chains are %s", strings.Join(slot.ChainIDs(), ", ")))
	}
}

func (c *linter) lintAmounts() {
	e := c.policy.EVM
	c.lintWei(e.MaxTransaction)
	c.lintWei(e.MaxFee)
	c.lintWei(e.Consensus)
	if e.MaxTransaction == nil {
		c.add(grammar.At(codes.NoNativeMaximum, e.Span, "without `max_transaction_eth` every native amount above zero is denied").
			WithHint("add `max_transaction_eth: …` if native amounts are meant to pass"))
	}
	for _, token := range e.Tokens {
		if token.Addresses == nil {
			c.add(grammar.At(codes.TokenUnpinned, token.Span, "the rule for token `%s` pins no addresses", token.Symbol).
				WithHint("add `token.%s.addresses: 0x…`; without it the symbol may mean any contract, and the gateway submits nothing", token.Symbol))
		}
		if usual, known := usualDecimals[strings.ToUpper(token.Symbol)]; known && token.Decimals != nil && token.Decimals.N != usual {
			c.add(grammar.At(codes.SymbolDecimals, token.Decimals.Span, "`%s` usually has %d decimals, and this says %d", token.Symbol, usual, token.Decimals.N).
				WithHint("compare it with the contract: with other decimals the maximum is another amount"))
		}
	}
}

// lintActions warns of EVM actions that are nearly spelled like one that everybody has.
func (c *linter) lintActions() {
	for _, action := range c.policy.EVM.Actions() {
		lower := strings.ToLower(action.Text)
		for _, known := range slot.CoreEVMActions() {
			if lower != known && oneEdit(lower, known) {
				c.misspelled(action, known)
			}
		}
	}
}

// misspelled warns of an exact entry that is a known action but for its spelling.
func (c *linter) misspelled(action frame.Item, known string) {
	c.add(grammar.At(codes.NearAction, action.Span, "lists are exact, and `%s` does not grant `%s`", action.Text, known).
		WithHint("did you mean `%s`?", known).WithFix(action.Span, known))
}

// oneEdit reports whether two texts are the same but for one character put in, left out or changed, or two neighbours
// swapped; or altogether the same.
func oneEdit(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}

// lintLimits warns of limits on tool calls where no tool call is ever granted.
func (c *linter) lintLimits() {
	l := c.policy.ExecutionLimits
	if l == nil || grantsTools(c.policy) {
		return
	}
	for _, limit := range []*frame.Count{l.CallsPerTask, l.CallsPerHour} {
		if limit != nil {
			c.unusedLimit(limit.Span)
		}
	}
}

func (c *linter) unusedLimit(span grammar.Span) {
	c.add(grammar.At(codes.LimitUnused, span, "no tool is granted, so this limit counts nothing").
		WithHint("it counts nothing until `## tool_calls` grants tools by `allowed: …`"))
}

// grantsTools reports whether any tool or MCP intent can pass.
func grantsTools(p *compiler.Policy) bool {
	if p.PassesTools() || p.MCP.Grants() || len(p.Profiles.Granted()) > 0 {
		return true
	}
	return p.ToolCalls != nil && slices.ContainsFunc(p.ToolCalls.Allowed.Texts(), func(tool string) bool { return otherKind(strings.ToLower(tool)) == "" })
}

// lintTools warns of lists for tools that are denied already, and of entries that grant nothing.
func (c *linter) lintTools() {
	t := c.policy.ToolCalls
	if t.Allowed == nil && !c.policy.Profiles.Declared() {
		return // an error says so
	}
	granted, texts := newActionIndex(c.policy.Profiles.Granted()), t.Allowed.Texts()
	if t.Allowed != nil {
		for _, tool := range t.Allowed.Items {
			lower := strings.ToLower(tool.Text)
			granted.add(lower)
			if kind := otherKind(lower); kind != "" {
				c.add(grammar.At(codes.GrantsOtherKind, tool.Span, "`%s` is %s action, which `tool_calls.allowed` does not grant", tool.Text, kind).
					WithHint("remove it%s", grantedElsewhere[kind]))
			}
			if known := nearTool(lower); known != "" && known != lower && !slices.Contains(texts, known) {
				c.misspelled(tool, known)
			}
		}
	}
	granted.sort()
	for _, about := range toolKeys(t) {
		if !slices.ContainsFunc(about.tools, granted.overlaps) {
			c.add(grammar.At(codes.ListUnused, about.span, "`%s` is not allowed, so this does nothing", about.tools[0]).
				WithHint("it does nothing until `allowed` has `%s`, and may stay", about.tools[0]))
		}
	}
}

// nearTool returns the well-known tool that a name in lower case nearly is, or "".
func nearTool(lower string) string {
	bare := strings.NewReplacer("_", "", ".", "", "-", "").Replace
	const shortest = 5 // of what is shorter one letter makes another word
	for _, known := range slot.ForeignTools {
		if bare(lower) == bare(known) || len(known) >= shortest && oneEdit(lower, known) {
			return known
		}
	}
	return ""
}

// grantedElsewhere says what grants the actions of a kind.
var grantedElsewhere = map[string]string{
	"an MCP": "; `## mcp` grants MCP tools", "an EVM": "; `evm.allowed_actions` grants EVM actions", "a model": "; model intents need no grant",
}

// A toolKey is an entry that is about some tools only.
type toolKey struct {
	span  grammar.Span
	tools []string
}

// toolKeys returns the entries that are about some tools only.
func toolKeys(t *sections.ToolCalls) (keys []toolKey) {
	list := func(l *frame.List, tools ...string) {
		if l != nil {
			keys = append(keys, toolKey{l.Span, tools})
		}
	}
	list(t.BlockedCommands, "bash")
	list(t.BlockedDomains, "web_fetch", "http")
	list(t.ListedCommands, "bash")
	list(t.HeldCommands, "bash")
	list(t.Write.Blocked, "file_write")
	list(t.Write.Allowed, "file_write")
	list(t.Read.Blocked, "file_read")
	list(t.Read.Allowed, "file_read")
	list(t.Email.Exempt, slot.EmailAction)
	list(t.Email.Allowed, slot.EmailAction)
	list(t.Email.Blocked, slot.EmailAction)
	if t.Email.Approval != nil {
		keys = append(keys, toolKey{t.Email.Approval.Span, []string{slot.EmailAction}})
	}
	list(t.HTTP.BlockedMethods, "http")
	list(t.HTTP.AllowedMethods, "http", "web_fetch")
	list(t.HTTP.AllowedHosts, "http", "web_fetch")
	for _, rule := range t.HTTP.Rules {
		keys = append(keys, toolKey{rule.Span(), []string{"http"}})
	}
	return keys
}

// lintMethods warns of what is said twice about a method.
func (c *linter) lintMethods() {
	h := &c.policy.ToolCalls.HTTP
	blocked, allowed := h.BlockedMethods.Texts(), h.AllowedMethods.Texts()
	if h.AllowedMethods != nil {
		for _, method := range h.AllowedMethods.Items {
			if slices.Contains(blocked, method.Text) {
				c.methodUnused(method.Span, method.Text, "`http.blocked_methods` blocks it")
			}
		}
	}
	for _, rule := range h.Rules {
		switch {
		case slices.Contains(blocked, rule.Method):
			c.methodUnused(rule.Span(), rule.Method, "`http.blocked_methods` blocks it")
		case h.AllowedMethods != nil && !slices.Contains(allowed, rule.Method):
			c.methodUnused(rule.Span(), rule.Method, "`http.allowed_methods` does not have it")
		case frame.IsOn(rule.Deny) && rule.Query != nil:
			c.methodUnused(rule.Query.Span, rule.Method, "it is denied altogether")
		}
	}
}

// lintFetch warns of a web_fetch that is granted and that the list of methods never lets through.
func (c *linter) lintFetch() {
	t := c.policy.ToolCalls
	if t.HTTP.AllowedMethods == nil || t.Allowed == nil {
		return
	}
	for _, tool := range t.Allowed.Items {
		if strings.EqualFold(tool.Text, "web_fetch") {
			c.add(grammar.At(codes.FetchHasNoMethod, tool.Span, "`http.allowed_methods` denies every `web_fetch`, which has no method").
				WithHint("remove it, or write `http.blocked_methods` with the methods that are not meant"))
		}
	}
}

func (c *linter) methodUnused(span grammar.Span, method, why string) {
	c.add(grammar.At(codes.MethodUnused, span, "this does nothing for `%s`: %s", method, why).WithHint("it does no harm; the other one decides"))
}

// otherKind returns which kind of action a tool's name means, with its article, or "".
func otherKind(lower string) string {
	switch {
	case slot.IsMCP(lower):
		return "an MCP"
	case lower == slot.ModelAction:
		return "a model"
	case slices.Contains(slot.CoreEVMActions(), lower):
		return "an EVM"
	}
	return ""
}
