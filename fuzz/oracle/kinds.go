package oracle

import (
	"strings"

	"bailiff/runtime/intent"
)

// An intentKind says which section judges an intent.
type intentKind int

const (
	toolIntent intentKind = iota
	mcpIntent
	modelIntent
	evmIntent
)

// kindOf finds the kind of an action in lower case: "in this order, on its lower-case form: MCP (`mcp.…`), model
// (`model.inference`), EVM (`wallet.transfer`, `contract.call`, `token.approve`, `erc4337.userop`, or listed in
// `evm.allowed_actions` or `evm.chain_actions`), tool (everything else)" (decisions, section 2, "Kinds of intents").
func (p *Policy) kindOf(action string) intentKind {
	switch {
	case strings.HasPrefix(action, "mcp."):
		return mcpIntent
	case action == "model.inference":
		return modelIntent
	case contains([]string{"wallet.transfer", "contract.call", "token.approve", "erc4337.userop"}, action):
		return evmIntent
	}
	lists := [][]string{p.evm.list("allowed_actions")}
	for _, listed := range p.chainActions {
		lists = append(lists, listed)
	}
	for _, listed := range lists {
		for _, each := range listed {
			if asciiLower(each) == action {
				return evmIntent
			}
		}
	}
	return toolIntent
}

// invalid is step 1: the field that makes the request a 400 under this policy, or "". "`chainId` is required for EVM
// intents (400 without)"; "`targetAddress`, `token`, `amount`, `amount_unit`, `calldata` are accepted on EVM intents
// only (400 otherwise)".
func (j *judgement) invalid() string {
	if j.kind == evmIntent {
		if !j.in.Has(intent.ChainID) {
			return intent.ChainID.String()
		}
		return ""
	}
	for _, f := range []intent.Field{intent.TargetAddress, intent.Token, intent.Amount, intent.AmountUnit, intent.Calldata} {
		if j.in.Has(f) {
			return f.String()
		}
	}
	return ""
}
