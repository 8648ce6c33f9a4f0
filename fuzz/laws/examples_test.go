package laws_test

import (
	"testing"

	"bailiff/fuzz/gen"
	"bailiff/fuzz/laws"
)

const (
	evmPolicy = "version: 2.3.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer, contract.call\nmax_transaction_eth: 1\n" +
		"token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48\n"
	toolPolicy = "version: 2.3.0\n## tool_calls\nallowed: email.send, file_write, http, deploy\n"
	wallet     = `"action":"wallet.transfer","targetAddress":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"`
	capsBy     = "## soft_limits\ncap.x.max_count: 1\ncap.x.window: day\ncap.x.action: *\ncap.x.group_by: "
)

// examples are the ways past a rule that were found by hand, each as an intent in normal spelling, what is decided of
// it, and respellings of it.
var examples = []struct {
	name, policy, normal, status string
	others                       []string
}{
	{"a pattern of two addresses", evmPolicy + "## custom\ndeny_if.targetAddress matches: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48|0xaf88d065e77c8cc2239327c5edb3a432268e5831\n",
		wallet + `,"amount":"0"`, "DENIED", []string{`"action":"wallet.transfer","targetAddress":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","amount":"0"`}},
	{"a cap by recipient", toolPolicy + capsBy + "to\n", `"action":"email.send","to":"ann@example.com"`, "ALLOWED",
		[]string{`"action":"email.send","to":"Ann@example.com"`, `"action":"email.send","to":"<ann@example.com>"`, `"action":"email.send","to":" ann@example.com"`,
			`"action":"email.send","to":"Ann <ann@EXAMPLE.com>"`}},
	{"a cap by an address in metadata", toolPolicy + capsBy + "metadata.wallet\n", `"action":"deploy","metadata":{"wallet":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"}`, "ALLOWED",
		[]string{`"action":"deploy","metadata":{"wallet":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"}`}},
	{"a cap by token", evmPolicy + capsBy + "token\n", wallet + `,"token":"usdc","amount":"1"`, "ALLOWED",
		[]string{wallet + `,"token":"USDC","amount":"1"`, wallet + `,"token":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","amount":"1"`}},
	{"a part of a checksummed address", evmPolicy + "## custom\ndeny_string: A0b86991c6\n", wallet + `,"amount":"0"`, "DENIED",
		[]string{`"action":"wallet.transfer","targetAddress":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","amount":"0"`}},
	{"a token by its address", evmPolicy + "## custom\ndeny_if.token equals: USDC\n", wallet + `,"token":"usdc","amount":"1"`, "DENIED",
		[]string{wallet + `,"token":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","amount":"1"`}},
	{"an amount with a zero", evmPolicy + "## custom\ndeny_if.amount equals: 0.2\n", wallet + `,"amount":"0.2"`, "DENIED",
		[]string{wallet + `,"amount":"0.20"`, wallet + `,"amount":"200000000000000000","amount_unit":"base"`}},
	{"the unit of an amount", evmPolicy + "## custom\nallow_only.amount_unit: base\n", wallet + `,"amount":"0.2"`, "DENIED",
		[]string{wallet + `,"amount":"200000000000000000","amount_unit":"base"`}},
	{"call data in upper case", evmPolicy + "## custom\ndeny_if.calldata starts_with: 0xa9059cbb\n", `"action":"contract.call","amount":"0","calldata":"0xa9059cbb00"`, "DENIED",
		[]string{`"action":"contract.call","amount":"0","calldata":"0xA9059CBB00"`}},
	{"a path with other separators", toolPolicy + "## custom\ndeny_if.path equals: src/keys\n", `"action":"file_write","path":"src/keys"`, "DENIED",
		[]string{`"action":"file_write","path":"src\\keys"`, `"action":"file_write","path":"./src//keys/"`}},
	{"a URL with a default port", toolPolicy + "## custom\ndeny_if.url equals: https://api.example.com/admin\n", `"action":"http","method":"GET","url":"https://api.example.com/admin"`, "DENIED",
		[]string{`"action":"http","method":"GET","url":"https://API.example.com:443/%61dmin"`}},
	{"a recipient in angle brackets", toolPolicy + "## custom\ndeny_if.to equals: ann@example.com\n", `"action":"email.send","to":"ann@example.com"`, "DENIED",
		[]string{`"action":"email.send","to":"Ann <ANN@example.com>"`}},
	{"arguments in metadata", toolPolicy + "## custom\ndeny_if.arguments.q equals: x\n", `"action":"deploy","arguments":{"q":"x"}`, "DENIED",
		[]string{`"action":"deploy","metadata":{"arguments":{"q":"x"}}`}},
	{"metadata.arguments beside metadata", toolPolicy + "## custom\ndeny_if.metadata.arguments.q equals: x\n", `"action":"deploy","arguments":{"q":"x"}`, "DENIED",
		[]string{`"action":"deploy","metadata":{"arguments":{"q":"x"}}`}},
	{"a list of objects", toolPolicy + "## custom\ndeny_if.metadata.orders.asset equals: x\n", `"action":"deploy","metadata":{"orders":{"asset":"x"}}`, "DENIED",
		[]string{`"action":"deploy","metadata":{"orders":[{"asset":"y"},{"asset":"x"}]}`}},
}

// TestExamples replays them.
func TestExamples(t *testing.T) {
	house := laws.NewHouse()
	for _, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			bound, err := house.Compile([]byte(example.policy))
			if err != nil {
				t.Fatal(err)
			}
			normal := request(t, example.normal)
			was, wasHash := house.Judged(bound, normal)
			if was.Status != example.status {
				t.Errorf("%s is %s, not %s", normal, was, example.status)
			}
			for _, text := range example.others {
				other := request(t, text)
				is, isHash := house.Judged(bound, other)
				pair := &laws.Respelled{Normal: normal, Other: other, Was: was, Is: is, WasHash: wasHash, IsHash: isHash}
				if problem := pair.Problem(); problem != "" || is.Status != example.status {
					t.Errorf("%s: %s\n%s", other, problem, is)
				}
			}
		})
	}
}

// request returns an agent's request with these members of `intent`.
func request(t *testing.T, intent string) *gen.Case {
	t.Helper()
	body, ok := gen.Parse([]byte(`{"framework":"custom","agentId":"a","chainId":1,` +
		`"txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{` + intent + `}}`))
	if !ok {
		t.Fatalf("%s is not JSON", intent)
	}
	return &gen.Case{Body: body}
}
