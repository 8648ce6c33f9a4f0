package compiler

import (
	"slices"

	"bailiff/vm/errcode"
)

// mcpKeys are the keys of `## mcp`.
var mcpKeys = slices.Concat([]Key{
	{Section: "mcp", Name: "allowed_servers", Type: TypeNames, Since: v20,
		Rule: "mcp.allowed_servers", Code: errcode.ToolCallNotAllowed,
		Doc:     "The MCP servers that are granted; exact, without regard to case.",
		Example: "allowed_servers: files, search"},
	{Section: "mcp", Name: "blocked_tools", Type: TypeTools, Since: v20, Blocks: true,
		Rule: "mcp.blocked_tools", Code: errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are denied whatever grants them, as `<server>.<tool>` or `<tool>`; `*` stands for any characters, dots too. It never grants anything.",
		Example: "blocked_tools: files.delete_*, *_admin"},
	{Section: "mcp", Name: "allowed_tools", Type: TypeTools, Since: v20,
		Rule: "mcp.allowed_tools", Code: errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are granted, as `<server>.<tool>` or, on any server, `<tool>`; `*` stands for any characters but a dot, and at the end for any.",
		Example: "allowed_tools: files.read_*, search.*"},
	{Section: "mcp", Name: nameApproval, Type: TypeTools, Since: v20, Blocks: true,
		Rule: "mcp.require_approval", Code: errcode.HoldApproval,
		Doc:     "The MCP tools on which a person has to decide, as `<server>.<tool>` or `<tool>`; `*` stands for any characters, dots too.",
		Example: "require_approval: files.write_*"},
	shimKey("mcp", "MCP intents"),
}, responseKeys)

// responseKeys are the keys of `## mcp` that tell a client how to inspect the results of tools. They judge no intent.
var responseKeys = []Key{
	{Section: "mcp", Name: "response.web_fetch_tools", Type: TypeNames, Since: v22,
		Doc:     "The tools whose results are inspected as web pages: exact entries of `allowed_tools` that nothing blocks.",
		Example: "response.web_fetch_tools: browser.fetch"},
	{Section: "mcp", Name: "response.http_tools", Type: TypeNames, Since: v22,
		Doc:     "The tools whose results are inspected as HTTP responses: exact entries of `allowed_tools` that nothing blocks.",
		Example: "response.http_tools: api.call"},
	{Section: "mcp", Name: "response.deterministic_ruleset", Type: TypeWord, Since: v22, Values: []string{"sof-response-rules-v1"},
		Doc:     "The rules by which results are inspected; required where tools are covered.",
		Example: "response.deterministic_ruleset: sof-response-rules-v1"},
	{Section: "mcp", Name: "response.block_classes", Type: TypeWords, Since: v22, Values: responseClasses,
		Doc: "The classes of findings that keep a result back.", Example: "response.block_classes: secret, malicious_url"},
	{Section: "mcp", Name: "response.redact_classes", Type: TypeWords, Since: v23, Values: responseClasses,
		Doc: "The classes of findings that are made unreadable in a result.", Example: "response.redact_classes: pii"},
	{Section: "mcp", Name: "response.scanner.required", Type: TypeBoolean, Since: v23, Default: "false",
		Doc: "Whether a result needs a scanner's verdict.", Example: "response.scanner.required: true"},
	{Section: "mcp", Name: "response.scanner.profile", Type: TypeName, Since: v23,
		Doc: "The scanner's profile: an identifier of up to 128 letters, digits and `._:/-`.", Example: "response.scanner.profile: standard-v2"},
	{Section: "mcp", Name: "response.scanner.classes", Type: TypeWords, Since: v23, Values: responseClasses,
		Doc: "The classes that the scanner looks for.", Example: "response.scanner.classes: prompt_injection"},
	{Section: "mcp", Name: "response.scanner.min_confidence", Type: TypeDecimal, Since: v23,
		Doc: "The confidence from which on a finding counts, 0 to 1 with at most four fraction digits.", Example: "response.scanner.min_confidence: 0.85"},
	{Section: "mcp", Name: "response.observe_classes", Type: TypeWords, Since: v23, Values: responseClasses,
		Doc: "The classes of findings that are only reported, until `response.observe_until`.", Example: "response.observe_classes: pii"},
	{Section: "mcp", Name: "response.observe_until", Type: TypeTime, Since: v23,
		Doc:     "When observing ends. It may lie at most 30 days ahead of the deployment, which checks that: a policy's text has no clock.",
		Example: "response.observe_until: 2026-12-01T00:00:00Z"},
}

// responseClasses are the classes of findings about results.
var responseClasses = []string{"malicious_url", "pii", "prompt_injection", "secret"}
