package compiler

import (
	"slices"

	"bailiff/grammar"
)

// The codes of this package's diagnostics. Codes are never used again for anything else.
const (
	CodeUnknownKey          grammar.Code = "E2001"
	CodeKeyVersion          grammar.Code = "E2002"
	CodeKeyUnsupported      grammar.Code = "E2003"
	CodeSectionUnsupported  grammar.Code = "E2004"
	CodeKeyForm             grammar.Code = "E2005"
	CodeValueForm           grammar.Code = "E2006"
	CodeBoolean             grammar.Code = "E2010"
	CodeDecimal             grammar.Code = "E2011"
	CodeNotPositive         grammar.Code = "E2012"
	CodeFraction            grammar.Code = "E2013"
	CodeInteger             grammar.Code = "E2014"
	CodeAction              grammar.Code = "E2020"
	CodeActionWildcard      grammar.Code = "E2021"
	CodeActionKind          grammar.Code = "E2022"
	CodeChainID             grammar.Code = "E2024"
	CodeSecondChain         grammar.Code = "E2025"
	CodeSymbol              grammar.Code = "E2030"
	CodeSymbolCase          grammar.Code = "E2031"
	CodeTokenIncomplete     grammar.Code = "E2032"
	CodeAddress             grammar.Code = "E2033"
	CodeChecksum            grammar.Code = "E2034"
	CodePinnedTwice         grammar.Code = "E2035"
	CodeEVMGrantsNothing    grammar.Code = "E2040"
	CodeToolsGrantNothing   grammar.Code = "E2041"
	CodeEnforcesNothing     grammar.Code = "E2042"
	CodeBlockedCommand      grammar.Code = "E2050"
	CodeBlockedDomain       grammar.Code = "E2051"
	CodeBlockedPath         grammar.Code = "E2052"
	CodePathField           grammar.Code = "E2060"
	CodePathObject          grammar.Code = "E2061"
	CodeOperator            grammar.Code = "E2062"
	CodeMixedOperators      grammar.Code = "E2063"
	CodeAttestedPath        grammar.Code = "E2064"
	CodePatternLong         grammar.Code = "E2065"
	CodePatternSyntax       grammar.Code = "E2066"
	CodePatternCostly       grammar.Code = "E2067"
	CodePatternCut          grammar.Code = "E2068"
	CodeEmptyValue          grammar.Code = "E2069"
	CodeActionPattern       grammar.Code = "E2070"
	CodeTextLong            grammar.Code = "E2071"
	CodeTooLarge            grammar.Code = "E2080"
	CodePassesTools         grammar.Code = "W2001"
	CodeNoNativeMaximum     grammar.Code = "W2002"
	CodeTokenUnpinned       grammar.Code = "W2003"
	CodeHoldImplied         grammar.Code = "W2004"
	CodeHoldUseless         grammar.Code = "W2005"
	CodeChainUnknown        grammar.Code = "W2006"
	CodeChainActionsUnused  grammar.Code = "W2007"
	CodeRepeatedItem        grammar.Code = "W2008"
	CodeThresholdUnreached  grammar.Code = "W2009"
	CodeEmptySection        grammar.Code = "W2010"
	CodeListUnused          grammar.Code = "W2011"
	CodeGrantsOtherKind     grammar.Code = "W2012"
	CodeChainWithoutActions grammar.Code = "W2013"
	CodeCurlyQuotes         grammar.Code = "W2014"
	CodeCommaInText         grammar.Code = "W2015"
	CodeLiteralStar         grammar.Code = "W2016"
	CodeNumberForm          grammar.Code = "W2017"
	CodeNearAction          grammar.Code = "W2018"
	CodeLimitUnused         grammar.Code = "W2019"
)

// Codes returns the table of this package's codes, in order.
func Codes() []grammar.CodeInfo { return slices.Clone(codes) }

