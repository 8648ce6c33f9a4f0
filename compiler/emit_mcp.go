package compiler

import (
	"strings"

	"bailiff/vm"
)

// mcp judges an MCP intent: servers, blocked tools, allowed tools.
func (e *emitter) mcp() {
	m := e.policy.MCP
	if m == nil {
		e.at(e.policy.Version.Span)
		e.refuse(keyMCPTools.Rule, keyMCPTools.Code, "the policy has no mcp section, which would have to grant the MCP tool")
		return
	}
	if servers := m.AllowedServers; servers != nil {
		e.allowing(servers)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If, e.Field(slotServer), e.exactly(servers.texts()...), pass)
		}, keyServers.Rule, keyServers.Code, "the server is not in mcp.allowed_servers", e.value(slotServer))
	}
	if m.BlockedTools != nil {
		e.blockedTools(m.BlockedTools)
	}
	e.allowedTools()
}

// blockedTools denies a tool that a pattern covers, with its server or without, and blames the name that is covered.
func (e *emitter) blockedTools(patterns *List) {
	const message = "an entry of mcp.blocked_tools covers the tool"
	withServer, next := e.NewLabel(), e.NewLabel()
	e.eitherWay(patterns, withServer, next)
	e.deny(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.value(slotTool), next)
	e.Place(withServer)
	e.deny(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.value(slotMCP), next)
	e.Place(next)
}

// allowedTools denies what no pattern of allowed_tools covers. Allowed servers alone grant all of their tools.
func (e *emitter) allowedTools() {
	m := e.policy.MCP
	if m.AllowedTools == nil {
		if m.AllowedServers == nil {
			e.at(m.Span)
			e.refuse(keyMCPTools.Rule, keyMCPTools.Code, "the mcp section has neither allowed_servers nor allowed_tools, and nothing else grants an MCP tool")
		}
		return
	}
	var dotted, plain []string
	for _, pattern := range m.AllowedTools.texts() {
		if strings.Contains(pattern, ".") {
			dotted = append(dotted, pattern)
		} else {
			plain = append(plain, pattern)
		}
	}
	blame := e.value(slotMCP)
	if len(plain) > 0 {
		blame = e.value(slotTool)
	}
	e.allowing(m.AllowedTools)
	e.unless(func(pass vm.Label) {
		if len(dotted) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(slotMCP), e.Globs(vm.Dotted, dotted...), pass)
		}
		if len(plain) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(slotTool), e.Globs(vm.Dotted, plain...), pass)
		}
	}, keyMCPTools.Rule, keyMCPTools.Code, "no entry of mcp.allowed_tools covers the tool", blame)
}

// eitherWay continues at withServer where a pattern covers the tool with its server, at the next instruction where one
// covers it without or nothing can be told, and otherwise at outside. A star of these lists, which narrow what is granted,
// crosses dots.
func (e *emitter) eitherWay(patterns *List, withServer, outside vm.Label) {
	set := e.Globs(vm.Unbounded, patterns.texts()...)
	e.blocking(patterns)
	e.Test(vm.OpGlob, vm.If, e.Field(slotMCP), set, withServer)
	e.Test(vm.OpGlob, vm.Unless, e.Field(slotTool), set, outside)
}

// mcpApproval holds the intents whose tool a pattern of `mcp.require_approval` covers.
func (e *emitter) mcpApproval() {
	covered, next := e.NewLabel(), e.NewLabel()
	e.eitherWay(e.policy.MCP.Approval, covered, next)
	e.Place(covered)
	e.hold(mustFind("mcp", nameApproval), "a person has to decide on this MCP tool")
	e.Place(next)
}
