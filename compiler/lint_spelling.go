package compiler

import (
	"strings"

	"bailiff/grammar"
	"bailiff/vm/address"
	"bailiff/vm/amount"
)

// lintSpellings warns of denials that another spelling of the same thing passes: rules are about the text that is sent, and
// call data, symbols of tokens and some actions mean the same in any case.
func (c *checker) lintSpellings() {
	if c.policy.Custom == nil {
		return
	}
	anyCase := c.policy.inAnyCase()
	for _, d := range c.policy.Custom.Denials {
		text, lower := d.Value.Text, strings.ToLower(d.Value.Text)
		if d.Operator == Matches || d.Operator == NotEquals || lower == strings.ToUpper(text) || address.IsLiteral(text) {
			continue
		}
		switch {
		case d.Path == slotCalldata && strings.Trim(lower, "0123456789abcdefx") == "" && strings.Trim(lower, "0123456789x") != "":
			c.otherSpelling(d, "call data")
		case d.Path == slotToken && c.policy.EVM != nil && len(c.policy.EVM.Tokens) > 0 && !strings.HasPrefix(lower, "0x"):
			c.otherSpelling(d, "the symbol of a token")
		case d.Path == slotAction && isAction(text) && anyCase.mayMeet(d.Operator, lower):
			c.otherSpelling(d, "this action")
		}
	}
}

// inAnyCase returns the actions that pass in whatever case they are sent: those that no exact list has to grant.
func (p *Policy) inAnyCase() *actionIndex {
	index := newActionIndex([]string{modelAction}, p.Profiles.granted())
	index.any = p.passesTools()
	if p.MCP.grants() {
		index.add(mcpPrefix + "*")
	}
	index.sort()
	return index
}

// mayMeet reports whether an action of the index can compare so with a text. Of parts it looks only at whether patterns
// leave something open.
func (x *actionIndex) mayMeet(operator Operator, text string) bool {
	switch operator {
	case Equals:
		return x.overlaps(text)
	case StartsWith:
		return x.overlaps(text + "*")
	}
	return x.any || len(x.open) > 0 || strings.Contains(modelAction, text)
}

func (c *checker) otherSpelling(d Denial, what string) {
	start, end := "", ""
	if d.Operator == Equals || d.Operator == StartsWith {
		start = "^"
	}
	if d.Operator == Equals || d.Operator == EndsWith {
		end = "$"
	}
	c.add(grammar.At(CodeOtherSpelling, d.Value.Span, "%s means the same in any case, and this denies one spelling of it", what).
		WithHint("write `matches \"(?i)%s%s%s\"`", start, shorten(plainPattern(d.Value.Text)), end))
}

// plainPattern returns a pattern that matches a text itself.
func plainPattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lintDivided warns of an item that was probably meant to be several, divided by something else than commas.
func (c *checker) lintDivided(item grammar.Item) {
	parts := strings.FieldsFunc(item.Text, func(r rune) bool { return strings.ContainsRune(" \t;|", r) })
	if item.Quoted || len(parts) < 2 || strings.ContainsAny(item.Text, "[]") {
		return
	}
	meant := strings.Join(parts, ", ")
	c.add(grammar.At(CodeNotDivided, item.Span, "only commas divide a list: this is one name").
		WithHint("write `%s`; if one name is meant, put it between quotes", shorten(meant)).WithFix(item.Span, meant))
}

// lintWildcards warns of what other formats have as wildcards, in a pattern of which `*` is the only one.
func (c *checker) lintWildcards(item grammar.Item) {
	if at := strings.IndexAny(item.Text, "?[]{}"); at >= 0 && !item.Quoted {
		c.add(grammar.At(CodeLiteralWildcard, item.Span, "`%c` stands for itself here: `*` is the only wildcard", item.Text[at]).
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
			c.add(grammar.At(CodeServerNotAllowed, pattern.Span, "server `%s` is not in `allowed_servers`, so this grants nothing there", shorten(server)).
				WithHint("add the server there, or remove the entry"))
		}
	}
}

// nativeSupply is more than there is of any native currency, in its own unit: who writes more than that meant wei.
var nativeSupply, _ = amount.Parse("1000000000000", NativeDecimals)

// lintWei warns of native amounts that nobody can have.
func (c *checker) lintWei(limit *Limit) {
	if limit == nil || limit.Amount.Cmp(nativeSupply) < 0 {
		return
	}
	d := grammar.At(CodeWei, limit.Span, "no chain has that much of its currency: amounts here are in ETH, not in wei")
	if meant := limit.Amount.Format(2 * NativeDecimals); len(meant) <= maxSymbolBytes {
		if _, err := amount.Parse(meant, NativeDecimals); err == nil {
			d = d.WithHint("if wei are meant, write `%s`", meant)
		}
	}
	c.add(d)
}