var codes = []grammar.CodeInfo{
	{Code: CodeUnknownKey, Title: "an unknown key",
		Explanation: "The section has no such key. A rule under an unknown key would be enforced by nobody."},
	{Code: CodeKeyVersion, Title: "a key of a later version",
		Explanation: "The policy's version does not have this key. Raise the version line to the one that the message names, and sign again."},
	{Code: CodeKeyUnsupported, Title: "a key that is not supported yet",
		Explanation: "The key belongs to the policy format, but this version of bailiff does not enforce it. It is refused rather than ignored."},
	{Code: CodeSectionUnsupported, Title: "a section that is not supported yet",
		Explanation: "The section belongs to the policy format, but this version of bailiff does not enforce it. It is refused rather than ignored."},
	{Code: CodeKeyForm, Title: "a scope or word where the key takes none",
		Explanation: "Only `allow_only` takes a scope `[action=pattern]`, and only `allow_only` and `deny_if` take words such as an operator."},
	{Code: CodeValueForm, Title: "a block in place of a value, or the reverse",
		Explanation: "`chain_actions` stands alone on its line with indented lines below it. Every other key has its value on its own line."},
	{Code: CodeBoolean, Title: "not a boolean",
		Explanation: "The value is `true` or `false`, in any case."},
	{Code: CodeDecimal, Title: "not a decimal",
		Explanation: "A decimal is digits, or digits, a point and digits, without sign, exponent, separator or unit. It must fit into 256 bits of base units."},
	{Code: CodeNotPositive, Title: "a limit that is not above zero",
		Explanation: "A limit of zero would deny everything. To deny it, leave out what grants it."},
	{Code: CodeFraction, Title: "too many digits after the point",
		Explanation: "ETH has 18 decimals, a token as many as its `decimals`. More digits than that name no amount that exists."},
	{Code: CodeInteger, Title: "not an integer in range",
		Explanation: "The value is a plain integer: `decimals` from 0 to 36, a count from 1 to 9007199254740991."},
	{Code: CodeAction, Title: "a malformed action",
		Explanation: "An action is 1 to 128 characters of printable ASCII."},
	{Code: CodeActionWildcard, Title: "a wildcard in a list of actions",
		Explanation: "Lists that grant are exact. Write every action out."},
	{Code: CodeActionKind, Title: "an action of another kind in an EVM list",
		Explanation: "An action that an EVM list holds is judged as an EVM intent. MCP and model actions, the tools `bash`, `file_write`, `web_fetch`, `http` and `email.send`, and what `tool_calls.allowed` holds have rules of their own."},
	{Code: CodeChainID, Title: "a malformed chain id",
		Explanation: "A chain id is a positive integer, such as 8453."},
	{Code: CodeSecondChain, Title: "a chain that is repeated in chain_actions",
		Explanation: "Each chain has one line in the block, so that its actions are seen together."},
	{Code: CodeSymbol, Title: "a malformed token symbol",
		Explanation: "A symbol is 1 to 64 characters of ASCII and does not begin with `0x`: a token that is given by its address is found by the rule that pins it."},
	{Code: CodeSymbolCase, Title: "token symbols that differ only in case",
		Explanation: "Symbols are compared without regard to case, so the two name one token. Use one spelling."},
	{Code: CodeTokenIncomplete, Title: "an incomplete token rule",
		Explanation: "A token rule needs `decimals` and `max_transaction`: without them no amount can be judged."},
	{Code: CodeAddress, Title: "a malformed address",
		Explanation: "An address is `0x` and 40 hexadecimal digits."},
	{Code: CodeChecksum, Title: "a wrong checksum in an address",
		Explanation: "The address is of mixed case, and its EIP-55 checksum is wrong: the sign of a mistyped or doctored address. Compare it with its source. Written in lower case it is taken as it is."},
	{Code: CodePinnedTwice, Title: "an address that two token rules pin",
		Explanation: "A contract has one `decimals` and one `max_transaction`, so one rule pins it."},
	{Code: CodeEVMGrantsNothing, Title: "an evm section that grants nothing",
		Explanation: "`## evm` needs `allowed_chains`, and `allowed_actions` or `chain_actions`: only lists grant. To deny all EVM intents, leave the section out."},
	{Code: CodeToolsGrantNothing, Title: "a tool_calls section without allowed",
		Explanation: "`## tool_calls` needs `allowed`: only lists grant. Block lists narrow what it grants."},
	{Code: CodeEnforcesNothing, Title: "a policy that enforces nothing",
		Explanation: "A policy of version 1.x needs an EVM grant, an allowed tool, a custom rule or a model budget; one of version 2.x may also consist of an MCP grant, a profile, an enforced soft limit or an execution limit."},
	{Code: CodeBlockedCommand, Title: "a malformed blocked command",
		Explanation: "A blocked command is text that is sought in commands: not only white space, no NUL, at most 8 KiB."},
	{Code: CodeBlockedDomain, Title: "a malformed blocked domain",
		Explanation: "A blocked domain is a host name, which covers its subdomains, or an IP address: no scheme, port, path, range or bare `*`."},
	{Code: CodeBlockedPath, Title: "a malformed blocked path",
		Explanation: "A blocked path is absolute, starts with `~/`, or is a name such as `.env` that is meant anywhere. It covers what lies below it."},
	{Code: CodePathField, Title: "a path that begins with no field of a request",
		Explanation: "The path of a custom rule begins with a field of the intent. Data of your own is below `metadata`."},
	{Code: CodePathObject, Title: "a path that can hold no text",
		Explanation: "Custom rules compare texts. `metadata` and `arguments` are objects, whose members have to be named, and no other field has members."},
	{Code: CodeOperator, Title: "an unknown operator",
		Explanation: "The operators are equals, contains, starts_with (also called prefix), ends_with and matches; deny_if also has not_equals, and needs one. `attested` goes with allow_only, before the operator."},
	{Code: CodeMixedOperators, Title: "allow_only lines that do not go together",
		Explanation: "Lines for the same path and scope add up to one list, so they have the same operator, and all or none of them say `attested`."},
	{Code: CodeAttestedPath, Title: "attested outside metadata",
		Explanation: "`attested` is about values that a trusted shim reports, and those are below `metadata`."},
	{Code: CodePatternLong, Title: "a pattern that is too long",
		Explanation: "A pattern has at most 256 characters."},
	{Code: CodePatternSyntax, Title: "a pattern that does not compile",
		Explanation: "Patterns are RE2: no back references, no look-around."},
	{Code: CodePatternCostly, Title: "a pattern that costs too much",
		Explanation: "RE2 takes time in proportion to the pattern's size when its counted repetitions are written out. Lower the counts, or divide the pattern."},
	{Code: CodePatternCut, Title: "a pattern that the comma rule cuts",
		Explanation: "Lists split on commas, inside brackets too, so this pattern becomes several that mean something else. Put it between quotes."},
	{Code: CodeEmptyValue, Title: "an empty value",
		Explanation: "Every text contains, starts with and ends with the empty text, so the rule would deny everything. Where the empty text itself is meant, write `matches \"^$\"`."},
	{Code: CodeActionPattern, Title: "a malformed action pattern",
		Explanation: "A pattern is an action, or the beginning of actions and one `*` at its end."},
	{Code: CodeTextLong, Title: "a text that is too long",
		Explanation: "A path of a custom rule has at most 256 bytes, and one value or list entry at most 4,096."},
	{Code: CodeTooLarge, Title: "a policy that is too large to enforce",
		Explanation: "The program would exceed a bound of the machine, which keeps deciding fast whatever the policy. Shorten the lists, or divide what is governed among several keys."},
	{Code: CodePassesTools, Title: "a policy that passes every tool",
		Explanation: "Without `## evm`, `## tool_calls`, `## mcp` or a profile nothing has to be granted: every tool intent passes that no rule denies. List what is meant in `tool_calls.allowed`."},
	{Code: CodeNoNativeMaximum, Title: "no max_transaction_eth",
		Explanation: "Without it every native amount above zero is denied."},
	{Code: CodeTokenUnpinned, Title: "a token rule without addresses",
		Explanation: "A symbol names no contract: whoever sends the intent decides which one is called, of all that no other rule pins. Intents under such a rule can't be submitted through the gateway."},
	{Code: CodeHoldImplied, Title: "consensus_threshold_eth without consensus_require_hold",
		Explanation: "The threshold holds intents, as if `consensus_require_hold: true` were there. Say so, or say `false`, which only notes it."},
	{Code: CodeHoldUseless, Title: "consensus_require_hold without a threshold",
		Explanation: "There is no threshold that it could be about, so it does nothing."},
	{Code: CodeChainUnknown, Title: "a chain that is not supported",
		Explanation: "No request can name this chain, so the entry does nothing. The chains are 1, 10, 56, 137, 999, 8453 and 42161."},
	{Code: CodeChainActionsUnused, Title: "chain_actions for a chain that is not allowed",
		Explanation: "The chain is not in `allowed_chains`, so every intent for it is denied and the line does nothing."},
	{Code: CodeRepeatedItem, Title: "a repeated item",
		Explanation: "The list has the item already."},
	{Code: CodeThresholdUnreached, Title: "a threshold above the maximum",
		Explanation: "What reaches the threshold is denied by the maximum before, so nothing is ever held."},
	{Code: CodeEmptySection, Title: "an empty section",
		Explanation: "The section has no entries, and does nothing."},
	{Code: CodeListUnused, Title: "a block list for a tool that is not allowed",
		Explanation: "The tool is denied already, because it is not in `tool_calls.allowed`."},
	{Code: CodeGrantsOtherKind, Title: "an entry that grants nothing",
		Explanation: "The action is of another kind (EVM, MCP, model), which `tool_calls.allowed` does not grant."},
	{Code: CodeChainWithoutActions, Title: "an allowed chain without actions",
		Explanation: "There is no `allowed_actions`, and `chain_actions` has no line for this chain, so every intent for it is denied."},
	{Code: CodeCurlyQuotes, Title: "curly quotes",
		Explanation: "Only plain quotes, single or double, protect a text. Curly ones, which word processors put in their place, are part of it, so that the rule looks for a text that begins or ends with them. Where they are meant, put plain quotes around the whole."},
	{Code: CodeCommaInText, Title: "a comma in a value that is no list",
		Explanation: "The value of `deny_if` and `deny_string` is the rest of the line, one text with its commas and quotes. Write one line for each value. Where one text with a comma is meant, put it between quotes."},
	{Code: CodeLiteralStar, Title: "a star that stands for itself",
		Explanation: "`equals` and `not_equals` compare whole texts, and `*` is a character like any other. `starts_with`, `ends_with`, `contains` and `matches` compare parts. Where the star is meant, put the value between quotes."},
	{Code: CodeNumberForm, Title: "a number in a form that no number has",
		Explanation: "Numbers of a request are compared by their RFC 8785 text, the shortest that stands for them: `1` and never `1.0` or `1e0`. The rule would hold for the text only. Where the text is meant, put it between quotes."},
	{Code: CodeNearAction, Title: "an action that is nearly a known one",
		Explanation: "Lists that grant are exact, upper and lower case included. The entry is allowed, and grants an action of just that spelling, not the known one."},
	{Code: CodeLimitUnused, Title: "a limit on tool calls where no tool is granted",
		Explanation: "The limits count tool and MCP intents that passed every other rule. This policy grants none, so there is nothing to count."},
}
