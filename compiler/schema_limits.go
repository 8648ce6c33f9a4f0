package compiler

import (
	"strings"

	"bailiff/vm/errcode"
)

// executionLimitKeys are the keys of `## execution_limits`.
var executionLimitKeys = []Key{
	{Section: "execution_limits", Name: "max_tool_calls_per_task", Type: TypeInteger, Since: v10,
		Rule: "execution_limits.max_tool_calls_per_task", Code: errcode.LoopLimitExceeded, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc:     "How many tool and MCP calls one `task_id` may make; an intent without one is denied.",
		Example: "max_tool_calls_per_task: 200"},
	{Section: "execution_limits", Name: "max_tool_calls_per_hour", Type: TypeInteger, Since: v10,
		Rule: "execution_limits.max_tool_calls_per_hour", Code: errcode.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one hour (UTC).",
		Example: "max_tool_calls_per_hour: 1000"},
	{Section: "execution_limits", Name: "max_model_spend_usd_per_task", Type: TypeDecimal, Since: v10,
		Rule: "execution_limits.max_model_spend_usd_per_task", Code: errcode.ModelSpend, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How much one task may spend on models, in USD with at most six fraction digits; it binds every intent.",
		Example: "max_model_spend_usd_per_task: 2.50"},
	{Section: "execution_limits", Name: "max_model_tokens_per_task", Type: TypeInteger, Since: v10,
		Rule: "execution_limits.max_model_tokens_per_task", Code: errcode.ModelTokens, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How many model tokens one task may use; it binds every intent.",
		Example: "max_model_tokens_per_task: 100000"},
	approvalKey("execution_limits", "all kinds of intents", "deploy"),
	shimKey("execution_limits", "all intents"),
}

// softLimitKeys are the keys of `## soft_limits`.
var softLimitKeys = []Key{
	{Section: "soft_limits", Name: "daily_evm_limit_eth", Type: TypeDecimal, Since: v10,
		Rule: "soft_limits.daily_evm_limit_eth", Code: errcode.AggregateLimit,
		Doc:     "How much ETH the key may move in one day (UTC), native amounts only. Version 1.x only informs.",
		Example: "daily_evm_limit_eth: 5"},
	{Section: "soft_limits", Name: "daily_fee_eth", Type: TypeDecimal, Since: v24,
		Rule: "soft_limits.daily_fee_eth", Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.AmountRequired},
		Doc:     "How much the key's intents may declare as `maxFee` in one day (UTC), all chains together, in the chains' native unit. An intent has to declare it then.",
		Example: "daily_fee_eth: 0.1"},
	{Section: "soft_limits", Name: "daily_token.<SYM>", Type: TypeDecimal, Since: v24,
		Rule: "soft_limits.daily_token.<SYM>", Code: errcode.AggregateLimit,
		Doc: "How much of a token, in its own unit, the key may move or let others move in one day (UTC), on all chains together: what token intents declare, and otherwise what call data moves or approves on the token's contracts. " +
			"`## evm` has to have a rule for the token.",
		Example: "daily_token.USDC: 1000"},
	{Section: "soft_limits", Name: "daily_tool_calls", Type: TypeInteger, Since: v10,
		Rule: "soft_limits.daily_tool_calls", Code: errcode.AggregateLimit,
		Doc:     "How many tool and MCP calls the key may make in one day (UTC). Version 1.x only informs.",
		Example: "daily_tool_calls: 500"},
	{Section: "soft_limits", Name: "cap.<name>.max_count", Type: TypeInteger, Since: v10,
		Rule: "soft_limits.cap.<name>.max_count", Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How many intents the cap lets pass in its window. Version 1.x only informs.",
		Example: "cap.deploys.max_count: 3"},
	{Section: "soft_limits", Name: "cap.<name>.max_sum_usd", Type: TypeDecimal, Since: v10,
		Rule: "soft_limits.cap.<name>.max_sum_usd", Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How much the intents' `amount_field` may add up to in the window, with at most 18 fraction digits; in place of `max_count`.",
		Example: "cap.refunds.max_sum_usd: 250.00"},
	{Section: "soft_limits", Name: "cap.<name>.window", Type: TypeWord, Since: v10, Values: capWindows,
		Doc: "When the cap starts again: with the UTC day or hour, or never within one task. Required.", Example: "cap.deploys.window: day"},
	{Section: "soft_limits", Name: "cap.<name>.action", Type: TypePattern, Since: v10,
		Doc: "The actions that the cap counts: an action, or the beginning of actions and `*`. Required.", Example: "cap.deploys.action: deploy.*"},
	{Section: "soft_limits", Name: "cap.<name>.group_by", Type: TypeField, Since: v10,
		Doc: "A field of the request: each of its values has a count of its own.", Example: "cap.deploys.group_by: metadata.customer"},
	{Section: "soft_limits", Name: "cap.<name>.amount_field", Type: TypeField, Since: v10,
		Doc: "Where the amount in USD stands, a decimal string below `metadata` or `arguments`; goes with `max_sum_usd` only.", Example: "cap.refunds.amount_field: metadata.amount_usd"},
	approvalKey("soft_limits", "all kinds of intents", "deploy"),
	shimKey("soft_limits", "all intents"),
	reservedLimit("window_days", "7"), reservedLimit("window_hours", "12"), reservedLimit("timezone", "UTC"),
	reservedLimit("cap.<name>.window_days", "7"), reservedLimit("cap.<name>.window_hours", "12"), reservedLimit("cap.<name>.timezone", "UTC"),
}

// capWindows are the windows of caps.
var capWindows = []string{"day", "hour", "task"}

// reservedLimit returns the row of a key that the format sets aside.
func reservedLimit(name, value string) Key {
	example := strings.Replace(name, "<name>", "deploys", 1) + ": " + value
	return Key{Section: "soft_limits", Name: name, Type: TypeText, Since: v10, Reserved: true, Doc: "Reserved by the format; not supported yet.", Example: example}
}
