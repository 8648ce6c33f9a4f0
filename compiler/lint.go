package compiler

import (
	"slices"
	"strings"

	"bailiff/grammar"
)

// lint adds the warnings about what is allowed and probably not meant. It is silent where lines are missing.
func (c *checker) lint() {
	if c.partial {
		return
	}
	if c.policy.EVM != nil {
		c.lintConsensus()
		c.lintChains()
		c.lintAmounts()
		c.lintActions()
	}
	if c.policy.ToolCalls != nil {
		c.lintTools()
	}
	c.lintPasses()
	c.lintLimits()
	c.lintProfiles()
}

// lintPasses warns of a policy under which tools need no grant.
func (c *checker) lintPasses() {
	if c.file.Version != nil && c.policy.EVM == nil && c.policy.ToolCalls == nil && !c.policy.Profiles.declared() {
		c.add(grammar.At(CodePassesTools, c.file.Version.Span, "this policy passes every tool intent that no rule denies").
			WithHint("list the tools that are meant: `## tool_calls` with `allowed: …`"))
	}
}

func (c *checker) lintConsensus() {
	e := c.policy.EVM
	switch {
	case e.Consensus != nil && e.RequireHold == nil:
		c.add(grammar.At(CodeHoldImplied, e.Consensus.Span, "without `consensus_require_hold` the threshold holds intents").
			WithHint("say so: `consensus_require_hold: true`; or `false`, which only notes it"))
	case e.Consensus == nil && e.RequireHold != nil:
		c.add(grammar.At(CodeHoldUseless, e.RequireHold.Span, "there is no `consensus_threshold_eth`, so this does nothing").
			WithHint("add the threshold, or remove the line"))
	}
	if e.Consensus != nil && e.MaxTransaction != nil && e.Consensus.Amount.Cmp(e.MaxTransaction.Amount) > 0 {
		c.add(grammar.At(CodeThresholdUnreached, e.Consensus.Span, "the threshold is above `max_transaction_eth`, so it is never reached").
			WithHint("lower the threshold, or raise the maximum"))
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
				c.add(grammar.At(CodeChainWithoutActions, chain.Span, "no action is granted on chain %s", chain.Text).
					WithHint("give it a line in `chain_actions`, or write `allowed_actions`"))
			}
		}
	}
	for _, line := range e.ChainActions {
		if !allowed[line.Chain.Text] {
			c.add(grammar.At(CodeChainActionsUnused, line.Chain.Span, "chain %s is not in `allowed_chains`, so this line does nothing", line.Chain.Text).
				WithHint("add the chain there, or remove the line"))
		}
	}
}

func (c *checker) lintChain(chain Item) {
	if !slices.Contains(supportedChains, chain.Text) {
		c.add(grammar.At(CodeChainUnknown, chain.Span, "no request can name chain %s", chain.Text).
			WithHint("the supported chains are %s", strings.Join(supportedChains, ", ")))
	}
}

func (c *checker) lintAmounts() {
	e := c.policy.EVM
	if e.MaxTransaction == nil {
		c.add(grammar.At(CodeNoNativeMaximum, e.Span, "without `max_transaction_eth` every native amount above zero is denied").
			WithHint("add `max_transaction_eth: …` if native amounts are meant to pass"))
	}
	for _, token := range e.Tokens {
		if token.Addresses == nil {
			c.add(grammar.At(CodeTokenUnpinned, token.Span, "the rule for token `%s` pins no addresses", token.Symbol).
				WithHint("add `token.%s.addresses: 0x…`; without it the symbol may stand for any contract, and the gateway submits nothing", token.Symbol))
		}
	}
}

// lintActions warns of EVM actions that are nearly spelled like one that everybody has.
func (c *checker) lintActions() {
	for _, action := range c.policy.EVM.actions() {
		lower := strings.ToLower(action.Text)
		for _, known := range coreEVMActions {
			if action.Text != known && oneEdit(lower, known) {
				c.misspelled(action, known)
			}
		}
	}
}

// misspelled warns of an exact entry that is a known action but for its spelling.
func (c *checker) misspelled(action Item, known string) {
	c.add(grammar.At(CodeNearAction, action.Span, "lists are exact, and `%s` does not grant `%s`", action.Text, known).
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
			c.add(grammar.At(CodeLimitUnused, limit.Span, "no tool is granted, so this limit counts nothing").
				WithHint("grant tools by `## tool_calls` with `allowed: …`, or remove the limit"))
		}
	}
}

// grantsTools reports whether any tool intent can pass.
func (p *Policy) grantsTools() bool {
	if p.ToolCalls == nil {
		return p.EVM == nil
	}
	return slices.ContainsFunc(p.ToolCalls.Allowed.texts(), func(tool string) bool { return otherKind(strings.ToLower(tool)) == "" })
}

// lintTools warns of block lists for tools that are denied already, and of entries that grant nothing.
func (c *checker) lintTools() {
	t := c.policy.ToolCalls
	if t.Allowed == nil {
		return // an error says so
	}
	granted, texts := map[string]bool{}, t.Allowed.texts()
	for _, tool := range t.Allowed.Items {
		lower := strings.ToLower(tool.Text)
		granted[lower] = true
		if kind := otherKind(lower); kind != "" {
			c.add(grammar.At(CodeGrantsOtherKind, tool.Span, "`%s` is %s action, which `tool_calls.allowed` does not grant", tool.Text, kind).
				WithHint("remove it"))
		}
		if slices.Contains(foreignTools, lower) && lower != tool.Text && !slices.Contains(texts, lower) {
			c.misspelled(tool, lower)
		}
	}
	for _, list := range []struct {
		list  *List
		tools []string
	}{{t.BlockedCommands, []string{"bash"}}, {t.BlockedDomains, []string{"web_fetch", "http"}}, {t.BlockedPaths, []string{"file_write"}}} {
		if list.list != nil && !slices.ContainsFunc(list.tools, func(tool string) bool { return granted[tool] }) {
			c.add(grammar.At(CodeListUnused, list.list.Span, "`%s` is not allowed, so this list does nothing", list.tools[0]).
				WithHint("add `%s` to `allowed`, or remove the list", list.tools[0]))
		}
	}
}

// otherKind returns which kind of action a tool's name stands for, with its article, or "".
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
