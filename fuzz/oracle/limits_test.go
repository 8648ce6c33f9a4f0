package oracle_test

var limitTables = []table{
	{"execution limits", `version: 1.0.0
## tool_calls
allowed: bash
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
## execution_limits
max_tool_calls_per_task: 5
max_tool_calls_per_hour: 100
## soft_limits
daily_tool_calls: 3
`, `
{"action":"bash"} => DENIED TASK_ID_REQUIRED execution_limits.max_tool_calls_per_task
{"action":"bash","task_id":"T"} => ALLOWED | execution_limits.max_tool_calls_per_task task "T" count 1/5 | execution_limits.max_tool_calls_per_hour hour "" count 1/100
chain:1 {"action":"wallet.transfer"} => ALLOWED |
{"action":"x"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.allowed |
`},
	{"model budgets", `version: 2.0.0
## execution_limits
max_model_spend_usd_per_task: 0.25
max_model_tokens_per_task: 1000
`, `
{"action":"model.inference"} => DENIED TASK_ID_REQUIRED execution_limits.max_model_spend_usd_per_task
// An intent other than a model's is judged by what was seen for its task.
{"action":"model.inference","task_id":"t"} => DENIED MODEL_USAGE_UNAVAILABLE execution_limits.max_model_spend_usd_per_task
{"action":"a","task_id":"t"} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max <nil>/250000 | execution_limits.max_model_tokens_per_task task "t" max <nil>/1000
{"action":"a","task_id":"t","metadata":{"model_usage":null}} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max <nil>/250000 | execution_limits.max_model_tokens_per_task task "t" max <nil>/1000
{"action":"a","task_id":"t","metadata":{"model_usage":{}}} => DENIED MODEL_USAGE_UNAVAILABLE execution_limits.max_model_spend_usd_per_task
// The total is never less than its parts.
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0","input_tokens":600,"output_tokens":601,"total_tokens":7}}} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max 0/250000 | execution_limits.max_model_tokens_per_task task "t" max 1201/1000
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0","output_tokens":601,"total_tokens":7}}} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max 0/250000 | execution_limits.max_model_tokens_per_task task "t" max 601/1000
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0.1"}}} => DENIED MODEL_USAGE_UNAVAILABLE execution_limits.max_model_tokens_per_task
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0.1","input_tokens":5}}} => DENIED MODEL_USAGE_UNAVAILABLE execution_limits.max_model_tokens_per_task
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0.2500000000001","input_tokens":5,"output_tokens":6}}} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max 250001/250000 | execution_limits.max_model_tokens_per_task task "t" max 11/1000
{"action":"a","task_id":"t","metadata":{"model_usage":{"estimated_spend_usd":"0.25000000","input_tokens":5,"output_tokens":6,"total_tokens":1000}}} => ALLOWED | execution_limits.max_model_spend_usd_per_task task "t" max 250000/250000 | execution_limits.max_model_tokens_per_task task "t" max 1000/1000
`},
	{"soft limits", `version: 2.0.0
## tool_calls
allowed: bash, pay
## mcp
allowed_servers: a
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 1
consensus_threshold_eth: 1
token.DAI.decimals: 18
token.DAI.max_transaction: 1
## soft_limits
daily_tool_calls: 3
daily_evm_limit_eth: 2.5
cap.b.action: pay*
cap.b.window: task
cap.b.max_sum_usd: 1.5
cap.b.amount_field: intent.metadata.usd
cap.b.group_by: metadata.customer
cap.a.window: day
cap.a.action: P*
cap.a.max_count: 7
cap.c.window: hour
cap.c.action: mcp.a.x*
cap.c.max_count: 1
cap.c.group_by: intent.metadata.toolName
cap.d.window: day
cap.d.action: mcp.a.do*
cap.d.max_count: 2
cap.d.group_by: action
`, `
{"action":"bash"} => ALLOWED | soft_limits.daily_tool_calls day "" count 1/3
chain:1 {"action":"wallet.transfer"} => ALLOWED | soft_limits.daily_evm_limit_eth day "" sum 0/2500000000000000000
chain:1 {"action":"wallet.transfer","amount":"1"} => PENDING CONSENSUS_REQUIRED evm.consensus_threshold_eth | soft_limits.daily_evm_limit_eth day "" sum 1000000000000000000/2500000000000000000
chain:1 {"action":"wallet.transfer","token":"DAI","amount":"1"} => ALLOWED |
{"action":"mcp.a.X"} => ALLOWED | soft_limits.daily_tool_calls day "" count 1/3 | soft_limits.cap.c.max_count[action=mcp.a.x*,group_by=metadata.toolName] hour "x" count 1/1
{"action":"MCP.a.DO.It"} => ALLOWED | soft_limits.daily_tool_calls day "" count 1/3 | soft_limits.cap.d.max_count[action=mcp.a.do*,group_by=action] day "mcp.a.do.it" count 1/2
{"action":"pay"} => DENIED TASK_ID_REQUIRED soft_limits.cap.b.max_sum_usd
{"action":"pay","task_id":"T"} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.b.max_sum_usd
{"action":"pay","task_id":"T","metadata":{"customer":["c"],"usd":"1"}} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.b.max_sum_usd
{"action":"pay","task_id":"T","metadata":{"customer":"c","usd":1}} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.b.max_sum_usd
{"action":"pay","task_id":"T","metadata":{"customer":"c","usd":"-1"}} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.b.max_sum_usd
{"action":"pay","task_id":"T","metadata":{"customer":7,"usd":"0.000000000000000001"}} => ALLOWED | soft_limits.daily_tool_calls day "" count 1/3 | soft_limits.cap.b.max_sum_usd[action=pay*,group_by=metadata.customer] task "T\x007" sum 1/1500000000000000000 | soft_limits.cap.a.max_count[action=p*] day "" count 1/7
`},
}
