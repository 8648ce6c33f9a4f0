package lint

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm/amount"
)

// lintSigns warns of values that begin at once behind the colon of their key, with what makes one sign of both.
func (c *linter) lintSigns() {
	for _, section := range c.file.Sections {
		for _, entry := range section.Entries {
			if entry.Value == nil {
				continue
			}
			start := entry.Value.Span.Start
			span := grammar.Span{Start: start - 1, End: start + 1}
			switch sign := c.file.Source.Slice(span); sign {
			case ":=", "::", ":>":
				c.add(grammar.At(codes.SignBehindColon, span, "a key and its value have a colon between them, and `%s` is part of the value", sign[1:]).
					WithHint("write `: `; if the value begins with it, put a space in front or quotes around"))
			}
		}
	}
}

// flagOrders are commands that are blocked by two flags in one, which can be in either order.
var flagOrders = regexp.MustCompile(`(?i)\b(rm -)(r)(f)|\b(rm -)(f)(r)|\b(git clean -)(f)(d)|\b(git clean -)(d)(f)`)

// lintFlagOrder warns of flags that are blocked in one order and pass in the other.
func (c *linter) lintFlagOrder(list *frame.List) {
	for i, item := range list.Items {
		if i > 0 && item.Span == list.Items[i-1].Span { // the same item without its escapes
			continue
		}
		match := flagOrders.FindStringSubmatchIndex(item.Text)
		if match == nil || strings.ContainsAny(item.Text[:1], "=:>") {
			continue
		}
		at := match[1] - 2 // where the two flags are
		other := item.Text[:at] + item.Text[at+1:at+2] + item.Text[at:at+1] + item.Text[at+2:]
		name := strings.TrimSpace(strings.TrimRight(item.Text[match[0]:at], "-"))
		if slices.ContainsFunc(list.Items, func(i frame.Item) bool { return strings.Contains(strings.ToLower(other), strings.ToLower(i.Text)) }) {
			continue
		}
		c.add(grammar.At(codes.FlagOrder, item.Span, "`%s` is searched for as written, and `%s` passes", frame.Shorten(item.Text), frame.Shorten(other)).
			WithHint("write `%s, %s`; or block `%s`, whatever its flags are", frame.Shorten(item.Text), frame.Shorten(other), name).
			WithFix(item.Span, c.file.Source.Slice(item.Span)+", "+frame.AsItem(other)))
	}
}

// lintServers warns of patterns of tools on servers that are not allowed.
func (c *linter) lintServers(m *sections.MCP) {
	if m.AllowedServers == nil || m.AllowedTools == nil {
		return
	}
	allowed := map[string]bool{}
	for _, server := range m.AllowedServers.Texts() {
		allowed[server] = true
	}
	for _, pattern := range m.AllowedTools.Items {
		server, tool, _ := strings.Cut(pattern.Text, ".")
		if server != "" && tool != "" && !strings.Contains(server, "*") && !allowed[server] {
			c.add(grammar.At(codes.ServerNotAllowed, pattern.Span, "server `%s` is not in `allowed_servers`, so this grants nothing there", frame.Shorten(server)).
				WithHint("add the server there, or remove the entry"))
		}
	}
}

// lintWei warns of native amounts that cannot exist.
func (c *linter) lintWei(limit *frame.Limit) {
	if limit == nil || limit.Amount.Cmp(frame.NativeSupply) < 0 {
		return
	}
	d := grammar.At(codes.Wei, limit.Span, "no chain has that much of its currency: amounts here are in ETH, not in wei")
	if meant := limit.Amount.Format(2 * frame.NativeDecimals); len(meant) <= frame.MaxSymbolBytes {
		if _, err := amount.Parse(meant, frame.NativeDecimals); err == nil {
			key, _, _ := strings.Cut(c.file.Source.Slice(limit.Span), ":")
			d = d.WithHint("if wei are meant, write `%s: %s`", key, meant)
		}
	}
	c.add(d)
}
