package compiler

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/match"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Denial is one `deny_if`, or one `deny_string`, which has no path.
type Denial struct {
	Span     grammar.Span // of the entry
	Path     string       // without `intent.`
	Operator Operator     // Contains for a deny_string
	Value    Item
}

// readDenyString reads a text that no text of a request may contain.
func (c *checker) readDenyString(_ *Key, entry *grammar.Entry) {
	c.lintText(entry.Value)
	c.deny(Denial{Span: entry.Span, Operator: Contains}, entry.Value)
}

// readDenyIf reads `deny_if.path operator value`.
func (c *checker) readDenyIf(_ *Key, entry *grammar.Entry) {
	key := entry.Key
	path, ok := c.path(keySegments(key)[1:])
	if len(key.Words) != 1 {
		c.add(grammar.At(codes.Operator, key.Span, "a deny_if has one operator after its path").
			WithHint("write `deny_if.metadata.env equals production`"))
		return
	}
	operator, known := c.operator(key.Words[0], true)
	if ok && known {
		c.deny(Denial{Span: entry.Span, Path: path, Operator: operator}, entry.Value)
	}
}

// deny adds a denial with the text of its value: the rest of the line.
func (c *checker) deny(d Denial, value *grammar.Value) {
	switch {
	case value.Text == "":
		c.add(grammar.At(codes.EmptyValue, value.Span, "the empty text is no value to look for").
			WithHint("write what should be denied; for the empty text itself `matches \"^$\"`"))
		return
	case len(value.Text) > maxTextBytes:
		c.add(grammar.At(codes.TextLong, value.Span, "a value has at most %d bytes, and this one %d", maxTextBytes, len(value.Text)))
		return
	case d.Operator == Matches && !c.pattern(value.Text, value.Span, slot.At(d.Path).Forms()...):
		return
	}
	c.literals(value.Text, value.Span)
	c.lintDenial(d, value)
	d.Value = Item{value.Text, value.Span}
	c.policy.Custom.Denials = append(c.policy.Custom.Denials, d)
}

func (e *emitter) denials() []Denial {
	if e.policy.Custom == nil {
		return nil
	}
	return e.policy.Custom.Denials
}

// shown is the operator that an answer names before the text of a denial: a deny_string has none.
func (d *Denial) shown() Operator {
	if d.IsString() {
		return Equals
	}
	return d.Operator
}

// isString reports whether a denial is a deny_string.
func (d *Denial) IsString() bool { return d.Path == "" }

// emitDenials judges by deny_if and deny_string in file order. All texts of deny_string are sought in one scan,
// at the first of them.
func (e *emitter) emitDenials() {
	var sought vm.Const
	scanned := false
	for i := range e.denials() {
		d := &e.denials()[i]
		e.at(d.Span)
		e.listed(d.Operator == NotEquals, operated(d.shown(), e.words([]Item{d.Value})))
		if !d.IsString() {
			e.denyIf(d)
			continue
		}
		if !scanned {
			sought, scanned = e.scan(), true
		}
		e.denyString(d, sought)
	}
}

// scan seeks the texts of all deny_string rules. Whether it finds any or none it goes on at the first of them: rules
// of other kinds may be between.
func (e *emitter) scan() vm.Const {
	var entries []match.Entry
	for i := range e.denials() {
		if d := &e.denials()[i]; d.IsString() {
			entries = append(entries, entryOf(d.Value.Text))
		}
	}
	set, next := e.Texts(entries...), e.NewLabel()
	e.Scan(e.Field(derived.Text), set, next)
	e.Place(next)
	return set
}

// denyString denies if a value contains the text: as it was sent or in its normal form, ignoring case where that form has
// none. Call data contains addresses and methods without their 0x.
func (e *emitter) denyString(d *Denial, sought vm.Const) {
	next, found, text := e.NewLabel(), e.arrivals(), e.Field(derived.Text)
	last := text // whose test the denial follows
	small, digits := strings.ToLower(d.Value.Text), form.Hex.Rule(d.Value.Text, form.Inside)
	var others []test
	if small != d.Value.Text {
		others = append(others, test{e.Field(derived.Caseless), vm.OpContains, e.exactly(small)})
	}
	if strings.HasPrefix(small, "0x") && digits != "0x" && isHex(digits) {
		others = append(others, test{e.Field(slotCalldata), vm.OpContains, e.exactly(digits)})
	}
	others = append(others, e.rewritten(d.Value.Text, form.URL, slot.URL.String())...)
	others = append(others, e.rewritten(d.Value.Text, form.Path, slot.Cwd.String())...)
	withURL, without := e.rewritten(d.Value.Text, form.Escapes, slot.Path.String(), slot.Query.String()), e.rewritten(d.Value.Text, form.Path, slot.Path.String())
	switch {
	case len(others)+len(withURL)+len(without) == 0:
		e.Hit(vm.Unless, sought, entryOf(d.Value.Text), next)
	case len(withURL)+len(without) == 0:
		e.Hit(vm.If, sought, entryOf(d.Value.Text), found.of(text))
		last = e.any(others, found, next)
	default:
		e.Hit(vm.If, sought, entryOf(d.Value.Text), found.of(text))
		usual := e.NewLabel()
		e.unlessForm(slot.WithURL, usual)
		e.anyOrJump(append(withURL, others...), found, next)
		e.Place(usual)
		e.anyOrJump(append(without, others...), found, next)
	}
	found.deny(last, keyDenyString.Rule, keyDenyString.Code, "a text of the request holds what custom.deny_string denies", next)
	e.Place(next)
}

// rewritten returns the tests for a text that a form spells differently, on the fields of that form: on their normal values
// and on the values as sent.
func (e *emitter) rewritten(text string, as form.Form, fields ...string) (tests []test) {
	part := as.Rule(text, form.Inside)
	if part == text || part == evmaddr.FoldLiterals(text) {
		return nil
	}
	for _, name := range fields {
		for _, read := range []string{name, sentPrefix + name} {
			tests = append(tests, test{e.Field(read), vm.OpContains, e.folded(part)})
		}
	}
	return tests
}

// anyOrJump continues at found if one of the tests holds, and at next otherwise.
func (e *emitter) anyOrJump(tests []test, found *arrivals, next vm.Label) {
	if len(tests) > 0 {
		e.Jump(found.of(e.any(tests, found, next)))
		return
	}
	e.Jump(next)
}

// isHex reports whether a text, in lower case, is made of hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// denyIf denies where the value compares as the rule says. A missing value compares so only by not_equals.
func (e *emitter) denyIf(d *Denial) {
	next, found := e.NewLabel(), e.arrivals()
	var last uint16 // whose test the denial follows
	e.byForm(formed{d.Path, "", d.Operator, []string{d.Value.Text}},
		func(as form.Form) { last = e.compare(d, as, found, next) }, func() { e.Jump(found.of(last)) })
	found.deny(last, keyDenyIf.ruleOf(d.Path), keyDenyIf.Code, d.Path+" "+conditions[d.Operator], next)
	e.Place(next)
}
