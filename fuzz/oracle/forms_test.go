package oracle_test

import "strings"

const (
	checksummed = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" // usdc
	bridged     = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359"
)

// formTables are about "One value, one form": each respelling of a value is judged as its normal form is.
var formTables = []table{
	{"addresses and call data", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: contract.call
max_transaction_eth: 1
## custom
deny_if.targetAddress matches "0xA0B8|0xDEAD"
deny_if.targetAddress ends_with BEEF
deny_if.calldata starts_with 0xA9059CBB
deny_if.calldata contains 0x095ea7B3
deny_if.calldata matches ^0xD0E3
deny_if.metadata.payee equals 0x1111111111111111111111111111111111111AbC
deny_string: 0xCAFE
`, `
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + usdc + `"} => DENIED CUSTOM_RULE custom.deny_if.targetAddress
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + checksummed + `"} => DENIED CUSTOM_RULE custom.deny_if.targetAddress
chain:1 {"action":"contract.call","amount":"0","targetAddress":"0x111111111111111111111111111111111111beef"} => DENIED CUSTOM_RULE custom.deny_if.targetAddress
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0xA9059cbb"} => DENIED CUSTOM_RULE custom.deny_if.calldata
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0x00a9059cbb"} => ALLOWED
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0x00095EA7b3"} => DENIED CUSTOM_RULE custom.deny_if.calldata
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0xd0e3"} => DENIED CUSTOM_RULE custom.deny_if.calldata
chain:1 {"action":"contract.call","amount":"0","targetAddress":"0xcAfe111111111111111111111111111111111111"} => DENIED CUSTOM_RULE custom.deny_string
chain:1 {"action":"contract.call","amount":"0","targetAddress":"` + other + `","calldata":"0x00cafe"} => DENIED CUSTOM_RULE custom.deny_string
chain:1 {"action":"contract.call","amount":"0","metadata":{"note":"0xcafe"}} => ALLOWED
chain:1 {"action":"contract.call","amount":"0","metadata":{"payee":"0x1111111111111111111111111111111111111ABC"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.payee
// One more digit makes it something else, on either side.
chain:1 {"action":"contract.call","amount":"0","metadata":{"payee":"0x1111111111111111111111111111111111111ABCd"}} => ALLOWED
`},
	{"address literals in other texts", `version: 2.0.0
## custom
deny_if.metadata.a matches "^pay 0x1111111111111111111111111111111111111AbC|0xDEADBEEF"
deny_string: "to 0x1111111111111111111111111111111111111DEF"
allow_only[action=b].metadata.p starts_with: "x:0x1111111111111111111111111111111111111AbC"
`, `
{"action":"a","metadata":{"a":"pay 0x1111111111111111111111111111111111111aBc"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.a
{"action":"a","metadata":{"a":"Pay 0x1111111111111111111111111111111111111aBc"}} => ALLOWED
{"action":"a","metadata":{"a":"0xdeadbeef"}} => ALLOWED
{"action":"a","command":"to 0x1111111111111111111111111111111111111dEf."} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","command":"To 0x1111111111111111111111111111111111111dEf."} => ALLOWED
{"action":"a","command":"to a0x1111111111111111111111111111111111111dEf."} => ALLOWED
{"action":"b","metadata":{"p":"x:0x1111111111111111111111111111111111111aBC/1"}} => ALLOWED
{"action":"b","metadata":{"p":"X:0x1111111111111111111111111111111111111aBC/1"}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.p
`},
	{"tokens in denials", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.addresses: ` + checksummed + `, ` + bridged + `
token.DAI.decimals: 18
token.DAI.max_transaction: 10
## custom
deny_if.token equals ` + bridged + `
deny_if.token equals dai
`, `
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"` + usdc + `","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED
// That contract, by whichever name.
chain:1 {"action":"wallet.transfer","token":"usdc","amount":"1","targetAddress":"` + bridged + `"} => DENIED CUSTOM_RULE custom.deny_if.token
chain:1 {"action":"wallet.transfer","token":"` + bridged + `","amount":"1","targetAddress":"` + bridged + `"} => DENIED CUSTOM_RULE custom.deny_if.token
chain:1 {"action":"wallet.transfer","token":"Dai","amount":"1"} => DENIED CUSTOM_RULE custom.deny_if.token
`},
	{"a symbol denies its addresses", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.addresses: ` + checksummed + `
## custom
deny_if.token equals Usdc
`, `
chain:1 {"action":"wallet.transfer","token":"` + checksummed + `","amount":"1","targetAddress":"` + usdc + `"} => DENIED CUSTOM_RULE custom.deny_if.token
`},
	{"an address grants its symbol", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.addresses: ` + checksummed + `, ` + bridged + `
token.DAI.decimals: 18
token.DAI.max_transaction: 10
## custom
allow_only.token: ` + bridged + `
`, `
chain:1 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"` + usdc + `","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"DAI","amount":"1"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.token
`},
	{"amounts", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 10
token.USDC.decimals: 6
token.USDC.max_transaction: 10
## custom
deny_if.amount equals 0.20
allow_only[action=wallet.transfer].amount: 1.0, 02, 3, 0.2
`, `
chain:1 {"action":"wallet.transfer","amount":"0.2"} => DENIED CUSTOM_RULE custom.deny_if.amount
chain:1 {"action":"wallet.transfer","amount":"00.2000"} => DENIED CUSTOM_RULE custom.deny_if.amount
chain:1 {"action":"wallet.transfer","amount":"200000000000000000","amount_unit":"base"} => DENIED CUSTOM_RULE custom.deny_if.amount
chain:1 {"action":"wallet.transfer","token":"usdc","amount":"200000","amount_unit":"base"} => DENIED CUSTOM_RULE custom.deny_if.amount
chain:1 {"action":"wallet.transfer","amount":"1"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"2.0"} => ALLOWED
chain:1 {"action":"wallet.transfer","token":"usdc","amount":"3000000","amount_unit":"base"} => ALLOWED
chain:1 {"action":"wallet.transfer","amount":"1.5"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.amount
`},
	{"recipients", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 1
## tool_calls
allowed: email.send, note
## custom
deny_if.to equals Ann@Example.com
deny_if.to equals ` + checksummed + `
allow_only[action=email.*].to matches: ".*@(BÜCHER|xn--bcher-kva)\.example"
## soft_limits
cap.to.window: day
cap.to.max_count: 1
cap.to.action: *
cap.to.group_by: to
`, `
{"action":"email.send","to":" ann@EXAMPLE.com"} => DENIED CUSTOM_RULE custom.deny_if.to
{"action":"email.send","to":["bob@bücher.example","<Ann@example.COM>"]} => DENIED CUSTOM_RULE custom.deny_if.to
chain:1 {"action":"wallet.transfer","to":"` + usdc + `"} => DENIED CUSTOM_RULE custom.deny_if.to
chain:1 {"action":"wallet.transfer","to":"0x1111111111111111111111111111111111111ABC"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "0x1111111111111111111111111111111111111abc" count 1/1
{"action":"email.send","to":"Bob <BOB@BÜCHER.example>"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "bob@xn--bcher-kva.example" count 1/1
// Both spellings of é are one recipient.
{"action":"email.send","to":"re\u0301ne@bücher.example"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "réne@xn--bcher-kva.example" count 1/1
{"action":"email.send","to":"R\u00c9ne@bücher.example"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "réne@xn--bcher-kva.example" count 1/1
{"action":"email.send","to":"bob(x)@bücher.example"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.to
// On other tools it is a text.
{"action":"note","to":"ann@example.com"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "ann@example.com" count 1/1
{"action":"note","to":"Bob <x>"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "Bob <x>" count 1/1
chain:1 {"action":"wallet.transfer","to":"vitalik.eth"} => ALLOWED | soft_limits.cap.to.max_count[action=*,group_by=to] day "vitalik.eth" count 1/1
`},
	{"URLs", `version: 2.0.0
## custom
deny_if.url equals https://Example.com/Admin%2fx
deny_if.path starts_with /admin/
deny_if.path contains "a b"
deny_if.host equals EXAMPLE.org
deny_if.query contains k=ABC
allow_only[action=web_fetch].url starts_with: HTTPS://Ok.example:443/A/, https://q.example, "http://h.example"
`, `
{"action":"web_fetch","url":"https://EXAMPLE.com:443/Admin%2Fx#z"} => DENIED CUSTOM_RULE custom.deny_if.url
{"action":"web_fetch","url":"https://example.com/%41dmin%2Fx"} => DENIED CUSTOM_RULE custom.deny_if.url
{"action":"web_fetch","url":"https://h.example/%61dmin/x"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"web_fetch","url":"https://h.example//admin//x"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"web_fetch","url":"https://h.example/%2fadmin%2fx"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"web_fetch","url":"https://h.example/a%20b"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"web_fetch","url":"https://example.ORG./"} => DENIED CUSTOM_RULE custom.deny_if.host
{"action":"web_fetch","url":"https://h.example/?k=%41BC"} => DENIED CUSTOM_RULE custom.deny_if.query
{"action":"web_fetch","url":"https://OK.example/A/b"} => ALLOWED
{"action":"web_fetch","url":"https://ok.example/a/b"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.url
{"action":"web_fetch","url":"http://ok.example/A/b"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.url
{"action":"web_fetch","url":"https://q.EXAMPLE"} => ALLOWED
{"action":"web_fetch","url":"https://u@q.example/"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.url
{"action":"web_fetch","url":"https://q.example/a/../b"} => ERROR VALIDATION_ERROR_SCHEMA url
{"action":"web_fetch","url":"https://q.example/a/%2E"} => ERROR VALIDATION_ERROR_SCHEMA url
{"action":"web_fetch","url":"https://q.example/a%2f.%2e%5Cb"} => ERROR VALIDATION_ERROR_SCHEMA url
{"action":"web_fetch","url":"https://q.example/a..b/...?x=/../"} => ALLOWED
`},
	{"paths of tools", `version: 2.0.0
## custom
deny_if.path equals /work//./secret
deny_if.path starts_with conf\prod
allow_only[action=file_write].path starts_with: /work/, /Srv
## soft_limits
cap.p.window: day
cap.p.max_count: 1
cap.p.action: file_write
cap.p.group_by: path
`, `
{"action":"file_write","path":"\\work/secret/"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"file_write","path":"./conf//prod/x"} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"file_write","path":"/work/./a\\b//c"} => ALLOWED | soft_limits.cap.p.max_count[action=file_write,group_by=path] day "/work/a/b/c" count 1/1
{"action":"file_write","path":"/workspace"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.path
{"action":"file_write","path":"/srv/a"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.path
// A path that keeps its dots has no normal form.
{"action":"file_write","path":"/work/a/../b"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.path
{"action":"file_write","path":"/work/a..b"} => ALLOWED | soft_limits.cap.p.max_count[action=file_write,group_by=path] day "/work/a..b" count 1/1
{"action":"file_write","paths":["/work/a"]} => ALLOWED | soft_limits.cap.p.max_count[action=file_write,group_by=path] day "/work/a" count 1/1
{"action":"file_write","paths":["/work/a","/work/b"]} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.p.max_count
{"action":"file_write","paths":["/work/a","/tmp"]} => DENIED NOT_ON_ALLOWLIST custom.allow_only.path
{"action":"file_write","paths":["/work/a","/work/secret"]} => DENIED CUSTOM_RULE custom.deny_if.path
{"action":"file_write","path":"/work/a","paths":["/work/b"]} => ERROR VALIDATION_ERROR_SCHEMA paths
{"action":"file_write","path":"/work/a","cwd":"work"} => ERROR VALIDATION_ERROR_SCHEMA cwd
`},
	{"actions and parts of MCP actions", `version: 2.0.0
## mcp
allowed_servers: a
## custom
deny_if.action equals MCP.A.Drop
deny_if.metadata.toolName matches ^wipe|Reset
deny_string: TRUNC
allow_only[action=mcp.*].metadata.serverId: A
## soft_limits
cap.a.window: day
cap.a.max_count: 1
cap.a.action: *
cap.a.group_by: action
`, `
{"action":"mcp.a.DROP"} => DENIED CUSTOM_RULE custom.deny_if.action
{"action":"mcp.A.Wipe_it"} => DENIED CUSTOM_RULE custom.deny_if.metadata.toolName
{"action":"mcp.a.reset"} => DENIED CUSTOM_RULE custom.deny_if.metadata.toolName
{"action":"mcp.a.truncate"} => DENIED CUSTOM_RULE custom.deny_string
{"action":"mcp.A.X"} => ALLOWED | soft_limits.cap.a.max_count[action=*,group_by=action] day "mcp.a.x" count 1/1
{"action":"mcp.a.x y"} => ERROR VALIDATION_ERROR_SCHEMA action
`},
	{"arguments", `version: 2.0.0
## custom
deny_if.arguments.path equals /etc
deny_if.metadata.arguments.n equals 7
deny_string: 4242
## soft_limits
cap.a.window: day
cap.a.max_count: 1
cap.a.action: x
cap.a.group_by: metadata.arguments.who
`, `
{"action":"a","metadata":{"arguments":{"path":"/etc"}}} => DENIED CUSTOM_RULE custom.deny_if.arguments.path
{"action":"a","arguments":{"n":7.0}} => DENIED CUSTOM_RULE custom.deny_if.metadata.arguments.n
{"action":"x","arguments":{"who":"me"}} => ALLOWED | soft_limits.cap.a.max_count[action=x,group_by=metadata.arguments.who] day "me" count 1/1
{"action":"x","metadata":{"arguments":{"who":"me"}}} => ALLOWED | soft_limits.cap.a.max_count[action=x,group_by=metadata.arguments.who] day "me" count 1/1
{"action":"a","arguments":{"a":[1,"0x1111111111111111111111111111111111111ABC"]},"metadata":{"arguments":{"a":[1.0,"0x1111111111111111111111111111111111111abc"]}}} => ALLOWED
{"action":"a","arguments":{"a":1},"metadata":{"arguments":{"a":2}}} => ERROR VALIDATION_ERROR_SCHEMA arguments
{"action":"a","arguments":{"a":1},"metadata":{"arguments":{"a":1,"b":null}}} => ERROR VALIDATION_ERROR_SCHEMA arguments
// Numbers count for deny_string in arguments and metadata, but for model_usage.
{"action":"a","arguments":{"a":[{"b":4242}]}} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","metadata":{"a":142420}} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","metadata":{"a":4.242e3}} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","metadata":{"model_usage":{"total_tokens":4242}}} => ALLOWED
{"action":"a","metadata":{"model_usage":{"model":"m4242"}}} => DENIED CUSTOM_RULE custom.deny_string
`},
	{"paths through lists", `version: 2.0.0
## custom
deny_if.metadata.items.kind equals bad
deny_if.metadata.all.ok not_equals true
allow_only[action=g].metadata.items.kind: good
## soft_limits
cap.a.window: day
cap.a.max_count: 1
cap.a.action: c
cap.a.group_by: metadata.items.kind
`, `
{"action":"a","metadata":{"all":{"ok":true},"items":[{"kind":"good"},{"kind":"bad"}]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.items.kind
{"action":"a","metadata":{"all":{"ok":true},"items":[[{"kind":["x","bad"]}]]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.items.kind
{"action":"a","metadata":{"all":[{"ok":true},{"ok":"true"}],"items":[{}]}} => ALLOWED
{"action":"a","metadata":{"all":[{"ok":true},{}]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.all.ok
{"action":"a","metadata":{"all":[{"ok":true},7]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.all.ok
{"action":"a","metadata":{"all":[]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.all.ok
{"action":"g","metadata":{"all":{"ok":true},"items":[{"kind":"good"}]}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.items.kind
{"action":"g","metadata":{"all":{"ok":true},"items":{"kind":"good"}}} => ALLOWED
{"action":"c","metadata":{"all":{"ok":true},"items":[{"kind":"good"}]}} => DENIED AGGREGATE_FIELD_MISSING soft_limits.cap.a.max_count
`},
	{"groups", `version: 2.0.0
## evm
allowed_chains: 1
allowed_actions: wallet.transfer
max_transaction_eth: 1
token.USDC.decimals: 6
token.USDC.max_transaction: 10
token.USDC.addresses: ` + checksummed + `
## soft_limits
cap.t.window: day
cap.t.max_count: 1
cap.t.action: wallet.transfer
cap.t.group_by: token
cap.m.window: day
cap.m.max_count: 1
cap.m.action: pay
cap.m.group_by: metadata.payee
`, `
chain:1 {"action":"wallet.transfer","token":"` + checksummed + `","amount":"1","targetAddress":"` + usdc + `"} => ALLOWED | soft_limits.cap.t.max_count[action=wallet.transfer,group_by=token] day "usdc" count 1/1
chain:1 {"action":"wallet.transfer","token":"Usdc","amount":"1","targetAddress":"` + checksummed + `"} => ALLOWED | soft_limits.cap.t.max_count[action=wallet.transfer,group_by=token] day "usdc" count 1/1
`},
	{"groups of addresses in metadata", `version: 2.0.0
## soft_limits
cap.m.window: day
cap.m.max_count: 1
cap.m.action: pay
cap.m.group_by: metadata.payee
`, `
{"action":"pay","metadata":{"payee":"` + checksummed + `"}} => ALLOWED | soft_limits.cap.m.max_count[action=pay,group_by=metadata.payee] day "` + usdc + `" count 1/1
{"action":"pay","metadata":{"payee":"` + strings.Replace(strings.ToUpper(usdc), "0X", "0x", 1) + `"}} => ALLOWED | soft_limits.cap.m.max_count[action=pay,group_by=metadata.payee] day "` + usdc + `" count 1/1
`},
}
