package sections

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/match"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Denial is one `deny_if`, or one `deny_string`, which has no path.
type Denial struct {
	Span     grammar.Span   // of the entry
	Path     string         // without `intent.`
	Operator frame.Operator // Contains for a deny_string
	Value    frame.Item
}

var (
	keyDenyIf = frame.NewKeyFunc(frame.TypeCondition, readDenyIf, frame.Key{Name: "deny_if.<path> <operator>",
		Code:    errcode.CustomRule,
		Doc:     "Denies where the value compares so: equals, not_equals, contains, starts_with, ends_with or matches.",
		Example: "deny_if.metadata.environment equals production"})

	keyDenyString = frame.NewKeyFunc(frame.TypeText, readDenyString, frame.Key{Name: "deny_string",
		Code:    errcode.CustomRule,
		Doc:     "Denies where any text of the request holds this one.",
		Example: "deny_string: BEGIN OPENSSH PRIVATE KEY"})
)

// readDenyString reads a text that no text of a request may contain.
func readDenyString(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
	c.LintText(entry.Value)
	readDeny(c, Denial{Span: entry.Span, Operator: frame.Contains}, entry.Value)
}

// readDenyIf reads `deny_if.path operator value`.
func readDenyIf(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
	key := entry.Key
	path, ok := c.Path(frame.KeySegments(key)[1:])
	if len(key.Words) != 1 {
		c.Add(grammar.At(codes.Operator, key.Span, "a deny_if has one operator after its path").
			WithHint("write `deny_if.metadata.env equals production`"))
		return
	}
	operator, known := c.Operator(key.Words[0], true)
	if ok && known {
		readDeny(c, Denial{Span: entry.Span, Path: path, Operator: operator}, entry.Value)
	}
}

// readDeny adds a denial with the text of its value: the rest of the line.
func readDeny(c *frame.Checker, d Denial, value *grammar.Value) {
	switch {
	case value.Text == "":
		c.Add(grammar.At(codes.EmptyValue, value.Span, "an empty text cannot be looked for").
			WithHint("write what should be denied; for the empty text itself `matches \"^$\"`"))
		return
	case len(value.Text) > frame.MaxTextBytes:
		c.Add(grammar.At(codes.TextLong, value.Span, "a value has at most %d bytes, and this one %d", frame.MaxTextBytes, len(value.Text)))
		return
	case d.Operator == frame.Matches && !c.Pattern(value.Text, value.Span, slot.At(d.Path).Forms()...):
		return
	}
	c.Literals(value.Text, value.Span)
	lintDenial(c, d, value)
	d.Value = frame.Item{Text: value.Text, Span: value.Span}
	frame.Part[Custom](c.Parts).Denials = append(frame.Part[Custom](c.Parts).Denials, d)
}

// DenialsOf returns the denials of `## custom`, in the order of the text.
func DenialsOf(e *frame.Emitter) []Denial {
	if frame.Part[Custom](e.Parts) == nil {
		return nil
	}
	return frame.Part[Custom](e.Parts).Denials
}

// shown is the operator that an answer names before the text of a denial: a deny_string has none.
func (d *Denial) shown() frame.Operator {
	if d.IsString() {
		return frame.Equals
	}
	return d.Operator
}

// IsString reports whether a denial is a deny_string.
func (d *Denial) IsString() bool { return d.Path == "" }

// EmitDenials judges by deny_if and deny_string in file order. All texts of deny_string are sought in one scan,
// at the first of them.
func EmitDenials(e *frame.Emitter) {
	var sought vm.Const
	scanned := false
	for i := range DenialsOf(e) {
		d := &DenialsOf(e)[i]
		e.At(d.Span)
		e.Listed(d.Operator == frame.NotEquals, frame.Operated(d.shown(), e.WordsOf([]frame.Item{d.Value})))
		if !d.IsString() {
			denyIf(e, d)
			continue
		}
		if !scanned {
			sought, scanned = scan(e), true
		}
		denyString(e, d, sought)
	}
}

