package oracle

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/vm/errcode"
)

// mcpParts returns `<server>` and `<tool>` of an MCP action, "the parts of the action, in lower case":
// "`mcp.<server>.<tool>`, `<server>` without a dot".
func (j *judgement) mcpParts() (server, tool string) {
	server, tool, _ = strings.Cut(strings.TrimPrefix(j.action, "mcp."), ".")
	return server, tool
}

// mcpSection: "The order: `allowed_servers`, `blocked_tools`, `allowed_tools`; all answer TOOL_CALL_NOT_ALLOWED.
// Without `allowed_servers` and `allowed_tools`, or without `## mcp`, everything that `blocked_tools` lets through is
// denied by `mcp.allowed_tools`."
func (j *judgement) mcpSection() {
	mcp := j.p.mcp
	server, _ := j.mcpParts()
	if mcp.has("allowed_servers") && !slices.Contains(lowered(mcp.list("allowed_servers")), server) {
		j.deny("mcp.allowed_servers", errcode.ToolCallNotAllowed)
	}
	if j.toolMatchesEitherWay(j.p.patterns.blockedTools) {
		j.deny("mcp.blocked_tools", errcode.ToolCallNotAllowed)
	}
	granted := mcp.has("allowed_servers") || mcp.has("allowed_tools")
	if !granted || mcp.has("allowed_tools") && !j.toolAllowed() {
		j.deny("mcp.allowed_tools", errcode.ToolCallNotAllowed)
	}
}

// toolAllowed: a pattern with a dot is compared with `<server>.<tool>`, one without with `<tool>` (specification, mcp-rules.1).
func (j *judgement) toolAllowed() bool {
	server, tool := j.mcpParts()
	for i, pattern := range j.p.mcp.list("allowed_tools") {
		subject := tool
		if strings.Contains(pattern, ".") {
			subject = server + "." + tool
		}
		if j.p.patterns.allowedTools[i].MatchString(subject) {
			return true
		}
	}
	return false
}

// toolMatchesEitherWay: "`blocked_tools` and `require_approval` in `## mcp` match either way", and `*`
// crosses dots there.
func (j *judgement) toolMatchesEitherWay(list []*regexp.Regexp) bool {
	server, tool := j.mcpParts()
	return anyMatches(list, tool) || anyMatches(list, server+"."+tool)
}
