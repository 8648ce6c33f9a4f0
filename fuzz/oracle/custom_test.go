package oracle_test

import "strings"

var customTables = []table{
	{"deny_if", `version: 2.0.0
## custom
deny_if.metadata.env equals production
deny_if.intent.metadata.n equals 1000
deny_if.metadata.ok not_equals true
deny_if.metadata.note contains a, b
deny_if.metadata.ref starts_with: refs/
deny_if.metadata.tail ends_with "!"
deny_if.metadata.code matches ^[0-9]+x
deny_if.host equals 127.0.0.1
deny_if.metadata.address equals 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
`, `
{"action":"a"} => DENIED CUSTOM_RULE custom.deny_if.metadata.ok
{"action":"a","metadata":{"ok":true}} => ALLOWED
{"action":"a","metadata":{"ok":"true"}} => ALLOWED
{"action":"a","metadata":{"ok":{}}} => DENIED CUSTOM_RULE custom.deny_if.metadata.ok
{"action":"a","metadata":{"ok":[]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.ok
{"action":"a","metadata":{"ok":[true]}} => ALLOWED
{"action":"a","metadata":{"ok":[[true]]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.ok
{"action":"a","metadata":{"ok":[true,null]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.ok
{"action":"a","metadata":{"ok":true,"env":"production"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.env
{"action":"a","metadata":{"ok":true,"env":"Production"}} => ALLOWED
{"action":"a","metadata":{"ok":true,"env":["x","production"]}} => DENIED CUSTOM_RULE custom.deny_if.metadata.env
{"action":"a","metadata":{"ok":true,"env":{"production":"production"}}} => ALLOWED
{"action":"a","metadata":{"ok":true,"n":1e3}} => DENIED CUSTOM_RULE custom.deny_if.metadata.n
{"action":"a","metadata":{"ok":true,"n":1000.0}} => DENIED CUSTOM_RULE custom.deny_if.metadata.n
{"action":"a","metadata":{"ok":true,"note":"xa, by"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.note
{"action":"a","metadata":{"ok":true,"ref":"refs/x"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.ref
{"action":"a","metadata":{"ok":true,"ref":"xrefs/"}} => ALLOWED
{"action":"a","metadata":{"ok":true,"tail":"no!"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.tail
{"action":"a","metadata":{"ok":true,"code":"12xy"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.code
{"action":"a","metadata":{"ok":true,"code":"` + strings.Repeat("a", 4096) + `"}} => ALLOWED
{"action":"a","metadata":{"ok":true,"code":"` + strings.Repeat("a", 4097) + `"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.code
{"action":"a","url":"http://0x7f000001/","metadata":{"ok":true}} => DENIED CUSTOM_RULE custom.deny_if.host
{"action":"a","metadata":{"ok":true,"address":"0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.address
`},
	{"deny_string", `version: 1.0.0
## custom
deny_string: DROP TABLE
deny_string: pay 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
deny_string: ` + "\u00e9" + `
`, `
{"action":"a","metadata":{"q":{"r":["x DROP TABLE y"]}}} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","metadata":{"DROP TABLE":"x"}} => ALLOWED
{"action":"a","metadata":{"q":"drop table"}} => ALLOWED
{"action":"a","command":"DROP","path":" TABLE"} => ALLOWED
{"action":"a","command":"DROP \u0054ABLE"} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","command":"pay 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48!"} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","command":"PAY 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48!"} => ALLOWED
{"action":"a","command":"\u00e9"} => DENIED CUSTOM_RULE custom.deny_string
{"action":"a","command":"e\u0301"} => ALLOWED
`},
	{"allow_only", `version: 2.0.0
## custom
allow_only.metadata.team: ops, dev
allow_only.metadata.team: qa
allow_only[action=deploy*].metadata.ref prefix: refs/heads/, refs/tags/
allow_only[action=deploy].metadata.branch attested: main
allow_only[action=pay].metadata.id matches: "OPS-[0-9]{1,3}", x|y
deny_if.metadata.bad equals yes
`, `
{"action":"a"} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":null}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":"qa"}} => ALLOWED
{"action":"a","metadata":{"team":["ops","dev"]}} => ALLOWED
{"action":"a","metadata":{"team":["ops","x"]}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":["ops",null]}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":[]}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":{}}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.team
{"action":"a","metadata":{"team":"x","bad":"yes"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.bad
{"action":"DEPLOY.now","metadata":{"team":"qa","ref":"x"}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.ref
{"action":"deploy.now","metadata":{"team":"qa","ref":"refs/tags/1"}} => ALLOWED
{"action":"Deploy","metadata":{"team":"qa","ref":"refs/tags/1","branch":"main"}} => DENIED PROVENANCE_REQUIRED custom.allow_only.metadata.branch
shim {"action":"deploy","metadata":{"team":"qa","ref":"refs/tags/1","branch":"main"}} => ALLOWED
shim {"action":"deploy","metadata":{"team":"qa","ref":"refs/tags/1","branch":"x"}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.branch
{"action":"pay","metadata":{"team":"qa","id":"OPS-12"}} => ALLOWED
{"action":"pay","metadata":{"team":"qa","id":"OPS-1234"}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.id
{"action":"pay","metadata":{"team":"qa","id":["x","y"]}} => ALLOWED
{"action":"pay","metadata":{"team":"qa","id":"xy"}} => DENIED NOT_ON_ALLOWLIST custom.allow_only.metadata.id
`},
	{"derived names of MCP", `version: 2.0.0
## mcp
allowed_servers: github
## custom
allow_only.metadata.serverId: github
deny_if.metadata.toolName equals drop.it
deny_if.metadata.toolName contains Wipe
require_approval: mcp.github.ask
`, `
{"action":"mcp.GitHub.x"} => ALLOWED
{"action":"mcp.github.Drop.It","metadata":{"toolName":"DROP.it"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.toolName
{"action":"mcp.github.Wipe_All","metadata":{"toolName":"Wipe_All"}} => DENIED CUSTOM_RULE custom.deny_if.metadata.toolName
{"action":"mcp.github.ask"} => PENDING APPROVAL_REQUIRED custom.require_approval
`},
	{"generic controls", `version: 2.0.0
## custom
require_shim: true
deny_string: x
## execution_limits
require_approval: model.inference
`, `
{"action":"a"} => DENIED PROVENANCE_REQUIRED custom.require_shim
shim {"action":"a"} => ALLOWED
shim {"action":"model.inference"} => PENDING APPROVAL_REQUIRED execution_limits.require_approval
`},
}
