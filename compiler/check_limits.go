package compiler

import (
	"slices"
	"strings"

	"bailiff/grammar"
)

// readLimits reads one entry of `## execution_limits`, and reports whether it knows the key.
func (c *checker) readLimits(row *Key, entry *grammar.Entry) bool {
	l := c.policy.ExecutionLimits
	switch row.Name {
	case "max_tool_calls_per_task":
		l.CallsPerTask = c.integer(entry, 1, maxCount)
	case "max_tool_calls_per_hour":
		l.CallsPerHour = c.integer(entry, 1, maxCount)
	case "max_model_spend_usd_per_task":
		l.SpendPerTask = c.limit(entry, spendDecimals, "a budget in USD has")
	case "max_model_tokens_per_task":
		l.TokensPerTask = c.integer(entry, 1, maxCount)
	default:
		return false
	}
	return true
}

const (
	spendDecimals = 6  // of a model budget (facts of the format: at most six fraction digits)
	sumDecimals   = 18 // of a cap's sum in USD
)

// readSoftLimits reads one entry of `## soft_limits`, and reports whether it knows the key.
func (c *checker) readSoftLimits(row *Key, entry *grammar.Entry) bool {
	s := c.policy.SoftLimits
	switch name, isCap := strings.CutPrefix(row.Name, "cap.<name>."); {
	case isCap:
		if one := c.cap(entry); one != nil {
			return c.readCap(one, name, row, entry)
		}
	case name == "daily_evm_limit_eth":
		s.DailyEVM = c.limit(entry, NativeDecimals, "ETH has")
	case name == "daily_fee_eth":
		s.DailyFee = c.limit(entry, NativeDecimals, "ETH has")
	case name == "daily_token.<SYM>":
		c.daily = append(c.daily, entry)
	case name == "daily_tool_calls":
		s.DailyCalls = c.integer(entry, 1, maxCount)
	default:
		return false
	}
	return true
}

// readCap reads what follows the name of a cap.
func (c *checker) readCap(one *Cap, name string, row *Key, entry *grammar.Entry) bool {
	switch value := entry.Value; name {
	case "max_count":
		one.Count = c.integer(entry, 1, maxCount)
	case "max_sum_usd":
		one.SumUSD = c.limit(entry, sumDecimals, "a sum in USD has")
	case "window":
		one.Window = c.word(row, entry)
	case "action":
		if c.actionPattern(value.Text, value.Span) {
			one.Action = &Text{entry.Span, Item{strings.ToLower(value.Text), value.Span}}
		}
	case "group_by":
		one.Group = c.fieldPath(entry)
	case "amount_field":
		if path := c.fieldPath(entry); path != nil && c.belowMembers(path) {
			one.Amount = path
		}
	default:
		return false
	}
	return true
}

// foreignCaps are names that no cap may have: those of other limits, and what has a meaning of its own in the objects of
// some languages.
var foreignCaps = []string{"__proto__", "constructor", "prototype", "daily_tool_calls", "daily_evm_limit_eth"}

