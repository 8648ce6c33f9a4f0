package sections

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/match"
	"bailiff/vm/slot/derived"
)

// MCP is the section `## mcp`. All names and patterns are in lower case.
type MCP struct {
	frame.Heading
	frame.Controls
	AllowedServers *frame.List
	AllowedTools   *frame.List
	BlockedTools   *frame.List
	Response       Response
}

// Grants reports whether the section can grant anything.
func (m *MCP) Grants() bool { return m != nil && (m.AllowedServers != nil || m.AllowedTools != nil) }

// Enforces implements [frame.Enforcing].
func (m *MCP) Enforces(from20 bool) bool { return from20 && m.Grants() }

// The types of values that only this section has.
var (
	servers = frame.ValueOf(frame.TypeNames, func(c *frame.Checker, entry *grammar.Entry) *frame.List {
		return lowered(c, entry, func(item grammar.Item) bool { return readServer(c, item) })
	})
	toolPatterns = frame.ValueOf(frame.TypeTools, readToolPatterns)
	toolNames    = frame.ValueOf(frame.TypeNames, readToolPatterns)
)

// readToolPatterns reads a list of patterns of MCP tools.
func readToolPatterns(c *frame.Checker, entry *grammar.Entry) *frame.List {
	return lowered(c, entry, func(item grammar.Item) bool { return toolPattern(c, item) })
}

var (
	keyServers = frame.NewKey(servers, func(s *MCP) **frame.List { return &s.AllowedServers }, frame.Key{Name: "allowed_servers",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP servers that are granted; exact, without regard to case.",
		Example: "allowed_servers: files, search"})

	keyNoMCPTools = frame.NewKey(toolPatterns, func(s *MCP) **frame.List { return &s.BlockedTools }, frame.Key{Name: "blocked_tools", Blocks: true,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are denied even if another key grants them, as `<server>.<tool>` or `<tool>`; `*` matches any characters, dots too. It never grants anything.",
		Example: "blocked_tools: files.delete_*, *_admin"})

	keyMCPTools = frame.NewKey(toolPatterns, func(s *MCP) **frame.List { return &s.AllowedTools }, frame.Key{Name: "allowed_tools",
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The MCP tools that are granted, as `<server>.<tool>` or, on any server, `<tool>`; `*` matches any characters but a dot, and at the end of an entry any characters.",
		Example: "allowed_tools: files.read_*, search.*"})

	keyMCPApproval = frame.NewKey(toolPatterns, func(s *MCP) **frame.List { return &s.Approval }, frame.Key{Name: "require_approval", Blocks: true,
		Code:    errcode.HoldApproval,
		Doc:     "The MCP tools on which a person has to decide, as `<server>.<tool>` or `<tool>`; `*` matches any characters, dots too.",
		Example: "require_approval: files.write_*"})

	keyMCPShim = frame.ShimKey(func(s *MCP) *frame.Controls { return &s.Controls }, "MCP intents")
)

// MCPSection is the row of `## mcp`.
var MCPSection = frame.NewSection[MCP]("mcp", frame.V20, "MCP servers and tools.",
	keyServers, keyNoMCPTools, keyMCPTools, keyMCPApproval, keyMCPShim, keyMCPResponseWebFetchTools,
	keyMCPResponseHttpTools, keyMCPResponseDeterministicRuleset, keyMCPResponseBlockClasses,
	keyMCPResponseRedactClasses, keyMCPResponseScannerRequired, keyMCPResponseScannerProfile,
	keyMCPResponseScannerClasses, keyMCPResponseScannerMinConfidence, keyMCPResponseObserveClasses,
	keyMCPResponseObserveUntil).ForClass(vm.MCP)

// lowered reads a list that is compared in lower case. The check reports items that can't are in it.
func lowered(c *frame.Checker, entry *grammar.Entry, check func(grammar.Item) bool) *frame.List {
	list := &frame.List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.List(entry) {
		lower := strings.ToLower(item.Text)
		switch {
		case !check(item):
		case seen[lower]:
			c.RepeatedCase(item, lower)
		default:
			list.Items = append(list.Items, frame.Item{Text: lower, Span: item.Span})
		}
		seen[lower] = true
	}
	return list
}

// readServer reports an item that is no name of an MCP server.
func readServer(c *frame.Checker, item grammar.Item) bool {
	if frame.IsAction(item.Text) && !strings.ContainsAny(item.Text, ".*") {
		return true
	}
	c.Add(grammar.At(codes.Server, item.Span, "`%s` is not a name of an MCP server", frame.Shorten(item.Text)).
		WithHint("servers are exact names without dots and stars: of `mcp.files.read` it is `files`"))
	return false
}

