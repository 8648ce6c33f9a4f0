package e2e

import (
	"strings"
	"testing"
)

// fieldsPolicy accepts what is valid, so that only what is not is refused.
const fieldsPolicy = `version: 2.0.0

## evm
allowed_chains: 1, 10, 56, 137, 999, 8453, 42161
allowed_actions: wallet.transfer, erc4337.userop
max_transaction_eth: 1
token.USDC.decimals: 6
token.USDC.max_transaction: 1
token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48

## tool_calls
allowed: bash, http, web_fetch, email.send

## execution_limits
max_model_spend_usd_per_task: 10
`

const (
	schema  = "400 SVC_VALIDATION_ERROR_SCHEMA"
	usdc    = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	modeled = `"task_id":"t","metadata":{"model_usage":{"input_tokens":1,"output_tokens":1,"estimated_spend_usd":"0.1"}}`
)

// fields are requests of which one field is right or wrong: the text beside the intent, the intent, and what comes of
// both. The text beside it replaces a good framework, agentId or commitment.
var fields = []struct{ name, top, intent, want string }{
	{"a framework of 64 characters", `"framework":"` + strings.Repeat("a", 64) + `"`, `"action":"bash"`, "200"},
	{"a framework of 65 characters", `"framework":"` + strings.Repeat("a", 65) + `"`, `"action":"bash"`, schema},
	{"a framework with digits and hyphens", `"framework":"never-heard-of-7"`, `"action":"bash"`, "200"},
	{"an empty framework", `"framework":""`, `"action":"bash"`, schema},
	{"a framework in upper case", `"framework":"Custom"`, `"action":"bash"`, schema},
	{"a framework with an underscore", `"framework":"my_agent"`, `"action":"bash"`, schema},
	{"a commitment in upper case", `"txCommit":"` + strings.Repeat("AB", 32) + `"`, `"action":"bash"`, schema},
	{"a commitment with 0x", `"txCommit":"0x` + strings.Repeat("ab", 31) + `"`, `"action":"bash"`, schema},
	{"a commitment of 63 digits", `"txCommit":"` + strings.Repeat("ab", 31) + `a"`, `"action":"bash"`, schema},
	{"a commitment of 65 digits", `"txCommit":"` + strings.Repeat("ab", 32) + `a"`, `"action":"bash"`, schema},
	{"no commitment", `"txCommit":null`, `"action":"bash"`, schema},
	{"a user operation's commitment", `"chainId":1,"userOpHash":"0x` + strings.Repeat("ab", 32) + `"`, `"action":"erc4337.userop","amount":"0"`, "200"},
	{"both commitments", `"chainId":1,"userOpHash":"0x` + strings.Repeat("ab", 32) + `","txCommit":"` + strings.Repeat("ab", 32) + `"`, `"action":"erc4337.userop","amount":"0"`, schema},
	{"a user operation's commitment of something else", `"chainId":1,"userOpHash":"0x` + strings.Repeat("ab", 32) + `"`, `"action":"wallet.transfer","amount":"0"`, schema},
	{"a user operation's commitment without 0x", `"chainId":1,"userOpHash":"` + strings.Repeat("ab", 32) + `"`, `"action":"erc4337.userop","amount":"0"`, schema},
	{"no agentId", `"agentId":null`, `"action":"bash"`, schema},
	{"an empty agentId", `"agentId":""`, `"action":"bash"`, schema},
	{"a field that nobody knows", `"taskId":"t"`, `"action":"bash"`, schema},
	{"no action", ``, ``, schema},
	{"an address without its checksum", `"chainId":1`, `"action":"wallet.transfer","amount":"0","targetAddress":"` + strings.ToLower(usdc) + `"`, "200"},
	{"an address with a wrong checksum", `"chainId":1`, `"action":"wallet.transfer","amount":"0","targetAddress":"` + strings.Replace(usdc, "b", "B", 1) + `"`, schema},
	{"an address of 39 digits", `"chainId":1`, `"action":"wallet.transfer","amount":"0","targetAddress":"` + usdc[:41] + `"`, schema},
	{"a pinned contract of another token", `"chainId":1`, `"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"0x` + strings.Repeat("1", 40) + `"`, "403 SVC_POLICY_VIOLATION_TOKEN_NOT_ALLOWED"},
	{"a token by its symbol", `"chainId":1`, `"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + usdc + `"`, "200"},
	{"a token by its address", `"chainId":1`, `"action":"wallet.transfer","token":"` + usdc + `","amount":"1.000000","targetAddress":"` + usdc + `"`, "200"},
	{"more decimals than the token has", `"chainId":1`, `"action":"wallet.transfer","token":"USDC","amount":"0.0000001","targetAddress":"` + usdc + `"`, "403 SVC_POLICY_VIOLATION_TOKEN_AMOUNT_INVALID"},
	{"an amount that is a number", `"chainId":1`, `"action":"wallet.transfer","amount":1`, schema},
	{"one recipient", ``, `"action":"email.send","to":"a@example.com"`, "200"},
	{"several recipients", ``, `"action":"email.send","to":["a@example.com","b@example.com"]`, "200"},
	{"a recipient that is a number", ``, `"action":"email.send","to":7`, schema},
	{"metadata that is no object", ``, `"action":"bash","metadata":[]`, schema},
	{"usage that is a text", ``, `"action":"bash","metadata":{"model_usage":{"total_tokens":"1"}}`, schema},
	{"typed HTTP", ``, `"action":"http","method":"GET","url":"https://example.com/a?b=c"`, "200"},
	{"typed HTTP without a method", ``, `"action":"http","url":"https://example.com/"`, schema},
	{"typed HTTP without a URL", ``, `"action":"http","method":"GET"`, schema},
	{"a host that is not the URL's", ``, `"action":"http","method":"GET","url":"https://example.com/","host":"example.org"`, schema},
	{"web_fetch with a method", ``, `"action":"web_fetch","method":"GET","url":"https://example.com/"`, schema},
	{"action, amount and to beside the intent", `"chainId":1,"action":"wallet.transfer","amount":"0","to":"` + usdc + `"`, ``, "200"},
	{"another action beside the intent", `"action":"bash"`, `"action":"http"`, schema},
}

// TestRequestFields sends every request of the table, and one of every chain that there is and some that there are not.
func TestRequestFields(t *testing.T) {
	t.Parallel()
	s := newSite(t, fieldsPolicy)
	service, key := s.start(), s.apiKey()
	send := func(name, top, intent, want string) {
		t.Helper()
		for _, good := range []string{`"framework":"custom"`, `"agentId":"a"`, `"txCommit":"` + strings.Repeat("ab", 32) + `"`} {
			field, _, _ := strings.Cut(good, ":")
			if !strings.Contains(top, field) && !(field == `"txCommit"` && strings.Contains(top, "userOpHash")) {
				top = strings.TrimSuffix(good+","+top, ",")
			}
		}
		if !strings.Contains(intent, "metadata") {
			intent = strings.TrimPrefix(intent+","+modeled, ",")
		}
		service.send("POST", "/v1/authorize", key, "{"+top+`,"intent":{`+intent+"}}").wants(t, name, want)
	}
	for _, x := range fields {
		send(x.name, x.top, x.intent, x.want)
	}
	const transfer = `"action":"wallet.transfer","amount":"0"`
	for chain, want := range map[string]string{
		"1": "200", "10": "200", "56": "200", "137": "200", "999": "200", "8453": "200", "42161": "200",
		"0": "400 SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED", "5": "400 SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED", "43114": "400 SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED",
		`"1"`: schema, "1.5": schema, "null": schema,
	} {
		send("chain "+chain, `"chainId":`+chain, transfer, want)
	}
	send("no chain", ``, transfer, schema)
}
