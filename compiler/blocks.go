package compiler

import (
	"errors"
	"net/netip"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form/command"
	"bailiff/vm/form/httpurl"
)

// blocked reads a list of things that are blocked, held or allowed. What parse returns for an item is what the machine seeks.
func (c *checker) blocked(entry *grammar.Entry, code grammar.Code, parse func(string) ([]string, error)) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		c.literals(item.Text, item.Span)
		if code == codes.BlockedCommand {
			c.lintCommand(item)
			c.lintCommandWords(item)
		}
		needles, err := parse(item.Text)
		if err != nil {
			c.add(problemWith(code, item.Span, err))
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
			c.repeatedCase(item, command.ShowListed(needles[0]))
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

// A blockList is one of the lists of `## tool_calls` that bind what a tool touches.
type blockList struct {
	list  *List
	key   *Key
	slot  string
	tests func(texts []string) []setTest

	missing, unreadable, blocked string // messages; unreadable is empty where requests are refused before
}

// blocked judges what a tool touches by one list. A missing or unreadable subject is denied by the same rule.
func (e *emitter) blocked(list blockList, done vm.Label) {
	present, readable := e.NewLabel(), e.NewLabel()
	slot, value := e.Field(list.slot), e.value(list.slot)
	e.blocking(list.list)
	e.Kind(vm.Unless, slot, absent, present)
	e.deny(list.key.Rule, list.key.Code, list.missing, value, done)
	e.Place(present)
	if list.unreadable != "" {
		e.Kind(vm.Unless, slot, vm.Kinds(vm.Invalid), readable)
		e.deny(list.key.Rule, list.key.Code, list.unreadable, value, done)
	}
	e.Place(readable)
	e.unlessAny(slot, list.tests(list.list.Texts()), done)
	e.deny(list.key.Rule, list.key.Code, list.blocked, e.element(list.slot), done)
}
