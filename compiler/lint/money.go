package lint

import (
	"slices"
	"strings"

	"bailiff/compiler"
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm/form/calldata"
	"bailiff/vm/slot"
)

// lintMoney warns of ways in which more money can go than the limits say.
func (c *linter) lintMoney() {
	c.lintFees()
	c.lintOpenCalls()
	c.lintAccountCalls()
	for _, token := range c.policy.EVM.Tokens {
		c.lintPins(token)
		c.lintMethodNames(token)
		c.lintTokenAmount(token.MaxTransaction)
		c.lintTokenAmount(token.Consensus)
		c.lintBaseUnits(token)
	}
}

// lintFees warns where amounts are limited and fees are not.
func (c *linter) lintFees() {
	e, s := c.policy.EVM, c.policy.SoftLimits
	if e.MaxTransaction == nil || e.MaxFee != nil || s != nil && s.DailyFee != nil {
		return
	}
	c.add(grammar.At(codes.FeesUnlimited, e.MaxTransaction.Span, "native amounts are limited, and what gas may cost is not").
		WithHint("add `max_fee_eth: …` (version 2.4); without it only the gateway's `SVC_MAX_FEE_<chainId>` limits fees"))
}

// lintOpenCalls warns of actions that call any contract with any data.
func (c *linter) lintOpenCalls() {
	e := c.policy.EVM
	if e.Enriched() && !frame.IsOn(e.UnknownSelector) {
		return // nothing passes but what moves a pinned token
	}
	for _, action := range e.Actions() {
		lower := strings.ToLower(action.Text)
		if lower == slot.TransferAction || lower == slot.ApproveAction || limitsTarget(c.policy, lower) || holds(c.policy, lower) {
			continue
		}
		c.add(grammar.At(codes.OpenCalls, action.Span, "`%s` may call any contract that no token rule pins: Permit2 and routers move tokens that were approved before, Multicall3 runs further calls", action.Text).
			WithHint("name the contracts in `## custom`: `allow_only[action=%s].targetAddress: 0x…`", action.Text))
		return
	}
}

// limitsTarget reports whether an allowance names the targets of an action.
func limitsTarget(p *compiler.Policy, action string) bool {
	return p.Custom != nil && slices.ContainsFunc(p.Custom.Allowances, func(rule *sections.Allowance) bool {
		return rule.Path == slot.TargetAddress.String() && (rule.Scope == "" || newActionIndex([]string{rule.Scope}).overlaps(action))
	})
}

// holds reports whether a person has to decide on an EVM action.
func holds(p *compiler.Policy, action string) bool {
	approvals := [][]string{p.EVM.Approval.Texts()}
	if p.Custom != nil {
		approvals = append(approvals, p.Custom.Approval.Texts())
	}
	if p.SoftLimits != nil {
		approvals = append(approvals, p.SoftLimits.Approval.Texts())
	}
	if p.ExecutionLimits != nil {
		approvals = append(approvals, p.ExecutionLimits.Approval.Texts())
	}
	return newActionIndex(approvals...).overlaps(action)
}

// lintAccountCalls warns where call data may run further calls.
func (c *linter) lintAccountCalls() {
	if flag := c.policy.EVM.AccountCalls; frame.IsOn(flag) {
		c.add(grammar.At(codes.AccountCalls, flag.Span, "amounts inside the calls of accounts, entry points and multicalls are not seen by any rule").
			WithHint("limit the accounts in `## custom`: `allow_only.targetAddress: 0x…`; or remove the line"))
	}
}

// lintPins warns of addresses that are pinned on more chains than one, or on one that is not allowed.
func (c *linter) lintPins(token *sections.Token) {
	if token.Addresses == nil || c.policy.EVM.AllowedChains == nil {
		return
	}
	chains := c.policy.EVM.AllowedChains.Texts()
	for i, pin := range token.Pins() {
		item := token.Addresses.Items[i]
		switch {
		case pin.Chain == "" && len(chains) > 1:
			c.add(grammar.At(codes.PinOnAllChains, item.Span, "this address is pinned on %d chains, and may be another contract on each", len(chains)).
				WithHint("write the chain in front, as in `%s:%s` (version 2.4)", chains[0], pin.Address))
		case pin.Chain != "" && !slices.Contains(chains, pin.Chain):
			c.add(grammar.At(codes.PinUnused, item.Span, "chain %s is not in `allowed_chains`, so this address does nothing", pin.Chain).
				WithHint("add the chain there, or remove the address"))
		}
	}
}

// lintMethodNames warns of named methods that are judged anyway, or belong to no contract.
func (c *linter) lintMethodNames(token *sections.Token) {
	if token.Methods == nil {
		return
	}
	if token.Addresses == nil {
		c.add(grammar.At(codes.MethodsUnused, token.Methods.Span, "the rule for token `%s` pins no addresses, so it judges no calls", token.Symbol).
			WithHint("add `token.%s.addresses: 0x…`, or remove the line", token.Symbol))
		return
	}
	for _, item := range token.Methods.Items {
		selector, _ := calldata.ParseSelector(item.Text)
		if method := calldata.Lookup(selector); method != nil && method.Kind.Judged() {
			c.add(grammar.At(codes.MethodsUnused, item.Span, "`%s` is judged by its amount, named or not", method.Signature).WithHint("remove it"))
		}
	}
}

const (
	// wholeDigits is how many digits the whole part of a token amount has that limits nothing: no token has 10^30 units.
	wholeDigits = 31
	// leastBaseDecimals is from which decimals on zeros at the end of an amount are the sign of base units.
	leastBaseDecimals = 6
)

// lintTokenAmount warns of amounts of a token that cannot exist.
func (c *linter) lintTokenAmount(limit *frame.Limit) {
	if limit == nil {
		return
	}
	if whole, _, _ := strings.Cut(limit.Amount.Format(limit.Decimals), "."); len(whole) >= wholeDigits {
		c.add(grammar.At(codes.NoRealMaximum, limit.Span, "no token has so many units, so this limits nothing").
			WithHint("write the most that is meant to be moved"))
	}
}

// lintBaseUnits warns of maxima that look like base units.
func (c *linter) lintBaseUnits(token *sections.Token) {
	limit := token.MaxTransaction
	if limit == nil || limit.Decimals < leastBaseDecimals {
		return
	}
	whole := limit.Amount.Format(limit.Decimals)
	meant, found := strings.CutSuffix(whole, strings.Repeat("0", int(limit.Decimals)))
	if found && len(meant) > 1 && len(whole) < wholeDigits && !strings.Contains(whole, ".") {
		c.add(grammar.At(codes.TokenBase, limit.Span, "amounts here are in %s, and this one ends in %d zeros as base units do", token.Symbol, limit.Decimals).
			WithHint("if base units are meant, write `%s`", meant))
	}
}
