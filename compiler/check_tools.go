package compiler

import (
	"errors"
	"net/netip"

	"bailiff/grammar"
	"bailiff/vm/command"
	"bailiff/vm/pathname"
	"bailiff/vm/weburl"
)

// readTools reads one entry of `## tool_calls`, and reports whether it knows the key.
func (c *checker) readTools(row *Key, entry *grammar.Entry) bool {
	t := c.policy.ToolCalls
	switch row.Name {
	case "allowed":
		t.Allowed = c.actions(entry.Span, entry.Value)
	case "bash.blocked_commands":
		t.BlockedCommands = c.blocked(entry, CodeBlockedCommand, command.Entry)
	case "web_fetch.blocked_domains":
		t.BlockedDomains = c.blocked(entry, CodeBlockedDomain, blockedDomain)
	case "file_write.blocked_paths":
		t.BlockedPaths = c.blocked(entry, CodeBlockedPath, pathname.ParseEntry)
	default:
		return false
	}
	return true
}

// blocked reads a list of blocked things. What parse returns for an item is what the machine seeks.
func (c *checker) blocked(entry *grammar.Entry, code grammar.Code, parse func(string) ([]string, error)) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		c.literals(item.Text, item.Span)
		needles, err := parse(item.Text)
		if err != nil {
			c.add(problemWith(code, item.Span, err))
			continue
		}
		for _, needle := range needles {
			if !seen[needle] {
				seen[needle] = true
				list.Items = append(list.Items, Item{needle, item.Span})
			}
		}
	}
	return list
}

// problemWith turns the error of a leaf package into a diagnostic.
func problemWith(code grammar.Code, span grammar.Span, err error) grammar.Diagnostic {
	var host *weburl.EntryError
	if !errors.As(err, &host) {
		return grammar.At(code, span, "%s", err)
	}
	d := grammar.At(code, span, "%s", host.Problem)
	if network, err := netip.ParsePrefix(host.Entry); err == nil && !network.IsSingleIP() {
		return d.WithHint("an entry is one address or one name, and `%s` would block itself alone; list each address that is meant", network.Addr())
	}
	if host.Fix != "" {
		d = d.WithHint("write `%s`", shorten(host.Fix)).WithFix(span, host.Fix)
	}
	return d
}

func blockedDomain(text string) ([]string, error) {
	host, err := weburl.BlockedEntry(text)
	return []string{host}, err
}

// finishTools checks what concerns several entries of `## tool_calls`.
func (c *checker) finishTools() {
	t := c.policy.ToolCalls
	if t == nil || t.Allowed != nil || c.partial {
		return
	}
	c.add(grammar.At(CodeToolsGrantNothing, t.Span, "`## tool_calls` has no `allowed`, so it grants nothing").
		WithHint("name the tools: `allowed: bash, web_fetch`"))
}

// readLimits reads one entry of `## execution_limits`, and reports whether it knows the key.
func (c *checker) readLimits(row *Key, entry *grammar.Entry) bool {
	l := c.policy.ExecutionLimits
	switch row.Name {
	case "max_tool_calls_per_task":
		l.CallsPerTask = c.integer(entry, 1, maxCount)
	case "max_tool_calls_per_hour":
		l.CallsPerHour = c.integer(entry, 1, maxCount)
	default:
		return false
	}
	return true
}
