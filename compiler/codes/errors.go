package codes

import (
	"strings"

	"bailiff/compiler/example"
	"bailiff/grammar"
)

// The codes of the errors.
var (
	UnknownKey = define("E2001", grammar.CodeInfo{AnyLine: true, Title: "an unknown key", Fix: grammar.FixSafe,
		Explanation: "The section has no such key. A rule under an unknown key would never be enforced.",
		Wrong:       example.Tools("allow: bash"),
		Right:       example.Tools("")})

	KeyVersion = define("E2002", grammar.CodeInfo{AnyLine: true, Title: "a key of a later version",
		Explanation: "The policy's version does not have this key. Raise the version line to the one that the message names, and sign again.",
		Wrong:       "version: 1.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET\n"})

	KeyUnsupported = define("E2003", grammar.CodeInfo{AnyLine: true, Title: "a key that is not supported yet",
		Explanation: "The format sets the key aside, and no version of bailiff enforces it yet. It is refused rather than ignored.",
		Wrong:       example.SoftLimits("daily_tool_calls: 100\nwindow_days: 7"),
		Right:       example.SoftLimits("daily_tool_calls: 100")})

	KeyForm = define("E2005", grammar.CodeInfo{AnyLine: true, Title: "a scope or word where the key takes none",
		Explanation: "Only `allow_only` takes a scope `[action=pattern]`, and only `allow_only` and `deny_if` take words such as an operator.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed[action=bash]: bash\n",
		Right:       example.Tools("")})

	ValueForm = define("E2006", grammar.CodeInfo{AnyLine: true, Title: "a block in place of a value, or the reverse",
		Explanation: "`chain_actions` is alone on its line, with indented lines below it. Every other key has its value on its own line.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\nchain_actions: wallet.transfer\n",
		Right:       "version: 2.0.0\n## evm\nallowed_chains: 1\nchain_actions:\n  \"1\": wallet.transfer\n"})

	SectionVersion = define("E2007", grammar.CodeInfo{AnyLine: true, Title: "a section of a later version",
		Explanation: "The policy's version does not have this section. Raise the version line to the one that the message names, and sign again.",
		Wrong:       "version: 1.0.0\n## mcp\nallowed_servers: files\n",
		Right:       "version: 2.0.0\n## mcp\nallowed_servers: files\n"})

	OnlyShimFalse = define("E2008", grammar.CodeInfo{AnyLine: true, Title: "a section that does nothing",
		Explanation: "`require_shim: false` is the default, and the section says nothing else.",
		Wrong:       example.Custom("deny_string: secret\n## execution_limits\nrequire_shim: false"),
		Right:       example.Custom("deny_string: secret\n## execution_limits\nrequire_shim: true")})

	Word = define("E2009", grammar.CodeInfo{Title: "a word that the key does not know", Fix: grammar.FixGuess,
		Explanation: "The value, or each item of the list, is one of a few words, which the reference lists. They are exact, upper and lower case included.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: get\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_methods: GET\n"})

	Boolean = define("E2010", grammar.CodeInfo{Title: "not a boolean", Fix: grammar.FixGuess,
		Explanation: "The value is `true` or `false`, in upper or lower case of ASCII.",
		Wrong:       example.EVM("consensus_threshold_eth: 0.5\nconsensus_require_hold: yes"),
		Right:       example.EVM("consensus_threshold_eth: 0.5\nconsensus_require_hold: true")})

	Decimal = define("E2011", grammar.CodeInfo{Title: "not a decimal", Fix: grammar.FixGuess,
		Explanation: "A decimal is digits, or digits, a point and digits, without sign, exponent, separator or unit. It must fit into 256 bits of base units.",
		Wrong:       example.EVM("consensus_threshold_eth: 0,5"),
		Right:       example.EVM("consensus_threshold_eth: 0.5")})

	NotPositive = define("E2012", grammar.CodeInfo{Title: "a limit that is not above zero",
		Explanation: "A limit of zero would deny everything. To deny everything, leave out what grants it.",
		Wrong:       example.EVM("consensus_threshold_eth: 0"),
		Right:       example.EVM("consensus_threshold_eth: 0.5")})

	Fraction = define("E2013", grammar.CodeInfo{Title: "too many digits after the point",
		Explanation: "ETH has 18 decimals, and a token has as many as its `decimals` says. An amount with more digits does not exist.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 0.0000001"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 0.000001")})

	Integer = define("E2014", grammar.CodeInfo{Title: "not an integer in range", Fix: grammar.FixGuess,
		Explanation: "The value is a plain integer: `decimals` from 0 to 36, a count from 1 to 9007199254740991.",
		Wrong:       example.Tools("## execution_limits\nmax_tool_calls_per_hour: 1,000"),
		Right:       example.Tools("## execution_limits\nmax_tool_calls_per_hour: 1000")})

	BooleanLetters = define("E2015", grammar.CodeInfo{Title: "a boolean in letters of another alphabet", Fix: grammar.FixGuess,
		Explanation: "Only the case of ASCII letters is ignored. A letter of another alphabet is a different letter, even if its upper or lower case is in ASCII.",
		Wrong:       example.Tools("require_shim: fal\u017fe"),
		Right:       example.Tools("require_shim: false")})

	Action = define("E2020", grammar.CodeInfo{Title: "a malformed action",
		Explanation: "An action is 1 to 128 characters of printable ASCII.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: bash, déployer\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: bash, deploy\n"})

	ActionWildcard = define("E2021", grammar.CodeInfo{Title: "a wildcard in a list of actions",
		Explanation: "Lists that grant are exact. Write every action out.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: deploy.*\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: deploy.staging, deploy.production\n"})

	ActionKind = define("E2022", grammar.CodeInfo{Title: "an action of another kind in an EVM list",
		Explanation: "An action in an EVM list is judged as an EVM intent. MCP and model actions, the tools `bash`, `file_write`, `web_fetch`, `http` and `email.send`, and the actions in `tool_calls.allowed` have rules of their own.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer, bash\n",
		Right:       "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n## tool_calls\nallowed: bash\n"})

	ChainID = define("E2024", grammar.CodeInfo{Title: "a malformed chain id", Fix: grammar.FixGuess,
		Explanation: "A chain id is a positive integer, such as 8453.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: mainnet\nallowed_actions: wallet.transfer\n",
		Right:       example.EVM("")})

	SecondChain = define("E2025", grammar.CodeInfo{Title: "a chain that is repeated in chain_actions",
		Explanation: "Each chain has one line in the block, so that its actions are seen together.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\nchain_actions:\n  \"1\": wallet.transfer\n  \"01\": contract.call\n",
		Right:       "version: 2.0.0\n## evm\nallowed_chains: 1\nchain_actions:\n  \"1\": wallet.transfer, contract.call\n"})

	Symbol = define("E2030", grammar.CodeInfo{Title: "a malformed token symbol",
		Explanation: "A symbol is 1 to 64 characters of ASCII and does not begin with `0x`. A token that is given by its address is found by the rule that pins the address.",
		Wrong:       example.EVM("token.0xUSD.decimals: 6\ntoken.0xUSD.max_transaction: 1"),
		Right:       example.EVM("token.USD.decimals: 6\ntoken.USD.max_transaction: 1")})

	SymbolCase = define("E2031", grammar.CodeInfo{Title: "token symbols that differ only in case", Fix: grammar.FixSafe,
		Explanation: "Symbols are compared without regard to case, so the two name one token. Use one spelling.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.usdc.max_transaction: 1"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 1")})

	TokenIncomplete = define("E2032", grammar.CodeInfo{Title: "an incomplete token rule",
		Explanation: "A token rule needs `decimals` and `max_transaction`: without them no amount can be judged.",
		Wrong:       example.EVM("token.USDC.max_transaction: 1"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 1")})

	Address = define("E2033", grammar.CodeInfo{Title: "a malformed address",
		Explanation: "An address is `0x` and 40 hexadecimal digits.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b8"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	Checksum = define("E2034", grammar.CodeInfo{Title: "a wrong checksum in an address",
		Explanation: "The address is of mixed case, and its EIP-55 checksum is wrong: the sign of a mistyped or doctored address. Compare it with its source. An address in lower case has no checksum and is taken as it is.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0B86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")})

	PinnedTwice = define("E2035", grammar.CodeInfo{Title: "an address that two token rules pin",
		Explanation: "A contract has one `decimals` and one `max_transaction`, so only one rule can pin it.",
		Wrong:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\ntoken.EURC.decimals: 6\ntoken.EURC.max_transaction: 250\ntoken.EURC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
		Right:       example.EVM("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")})

	SelectorUnused = define("E2036", grammar.CodeInfo{Title: "calldata_unknown_selector without enrichment",
		Explanation: "A shim reports which method is called only with `require_calldata_enrichment: true`.",
		Wrong:       "version: 2.1.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\ncalldata_unknown_selector: allow\n",
		Right:       "version: 2.1.0\n## evm\nallowed_chains: 1\nallowed_actions: contract.call\nrequire_calldata_enrichment: true\ncalldata_unknown_selector: allow\n"})

	Method = define("E2037", grammar.CodeInfo{Title: "a malformed method of a token",
		Explanation: "`token.<SYM>.methods` names methods by their selector, `0x` and eight hexadecimal digits, or by their signature as Solidity hashes it: the name and the types of the arguments, without spaces. Put a signature with a comma between quotes, because commas separate the items of the list.",
		Wrong:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\ntoken.USDC.methods: cancelAuthorization(address,bytes32)"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\ntoken.USDC.methods: \"cancelAuthorization(address,bytes32)\"")})

	TokenUnknown = define("E2038", grammar.CodeInfo{Title: "a daily limit of a token without a rule",
		Explanation: "`daily_token.<SYM>` adds up what a token's rule judges, in the rule's decimals. `## evm` has to have that rule.",
		Wrong:       example.Fees("## soft_limits\ndaily_token.USDC: 1000"),
		Right:       example.Fees("token.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\n## soft_limits\ndaily_token.USDC: 1000")})

	EVMGrantsNothing = define("E2040", grammar.CodeInfo{Title: "an evm section that grants nothing",
		Explanation: "`## evm` needs `allowed_chains`, and `allowed_actions` or `chain_actions`: only lists grant. To deny all EVM intents, leave the section out.",
		Wrong:       "version: 2.0.0\n## evm\nallowed_chains: 1\n",
		Right:       example.EVM("")})

	ToolsGrantNothing = define("E2041", grammar.CodeInfo{Title: "a tool_calls section without allowed",
		Explanation: "`## tool_calls` needs `allowed`: only lists grant. Block lists narrow what it grants.",
		Wrong:       "version: 2.0.0\n## tool_calls\nbash.blocked_commands: sudo\n",
		Right:       example.Tools("bash.blocked_commands: sudo")})

	EnforcesNothing = define("E2042", grammar.CodeInfo{Title: "a policy without what one must have",
		Explanation: "A policy of version 1.x needs an EVM grant, an allowed tool, a custom rule or a model budget; one of version 2.x may also consist of an MCP grant, a profile, an enforced soft limit, an execution limit, or of `require_approval` or `require_shim: true` in `## custom`, `## soft_limits` or `## execution_limits`.",
		Wrong:       "version: 1.0.0\n## execution_limits\nmax_tool_calls_per_hour: 10\n",
		Right:       "version: 2.0.0\n## execution_limits\nmax_tool_calls_per_hour: 10\n"})

	MCPGrantsNothing = define("E2043", grammar.CodeInfo{Title: "an mcp section without a list",
		Explanation: "`## mcp` needs `allowed_servers`, `allowed_tools` or `blocked_tools`. To deny all MCP intents, leave the section out.",
		Wrong:       "version: 2.0.0\n## mcp\nrequire_approval: files.*\n",
		Right:       example.MCP("require_approval: files.*")})

	AllowedBlocked = define("E2044", grammar.CodeInfo{Title: "an allowed tool that is blocked",
		Explanation: "A pattern of `blocked_tools` covers the whole entry of `allowed_tools`. Blocking comes first, so the entry grants nothing, and it is unclear which of the two is meant.",
		Wrong:       "version: 2.0.0\n## mcp\nallowed_tools: files.read, files.delete\nblocked_tools: files.del*\n",
		Right:       "version: 2.0.0\n## mcp\nallowed_tools: files.*\nblocked_tools: files.del*\n"})

	Server = define("E2045", grammar.CodeInfo{Title: "a malformed name of an MCP server",
		Explanation: "A server is the part between the dots of `mcp.<server>.<tool>`: printable ASCII without dots, exact.",
		Wrong:       "version: 2.0.0\n## mcp\nallowed_servers: files.*\n",
		Right:       example.MCP("")})

	ToolPattern = define("E2046", grammar.CodeInfo{Title: "a malformed pattern of MCP tools",
		Explanation: "A pattern is `<server>.<tool>`, or `<tool>` for every server, of 1 to 128 characters of printable ASCII and at most 16 stars.",
		Wrong:       "version: 2.0.0\n## mcp\nallowed_tools: files.größe\n",
		Right:       "version: 2.0.0\n## mcp\nallowed_tools: files.size\n"})

	ClientName = define("E2047", grammar.CodeInfo{Title: "a tool by the name that clients have for it", Fix: grammar.FixGuess,
		Explanation: "Clients name the tools of MCP servers `mcp__server__tool`. Patterns are compared with `<server>.<tool>` and `<tool>`, so this one blocks or holds nothing.",
		Wrong:       example.MCP("blocked_tools: mcp__files__delete"),
		Right:       example.MCP("blocked_tools: files.delete")})

	BlockedCommand = define("E2050", grammar.CodeInfo{Title: "a malformed blocked command",
		Explanation: "A blocked command is text to search for in commands: at most 8 KiB, not only white space, and without NUL.",
		Wrong:       example.Tools("bash.blocked_commands: \" \""),
		Right:       example.Tools("bash.blocked_commands: sudo")})

	BlockedDomain = define("E2051", grammar.CodeInfo{Title: "a malformed blocked domain", Fix: grammar.FixGuess,
		Explanation: "A blocked domain is a host name, which covers its subdomains, or an IP address: no scheme, port, path, range or bare `*`.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: https://example.com/\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: example.com\n"})

	BlockedPath = define("E2052", grammar.CodeInfo{Title: "a malformed blocked path",
		Explanation: "A blocked path is absolute, starts with `~/`, or is a name such as `.env` that is meant anywhere. It covers what lies below it. `*` matches any characters within a segment: `.env*`, `/srv/*.pem`.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: $HOME/.ssh\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: ~/.ssh\n"})

	Recipient = define("E2053", grammar.CodeInfo{Title: "a malformed recipient",
		Explanation: "An entry is a bare address, in which `*` matches any characters but `@`: `*@example.com`.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: email.send\nemail.allowed_recipients: example.com\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: email.send\nemail.allowed_recipients: *@example.com\n"})

	AllowedHost = define("E2054", grammar.CodeInfo{Title: "a malformed allowed host", Fix: grammar.FixGuess,
		Explanation: "An allowed host is a name or an IP address, which matches exactly, or `*.` and a name, which matches every host below that name. Schemes, ports, paths, ranges and a bare `*` are not allowed.",
		Wrong:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_hosts: api.example.com:8443\n",
		Right:       "version: 2.0.0\n## tool_calls\nallowed: http\nhttp.allowed_hosts: api.example.com\n"})

	ListQuoted = define("E2055", grammar.CodeInfo{Title: "quotes around a whole list", Fix: grammar.FixGuess,
		Explanation: "Quotes protect a comma, so that a list between one pair of quotes is one item, which blocks or grants none of those that were meant. Put quotes around single items, or none. It is an error in lists that block or hold, and where the item can't be one.",
		Wrong:       example.Tools("bash.blocked_commands: \"rm -rf, sudo\""),
		Right:       example.Tools("bash.blocked_commands: rm -rf, sudo")})

	ListMarks = define("E2056", grammar.CodeInfo{Title: "brackets, backquotes or slashes around items", Fix: grammar.FixGuess,
		Explanation: "Write items bare, separated by commas. Brackets, braces and backquotes around the list or an item, braces with alternatives, slashes around a regular expression, a backslash before `#`, and permission rules of agents' clients (`Bash(rm:*)`) are part of the item, which then blocks nothing that was meant. It is an error in lists that block or hold, and where the item can't be one. Where the characters are meant, put the item between quotes; resource profiles, which take no quotes, can't have such items.",
		Wrong:       example.Tools("bash.blocked_commands: [rm -rf, sudo]"),
		Right:       example.Tools("bash.blocked_commands: rm -rf, sudo")})

	ListSeparator = define("E2057", grammar.CodeInfo{Title: "a list that blocks and is not divided by commas", Fix: grammar.FixGuess,
		Explanation: "Lists split on commas alone. A `;` or `|` between two words, or white space between names or paths, makes one long item, which blocks nothing that was meant. It is an error in lists that block or hold, and where the item can't be one. A blocked command that begins with an operator (`> /dev/sda`) or pipes into a shell (`curl | bash`) is taken literally; any other goes between quotes.",
		Wrong:       example.Tools("bash.blocked_commands: rm -rf; sudo; shutdown"),
		Right:       example.Tools("bash.blocked_commands: rm -rf, sudo, shutdown")})

	Placeholder = define("E2058", grammar.CodeInfo{Title: "a placeholder in place of a value",
		Explanation: "In documents and templates, `<name>`, `$NAME`, `…` and `0x…` are placeholders that the author of a policy replaces. A policy has no placeholders. Write the value itself. If the text is meant, put it between quotes.",
		Wrong:       example.Tools("bash.blocked_commands: <commands>"),
		Right:       example.Tools("bash.blocked_commands: rm -rf, sudo")})

	SlashComment = define("E2059", grammar.CodeInfo{Title: "a comment behind a value", Fix: grammar.FixGuess,
		Explanation: "A value cannot have a comment after it: what follows `//`, or is between `/*` and `*/`, would be part of the value. A comment is a line of its own that begins with `#`. Where the characters are meant, put the value between quotes.",
		Wrong:       example.Tools("bash.blocked_commands: rm -rf // no deletions"),
		Right:       example.Tools("# no deletions\nbash.blocked_commands: rm -rf")})

	PathField = define("E2060", grammar.CodeInfo{Title: "a path that begins with no field of a request", Fix: grammar.FixGuess,
		Explanation: "The path of a custom rule begins with a field of the intent. Data of your own is below `metadata`.",
		Wrong:       example.Custom("deny_if.environment equals production"),
		Right:       example.Custom("deny_if.metadata.environment equals production")})

	PathObject = define("E2061", grammar.CodeInfo{Title: "a path that can hold no text",
		Explanation: "Custom rules compare texts. `metadata` and `arguments` are objects, whose members have to be named, and no other field has members.",
		Wrong:       example.Custom("deny_if.metadata equals production"),
		Right:       example.Custom("deny_if.metadata.environment equals production")})

	Operator = define("E2062", grammar.CodeInfo{Title: "an unknown operator", Fix: grammar.FixGuess,
		Explanation: "The operators are equals, contains, starts_with (also called prefix), ends_with and matches; deny_if also has not_equals, and needs an operator. `attested` goes with allow_only, before the operator.",
		Wrong:       example.Custom("deny_if.metadata.environment is production"),
		Right:       example.Custom("deny_if.metadata.environment equals production")})

	MixedOperators = define("E2063", grammar.CodeInfo{Title: "allow_only lines that do not go together",
		Explanation: "Lines for the same path and scope add up to one list, so they have the same operator, and all or none of them say `attested`.",
		Wrong:       example.Custom("allow_only.metadata.team: red\nallow_only.metadata.team starts_with: blue"),
		Right:       example.Custom("allow_only.metadata.team: red\nallow_only.metadata.team: blue")})

	AttestedPath = define("E2064", grammar.CodeInfo{Title: "attested outside metadata",
		Explanation: "`attested` is about values that a trusted shim reports, and those are below `metadata`.",
		Wrong:       example.Custom("allow_only.command attested: make test"),
		Right:       example.Custom("allow_only.metadata.branch attested: main")})

	PatternLong = define("E2065", grammar.CodeInfo{Title: "a pattern that is too long",
		Explanation: "A pattern has at most 256 characters.",
		Wrong:       example.Custom("deny_if.metadata.a matches " + strings.Repeat("x?", 256)),
		Right:       example.Custom("deny_if.metadata.a matches (a|b)")})

	PatternSyntax = define("E2066", grammar.CodeInfo{Title: "a pattern that does not compile",
		Explanation: "Patterns are RE2: no back references, no look-around.",
		Wrong:       example.Custom("deny_if.metadata.a matches (prod"),
		Right:       example.Custom("deny_if.metadata.a matches (prod|live)")})

	PatternCostly = define("E2067", grammar.CodeInfo{Title: "a pattern that costs too much",
		Explanation: "RE2 takes time in proportion to the pattern's size when its counted repetitions are written out. Lower the counts, or divide the pattern.",
		Wrong:       example.Custom("deny_if.metadata.a matches (ab?){1000}"),
		Right:       example.Custom("deny_if.metadata.a matches (ab?){10}")})

	PatternCut = define("E2068", grammar.CodeInfo{Title: "a pattern that the comma rule cuts",
		Explanation: "Lists split on commas, inside brackets too, so this pattern becomes several that mean something else. Put it between quotes.",
		Wrong:       example.Custom("allow_only.metadata.a matches: OPS-[0-9]{1,6}"),
		Right:       example.Custom("allow_only.metadata.a matches: \"OPS-[0-9]{1,6}\"")})

	EmptyValue = define("E2069", grammar.CodeInfo{Title: "an empty value",
		Explanation: "Every text contains, starts with and ends with the empty text, so the rule would deny everything. Where the empty text itself is meant, write `matches \"^$\"`.",
		Wrong:       example.Custom("deny_if.metadata.a equals \"\""),
		Right:       example.Custom("deny_if.metadata.a matches \"^$\"")})

	ActionPattern = define("E2070", grammar.CodeInfo{Title: "a malformed action pattern",
		Explanation: "A pattern is an action, or the beginning of actions and one `*` at its end.",
		Wrong:       example.Custom("allow_only[action=*.call].metadata.team: red"),
		Right:       example.Custom("allow_only[action=contract.*].metadata.team: red")})

	TextLong = define("E2071", grammar.CodeInfo{Title: "a text that is too long",
		Explanation: "A path of a custom rule has at most 256 bytes, and one value or list entry at most 4,096.",
		Wrong:       example.Custom("deny_string: " + strings.Repeat("x", 4097)),
		Right:       example.Custom("deny_string: x")})

	FieldPath = define("E2072", grammar.CodeInfo{Title: "a malformed path of a field",
		Explanation: "A path is names with dots between, and begins with a field of the request.",
		Wrong:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash\ncap.deploys.group_by: metadata..team"),
		Right:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash\ncap.deploys.group_by: metadata.team")})

	CapName = define("E2073", grammar.CodeInfo{Title: "a malformed name of a cap",
		Explanation: "A cap's name is up to 64 letters, digits, `_` and `-`, and not that of another limit, nor `__proto__`, `constructor` or `prototype`.",
		Wrong:       example.SoftLimits("cap.constructor.max_count: 3\ncap.constructor.window: day\ncap.constructor.action: bash"),
		Right:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash")})

	CapIncomplete = define("E2074", grammar.CodeInfo{Title: "an incomplete cap",
		Explanation: "A cap needs `window`, `action`, and `max_count` or, with `amount_field`, `max_sum_usd`.",
		Wrong:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.action: bash"),
		Right:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash")})

	CapForm = define("E2075", grammar.CodeInfo{Title: "a cap that both counts and sums",
		Explanation: "A cap either counts (`max_count`) or adds up (`max_sum_usd` with `amount_field`).",
		Wrong:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash\ncap.deploys.max_sum_usd: 5\ncap.deploys.amount_field: metadata.usd"),
		Right:       example.SoftLimits("cap.deploys.max_count: 3\ncap.deploys.window: day\ncap.deploys.action: bash")})

	CapAmount = define("E2076", grammar.CodeInfo{Title: "an amount_field outside of metadata and arguments",
		Explanation: "The fields of a request itself are not in USD. Name a field of your own below `metadata` or `arguments`.",
		Wrong:       example.SoftLimits("cap.refunds.max_sum_usd: 250\ncap.refunds.amount_field: amount\ncap.refunds.window: day\ncap.refunds.action: bash"),
		Right:       example.SoftLimits("cap.refunds.max_sum_usd: 250\ncap.refunds.amount_field: metadata.usd\ncap.refunds.window: day\ncap.refunds.action: bash")})

	TooLarge = define("E2080", grammar.CodeInfo{Title: "a policy that is too large to enforce",
		Explanation: "The program would exceed a bound of the machine, which keeps decisions fast whatever the policy says. Shorten the lists, or divide the actions among several API keys."})

	Memory = define("E2081", grammar.CodeInfo{Title: "a policy whose program takes too much memory",
		Explanation: "A compiled policy takes at most 8 MiB, its patterns and the searches for its texts included. Patterns that count far (`.{0,300}`) or name Unicode classes (`\\pL`) take most: use `contains`, `starts_with` or lists in their place. A text that is in force already stays in force."})

	Effort = define("E2082", grammar.CodeInfo{Title: "a policy that may judge too slowly",
		Explanation: "Judging one request takes at most 50 ms, whatever the request says. The bound is computed from the policy, for the longest possible request: the time that a rule takes for a byte, times the bytes that it may look at. Patterns that count far (`.{0,300}`) and look at lists in `metadata` or `arguments` take most: lower what they count to, or use `contains` or `starts_with` in their place. A text that is in force already stays in force.",
		Wrong:       example.Custom(`deny_if.metadata.note matches N?.{0,300}.{0,180}xN$`),
		Right:       example.Custom(`deny_if.metadata.note matches N?.{0,3}xN$`)})

	CompileTime = define("E2083", grammar.CodeInfo{Title: "a policy that takes too long to compile",
		Explanation: "A service takes half a second at most to compile a policy that is deployed. Shorten its lists, and use fewer and simpler patterns."})

	JSONString = define("E2090", grammar.CodeInfo{Title: "not a JSON string", Fix: grammar.FixGuess,
		Explanation: "The value is a JSON string, between double quotes, so that it can hold line breaks, quotes and any other character.",
		Wrong:       example.Response("## custom\nresponse.deny_string: BEGIN PRIVATE KEY"),
		Right:       example.Response("## custom\nresponse.deny_string: \"BEGIN PRIVATE KEY\"")})

	Time = define("E2091", grammar.CodeInfo{Title: "not a time in UTC", Fix: grammar.FixGuess,
		Explanation: "The time is written as RFC 3339 has it, with `Z` at its end.",
		Wrong:       example.Response("response.observe_classes: pii\nresponse.observe_until: 2026-12-01"),
		Right:       example.Response("response.observe_classes: pii\nresponse.observe_until: 2026-12-01T00:00:00Z")})

	Identifier = define("E2092", grammar.CodeInfo{Title: "a malformed identifier",
		Explanation: "The identifier has 1 to 128 letters, digits and `._:/-`.",
		Wrong:       example.Response("response.scanner.profile: our scanner"),
		Right:       example.Response("response.scanner.profile: our-scanner")})

	Confidence = define("E2093", grammar.CodeInfo{Title: "not a confidence",
		Explanation: "The value is a decimal from 0 to 1 with at most four digits after the point.",
		Wrong:       example.Response("response.scanner.min_confidence: 85%"),
		Right:       example.Response("response.scanner.min_confidence: 0.85")})

	ResponseUncovered = define("E2094", grammar.CodeInfo{Title: "a text to look for in no tool's results",
		Explanation: "`response.deny_string` is about the tools that `mcp.response.web_fetch_tools` and `mcp.response.http_tools` name, and there are none.",
		Wrong:       "version: 2.2.0\n## mcp\nallowed_tools: api.call\n## custom\nresponse.deny_string: \"secret\"\n",
		Right:       example.Response("## custom\nresponse.deny_string: \"secret\"")})

	ResponseTool = define("E2095", grammar.CodeInfo{Title: "a covered tool that is not allowed",
		Explanation: "A tool whose results are inspected is an exact entry of `allowed_tools`, in the same words, and nothing blocks it.",
		Wrong:       "version: 2.2.0\n## mcp\nallowed_tools: api.*\nresponse.http_tools: api.call\nresponse.deterministic_ruleset: sof-response-rules-v1\n",
		Right:       example.Response("")})

	ResponseRuleset = define("E2096", grammar.CodeInfo{Title: "covered tools without a ruleset",
		Explanation: "Where tools are covered, `response.deterministic_ruleset` says by which rules their results are inspected.",
		Wrong:       "version: 2.2.0\n## mcp\nallowed_tools: api.call\nresponse.http_tools: api.call\n",
		Right:       example.Response("")})

	AllowedPath = define("E2097", grammar.CodeInfo{Title: "a malformed allowed path",
		Explanation: "An allowed path is absolute, starts with `~/`, or is relative to the intent's `cwd`, which is `.` itself. It is read from its first segment, case included, and covers what lies below it. `*` matches any characters within a segment: `src/*.go`. It has no `..`, no variables, and a `\\` only behind a drive.",
		Wrong:       "version: 2.4.0\n## tool_calls\nallowed: file_write\nfile_write.allowed_paths: ../app\n",
		Right:       "version: 2.4.0\n## tool_calls\nallowed: file_write\nfile_write.allowed_paths: /srv/app\n"})

	AllowedCommand = define("E2098", grammar.CodeInfo{Title: "a malformed allowed command",
		Explanation: "An allowed command is the first words of one simple command, all written out: no operators, redirections, assignments and expansions. A shell or another program that runs its words is listed with all of them.",
		Wrong:       "version: 2.4.0\n## tool_calls\nallowed: bash\nbash.allowed_commands: ls > out\n",
		Right:       "version: 2.4.0\n## tool_calls\nallowed: bash\nbash.allowed_commands: ls\n"})

	KeyID = define("E2110", grammar.CodeInfo{Title: "a malformed id of an API key",
		Explanation: "`keys` in `## deployment` names API keys by their `key_id`, which `bailiff keys list` shows: 32 hexadecimal digits in the form of a UUID. The key itself is a secret and must never be in a policy.",
		Wrong:       example.Deployment("keys: trading-agent"),
		Right:       example.Deployment("keys: 6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90")})

	EveryKey = define("E2111", grammar.CodeInfo{Title: "every key, and ids beside it",
		Explanation: "`keys: *` in `## deployment` says that the policy is for every API key. With ids beside it, it is unclear whether the policy is for those keys alone.",
		Wrong:       example.Deployment("keys: *, 6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90"),
		Right:       example.Deployment("keys: *")})
)