// scan seeks the texts of all deny_string rules. Whether it finds any or none it goes on at the first of them: rules
// of other kinds may be between.
func scan(e *frame.Emitter) vm.Const {
	var entries []match.Entry
	for i := range DenialsOf(e) {
		if d := &DenialsOf(e)[i]; d.IsString() {
			entries = append(entries, frame.EntryOf(d.Value.Text))
		}
	}
	set, next := e.Texts(entries...), e.NewLabel()
	e.Scan(e.Field(derived.Text), set, next)
	e.Place(next)
	return set
}

// denyString denies if a value contains the text: as it was sent or in its normal form, ignoring case where that form has
// none. Call data contains addresses and methods without their 0x.
func denyString(e *frame.Emitter, d *Denial, sought vm.Const) {
	next, found, text := e.NewLabel(), emitArrivals(e), e.Field(derived.Text)
	last := text // whose test the denial follows
	small, digits := strings.ToLower(d.Value.Text), form.Hex.Rule(d.Value.Text, form.Inside)
	var others []test
	if small != d.Value.Text {
		others = append(others, test{e.Field(derived.Caseless), vm.OpContains, e.Exactly(small)})
	}
	if strings.HasPrefix(small, "0x") && digits != "0x" && isHex(digits) {
		others = append(others, test{e.Field(frame.SlotCalldata), vm.OpContains, e.Exactly(digits)})
	}
	others = append(others, rewritten(e, d.Value.Text, form.URL, slot.URL.String())...)
	others = append(others, rewritten(e, d.Value.Text, form.Path, slot.Cwd.String())...)
	withURL, without := rewritten(e, d.Value.Text, form.Escapes, slot.Path.String(), slot.Query.String()), rewritten(e, d.Value.Text, form.Path, slot.Path.String())
	switch {
	case len(others)+len(withURL)+len(without) == 0:
		e.Hit(vm.Unless, sought, frame.EntryOf(d.Value.Text), next)
	case len(withURL)+len(without) == 0:
		e.Hit(vm.If, sought, frame.EntryOf(d.Value.Text), found.of(text))
		last = emitAny(e, others, found, next)
	default:
		e.Hit(vm.If, sought, frame.EntryOf(d.Value.Text), found.of(text))
		usual := e.NewLabel()
		unlessForm(e, slot.WithURL, usual)
		anyOrJump(e, append(withURL, others...), found, next)
		e.Place(usual)
		anyOrJump(e, append(without, others...), found, next)
	}
	found.deny(last, keyDenyString.Rule, keyDenyString.Code, "a text of the request holds what custom.deny_string denies", next)
	e.Place(next)
}

// rewritten returns the tests for a text that a form spells differently, on the fields of that form: on their normal values
// and on the values as sent.
func rewritten(e *frame.Emitter, text string, as form.Form, fields ...string) (tests []test) {
	part := as.Rule(text, form.Inside)
	if part == text || part == evmaddr.FoldLiterals(text) {
		return nil
	}
	for _, name := range fields {
		for _, read := range []string{name, frame.SentPrefix + name} {
			tests = append(tests, test{e.Field(read), vm.OpContains, e.Folded(part)})
		}
	}
	return tests
}

// anyOrJump continues at found if one of the tests holds, and at next otherwise.
func anyOrJump(e *frame.Emitter, tests []test, found *arrivals, next vm.Label) {
	if len(tests) > 0 {
		e.Jump(found.of(emitAny(e, tests, found, next)))
		return
	}
	e.Jump(next)
}

// isHex reports whether a text, in lower case, is made of hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// denyIf denies where the value compares as the rule says. A missing value compares so only by not_equals.
func denyIf(e *frame.Emitter, d *Denial) {
	next, found := e.NewLabel(), emitArrivals(e)
	var last uint16 // whose test the denial follows
	byForm(e, formed{d.Path, "", d.Operator, []string{d.Value.Text}},
		func(as form.Form) { last = emitCompare(e, d, as, found, next) }, func() { e.Jump(found.of(last)) })
	found.deny(last, keyDenyIf.RuleOf(d.Path), keyDenyIf.Code, d.Path+" "+frame.Conditions[d.Operator], next)
	e.Place(next)
}

