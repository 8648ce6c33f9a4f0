package compiler

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/match"
	"bailiff/vm/slot/derived"
)

// MCP is the section `## mcp`. All names and patterns are in lower case.
type MCP struct {
	Heading
	Controls
	AllowedServers *List
	AllowedTools   *List
	BlockedTools   *List
	Response       Response
}

// Grants reports whether the section can grant anything.
func (m *MCP) Grants() bool { return m != nil && (m.AllowedServers != nil || m.AllowedTools != nil) }

func (m *MCP) enforces(from20 bool) bool { return from20 && m.Grants() }

// The types of values that only this section has.
var (
	servers      = valueOf(TypeNames, func(c *checker, entry *grammar.Entry) *List { return c.lowered(entry, c.server) })
	toolPatterns = valueOf(TypeTools, (*checker).toolPatterns)
	toolNames    = valueOf(TypeNames, (*checker).toolPatterns)
)

// toolPatterns reads a list of patterns of MCP tools.
func (c *checker) toolPatterns(entry *grammar.Entry) *List { return c.lowered(entry, c.toolPattern) }

var (
	keyServers = key(servers, func(s *MCP) **List { return &s.AllowedServers }, Key{Name: "allowed_servers",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP servers that are granted; exact, without regard to case.",
		Example: "allowed_servers: files, search"})

	keyNoMCPTools = key(toolPatterns, func(s *MCP) **List { return &s.BlockedTools }, Key{Name: "blocked_tools", Blocks: true,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are denied whatever grants them, as `<server>.<tool>` or `<tool>`; `*` stands for any characters, dots too. It never grants anything.",
		Example: "blocked_tools: files.delete_*, *_admin"})

	keyMCPTools = key(toolPatterns, func(s *MCP) **List { return &s.AllowedTools }, Key{Name: "allowed_tools",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are granted, as `<server>.<tool>` or, on any server, `<tool>`; `*` stands for any characters but a dot, and at the end for any.",
		Example: "allowed_tools: files.read_*, search.*"})

	keyMCPApproval = key(toolPatterns, func(s *MCP) **List { return &s.Approval }, Key{Name: "require_approval", Blocks: true,
		Code:    errcode.HoldApproval,
		Doc:     "The MCP tools on which a person has to decide, as `<server>.<tool>` or `<tool>`; `*` stands for any characters, dots too.",
		Example: "require_approval: files.write_*"})

	keyMCPShim = shimKey(func(s *MCP) *Controls { return &s.Controls }, "MCP intents")
)

var mcp = section[MCP]("mcp", v20, "MCP servers and tools.",
	keyServers, keyNoMCPTools, keyMCPTools, keyMCPApproval, keyMCPShim, keyMCPResponseWebFetchTools,
	keyMCPResponseHttpTools, keyMCPResponseDeterministicRuleset, keyMCPResponseBlockClasses,
	keyMCPResponseRedactClasses, keyMCPResponseScannerRequired, keyMCPResponseScannerProfile,
	keyMCPResponseScannerClasses, keyMCPResponseScannerMinConfidence, keyMCPResponseObserveClasses,
	keyMCPResponseObserveUntil).of(vm.MCP)

// lowered reads a list that is compared in lower case. The check reports items that can't are in it.
func (c *checker) lowered(entry *grammar.Entry, check func(grammar.Item) bool) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		lower := strings.ToLower(item.Text)
		switch {
		case !check(item):
		case seen[lower]:
			c.repeatedCase(item, lower)
		default:
			list.Items = append(list.Items, Item{lower, item.Span})
		}
		seen[lower] = true
	}
	return list
}

// server reports an item that is no name of an MCP server.
func (c *checker) server(item grammar.Item) bool {
	if isAction(item.Text) && !strings.ContainsAny(item.Text, ".*") {
		return true
	}
	c.add(grammar.At(codes.Server, item.Span, "`%s` is no name of an MCP server", Shorten(item.Text)).
		WithHint("servers are exact names without dots and stars: of `mcp.files.read` it is `files`"))
	return false
}

// toolPattern reports an item that is no pattern of MCP tools.
func (c *checker) toolPattern(item grammar.Item) bool {
	if isAction(item.Text) && strings.Count(item.Text, "*") <= match.MaxStars {
		c.lintWildcards(item)
		if strings.HasPrefix(item.Text, ".") || strings.HasSuffix(item.Text, ".") {
			c.add(grammar.At(codes.NeverMatches, item.Span, "no MCP tool is called `%s`: a name stands on either side of a dot", Shorten(item.Text)))
		}
		return true
	}
	c.add(grammar.At(codes.ToolPattern, item.Span, "`%s` is no pattern of MCP tools", Shorten(item.Text)).
		WithHint("write `<server>.<tool>` or `<tool>`, of printable ASCII, with at most %d stars", match.MaxStars))
	return false
}

