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
		}, keyServers.Rule, keyServers.Code, "the server is not in mcp.allowed_servers")
	}
	if m.BlockedTools != nil {
		next := e.NewLabel()
		e.eitherWay(m.BlockedTools, next)
		e.deny(keyNoMCPTools.Rule, keyNoMCPTools.Code, "an entry of mcp.blocked_tools covers the tool", next)
		e.Place(next)
	}
	e.allowedTools()
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
	e.allowing(m.AllowedTools)
	e.unless(func(pass vm.Label) {
		if len(dotted) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(slotMCP), e.Globs(vm.Dotted, dotted...), pass)
		}
		if len(plain) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(slotTool), e.Globs(vm.Dotted, plain...), pass)
		}
	}, keyMCPTools.Rule, keyMCPTools.Code, "no entry of mcp.allowed_tools covers the tool")
}

// eitherWay goes on at the next instruction where a pattern covers the tool, with or without its server, or where nobody
// can say, and otherwise at outside. A star of these lists, which narrow what is granted, crosses dots.
func (e *emitter) eitherWay(patterns *List, outside vm.Label) {
	covered := e.NewLabel()
	set := e.Globs(vm.Unbounded, patterns.texts()...)
	e.blocking(patterns)
	e.Test(vm.OpGlob, vm.If, e.Field(slotMCP), set, covered)
	e.Test(vm.OpGlob, vm.Unless, e.Field(slotTool), set, outside)
	e.Place(covered)
}

// mcpApproval holds the intents whose tool a pattern of `mcp.require_approval` covers.
func (e *emitter) mcpApproval() {
	next := e.NewLabel()
	e.eitherWay(e.policy.MCP.Approval, next)
	e.hold(keyMCPApproval, "a person has to decide on this MCP tool")
	e.Place(next)
}