// A test holds the value of a slot against a constant.
type test struct {
	slot uint16
	op   vm.Op
	set  vm.Const
}

// arrivals are where the tests of one rule arrive that lead to its denial: one place for each slot that is to blame.
type arrivals struct {
	e      *frame.Emitter
	slots  []uint16
	labels []vm.Label
}

func emitArrivals(e *frame.Emitter) *arrivals { return &arrivals{e: e} }

// of returns the place for a slot.
func (p *arrivals) of(slot uint16) vm.Label {
	i := slices.Index(p.slots, slot)
	if i < 0 {
		i = len(p.slots)
		p.slots, p.labels = append(p.slots, slot), append(p.labels, p.e.NewLabel())
	}
	return p.labels[i]
}

// deny denies at each place, and blames its slot. The code before it arrives at the place of the slot last.
func (p *arrivals) deny(last uint16, name string, c errcode.Code, message string, next vm.Label) {
	slots := append([]uint16{last}, slices.DeleteFunc(slices.Clone(p.slots), func(slot uint16) bool { return slot == last })...)
	for _, slot := range slots {
		p.e.Place(p.of(slot))
		p.e.DenyBy(name, c, message, vm.Blame{Slot: slot, Element: true}, next)
	}
}

// emitAny continues at next if none of the tests holds, and at the place of its slot if one does or cannot be judged. The last
// test falls through to the code that follows; any returns its slot.
func emitAny(e *frame.Emitter, tests []test, found *arrivals, next vm.Label) uint16 {
	last := len(tests) - 1
	for _, t := range tests[:last] {
		if t.op != vm.OpMatch { // only a pattern can meet what it can't judge
			e.Test(t.op, vm.If, t.slot, t.set, found.of(t.slot))
			continue
		}
		other := e.NewLabel()
		e.Test(t.op, vm.Unless, t.slot, t.set, other)
		e.Jump(found.of(t.slot))
		e.Place(other)
	}
	e.Test(tests[last].op, vm.Unless, tests[last].slot, tests[last].set, next)
	return tests[last].slot
}

// byForm emits a rule for each form that values at the path have, where the texts of the rule are not the same in both.
// If it is emitted for two forms, leave ends the code of the first.
func byForm(e *frame.Emitter, rule formed, emit func(form.Form), leave func()) {
	row := slot.At(rule.path)
	switch scope := strings.ToLower(rule.scope); {
	case row.When == slot.ByEmail && scope == slot.EmailAction:
		emit(row.Other)
		return
	case row.When == slot.Never, row.When == slot.ByEmail && scope != "" && !strings.HasSuffix(scope, "*"):
		emit(row.Form)
		return
	case slices.Equal(rule.spelled(row.Form), rule.spelled(row.Other)):
		if rule.respelled(row.Other) { // what is read besides is missing where it says nothing
			row.Form = row.Other
		}
		emit(row.Form)
		return
	}
	usual := e.NewLabel()
	unlessForm(e, row.When, usual)
	emit(row.Other)
	leave()
	e.Place(usual)
	emit(row.Form)
}

// formed is a rule whose texts are put into the forms of a path.
type formed struct {
	path     string
	scope    string // of an allow_only
	operator frame.Operator
	texts    []string
}

// spelled returns the texts as they are compared by a form.
func (r formed) spelled(as form.Form) []string {
	all := make([]string, 0, 2*len(r.texts))
	for _, text := range r.texts {
		if r.operator == frame.Matches {
			all = append(all, as.Pattern(text))
		} else {
			all = append(all, as.Rule(text, places[r.operator]), as.Fold(text))
		}
	}
	return all
}

// respelled reports whether the texts can compare with a value of a form as it was sent alone.
func (r formed) respelled(as form.Form) bool {
	return slices.ContainsFunc(r.texts, func(text string) bool {
		if r.operator == frame.Matches {
			return as.PatternRespelled(text)
		}
		return as.Respelled(text, places[r.operator])
	})
}

