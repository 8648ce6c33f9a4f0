package compiler

import (
	"strings"

	"bailiff/grammar"
	"bailiff/vm"
)

// readMCP reads one entry of `## mcp`, and reports whether it knows the key.
func (c *checker) readMCP(row *Key, entry *grammar.Entry) bool {
	m := c.policy.MCP
	switch row.Name {
	case "allowed_servers":
		m.AllowedServers = c.lowered(entry, c.server)
	case "allowed_tools":
		m.AllowedTools = c.lowered(entry, c.toolPattern)
	case "blocked_tools":
		m.BlockedTools = c.lowered(entry, c.toolPattern)
	case nameApproval:
		m.Approval = c.lowered(entry, c.toolPattern)
	default:
		return c.readResponse(row, entry)
	}
	return true
}

// lowered reads a list that is compared in lower case. The check reports items that can't stand in it.
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
	c.add(grammar.At(CodeServer, item.Span, "`%s` is no name of an MCP server", shorten(item.Text)).
		WithHint("servers are exact names without dots and stars: of `mcp.files.read` it is `files`"))
	return false
}

// toolPattern reports an item that is no pattern of MCP tools.
func (c *checker) toolPattern(item grammar.Item) bool {
	if isAction(item.Text) && strings.Count(item.Text, "*") <= vm.MaxStars {
		c.lintWildcards(item)
		if strings.HasPrefix(item.Text, ".") || strings.HasSuffix(item.Text, ".") {
			c.add(grammar.At(CodeNeverMatches, item.Span, "no MCP tool is called `%s`: a name stands on either side of a dot", shorten(item.Text)))
		}
		return true
	}
	c.add(grammar.At(CodeToolPattern, item.Span, "`%s` is no pattern of MCP tools", shorten(item.Text)).
		WithHint("write `<server>.<tool>` or `<tool>`, of printable ASCII, with at most %d stars", vm.MaxStars))
	return false
}

// finishMCP checks what concerns several entries of `## mcp`.
func (c *checker) finishMCP() {
	m := c.policy.MCP
	if m == nil {
		return
	}
	if !m.grants() && m.BlockedTools == nil && !c.lost("mcp", "tools") && !c.lost("mcp", "servers") {
		c.add(grammar.At(CodeMCPGrantsNothing, m.Span, "`## mcp` has none of `allowed_servers`, `allowed_tools` and `blocked_tools`").
			WithHint("name what is granted: `allowed_servers: files` or `allowed_tools: files.read_*`"))
		c.partial = true
	}
	if m.AllowedTools == nil || m.BlockedTools == nil {
		return
	}
	blocked := newGlobIndex(vm.Unbounded, m.BlockedTools.texts())
	for _, item := range m.AllowedTools.Items {
		if by, covered := blocked.coversTool(item.Text); covered {
			c.add(grammar.At(CodeAllowedBlocked, item.Span, "`blocked_tools` covers this with `%s`, so it is never allowed", shorten(by)).
				WithHint("remove it from `allowed_tools`, or narrow the pattern if part of it is meant to pass"))
			c.partial = true
		}
	}
}
