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
	}
	if c.policy.ToolCalls != nil {
		c.lintTools()
	}
	c.lintPasses()
}

// lintPasses warns of a policy under which tools need no grant.
func (c *checker) lintPasses() {
	if c.file.Version != nil && c.policy.EVM == nil && c.policy.ToolCalls == nil {
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

// lintTools warns of block lists for tools that are denied already, and of entries that grant nothing.
func (c *checker) lintTools() {
	t := c.policy.ToolCalls
	if t.Allowed == nil {
		return // an error says so
	}
	granted := map[string]bool{}
	for _, tool := range t.Allowed.Items {
		lower := strings.ToLower(tool.Text)
		granted[lower] = true
		if kind := otherKind(lower); kind != "" {
			c.add(grammar.At(CodeGrantsOtherKind, tool.Span, "`%s` is %s action, which `tool_calls.allowed` does not grant", tool.Text, kind).
				WithHint("remove it"))
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