// unlessForm jumps where values have their usual form.
func unlessForm(e *frame.Emitter, when slot.Condition, usual vm.Label) {
	switch when {
	case slot.ByEmail:
		e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.EmailAction), usual)
	case slot.WithURL:
		e.Kind(vm.If, e.Field(derived.Host), frame.Absent, usual)
	case slot.ForMCP:
		e.Kind(vm.If, e.Field(derived.Server), frame.Absent, usual)
	}
}

// places says where in a value an operator looks for the text of a rule.
var places = [...]form.Where{frame.Equals: form.Whole, frame.NotEquals: form.Whole, frame.Contains: form.Inside, frame.StartsWith: form.Start, frame.EndsWith: form.End}

// emitCompare continues at next unless a value of the form compares as a denial says, and at the place of its slot where it does
// or can't be judged: its normal form or, but by not_equals, the text as it was sent. The last test falls through to the code
// that follows; compare returns its slot. Address literals of the rule match in any case.
func emitCompare(e *frame.Emitter, d *Denial, as form.Form, found *arrivals, next vm.Label) uint16 {
	path, respelled := slot.Canonical(d.Path), formed{d.Path, "", d.Operator, []string{d.Value.Text}}.respelled(as)
	normal := e.Field(path)
	if slot.At(path).Type.Object() {
		normal = e.Field(frame.EachPrefix + path)
	}
	if as == form.Token {
		if symbols := pinning(frame.Part[EVM](e.Parts), strings.ToLower(d.Value.Text)); len(symbols) > 0 && d.Operator != frame.Matches {
			return comparePinned(e, d, e.Exactly(symbols...), found, next)
		}
	}
	switch {
	case d.Operator == frame.NotEquals: // pass only if there is a value and all of it is equal
		e.Test(vm.OpIn, vm.If|vm.Every, normal, e.Exactly(as.Rule(d.Value.Text, form.Whole)), next)
		return normal
	case d.Operator == frame.Matches:
		pattern := e.Pattern(as.Pattern(d.Value.Text), false)
		tests := []test{{normal, vm.OpMatch, pattern}}
		for _, read := range besides(e, path, respelled) {
			tests = append(tests, test{read, vm.OpMatch, pattern})
		}
		return emitAny(e, tests, found, next)
	}
	op, set := frame.Operations[d.Operator], e.Folded(slices.Compact([]string{as.Rule(d.Value.Text, places[d.Operator]), as.Fold(d.Value.Text)})...)
	tests := []test{{normal, op, set}}
	for _, read := range besides(e, path, respelled) {
		tests = append(tests, test{read, op, set})
	}
	return emitAny(e, tests, found, next)
}

// decodedSlots are the paths of a web address and its path, with the slots that hold them as a server may read them that
// decodes escapes and takes runs of / for one. They are missing where that changes nothing.
var decodedSlots = map[string]string{"url": derived.DecodedURL, "path": derived.DecodedPath}

// besides returns the slots that a denial reads beside that of the normal form: the text as it was sent where that can
// differ, and a web address with its path decoded.
func besides(e *frame.Emitter, path string, respelled bool) (slots []uint16) {
	if decoded := decodedSlots[path]; decoded != "" {
		slots = append(slots, e.Field(decoded))
	}
	if respelled {
		slots = append(slots, e.Field(frame.SentPrefix+path))
	}
	return slots
}

// comparePinned is compare for a denial about a token by an address that rules pin for the tokens of a set of symbols: that
// is the contract, by whichever name the token is sent.
func comparePinned(e *frame.Emitter, d *Denial, symbols vm.Const, found *arrivals, next vm.Label) uint16 {
	token, lower, target := e.Field(frame.SlotToken), e.Field(derived.Token), e.Field(frame.SlotTarget)
	pinned := e.Exactly(strings.ToLower(d.Value.Text))
	if d.Operator == frame.NotEquals {
		e.Test(vm.OpIn, vm.Unless, token, symbols, found.of(token))
		e.Test(vm.OpIn, vm.If, target, pinned, next)
		return target
	}
	e.Test(vm.OpIn, vm.If, lower, pinned, found.of(lower))
	e.Test(vm.OpIn, vm.Unless, token, symbols, next)
	e.Test(vm.OpIn, vm.Unless, target, pinned, next)
	return target
}

