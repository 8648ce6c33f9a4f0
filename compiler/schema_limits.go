package compiler

import "bailiff/runtime/code"

// executionLimitKeys are the keys of `## execution_limits`.
var executionLimitKeys = []Key{
	{Section: "execution_limits", Name: "max_tool_calls_per_task", Type: TypeInteger, Since: v10, Supported: true,
		Rule: "execution_limits.max_tool_calls_per_task", Code: code.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls one `task_id` may make; an intent without one is denied.",
		Example: "max_tool_calls_per_task: 200"},
	{Section: "execution_limits", Name: "max_tool_calls_per_hour", Type: TypeInteger, Since: v10, Supported: true,
		Rule: "execution_limits.max_tool_calls_per_hour", Code: code.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one hour (UTC).",
		Example: "max_tool_calls_per_hour: 1000"},
	{Section: "execution_limits", Name: "max_model_spend_usd_per_task", Type: TypeDecimal, Since: v10,
		Rule: "execution_limits.max_model_spend_usd_per_task",
		Doc:  "How much one task may spend on models, in USD.", Example: "max_model_spend_usd_per_task: 2.50"},
	{Section: "execution_limits", Name: "max_model_tokens_per_task", Type: TypeInteger, Since: v10,
		Rule: "execution_limits.max_model_tokens_per_task",
		Doc:  "How many model tokens one task may use.", Example: "max_model_tokens_per_task: 100000"},
}

// softLimitKeys are the keys of `## soft_limits`.
var softLimitKeys = []Key{}