// cap returns the cap that a key names, a new one where it has no line yet, or nil after reporting.
func (c *checker) cap(entry *grammar.Entry) *Cap {
	name := entry.Key.Segments[1]
	if one := c.caps[name.Text]; one != nil {
		return one
	}
	if strings.Trim(name.Text, nameLetters) != "" || len(name.Text) > maxSymbolBytes || slices.Contains(foreignCaps, name.Text) {
		c.add(grammar.At(CodeCapName, name.Span, "`%s` can't be the name of a cap", shorten(name.Text)).
			WithHint("use up to %d letters, digits, `_` and `-`, and no name that is taken", maxSymbolBytes))
		return nil
	}
	one := &Cap{Name: name.Text, Span: entry.Span}
	c.caps[name.Text] = one
	c.policy.SoftLimits.Caps = append(c.policy.SoftLimits.Caps, one)
	return one
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// finishDailyTokens reads the daily limits of tokens by their rules.
func (c *checker) finishDailyTokens() {
	if len(c.daily) == 0 {
		return
	}
	seen := map[*Token]bool{}
	for _, entry := range c.daily {
		symbol := entry.Key.Segments[1]
		token := c.tokens[strings.ToLower(symbol.Text)]
		switch {
		case token == nil && !c.lostPart("evm", symbol.Text):
			c.add(grammar.At(CodeTokenUnknown, symbol.Span, "no rule of `## evm` is for token `%s`", shorten(symbol.Text)).
				WithHint("add `token.%s.decimals` and `token.%s.max_transaction` there", shorten(symbol.Text), shorten(symbol.Text)))
			continue
		case token == nil:
			continue
		case token.Symbol != symbol.Text:
			c.add(grammar.At(CodeSymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		if most := c.tokenLimit(token, entry); most != nil && !seen[token] {
			seen[token] = true
			c.policy.SoftLimits.DailyToken = append(c.policy.SoftLimits.DailyToken, DailyToken{token, most})
		}
	}
	c.partial = c.partial || c.found.HasErrors()
}

// fieldPath reads a value that is the path of a field, without `intent.` in front, or returns nil after reporting.
func (c *checker) fieldPath(entry *grammar.Entry) *Text {
	value := entry.Value
	start := value.Span.Start
	if value.Quoted {
		start++
	}
	var segments []grammar.Segment
	for name := range strings.SplitSeq(value.Text, ".") {
		if name == "" || strings.Trim(name, nameLetters+"@$/+") != "" {
			c.add(grammar.At(CodeFieldPath, value.Span, "`%s` is no path of a field", shorten(value.Text)).
				WithHint("write names with dots between, such as `metadata.customer`"))
			return nil
		}
		segments = append(segments, grammar.Segment{Text: name, Span: grammar.Span{Start: start, End: start + len(name)}})
		start += len(name) + len(".")
	}
	path, ok := c.path(segments)
	if !ok {
		return nil
	}
	return &Text{entry.Span, Item{path, value.Span}}
}

// belowMembers reports a path that is not below metadata or arguments.
func (c *checker) belowMembers(path *Text) bool {
	if strings.Contains(path.Text, ".") { // only what has members has a dot
		return true
	}
	c.add(grammar.At(CodeCapAmount, path.Item.Span, "`%s` is no amount in USD", shorten(path.Text)).
		WithHint("name a field of your own that holds one, such as `metadata.amount_usd`"))
	return false
}

// finishCaps checks that each cap has what it needs, and nothing that excludes it.
func (c *checker) finishCaps() {
	if c.policy.SoftLimits == nil {
		return
	}
	for _, one := range c.policy.SoftLimits.Caps {
		if c.lostPart("soft_limits", one.Name) {
			continue
		}
		switch {
		case one.Count != nil && one.SumUSD != nil:
			c.add(grammar.At(CodeCapForm, one.SumUSD.Span, "cap `%s` has `max_count` too, and is either a count or a sum", one.Name).
				WithHint("make two caps of it"))
		case one.Count == nil && one.SumUSD == nil:
			c.incompleteCap(one, "max_count` or `max_sum_usd")
		case one.Count != nil && one.Amount != nil:
			c.add(grammar.At(CodeCapForm, one.Amount.Span, "cap `%s` counts intents, and looks at no amount", one.Name).
				WithHint("write `max_sum_usd` in place of `max_count`, or remove `amount_field`"))
		case one.SumUSD != nil && one.Amount == nil:
			c.incompleteCap(one, "amount_field")
		}
		if one.Window == nil {
			c.incompleteCap(one, "window")
		}
		if one.Action == nil {
			c.incompleteCap(one, "action")
		}
	}
	c.partial = c.partial || c.found.HasErrors()
}

func (c *checker) incompleteCap(one *Cap, key string) {
	c.add(grammar.At(CodeCapIncomplete, one.Span, "cap `%s` has no `%s`", one.Name, key).
		WithHint("add `cap.%s.%s: …`", one.Name, strings.SplitN(key, "`", 2)[0]))
}