// pinning returns the symbols, in lower case, of the tokens whose rules pin an address on some chain.
func pinning(evm *EVM, address string) (symbols []string) {
	if evm == nil {
		return nil
	}
	for _, token := range evm.Tokens {
		if slices.ContainsFunc(token.Pins(), func(pin vm.Pin) bool { return pin.Address == address }) {
			symbols = append(symbols, strings.ToLower(token.Symbol))
		}
	}
	return symbols
}

// lintDenial warns of what the value of a denial probably was not meant to say.
func lintDenial(c *frame.Checker, d Denial, value *grammar.Value) {
	if !value.Quoted && (frame.OpensCurly(value.Text) || frame.ClosesCurly(value.Text)) {
		c.CurlyQuoted(value.Span)
	}
	if dividing(d.Operator, value) {
		c.Add(grammar.At(codes.CommaInText, value.Span, "the comma does not divide this value: all of it is one text").
			WithHint("write one line for each value: %s; if one text is meant, put it between quotes", lineEach(c, value)))
	}
	item := grammar.Item{Text: value.Text, Span: value.Span, Quoted: value.Quoted}
	lintEqual(c, d.Path, d.Operator, item)
	c.LintUnmatched(d.Path, d.Operator, item)
	c.LintPlain(d.Operator, frame.Contains, item.Span, item.Text)
}

// lineEach returns the lines that have each item of a value by itself.
func lineEach(c *frame.Checker, value *grammar.Value) string {
	start := strings.LastIndexByte(string(c.File.Source.Text[:value.Span.Start]), '\n') + 1
	key := c.File.Source.Slice(grammar.Span{Start: start, End: value.Span.Start})
	var lines []string
	for _, item := range value.Items[:min(len(value.Items), 5)] {
		lines = append(lines, "`"+frame.Shorten(key+item.Raw)+"`")
	}
	return strings.Join(lines, ", ")
}

// dividing reports whether a value has a comma that could be meant to divide it. Those inside the brackets of a pattern
// are not.
func dividing(operator frame.Operator, value *grammar.Value) bool {
	for _, item := range value.Items[:len(value.Items)-1] {
		before := value.Raw[:item.Span.End-value.Span.Start]
		if operator != frame.Matches || !frame.EndsInside(before) {
			return true
		}
	}
	return false
}

// insteadOfStar returns what says what a star in a value probably was meant to.
func insteadOfStar(operator frame.Operator, text string) string {
	bare, rule := strings.Trim(text, "*"), "write"
	if operator == frame.NotEquals {
		rule = "write an allow_only with"
	}
	part := frame.Contains
	switch {
	case bare == "":
		part, bare = frame.Matches, ".*"
	case !strings.HasPrefix(text, "*"):
		part = frame.StartsWith
	case !strings.HasSuffix(text, "*"):
		part = frame.EndsWith
	}
	return rule + " `" + part.String() + "` and `" + frame.Shorten(bare) + "`"
}

// lintEqual warns of a text without quotes that no value, or not what it looks like, can be equal to.
func lintEqual(c *frame.Checker, path string, operator frame.Operator, item grammar.Item) {
	if item.Quoted || operator == frame.Matches {
		return
	}
	whole, starred := operator == frame.Equals || operator == frame.NotEquals, strings.HasPrefix(item.Text, "*") || strings.HasSuffix(item.Text, "*")
	switch {
	case starred && !whole:
		c.Add(grammar.At(codes.LiteralStar, item.Span, "`*` is a plain character here, not a wildcard").
			WithHint("leave it out: `%s` compares a part anyway; if the `*` is meant, put the value between quotes", operator))
	case starred:
		c.Add(grammar.At(codes.LiteralStar, item.Span, "`*` is a plain character here, not a wildcard").
			WithHint("%s; if the `*` is meant, put the value between quotes", insteadOfStar(operator, item.Text)))
	case whole && frame.HoldsNumbers(path) && frame.JSONNumber.MatchString(item.Text) && frame.ShortestNumber(item.Text) != item.Text:
		c.Add(frame.OtherNumber(item))
	}
}
