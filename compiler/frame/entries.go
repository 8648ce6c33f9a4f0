package frame

import (
	"errors"
	"net/netip"

	"bailiff/grammar"
	"bailiff/vm/form/command"
	"bailiff/vm/form/httpurl"
)

// readEntries reads a list of what is blocked, held or allowed. What parse returns for an item is what the machine
// seeks; also are what else looks at each item.
func (c *Checker) readEntries(entry *grammar.Entry, code grammar.Code, parse func(string) ([]string, error), also ...func(*Checker, grammar.Item)) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.List(entry) {
		c.Literals(item.Text, item.Span)
		for _, look := range also {
			look(c, item)
		}
		needles, err := parse(item.Text)
		if err != nil {
			c.Add(problemWith(code, item.Span, err))
			continue
		}
		before := len(list.Items)
		for _, needle := range needles {
			if !seen[needle] {
				seen[needle] = true
				list.Items = append(list.Items, Item{needle, item.Span})
			}
		}
		if len(list.Items) == before {
			c.RepeatedCase(item, command.ShowListed(needles[0]))
		}
	}
	return list
}

// problemWith turns the error of a leaf package into a diagnostic.
func problemWith(code grammar.Code, span grammar.Span, err error) grammar.Diagnostic {
	var host *httpurl.EntryError
	if !errors.As(err, &host) {
		return grammar.At(code, span, "%s", err)
	}
	d := grammar.At(code, span, "%s", host.Problem)
	if network, err := netip.ParsePrefix(host.Entry); err == nil && !network.IsSingleIP() {
		return d.WithHint("an entry is one address or one name, and `%s` would block itself alone; list each address that is meant", network.Addr())
	}
	if host.Fix != "" {
		d = d.WithHint("write `%s`", Shorten(host.Fix)).WithFix(span, host.Fix)
	}
	return d
}
