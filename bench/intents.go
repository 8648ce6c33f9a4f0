package bench

// The requests of the benchmarks, of the size and shape that hook clients send: about 500 bytes. Under the example
// policy of the product (cmd/bailiff/policy/example/warranty.md) the first is ALLOWED and the second, which differs in the
// amount alone, DENIED. Both are EVM intents, which no limit by the hour counts.
const (
	AllowedIntent = `{"framework":"agent-hooks","agentId":"treasury-7","chainId":8453,"txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":"wallet.transfer","targetAddress":"0x4e59b44847b379578588920ca78fbf26c0b4956c","amount":"0.125","maxFee":"0.001","task_id":"task_0192f0c4","metadata":{"desk":"desk-1","team":"ops","env":"prod","invoice":"INV-2026-0001","attempt":2,"model_usage":{"provider":"x","model":"large-1","input_tokens":1200,"output_tokens":300,"estimated_spend_usd":"0.0123"}}}}`

	DeniedIntent = `{"framework":"agent-hooks","agentId":"treasury-7","chainId":8453,"txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":"wallet.transfer","targetAddress":"0x4e59b44847b379578588920ca78fbf26c0b4956c","amount":"9.125","maxFee":"0.001","task_id":"task_0192f0c4","metadata":{"desk":"desk-1","team":"ops","env":"prod","invoice":"INV-2026-0001","attempt":2,"model_usage":{"provider":"x","model":"large-1","input_tokens":1200,"output_tokens":300,"estimated_spend_usd":"0.0123"}}}}`
)

// DeniedCode is the error_code of DeniedIntent.
const DeniedCode = "SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED"
