package intent

import (
	"strings"

	"bailiff/runtime/subject"
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/slot"
)

// Units of amounts beside the names of tokens.
const (
	nativeUnit = "ETH"
	baseUnit   = "base"
)

// maxHead is how many bytes of a command are looked at for its beginning: more than are shown, since masking may shorten them.
const maxHead = 4096

// Hide returns the record's substitute for a text. A plain one is a number, an address or a word of Bailiff's own: no
// credential is in it.
type Hide func(text string, plain bool) string

// Subject returns what an event says that the intent is about, in normal forms where there are some. hide is applied to each
// text but the task's, by which events are found, before it is cut. The texts belong to the intent's decoder.
func (in *Intent) Subject(tokens *Tokens, class vm.Class, hide Hide) (s subject.Subject) {
	in.tokens = tokens
	set := func(f subject.Field, text string, plain bool) {
		if text != "" {
			s.Set(f, hide(text, plain))
		}
	}
	s.Set(subject.Task, in.Text(slot.TaskID))
	if in.Has(slot.Token) {
		set(subject.Token, in.TokenName(tokens), false)
	}
	set(subject.Target, in.Text(slot.TargetAddress), true) // the decoder has checked that it is an address
	set(subject.Recipient, in.first(slot.To), false)
	s.Further[subject.Recipient] = in.further(slot.To)
	set(subject.Path, in.first(slot.Path), false)
	s.Further[subject.Path] = in.further(slot.Path)
	if in.Has(slot.URL) {
		set(subject.Host, in.url.Host, true)
		set(subject.Path, in.url.NormalPath(), false)
	} else {
		set(subject.Host, in.first(slot.Host), false)
	}
	if in.Has(slot.Amount) {
		in.setAmount(tokens, class, set)
	}
	if command := in.Text(slot.Command); command != "" {
		set(subject.Command, strings.TrimSpace(command[:min(len(command), maxHead)]), false)
	}
	if in.server != "" {
		set(subject.Tool, in.join(in.server, ".", in.tool), false)
	}
	for f, n := range s.Further {
		if n != 0 && s.Texts[f] == "" { // of empty values nothing is shown
			s.Further[f] = 0
		}
	}
	return s
}

// setAmount sets the amount with its unit: of a token that no rule knows, base units stay what they are.
func (in *Intent) setAmount(tokens *Tokens, class vm.Class, set func(subject.Field, string, bool)) {
	text, normal := in.amountText(tokens)
	set(subject.Amount, text, normal)
	switch {
	case !normal && in.AmountInBaseUnits():
		set(subject.Unit, baseUnit, true)
	case in.Has(slot.Token):
		set(subject.Unit, in.TokenName(tokens), false)
	case class == vm.EVM:
		set(subject.Unit, nativeUnit, true)
	}
}

// first returns the normal form of a field's value, or of the first of several. One without a normal form is as it was sent.
func (in *Intent) first(f slot.Field) string {
	at := in.at[f]
	if at == 0 {
		return ""
	}
	if in.nodes[at].next > at+1 { // a list, of texts alone
		at++
	}
	sent := in.nodes[at].text
	as := in.formOf(f.Row())
	if as == form.Path {
		if clean := in.cleanPath(sent); clean.Text != "" {
			return clean.Text
		}
		return sent
	}
	if normal, ok := in.normal(as, sent); ok {
		return normal
	}
	return sent
}

// further returns how many values a field has beyond the first.
func (in *Intent) further(f slot.Field) int {
	if at := in.at[f]; at != 0 && in.nodes[at].next > at+1 {
		return in.items(at) - 1
	}
	return 0
}