// finishMCP checks what concerns several entries of `## mcp`.
func (c *checker) finishMCP() {
	m := part[MCP](c.parts)
	if m == nil {
		return
	}
	if !m.Grants() && m.BlockedTools == nil && !c.lost("mcp", "tools") && !c.lost("mcp", "servers") {
		c.add(grammar.At(codes.MCPGrantsNothing, m.Span, "`## mcp` has none of `allowed_servers`, `allowed_tools` and `blocked_tools`").
			WithHint("name what is granted: `allowed_servers: files` or `allowed_tools: files.read_*`"))
		c.partial = true
	}
	if m.AllowedTools == nil || m.BlockedTools == nil {
		return
	}
	blocked := NewGlobIndex(match.Unbounded, m.BlockedTools.Texts())
	for _, item := range m.AllowedTools.Items {
		if by, covered := blocked.CoversTool(item.Text); covered {
			c.add(grammar.At(codes.AllowedBlocked, item.Span, "`blocked_tools` covers this with `%s`, so it is never allowed", Shorten(by)).
				WithHint("remove it from `allowed_tools`, or narrow the pattern if part of it is meant to pass"))
			c.partial = true
		}
	}
}

// mcp judges an MCP intent: servers, blocked tools, allowed tools.
func (e *emitter) mcp() {
	m := part[MCP](e.parts)
	if m == nil {
		e.at(e.version.Span)
		e.refuse(keyMCPTools.Rule, keyMCPTools.Code, "the policy has no mcp section, which would have to grant the MCP tool")
		return
	}
	if servers := m.AllowedServers; servers != nil {
		e.allowing(servers)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If, e.Field(derived.Server), e.exactly(servers.Texts()...), pass)
		}, keyServers.Rule, keyServers.Code, "the server is not in mcp.allowed_servers", e.value(derived.Server))
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
	e.deny(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.value(derived.Tool), next)
	e.Place(withServer)
	e.deny(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.value(derived.MCP), next)
	e.Place(next)
}

// allowedTools denies what no pattern of allowed_tools covers. Allowed servers alone grant all of their tools.
func (e *emitter) allowedTools() {
	m := part[MCP](e.parts)
	if m.AllowedTools == nil {
		if m.AllowedServers == nil {
			e.at(m.Span)
			e.refuse(keyMCPTools.Rule, keyMCPTools.Code, "the mcp section has neither allowed_servers nor allowed_tools, and nothing else grants an MCP tool")
		}
		return
	}
	var dotted, plain []string
	for _, pattern := range m.AllowedTools.Texts() {
		if strings.Contains(pattern, ".") {
			dotted = append(dotted, pattern)
		} else {
			plain = append(plain, pattern)
		}
	}
	blame := e.value(derived.MCP)
	if len(plain) > 0 {
		blame = e.value(derived.Tool)
	}
	e.allowing(m.AllowedTools)
	e.unless(func(pass vm.Label) {
		if len(dotted) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(derived.MCP), e.Globs(match.Dotted, dotted...), pass)
		}
		if len(plain) > 0 {
			e.Test(vm.OpGlob, vm.If, e.Field(derived.Tool), e.Globs(match.Dotted, plain...), pass)
		}
	}, keyMCPTools.Rule, keyMCPTools.Code, "no entry of mcp.allowed_tools covers the tool", blame)
}

// eitherWay continues at withServer where a pattern covers the tool with its server, at the next instruction where one
// covers it without or nothing can be told, and otherwise at outside. A star of these lists, which narrow what is granted,
// crosses dots.
func (e *emitter) eitherWay(patterns *List, withServer, outside vm.Label) {
	set := e.Globs(match.Unbounded, patterns.Texts()...)
	e.blocking(patterns)
	e.Test(vm.OpGlob, vm.If, e.Field(derived.MCP), set, withServer)
	e.Test(vm.OpGlob, vm.Unless, e.Field(derived.Tool), set, outside)
}

// mcpApproval holds the intents whose tool a pattern of `mcp.require_approval` covers.
func (e *emitter) mcpApproval() {
	covered, next := e.NewLabel(), e.NewLabel()
	e.eitherWay(part[MCP](e.parts).Approval, covered, next)
	e.Place(covered)
	e.hold(keyMCPApproval, "a person has to decide on this MCP tool")
	e.Place(next)
}
