package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/slot"
)

// lint adds the warnings about what is allowed and probably not meant. It is silent where lines are missing.
func (c *checker) lint() {
	if c.partial {
		return
	}
	before := len(c.found)
	defer func() { c.found = append(c.found[:before], c.withoutForeign(c.found[before:])...) }()
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
func (c *checker) withoutForeign(found grammar.Diagnostics) grammar.Diagnostics {
	return slices.DeleteFunc(found, func(d grammar.Diagnostic) bool {
		return len(c.foreign) > 0 && slices.Contains(ungranted, d.Code) || slices.ContainsFunc(c.foreign, d.Span.Overlaps)
	})
}

// lintPasses warns of a policy under which tools need no grant.
func (c *checker) lintPasses() {
	if c.file.Version != nil && c.policy.passesTools() {
		c.add(grammar.At(codes.PassesTools, c.file.Version.Span, "this policy passes every tool intent that no rule denies").
			WithHint("list the tools that are meant: `## tool_calls` with `allowed: …`"))
	}
}

// lintConsensus warns of thresholds that are never reached, and of what is not said about them.
func (c *checker) lintConsensus() {
	e := c.policy.EVM
	first := e.Consensus
	unreached := func(threshold, maximum *Limit, key string) {
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
func (c *checker) lintEnrichment() {
	if e := c.policy.EVM; e.enriched() && !e.pins() {
		c.add(grammar.At(codes.EnrichmentUnpinned, e.Enrichment.Span, "no token rule pins an address, so every transfer and approval by `contract.call` is denied").
			WithHint("add `token.<SYM>.addresses` for the tokens that are meant"))
	}
}

// lintChains warns of chains that no request can name, or that grant nothing.
func (c *checker) lintChains() {
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

func (c *checker) lintChain(chain Item) {
	if !slices.Contains(slot.ChainIDs(), chain.Text) {
		c.add(grammar.At(codes.ChainUnknown, chain.Span, "no request can name chain %s", chain.Text).
			WithHint("the supported chains are %s", strings.Join(slot.ChainIDs(), ", ")))
	}
}

func (c *checker) lintAmounts() {
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
				WithHint("add `token.%s.addresses: 0x…`; without it the symbol may stand for any contract, and the gateway submits nothing", token.Symbol))
		}
		if usual, known := usualDecimals[strings.ToUpper(token.Symbol)]; known && token.Decimals != nil && token.Decimals.N != usual {
			c.add(grammar.At(codes.SymbolDecimals, token.Decimals.Span, "`%s` usually has %d decimals, and this says %d", token.Symbol, usual, token.Decimals.N).
				WithHint("compare it with the contract: with other decimals the maximum is another amount"))
		}
	}
}

// lintActions warns of EVM actions that are nearly spelled like one that everybody has.
func (c *checker) lintActions() {
	for _, action := range c.policy.EVM.actions() {
		lower := strings.ToLower(action.Text)
		for _, known := range coreEVMActions {
			if lower != known && oneEdit(lower, known) {
				c.misspelled(action, known)
			}
		}
	}
}

// misspelled warns of an exact entry that is a known action but for its spelling.
func (c *checker) misspelled(action Item, known string) {
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
func (c *checker) lintLimits() {
	l := c.policy.ExecutionLimits
	if l == nil || c.policy.grantsTools() {
		return
	}
	for _, limit := range []*Count{l.CallsPerTask, l.CallsPerHour} {
		if limit != nil {
			c.unusedLimit(limit.Span)
		}
	}
}

func (c *checker) unusedLimit(span grammar.Span) {
	c.add(grammar.At(codes.LimitUnused, span, "no tool is granted, so this limit counts nothing").
		WithHint("it counts nothing until `## tool_calls` grants tools by `allowed: …`"))
}

// grantsTools reports whether any tool or MCP intent can pass.
func (p *Policy) grantsTools() bool {
	if p.passesTools() || p.MCP.grants() || len(p.Profiles.granted()) > 0 {
		return true
	}
	return p.ToolCalls != nil && slices.ContainsFunc(p.ToolCalls.Allowed.texts(), func(tool string) bool { return otherKind(strings.ToLower(tool)) == "" })
}

// lintTools warns of lists for tools that are denied already, and of entries that grant nothing.
func (c *checker) lintTools() {
	t := c.policy.ToolCalls
	if t.Allowed == nil && !c.policy.Profiles.declared() {
		return // an error says so
	}
	granted, texts := newActionIndex(c.policy.Profiles.granted()), t.Allowed.texts()
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
	for _, about := range t.toolKeys() {
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
	for _, known := range foreignTools {
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
func (t *ToolCalls) toolKeys() (keys []toolKey) {
	list := func(l *List, tools ...string) {
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
	list(t.Email.Exempt, emailAction)
	list(t.Email.Allowed, emailAction)
	list(t.Email.Blocked, emailAction)
	if t.Email.Approval != nil {
		keys = append(keys, toolKey{t.Email.Approval.Span, []string{emailAction}})
	}
	list(t.HTTP.BlockedMethods, "http")
	list(t.HTTP.AllowedMethods, "http", "web_fetch")
	list(t.HTTP.AllowedHosts, "http", "web_fetch")
	for _, rule := range t.HTTP.Rules {
		if rule.Deny != nil || rule.Query != nil {
			keys = append(keys, toolKey{rule.span(), []string{"http"}})
		}
	}
	return keys
}

// lintMethods warns of what is said twice about a method.
func (c *checker) lintMethods() {
	h := &c.policy.ToolCalls.HTTP
	blocked, allowed := h.BlockedMethods.texts(), h.AllowedMethods.texts()
	if h.AllowedMethods != nil {
		for _, method := range h.AllowedMethods.Items {
			if slices.Contains(blocked, method.Text) {
				c.methodUnused(method.Span, method.Text, "`http.blocked_methods` blocks it")
			}
		}
	}
	for _, rule := range h.Rules {
		switch {
		case rule.Deny == nil && rule.Query == nil:
		case slices.Contains(blocked, rule.Method):
			c.methodUnused(rule.span(), rule.Method, "`http.blocked_methods` blocks it")
		case h.AllowedMethods != nil && !slices.Contains(allowed, rule.Method):
			c.methodUnused(rule.span(), rule.Method, "`http.allowed_methods` does not have it")
		case isOn(rule.Deny) && rule.Query != nil:
			c.methodUnused(rule.Query.Span, rule.Method, "it is denied altogether")
		}
	}
}

// lintFetch warns of a web_fetch that is granted and that the list of methods never lets through.
func (c *checker) lintFetch() {
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

func (c *checker) methodUnused(span grammar.Span, method, why string) {
	c.add(grammar.At(codes.MethodUnused, span, "this does nothing for `%s`: %s", method, why).WithHint("it does no harm; the other one decides"))
}

// otherKind returns which kind of action a tool's name means, with its article, or "".
func otherKind(lower string) string {
	switch {
	case isMCP(lower):
		return "an MCP"
	case lower == modelAction:
		return "a model"
	case slices.Contains(coreEVMActions, lower):
		return "an EVM"
	}
	return ""
}
