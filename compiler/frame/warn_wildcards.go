package frame

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/amount"
)

// LintWildcards warns of what other formats have as wildcards, in a pattern of which `*` is the only one.
func (c *Checker) LintWildcards(item grammar.Item) {
	if at := strings.IndexAny(item.Text, "?[]{}"); at >= 0 && !item.Quoted {
		c.Add(grammar.At(codes.LiteralWildcard, item.Span, "`%c` matches only itself here: `*` is the only wildcard", item.Text[at]).
			WithHint("write every name out, or `*`; if the character is meant, put the pattern between quotes"))
	}
}

// NativeSupply is more than there is of any native currency, in its own unit: who writes more than that meant wei.
var NativeSupply, _ = amount.Parse("1000000000000", NativeDecimals)