// toolPattern reports an item that is no pattern of MCP tools.
func toolPattern(c *frame.Checker, item grammar.Item) bool {
	if frame.IsAction(item.Text) && strings.Count(item.Text, "*") <= match.MaxStars {
		c.LintWildcards(item)
		if strings.HasPrefix(item.Text, ".") || strings.HasSuffix(item.Text, ".") {
			c.Add(grammar.At(codes.NeverMatches, item.Span, "`%s` is not a name of an MCP tool: write a name on each side of the dot", frame.Shorten(item.Text)))
		}
		return true
	}
	c.Add(grammar.At(codes.ToolPattern, item.Span, "`%s` is not a pattern of MCP tools", frame.Shorten(item.Text)).
		WithHint("write `<server>.<tool>` or `<tool>`, of printable ASCII, with at most %d stars", match.MaxStars))
	return false
}

// FinishMCP checks what concerns several entries of `## mcp`.
func FinishMCP(c *frame.Checker) {
	m := frame.Part[MCP](c.Parts)
	if m == nil {
		return
	}
	if !m.Grants() && m.BlockedTools == nil && !c.Lost("mcp", "tools") && !c.Lost("mcp", "servers") {
		c.Add(grammar.At(codes.MCPGrantsNothing, m.Span, "`## mcp` has none of `allowed_servers`, `allowed_tools` and `blocked_tools`").
			WithHint("name the granted servers or tools: `allowed_servers: files` or `allowed_tools: files.read_*`"))
		c.Partial = true
	}
	if m.AllowedTools == nil || m.BlockedTools == nil {
		return
	}
	blocked := frame.NewGlobIndex(match.Unbounded, m.BlockedTools.Texts())
	for _, item := range m.AllowedTools.Items {
		if by, covered := blocked.CoversTool(item.Text); covered {
			c.Add(grammar.At(codes.AllowedBlocked, item.Span, "`blocked_tools` covers this with `%s`, so it is never allowed", frame.Shorten(by)).
				WithHint("remove it from `allowed_tools`, or narrow the pattern if part of it is meant to pass"))
			c.Partial = true
		}
	}
}

// EmitMCP judges an MCP intent: servers, blocked tools, allowed tools.
func EmitMCP(e *frame.Emitter) {
	m := frame.Part[MCP](e.Parts)
	if m == nil {
		e.At(e.Version.Span)
		e.Refuse(keyMCPTools.Rule, keyMCPTools.Code, "the policy has no mcp section, which would have to grant the MCP tool")
		return
	}
	if servers := m.AllowedServers; servers != nil {
		e.Allowing(servers)
		e.Unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If, e.Field(derived.Server), e.Exactly(servers.Texts()...), pass)
		}, keyServers.Rule, keyServers.Code, "the server is not in mcp.allowed_servers", e.Value(derived.Server))
	}
	if m.BlockedTools != nil {
		blockedTools(e, m.BlockedTools)
	}
	allowedTools(e)
}

// blockedTools denies a tool that a pattern covers, with its server or without, and blames the name that is covered.
func blockedTools(e *frame.Emitter, patterns *frame.List) {
	const message = "an entry of mcp.blocked_tools covers the tool"
	withServer, next := e.NewLabel(), e.NewLabel()
	eitherWay(e, patterns, withServer, next)
	e.DenyBy(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.Value(derived.Tool), next)
	e.Place(withServer)
	e.DenyBy(keyNoMCPTools.Rule, keyNoMCPTools.Code, message, e.Value(derived.MCP), next)
	e.Place(next)
}

// allowedTools denies what no pattern of allowed_tools covers. Allowed servers alone grant all of their tools.
func allowedTools(e *frame.Emitter) {
	m := frame.Part[MCP](e.Parts)
	if m.AllowedTools == nil {
		if m.AllowedServers == nil {
			e.At(m.Span)
			e.Refuse(keyMCPTools.Rule, keyMCPTools.Code, "the mcp section has neither allowed_servers nor allowed_tools, and nothing else grants an MCP tool")
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
	blame := e.Value(derived.MCP)
	if len(plain) > 0 {
		blame = e.Value(derived.Tool)
	}
	e.Allowing(m.AllowedTools)
	e.Unless(func(pass vm.Label) {
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
func eitherWay(e *frame.Emitter, patterns *frame.List, withServer, outside vm.Label) {
	set := e.Globs(match.Unbounded, patterns.Texts()...)
	e.Blocking(patterns)
	e.Test(vm.OpGlob, vm.If, e.Field(derived.MCP), set, withServer)
	e.Test(vm.OpGlob, vm.Unless, e.Field(derived.Tool), set, outside)
}

// EmitMCPApproval holds the intents whose tool a pattern of `mcp.require_approval` covers.
func EmitMCPApproval(e *frame.Emitter) {
	covered, next := e.NewLabel(), e.NewLabel()
	eitherWay(e, frame.Part[MCP](e.Parts).Approval, covered, next)
	e.Place(covered)
	e.HoldBy(keyMCPApproval, "a person has to decide on this MCP tool")
	e.Place(next)
}
