package intent

import (
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// formOf returns the form that values of a row have in this request.
func (in *Intent) formOf(row *slot.Row) form.Form {
	if row.When != slot.Never && in.holds(row.When) {
		return row.Other
	}
	return row.Form
}

func (in *Intent) holds(when slot.Condition) bool {
	switch when {
	case slot.ByEmail:
		return in.action == slot.EmailAction
	case slot.WithURL:
		return in.Has(slot.URL)
	case slot.ForMCP:
		return in.server != ""
	}
	return false
}

// normal returns the normal form of a text, and false where it has none. Most texts are their own.
func (in *Intent) normal(as form.Form, text string) (string, bool) {
	switch as {
	case form.Text:
		if len(text) < evmaddr.Length {
			return text, true
		}
	case form.Lower, form.Hex, form.Address: // the decoder has checked them
		return in.lower(text), true
	case form.Token:
		return in.TokenName(in.tokens), true
	case form.Amount:
		return in.amountText(in.tokens)
	case form.Unit:
		return text, !in.inHumanUnits()
	case form.Host:
		if in.Has(slot.URL) && text == in.url.SentHost {
			return in.url.Host, true
		}
	case form.URL:
		if in.Has(slot.URL) && text == in.Text(slot.URL) { // which is parsed
			return evmaddr.FoldLiterals(in.url.Normal()), true
		}
	}
	return as.Normal(text)
}

// A reading says what of the texts at a place a slot gives: their normal forms, or the texts as they were sent.
type reading struct {
	form form.Form
	sent bool
}

// text reads one text. One without a normal form is given as an object where the normal form is asked for: it equals
// nothing, so that nothing is granted by it, and denials read it as it was sent. The text as sent, in lower case where its
// form has no case, is missing where it is the normal form.
func (r reading) text(in *Intent, sent string) vm.Value {
	normal, ok := in.normal(r.form, sent)
	switch {
	case !r.sent && ok:
		return text(normal)
	case !r.sent:
		return vm.Value{Kind: vm.Object}
	}
	sent = in.folded(r.form, sent)
	return textIf(!ok || sent != normal, sent)
}

// folded returns a text in lower case where its form has no case.
func (in *Intent) folded(as form.Form, text string) string {
	if as.Caseless() && isASCII(text) {
		return in.lower(text)
	}
	return as.Fold(text)
}

// one reads a value that is no array. Only texts have a second reading.
func (r reading) one(in *Intent, n *node) vm.Value {
	switch {
	case n.kind == vm.String:
		return r.text(in, n.text)
	case r.sent:
		return vm.Value{}
	}
	return vm.Value{Kind: n.kind, Text: n.text}
}

// read returns the value of the node at. Of an array that is all of its elements; an object in it equals nothing. So does
// an array in it, so that no list that allows has it, but its own elements follow: what denies any element denies them, too.
// Elements of which there is nothing to read are left out.
func (in *Intent) read(at int32, r reading) vm.Value {
	if n := &in.nodes[at]; n.kind != vm.List {
		return r.one(in, n)
	}
	start := len(in.elements)
	in.appendElements(at, r)
	return in.collected(start, r)
}

// appendElements appends the elements of an array, and of arrays in it, to the elements.
func (in *Intent) appendElements(list int32, r reading) {
	for i := list + 1; i < in.nodes[list].next; {
		n := &in.nodes[i]
		element := r.one(in, n)
		if n.kind == vm.List {
			element.Kind = vm.Object
			i++
		} else {
			i = n.next
		}
		in.appendElement(element, r)
	}
}

func (in *Intent) appendElement(element vm.Value, r reading) {
	if !r.sent || element.Kind == vm.String {
		in.elements = append(in.elements, element)
	}
}

// collected returns the elements since start: nothing where they are texts as sent, and none differs from its normal form.
func (in *Intent) collected(start int, r reading) vm.Value {
	if r.sent && len(in.elements) == start {
		return vm.Value{}
	}
	return in.listFrom(start)
}

// each returns the text at a path that walks through lists of objects at any level. An element without the path
// equals nothing. Where no list is on the way it is the value itself.
func (in *Intent) each(f slot.Field, path []string, r reading) vm.Value {
	at := in.at[f]
	for i, name := range path {
		if at != 0 && in.nodes[at].kind == vm.List {
			start := len(in.elements)
			in.gather(at, path[i:], r)
			return in.collected(start, r)
		}
		at = in.member(at, name)
	}
	if at == 0 {
		return vm.Value{}
	}
	return in.read(at, r)
}

// gather appends the text at the path below a node.
func (in *Intent) gather(at int32, path []string, r reading) {
	n := &in.nodes[at]
	switch {
	case len(path) == 0 && n.kind == vm.List:
		in.appendElements(at, r)
	case len(path) == 0:
		in.appendElement(r.one(in, n), r)
	case n.kind == vm.List:
		for i := at + 1; i < n.next; i = in.nodes[i].next {
			in.gather(i, path, r)
		}
	default:
		if next := in.member(at, path[0]); next != 0 {
			in.gather(next, path[1:], r)
			return
		}
		in.appendElement(vm.Value{Kind: vm.Object}, r)
	}
}

// The slots that denials read beside, or in place of, that of a path.
const (
	EachPrefix = slot.EachPrefix // a path below an object, which walks through lists of objects
	sentPrefix = slot.SentPrefix // the same, as it was sent; missing where that is the normal form
)

// part returns the text of a path that is derived where the request has more than the field itself: the parts of a URL, and of an
// MCP action, have one definition, whether they were repeated or not.
func (in *Intent) part(name string) (sent string, ok bool) {
	switch name {
	case "host":
		return in.url.SentHost, in.Has(slot.URL)
	case "path":
		return in.url.Path, in.Has(slot.URL)
	case "query":
		return in.url.Query, in.Has(slot.URL)
	case "metadata." + slot.ServerID:
		return in.server, in.server != ""
	case "metadata." + slot.ToolName:
		return in.tool, in.server != ""
	}
	return "", false
}

// formed returns how the slot of a path is read.
func formed(f slot.Field, path []string, name string, row slot.Row, sent, walks bool) func(*Intent, Provenance) vm.Value {
	return func(in *Intent, _ Provenance) vm.Value {
		r := reading{in.formOf(&row), sent}
		if derived, ok := in.part(name); ok {
			return r.text(in, derived)
		}
		switch at := in.find(f, path); {
		case walks:
			return in.each(f, path, r)
		case at != 0:
			return in.read(at, r)
		}
		return vm.Value{}
	}
}
