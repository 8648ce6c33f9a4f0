package codes

import (
	"bailiff/compiler/example"
	"bailiff/grammar"
)

// The codes of the warnings.
var (
	SpendOfHooks = define("N2001", grammar.CodeInfo{Title: "a budget in USD that hooks cannot meet",
		Explanation: "Hooks of coding agents read from transcripts how many tokens a task has used. Transcripts name no prices, so a hook sends no `estimated_spend_usd`, and a budget in USD denies its calls with `SVC_MODEL_USAGE_UNAVAILABLE`, unless another client has reported the spending of the same task. Limit tokens for such agents. Where clients do report their spending, ignore this warning.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash\n## execution_limits\nmax_model_spend_usd_per_task: 5\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash\n## execution_limits\nmax_model_tokens_per_task: 1000000\n"})

	PassesTools = define("W2001", grammar.CodeInfo{Title: "a policy that passes every tool",
		Explanation: "Without `## evm`, `## tool_calls`, `## mcp` or a profile nothing has to be granted: every tool intent passes unless a rule denies it. List the allowed tools in `tool_calls.allowed`.",
		Wrong:       example.Custom("deny_string: secret"),
		Right:       example.Custom("deny_string: secret\n## tool_calls\nallowed: bash")})

	NoNativeMaximum = define("W2002", grammar.CodeInfo{Title: "no max_transaction_eth",
		Explanation: "Without it every native amount above zero is denied.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n",
		Right:       example.EVM("")})

	TokenUnpinned = define("W2003", grammar.CodeInfo{Title: "a token rule without addresses",
		Explanation: "A symbol does not name a contract: the sender of the intent chooses which one is called, among all that no other rule pins. Intents under such a rule can't be submitted through the gateway.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	HoldImplied = define("W2004", grammar.CodeInfo{Title: "a threshold without consensus_require_hold",
		Explanation: "The threshold holds intents, as if `consensus_require_hold: true` were there. Say so, or say `false`, which only notes it.",
		Wrong:       example.EVM("consensus_threshold_eth: 0.5"),
		Right:       example.EVM("consensus_threshold_eth: 0.5\nconsensus_require_hold: true")})

	HoldUseless = define("W2005", grammar.CodeInfo{Title: "consensus_require_hold without a threshold",
		Explanation: "There is no threshold for it to apply to, so it does nothing.",
		Wrong:       example.EVM("consensus_require_hold: true"),
		Right:       example.EVM("consensus_threshold_eth: 0.5\nconsensus_require_hold: true")})

	ChainUnknown = define("W2006", grammar.CodeInfo{Title: "a chain that is not supported",
		Explanation: "No request can name this chain, so the entry does nothing. The chains are 1, 10, 56, 137, 999, 8453 and 42161.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1, 5\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n",
		Right:       example.EVM("")})

	ChainActionsUnused = define("W2007", grammar.CodeInfo{Title: "chain_actions for a chain that is not allowed",
		Explanation: "The chain is not in `allowed_chains`, so every intent for it is denied and the line does nothing.",
		Wrong:       example.EVM("chain_actions:\n  \"8453\": contract.call"),
		Right:       example.EVM("chain_actions:\n  \"1\": contract.call")})

	RepeatedItem = define("W2008", grammar.CodeInfo{Title: "a repeated item",
		Explanation: "The list has the item already.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash, bash\n",
		Right:       example.Tools("")})

	ThresholdUnreached = define("W2009", grammar.CodeInfo{Title: "a threshold above the maximum",
		Explanation: "The maximum denies every amount that reaches the threshold, so nothing is ever held.",
		Wrong:       example.EVM("consensus_threshold_eth: 2\nconsensus_require_hold: true"),
		Right:       example.EVM("consensus_threshold_eth: 0.5\nconsensus_require_hold: true")})

	EmptySection = define("W2010", grammar.CodeInfo{Title: "an empty section",
		Explanation: "The section has no entries, and does nothing.",
		Wrong:       example.Tools("## custom"),
		Right:       example.Tools("## custom\ndeny_string: secret")})

	ListUnused = define("W2011", grammar.CodeInfo{Title: "an entry for a tool that is not allowed",
		Explanation: "Nothing grants the tool, so it is denied already; or the rule to which the entry is an exception is missing.",
		Wrong:       example.Tools("file_write.blocked_paths: /etc"),
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash, file_write\nfile_write.blocked_paths: /etc\n"})

	GrantsOtherKind = define("W2012", grammar.CodeInfo{Title: "an entry that grants nothing",
		Explanation: "The action is of another kind (EVM, MCP, model), which `tool_calls.allowed` does not grant.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash, mcp.files.read\n",
		Right:       example.Tools("## mcp\nallowed_tools: files.read")})

	ChainWithoutActions = define("W2013", grammar.CodeInfo{Title: "an allowed chain without actions",
		Explanation: "There is no `allowed_actions`, and `chain_actions` has no line for this chain, so every intent for it is denied.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1, 8453\nmax_transaction_eth: 1\nchain_actions:\n  \"1\": wallet.transfer\n",
		Right:       "version: 2.0.0\n## evm\nallowed_chains: 1, 8453\nmax_transaction_eth: 1\nchain_actions:\n  \"1\": wallet.transfer\n  \"8453\": wallet.transfer\n"})

	CurlyQuotes = define("W2014", grammar.CodeInfo{Title: "curly quotes", Fix: grammar.FixGuess,
		Explanation: "Only plain quotes, single or double, protect a text. Curly ones, which word processors put in their place, are part of it, so that the rule looks for a text that begins or ends with them. Where they are meant, put plain quotes around the whole.",
		Wrong:       example.Custom("deny_string: “secret”"),
		Right:       example.Custom("deny_string: \"secret\"")})

	CommaInText = define("W2015", grammar.CodeInfo{Title: "a comma in a value that is not a list",
		Explanation: "The value of `deny_if` and `deny_string` is the rest of the line, one text with its commas and quotes. Write one line for each value. Where one text with a comma is meant, put it between quotes.",
		Wrong:       example.Custom("deny_if.metadata.environment equals production, staging"),
		Right:       example.Custom("deny_if.metadata.environment equals production\ndeny_if.metadata.environment equals staging")})

	LiteralStar = define("W2016", grammar.CodeInfo{Title: "a star that matches only itself",
		Explanation: "In the values of custom rules and in blocked commands `*` is a character like any other, so that `curl*` is found in no command. `equals` and `not_equals` compare whole texts; `starts_with`, `ends_with`, `contains` and `matches` compare parts, and a blocked command is sought anywhere. Where the star is meant, put the value between quotes.",
		Wrong:       example.Custom("deny_if.metadata.environment equals prod*"),
		Right:       example.Custom("deny_if.metadata.environment starts_with prod")})

	NumberForm = define("W2017", grammar.CodeInfo{Title: "a number that is not in its shortest form", Fix: grammar.FixGuess,
		Explanation: "Numbers of a request are compared in their shortest form (RFC 8785): `1`, never `1.0` or `1e0`. So this value matches only a text, never a number. Write the number in its shortest form; if the text is meant, put it between quotes.",
		Wrong:       example.Custom("deny_if.metadata.level equals 1.0"),
		Right:       example.Custom("deny_if.metadata.level equals 1")})

	NearAction = define("W2018", grammar.CodeInfo{Title: "an action that is nearly a known one", Fix: grammar.FixGuess,
		Explanation: "Lists that grant are exact. The entry is allowed, and grants an action of just that name, not the known one.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: webfetch\n",
		Right:       example.Tools("")})

	LimitUnused = define("W2019", grammar.CodeInfo{Title: "a limit on an action that is not granted",
		Explanation: "The limit counts intents that passed every other rule. This policy grants none of them, so there is nothing to count.",
		Wrong:       example.EVM("## execution_limits\nmax_tool_calls_per_hour: 10"),
		Right:       example.EVM("## tool_calls\nallowed: bash\n## execution_limits\nmax_tool_calls_per_hour: 10")})

	CaseRepeated = define("W2020", grammar.CodeInfo{Title: "an item in two spellings",
		Explanation: "The list is compared in a normal form, in which it has the item already.",
		Wrong:       example.Tools("require_approval: bash, Bash"),
		Right:       example.Tools("require_approval: bash")})

	Covered = define("W2021", grammar.CodeInfo{Title: "a rule that another one covers",
		Explanation: "Whatever this line or entry denies, another one denies too. It does nothing, and misleads those who later change the other.",
		Wrong:       example.Tools("bash.blocked_commands: rm, rm -rf"),
		Right:       example.Tools("bash.blocked_commands: rm")})

	DeadValue = define("W2022", grammar.CodeInfo{Title: "an allowed value that is denied",
		Explanation: "A denial comes before every allowance, so this value is never allowed.",
		Wrong:       example.Custom("deny_if.metadata.team equals red\nallow_only.metadata.team: red, blue"),
		Right:       example.Custom("allow_only.metadata.team: blue")})

	BlockedOnly = define("W2023", grammar.CodeInfo{Title: "blocked_tools that grants nothing",
		Explanation: "`blocked_tools` only narrows what `allowed_servers` and `allowed_tools` grant. Without them every MCP intent is denied.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash\n## mcp\nblocked_tools: files.delete\n",
		Right:       example.MCP("blocked_tools: files.delete")})

	CapUnused = define("W2024", grammar.CodeInfo{Title: "a cap on an action that is never granted",
		Explanation: "The cap counts intents that passed every other rule, and none of these can.",
		Wrong:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: deploy"),
		Right:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash")})

	SymbolDecimals = define("W2025", grammar.CodeInfo{Title: "decimals that contradict the symbol",
		Explanation: "The well-known token of this name has other decimals. If this is that token, every amount is wrong by powers of ten.",
		Wrong:       example.EVM("token.USDC.decimals: 18\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	NeverMatches = define("W2026", grammar.CodeInfo{Title: "a text that no value has", Fix: grammar.FixGuess,
		Explanation: "The decoder of requests refuses such a value of this field, or gives it another form before any rule sees it.",
		Wrong:       example.Custom("deny_if.chainId equals 01"),
		Right:       example.Custom("deny_if.chainId equals 1")})

	GrantsEverything = define("W2027", grammar.CodeInfo{Title: "a grant of everything",
		Explanation: "The pattern covers every tool of every server.",
		Wrong:       "version: 2.0.0\n## mcp\nallowed_tools: *\n",
		Right:       example.MCP("")})

	PlainPattern = define("W2028", grammar.CodeInfo{Title: "a pattern that is a plain text",
		Explanation: "`matches` reads RE2. For a plain text there are `equals`, `contains`, `starts_with` and `ends_with`, which can't be misread.",
		Wrong:       example.Custom("deny_if.metadata.branch matches ^release"),
		Right:       example.Custom("deny_if.metadata.branch starts_with release")})

	ApprovalUnused = define("W2029", grammar.CodeInfo{Title: "an approval of an action that is never granted",
		Explanation: "The entry covers no intent of the section that could pass, so it holds nothing.",
		Wrong:       example.Tools("require_approval: deploy"),
		Right:       example.Tools("require_approval: bash")})

	MethodUnused = define("W2030", grammar.CodeInfo{Title: "two rules about a method",
		Explanation: "Another rule has denied the method already, so this one does nothing for it.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET, POST\nhttp.blocked_methods: POST\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET\n"})

	Informational = define("W2031", grammar.CodeInfo{Title: "soft limits that only inform",
		Explanation: "Versions 1.x have soft limits for information. From version 2.0 on they are enforced.",
		Wrong:       "version: 1.0.0\n## tool_calls\nallowed: bash\n## soft_limits\ndaily_tool_calls: 100\n",
		Right:       example.SoftLimits("daily_tool_calls: 100")})

	ResponseUnused = define("W2032", grammar.CodeInfo{Title: "a key about results that does nothing",
		Explanation: "The policy lacks what the key is about.",
		Wrong:       "version: 2.2.0\n## mcp\nallowed_tools: api.call\nresponse.block_classes: secret\n",
		Right:       example.Response("response.block_classes: secret")})

	ResponseTwice = define("W2033", grammar.CodeInfo{Title: "a class in two lists",
		Explanation: "A finding is blocked, redacted or observed, and a client can't do two of these.",
		Wrong:       example.Response("response.block_classes: secret\nresponse.redact_classes: secret"),
		Right:       example.Response("response.block_classes: secret")})

	ActionPrefix = define("W2034", grammar.CodeInfo{Title: "a tool pattern that begins like an action", Fix: grammar.FixGuess,
		Explanation: "Patterns are compared with `<server>.<tool>` and `<tool>`, and not with the whole action `mcp.<server>.<tool>`.",
		Wrong:       "version: 2.0.0\n## mcp\nallowed_servers: files\nblocked_tools: mcp.files.delete\n",
		Right:       example.MCP("blocked_tools: files.delete")})

	EnrichmentUnpinned = define("W2035", grammar.CodeInfo{Title: "enrichment without a pinned token",
		Explanation: "A shim names the token by its address. Where no rule pins one, every call that it tells of is denied.",
		Wrong:       "version: 2.1.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\nmax_transaction_eth: 1\nrequire_calldata_enrichment: true\n",
		Right:       "version: 2.1.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\nmax_transaction_eth: 1\nrequire_calldata_enrichment: true\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\n"})

	ListBrackets = define("W2036", grammar.CodeInfo{Title: "a list in brackets", Fix: grammar.FixGuess,
		Explanation: "Write items on one line, separated by commas. Brackets become part of the first and the last item, so that these match nothing in a request.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: [bash, http]\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash, http\n"})

	AllowedDead = define("W2037", grammar.CodeInfo{Title: "an allowed entry that is blocked",
		Explanation: "A block list covers all that this entry allows, and blocking wins, so the entry does nothing.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_hosts: api.example.com, example.org\nweb_fetch.blocked_domains: example.com\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_hosts: example.org\nweb_fetch.blocked_domains: example.com\n"})

	FetchHasNoMethod = define("W2038", grammar.CodeInfo{Title: "allowed methods that deny every web_fetch",
		Explanation: "A `web_fetch` has no method, so no list of methods allows it. In a policy with `http.allowed_methods`, grant `http` alone, or block the methods that are not meant.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: http, web_fetch\nhttp.allowed_methods: GET\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET\n"})

	NotDivided = define("W2040", grammar.CodeInfo{Title: "a list that is not divided by commas", Fix: grammar.FixGuess,
		Explanation: "Lists split on commas alone. White space, a semicolon or a bar makes one long name, which no request has.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash; http\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash, http\n"})

	LiteralWildcard = define("W2041", grammar.CodeInfo{Title: "a character that is not a wildcard here",
		Explanation: "Patterns of tools and actions have one wildcard, `*`. Question marks, brackets and braces match only themselves, so the pattern does not cover the intended names.",
		Wrong:       example.MCP("blocked_tools: files.delete_?"),
		Right:       example.MCP("blocked_tools: files.delete_*")})

	ServerNotAllowed = define("W2042", grammar.CodeInfo{Title: "an allowed tool of a server that is not allowed",
		Explanation: "If a policy has both `allowed_servers` and `allowed_tools`, both have to allow a tool.",
		Wrong:       example.MCP("allowed_tools: files.read, search.query"),
		Right:       "version: 2.0.0\n## mcp\nallowed_servers: files, search\nallowed_tools: files.read, search.query\n"})

	Wei = define("W2043", grammar.CodeInfo{Title: "a native amount in wei",
		Explanation: "Native amounts of a policy are in ETH, or the chain's own currency. This amount is above the total supply, so the limit never applies. It is probably in wei: divide it by 10^18.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 500000000000000000\n",
		Right:       "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 0.5\n"})

	SignBehindColon = define("W2044", grammar.CodeInfo{Title: "a sign directly after the colon",
		Explanation: "One colon separates a key from its value. The second sign of `:=` or `::` becomes part of the value, so the value blocks or grants nothing.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash\nbash.blocked_commands:= rm -rf\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash\nbash.blocked_commands: rm -rf\n"})

	PinOnAllChains = define("W2045", grammar.CodeInfo{Title: "an address that is pinned on several chains",
		Explanation: "An address without a chain is pinned on every chain that the policy allows, and on another chain it may be another contract, or one that does not exist yet. From version 2.4 on `8453:0x…` pins it on one.",
		Wrong:       "version: 2.4.0\n## evm\nallowed_chains: 1, 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\n",
		Right:       "version: 2.4.0\n## evm\nallowed_chains: 1, 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48, 8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913\n"})

	PinUnused = define("W2046", grammar.CodeInfo{Title: "an address on a chain that is not allowed",
		Explanation: "The chain is not in `allowed_chains`, so no intent for it passes and the address does nothing.",
		Wrong:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	MethodsUnused = define("W2047", grammar.CodeInfo{Title: "methods of a token that do nothing",
		Explanation: "Methods that move an amount or let others move one are judged by the token's rule, named or not. And a rule that pins no address is about no contract, so no call is judged by it.",
		Wrong:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\ntoken.USDC.methods: 0xa9059cbb"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\ntoken.USDC.methods: 0x5c975abb")})

	AccountCalls = define("W2048", grammar.CodeInfo{Title: "calls that run other calls are allowed",
		Explanation: "A call of `execute`, `executeBatch`, `execTransaction` or `handleOps` can run any number of further calls, with amounts that no maximum, sum or token rule sees. Limit whose accounts may be called: `allow_only.targetAddress`.",
		Wrong:       example.Fees("account_calls: allow"),
		Right:       example.Fees("account_calls: deny")})

	OpenCalls = define("W2049", grammar.CodeInfo{Title: "calls of any contract",
		Explanation: "The action may call every contract that no token rule pins, with any data. Among them are Permit2 and routers, which move tokens that were approved before, and Multicall3, which runs further calls; no maximum sees what they move. Name the contracts that are meant: `allow_only[action=contract.call].targetAddress` in `## custom`.",
		Wrong:       "version: 2.4.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\n",
		Right:       "version: 2.4.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\n## custom\nallow_only[action=contract.call].targetAddress: 0x4200000000000000000000000000000000000006\n"})

	FeesUnlimited = define("W2050", grammar.CodeInfo{Title: "native amounts are limited and fees are not",
		Explanation: "Gas is paid in the same currency, and an agent that sets its price can spend the whole balance on it: a transaction of 0 ETH may cost more than the maximum. `max_fee_eth` (version 2.4) has intents declare the most that gas may cost; without it only the gateway's own limit holds, `SVC_MAX_FEE_<chainId>`.",
		Wrong:       example.EVM(""),
		Right:       example.Fees("")})

	NoRealMaximum = define("W2051", grammar.CodeInfo{Title: "a token maximum that limits nothing",
		Explanation: "No token has so many units, so that every amount passes: unlimited approvals, too. Write the most that one intent is meant to move.",
		Wrong:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 1000000000000000000000000000000000000000\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	TokenBase = define("W2052", grammar.CodeInfo{Title: "a token amount that looks like base units",
		Explanation: "Amounts of a policy are in the token's own unit: `250` is 250 USDC. This one ends in as many zeros as the token has decimals, as when somebody writes it in base units.",
		Wrong:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250000000\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	CommandWords = define("W2053", grammar.CodeInfo{Title: "several commands in one item", Fix: grammar.FixGuess,
		Explanation: "Lists split on commas alone. Three or more words that are all names of commands make one item, which is sought as a whole: it blocks none of the commands.",
		Wrong:       example.Tools("bash.blocked_commands: rm sudo shutdown"),
		Right:       example.Tools("bash.blocked_commands: rm, sudo, shutdown")})

	TextMarks = define("W2054", grammar.CodeInfo{Title: "a list in place of one text",
		Explanation: "The value of `deny_string` is one text, searched for as written: `;` and `|` do not divide it, and brackets and backquotes are part of it. Write one line for each text. Where one text is meant, put it between quotes.",
		Wrong:       example.Custom("deny_string: BEGIN PRIVATE KEY; AKIA"),
		Right:       example.Custom("deny_string: BEGIN PRIVATE KEY\ndeny_string: AKIA")})

	FlagOrder = define("W2055", grammar.CodeInfo{Title: "flags in one order only", Fix: grammar.FixGuess,
		Explanation: "A blocked command is searched for as written. `rm -rf` is not found in `rm -fr`, which does the same, and neither of them is found in `rm -r -f`. List the other order too, or block the command by its name.",
		Wrong:       example.Tools("bash.blocked_commands: rm -rf"),
		Right:       example.Tools("bash.blocked_commands: rm -rf, rm -fr")})

	ResponseElsewhere = define("W2060", grammar.CodeInfo{Title: "rules about results, which a client enforces",
		Explanation: "The service judges what an agent asks to do, and never sees what a tool answers. `response.…` keys tell a client, such as `bailiff mcp-proxy`, how to inspect results: without such a client they do nothing.",
		Wrong:       example.Response("response.block_classes: secret"),
		Right:       "version: 2.3.0\n## mcp\nallowed_tools: api.call\n"})

	NegatedItem = define("W2061", grammar.CodeInfo{Title: "an item that begins as an exception",
		Explanation: "Other formats write exceptions as `!item` or `not item`. A policy has none: the `!` or the word is part of the text, so the item matches nothing, and the other items still cover what it was meant to exclude. A list that blocks denies whatever another list allows; put exceptions from a list that allows there. If the characters are meant, put the item between quotes.",
		Wrong:       example.Tools("file_write.blocked_paths: /srv, !/srv/public"),
		Right:       example.Tools("file_write.blocked_paths: /srv/private, /srv/keys")})

	ContentsUnseen = define("W2062", grammar.CodeInfo{Title: "a text that is not sought in files",
		Explanation: "`deny_string` reads the request, and a request to write a file says which file, not what will be in it: hooks send its size and its hash, and its contents only where `--send-content` is set. A text such as the head of a private key is found in commands, URLs and arguments, and not in files that are written. Where that is meant, or clients send contents, put the text between quotes.",
		Wrong:       "version: 2.4.0\n## tool_calls\nallowed: file_write\n## custom\ndeny_string: BEGIN PRIVATE KEY\n",
		Right:       "version: 2.4.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: .ssh, *.pem\n"})

	RunsOthers = define("W2063", grammar.CodeInfo{Title: "an allowed command that runs others",
		Explanation: "The program runs what its arguments, its files or its settings name, so that an entry with its name alone lets nearly every command through: `git` by aliases and `-c`, `find` by `-exec` and `-delete`, `tar` by `--to-command`, `awk`, `sed` and interpreters by their programs. List the first words of the intended command (`git status`), or allow a script that the agent cannot write.",
		Wrong:       "version: 2.4.0\n## tool_calls\nallowed: bash\nbash.allowed_commands: ls, git\n",
		Right:       "version: 2.4.0\n## tool_calls\nallowed: bash\nbash.allowed_commands: ls, git status\n"})

	AmountPart = define("W2070", grammar.CodeInfo{Title: "a part of an amount",
		Explanation: "An amount is compared as the shortest decimal in human units: `0.20`, and 200000 base units of a token with six decimals, are `0.2`. A rule that compares a part of that text, or matches it with a pattern, says little about the amount: other amounts pass it. To limit amounts, use `max_transaction_eth`, `max_fee_eth` or `token.<SYMBOL>.max_transaction`.",
		Wrong:       example.Custom("deny_if.amount starts_with 9"),
		Right:       example.Custom("deny_if.amount equals 9")})
)
