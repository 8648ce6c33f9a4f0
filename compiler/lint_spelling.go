package compiler

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/amount"
)

// lintWildcards warns of what other formats have as wildcards, in a pattern of which `*` is the only one.
func (c *checker) lintWildcards(item grammar.Item) {
	if at := strings.IndexAny(item.Text, "?[]{}"); at >= 0 && !item.Quoted {
		c.add(grammar.At(codes.LiteralWildcard, item.Span, "`%c` stands for itself here: `*` is the only wildcard", item.Text[at]).
			WithHint("write every name out, or `*`; if the character is meant, put the pattern between quotes"))
	}
}

// lintServers warns of patterns of tools on servers that are not allowed.
func (c *checker) lintServers(m *MCP) {
	if m.AllowedServers == nil || m.AllowedTools == nil {
		return
	}
	allowed := map[string]bool{}
	for _, server := range m.AllowedServers.texts() {
		allowed[server] = true
	}
	for _, pattern := range m.AllowedTools.Items {
		server, tool, _ := strings.Cut(pattern.Text, ".")
		if server != "" && tool != "" && !strings.Contains(server, "*") && !allowed[server] {
			c.add(grammar.At(codes.ServerNotAllowed, pattern.Span, "server `%s` is not in `allowed_servers`, so this grants nothing there", shorten(server)).
				WithHint("add the server there, or remove the entry"))
		}
	}
}

// nativeSupply is more than there is of any native currency, in its own unit: who writes more than that meant wei.
var nativeSupply, _ = amount.Parse("1000000000000", NativeDecimals)

// lintWei warns of native amounts that cannot exist.
func (c *checker) lintWei(limit *Limit) {
	if limit == nil || limit.Amount.Cmp(nativeSupply) < 0 {
		return
	}
	d := grammar.At(codes.Wei, limit.Span, "no chain has that much of its currency: amounts here are in ETH, not in wei")
	if meant := limit.Amount.Format(2 * NativeDecimals); len(meant) <= maxSymbolBytes {
		if _, err := amount.Parse(meant, NativeDecimals); err == nil {
			key, _, _ := strings.Cut(c.file.Source.Slice(limit.Span), ":")
			d = d.WithHint("if wei are meant, write `%s: %s`", key, meant)
		}
	}
	c.add(d)
}
