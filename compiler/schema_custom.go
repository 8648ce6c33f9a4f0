package compiler

import "bailiff/vm/errcode"

// customKeys are the keys of `## custom`.
var customKeys = []Key{
	{Section: "custom", Name: "deny_if.<path> <operator>", Type: TypeCondition, Since: v10,
		Rule: "custom.deny_if.<path>", Code: errcode.CustomRule,
		Doc:     "Denies where the value compares so: equals, not_equals, contains, starts_with, ends_with or matches.",
		Example: "deny_if.metadata.environment equals production"},
	{Section: "custom", Name: "deny_string", Type: TypeText, Since: v10,
		Rule: "custom.deny_string", Code: errcode.CustomRule,
		Doc:     "Denies where any text of the request holds this one.",
		Example: "deny_string: BEGIN OPENSSH PRIVATE KEY"},
	{Section: "custom", Name: "allow_only.<path>", Type: TypeTexts, Since: v10,
		Rule: "custom.allow_only.<path>", Code: errcode.NotOnAllowlist,
		Doc:     "Denies where the value is missing or not one of these. Lines for the same path and scope add up.",
		Example: "allow_only.metadata.team: research, trading"},
	{Section: "custom", Name: "allow_only[action=<pattern>].<path>", Type: TypeTexts, Since: v20, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: errcode.NotOnAllowlist,
		Doc:     "The same for some actions only: an action, or the beginning of actions and `*`, without regard to case.",
		Example: "allow_only[action=wallet.transfer].metadata.desk: desk-1, desk-2"},
	{Section: "custom", Name: "allow_only.<path> attested", Type: TypeTexts, Since: v20, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: errcode.ProvenanceRequired, Codes: []errcode.Code{errcode.NotOnAllowlist},
		Doc:     "The value counts only from a key whose provenance is a shim.",
		Example: "allow_only.metadata.branch attested: main"},
	{Section: "custom", Name: "allow_only.<path> <operator>", Type: TypeTexts, Since: v20, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: errcode.NotOnAllowlist,
		Doc:     "Compares by equals, contains, starts_with (or prefix), ends_with, or matches (the whole value).",
		Example: "allow_only.metadata.ticket matches: \"OPS-[0-9]{1,6}\""},
	{Section: "custom", Name: "response.deny_string", Type: TypeJSON, Since: v22,
		Doc:     "A text that a client must not let through in the result of a tool; needs a tool that `mcp.response.web_fetch_tools` or `mcp.response.http_tools` covers.",
		Example: `response.deny_string: "BEGIN OPENSSH PRIVATE KEY"`},
	approvalKey("custom", "all kinds of intents", "deploy, wallet.*"),
	shimKey("custom", "all intents"),
}
