package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Custom is the section `## custom`: its rules in file order.
type Custom struct {
	Heading
	Controls
	Denials      []Denial
	Allowances   []*Allowance
	ResponseDeny *Text // for clients: what the result of a tool must not hold
}

var (
	keyDenyIf = keyRead(TypeCondition, (*checker).readDenyIf, Key{Name: "deny_if.<path> <operator>",
		Code:    errcode.CustomRule,
		Doc:     "Denies where the value compares so: equals, not_equals, contains, starts_with, ends_with or matches.",
		Example: "deny_if.metadata.environment equals production"})

	keyDenyString = keyRead(TypeText, (*checker).readDenyString, Key{Name: "deny_string",
		Code:    errcode.CustomRule,
		Doc:     "Denies where any text of the request holds this one.",
		Example: "deny_string: BEGIN OPENSSH PRIVATE KEY"})

	keyAllowances = keyRead(TypeTexts, (*checker).readAllowOnly, Key{Name: "allow_only.<path>",
		Code:    errcode.NotOnAllowlist,
		Doc:     "Denies where the value is missing or not one of these. Lines for the same path and scope add up.",
		Example: "allow_only.metadata.team: research, trading"})

	keyCustomAllowOnlyScoped = keyRead(TypeTexts, (*checker).readAllowOnly, Key{Name: "allow_only[action=<pattern>].<path>", Since: v20, Modifies: true,
		Code:    errcode.NotOnAllowlist,
		Doc:     "The same for some actions only: an action, or the beginning of actions and `*`, without regard to case.",
		Example: "allow_only[action=wallet.transfer].metadata.desk: desk-1, desk-2"})

	keyCustomAllowOnlyAttested = keyRead(TypeTexts, (*checker).readAllowOnly, Key{Name: "allow_only.<path> attested", Since: v20, Modifies: true,
		Code: errcode.ProvenanceRequired, Codes: []errcode.Code{errcode.NotOnAllowlist},
		Doc:     "The value counts only from a key whose provenance is a shim.",
		Example: "allow_only.metadata.branch attested: main"})

	keyCustomAllowOnlyOperator = keyRead(TypeTexts, (*checker).readAllowOnly, Key{Name: "allow_only.<path> <operator>", Since: v20, Modifies: true,
		Code:    errcode.NotOnAllowlist,
		Doc:     "Compares by equals, contains, starts_with (or prefix), ends_with, or matches (the whole value).",
		Example: "allow_only.metadata.ticket matches: \"OPS-[0-9]{1,6}\""})

	keyCustomResponseDenyString = key(jsonTexts, func(p *Policy) **Text { return &p.Custom.ResponseDeny }, Key{Name: "response.deny_string", Since: v22,
		Doc:     "A text that a client must not let through in the result of a tool; needs a tool that `mcp.response.web_fetch_tools` or `mcp.response.http_tools` covers.",
		Example: `response.deny_string: "BEGIN OPENSSH PRIVATE KEY"`})

	keyCustomApproval = approvalKey(func(p *Policy) *Controls { return &p.Custom.Controls }, "all kinds of intents", "deploy, wallet.*")

	keyCustomShim = shimKey(func(p *Policy) *Controls { return &p.Custom.Controls }, "all intents")
)

var custom = section("custom", v10, "Rules about any field of a request.", func(p *Policy) **Custom { return &p.Custom },
	keyDenyIf, keyDenyString, keyAllowances, keyCustomAllowOnlyScoped, keyCustomAllowOnlyAttested,
	keyCustomAllowOnlyOperator, keyCustomResponseDenyString, keyCustomApproval, keyCustomShim)

// judges reports whether the section has a rule.
func (c *Custom) judges() bool { return c != nil && len(c.Denials)+len(c.Allowances) > 0 }

// Operator compares a value of the request with one of a custom rule.
type Operator uint8

// The operators.
const (
	Equals Operator = iota
	NotEquals
	Contains
	StartsWith
	EndsWith
	Matches
)

var operatorNames = [...]string{"equals", "not_equals", "contains", "starts_with", "ends_with", "matches"}

// String returns the operator as policies spell it.
func (o Operator) String() string { return operatorNames[o] }

// operator reads the operator of a custom rule.
func (c *checker) operator(word grammar.Word, denies bool) (Operator, bool) {
	if word.Text == "prefix" {
		return StartsWith, true
	}
	for i, name := range operatorNames {
		if name == word.Text && (denies || Operator(i) != NotEquals) {
			return Operator(i), true
		}
	}
	d := grammar.At(codes.Operator, word.Span, "`%s` is not an operator here", Shorten(word.Text))
	c.add(suggestOperator(d, word, denies))
	return 0, false
}

const listOfOperators = "the operators are equals, contains, starts_with, ends_with and matches; deny_if also has not_equals"

// path reads the path of a custom rule, without `intent.` in front, or reports what is wrong with it.
func (c *checker) path(segments []grammar.Segment) (string, bool) {
	if len(segments) > 1 && segments[0].Text == "intent" {
		segments = segments[1:]
	}
	if len(segments) == 0 { // the schema's <path> means at least one name
		return "", false
	}
	path := joinSegments(segments)
	span := segments[0].Span.To(segments[len(segments)-1].Span)
	first := slot.Find(segments[0].Text)
	switch {
	case first == slot.NoField:
		c.add(unknownField(segments[0], path))
	case first.Row().Type.Object() && len(segments) == 1:
		c.add(grammar.At(codes.PathObject, span, "`%s` is an object, and rules compare texts", first).
			WithHint("name a member of it, such as `%s.env`", first))
	case !first.Row().Type.Object() && len(segments) > 1:
		c.add(grammar.At(codes.PathObject, span, "`%s` has no members, so `%s` can't exist", first, Shorten(path)).
			WithHint("data of your own is below `metadata`"))
	case len(path) > maxPathBytes:
		c.add(grammar.At(codes.TextLong, span, "a path has at most %d bytes, and this one %d", maxPathBytes, len(path)))
	default:
		return path, true
	}
	return "", false
}

func unknownField(first grammar.Segment, path string) grammar.Diagnostic {
	d := grammar.At(codes.PathField, first.Span, "a request has no field `%s`", Shorten(first.Text))
	if near := grammar.Closest(first.Text, fieldNames()); near != "" {
		return d.WithHint("did you mean `%s`?", near).WithFix(first.Span, near)
	}
	if first.Text == "intent" {
		return d.WithHint("name the field, such as `intent.action`")
	}
	return d.WithHint("data of your own is below metadata: `metadata.%s`", Shorten(path)).
		WithFix(grammar.Span{Start: first.Span.Start, End: first.Span.Start}, "metadata.")
}

// finishCustom checks what the lines of one allow_only are together: the machine takes patterns as one.
func (c *checker) finishCustom() {
	if c.policy.Custom == nil {
		return
	}
	for _, rule := range c.policy.Custom.Allowances {
		if rule.Operator != Matches {
			continue
		}
		c.lintPlainAllowance(rule)
		if len(rule.Values) > 1 {
			for _, form := range slot.At(rule.Path).Forms() {
				c.bounded(machinePattern(rule.texts(), form), rule.Span)
			}
		}
	}
}

// A test holds the value of a slot against a constant.
type test struct {
	slot uint16
	op   vm.Op
	set  vm.Const
}

// arrivals are where the tests of one rule arrive that lead to its denial: one place for each slot that is to blame.
type arrivals struct {
	e      *emitter
	slots  []uint16
	labels []vm.Label
}

func (e *emitter) arrivals() *arrivals { return &arrivals{e: e} }

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
		p.e.deny(name, c, message, vm.Blame{Slot: slot, Element: true}, next)
	}
}

// any continues at next if none of the tests holds, and at the place of its slot if one does or cannot be judged. The last
// test falls through to the code that follows; any returns its slot.
func (e *emitter) any(tests []test, found *arrivals, next vm.Label) uint16 {
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
func (e *emitter) byForm(rule formed, emit func(form.Form), leave func()) {
	row := slot.At(rule.path)
	switch scope := strings.ToLower(rule.scope); {
	case row.When == slot.ByEmail && scope == EmailAction:
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
	e.unlessForm(row.When, usual)
	emit(row.Other)
	leave()
	e.Place(usual)
	emit(row.Form)
}

// formed is a rule whose texts are put into the forms of a path.
type formed struct {
	path     string
	scope    string // of an allow_only
	operator Operator
	texts    []string
}

// spelled returns the texts as they are compared by a form.
func (r formed) spelled(as form.Form) []string {
	all := make([]string, 0, 2*len(r.texts))
	for _, text := range r.texts {
		if r.operator == Matches {
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
		if r.operator == Matches {
			return as.PatternRespelled(text)
		}
		return as.Respelled(text, places[r.operator])
	})
}

// unlessForm jumps where values have their usual form.
func (e *emitter) unlessForm(when slot.Condition, usual vm.Label) {
	switch when {
	case slot.ByEmail:
		e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.exactly(EmailAction), usual)
	case slot.WithURL:
		e.Kind(vm.If, e.Field(derived.Host), absent, usual)
	case slot.ForMCP:
		e.Kind(vm.If, e.Field(derived.Server), absent, usual)
	}
}

// places says where in a value an operator looks for the text of a rule.
var places = [...]form.Where{Equals: form.Whole, NotEquals: form.Whole, Contains: form.Inside, StartsWith: form.Start, EndsWith: form.End}

// compare continues at next unless a value of the form compares as a denial says, and at the place of its slot where it does
// or can't be judged: its normal form or, but by not_equals, the text as it was sent. The last test falls through to the code
// that follows; compare returns its slot. Address literals of the rule match in any case.
func (e *emitter) compare(d *Denial, as form.Form, found *arrivals, next vm.Label) uint16 {
	path, respelled := slot.Canonical(d.Path), formed{d.Path, "", d.Operator, []string{d.Value.Text}}.respelled(as)
	normal := e.Field(path)
	if slot.At(path).Type.Object() {
		normal = e.Field(eachPrefix + path)
	}
	if as == form.Token {
		if symbols := e.policy.pinning(strings.ToLower(d.Value.Text)); len(symbols) > 0 && d.Operator != Matches {
			return e.comparePinned(d, e.exactly(symbols...), found, next)
		}
	}
	switch {
	case d.Operator == NotEquals: // pass only if there is a value and all of it is equal
		e.Test(vm.OpIn, vm.If|vm.Every, normal, e.exactly(as.Rule(d.Value.Text, form.Whole)), next)
		return normal
	case d.Operator == Matches:
		pattern := e.Pattern(as.Pattern(d.Value.Text), false)
		tests := []test{{normal, vm.OpMatch, pattern}}
		for _, read := range e.besides(path, respelled) {
			tests = append(tests, test{read, vm.OpMatch, pattern})
		}
		return e.any(tests, found, next)
	}
	op, set := operations[d.Operator], e.folded(slices.Compact([]string{as.Rule(d.Value.Text, places[d.Operator]), as.Fold(d.Value.Text)})...)
	tests := []test{{normal, op, set}}
	for _, read := range e.besides(path, respelled) {
		tests = append(tests, test{read, op, set})
	}
	return e.any(tests, found, next)
}

// The prefixes of slots that hold what denials read of a path, beside its normal form.
const (
	eachPrefix = slot.EachPrefix
	sentPrefix = slot.SentPrefix
)

// decodedSlots are the paths of a web address and its path, with the slots that hold them as a server may read them that
// decodes escapes and takes runs of / for one. They are missing where that changes nothing.
var decodedSlots = map[string]string{"url": derived.DecodedURL, "path": derived.DecodedPath}

// besides returns the slots that a denial reads beside that of the normal form: the text as it was sent where that can
// differ, and a web address with its path decoded.
func (e *emitter) besides(path string, respelled bool) (slots []uint16) {
	if decoded := decodedSlots[path]; decoded != "" {
		slots = append(slots, e.Field(decoded))
	}
	if respelled {
		slots = append(slots, e.Field(sentPrefix+path))
	}
	return slots
}

// comparePinned is compare for a denial about a token by an address that rules pin for the tokens of a set of symbols: that
// is the contract, by whichever name the token is sent.
func (e *emitter) comparePinned(d *Denial, symbols vm.Const, found *arrivals, next vm.Label) uint16 {
	token, lower, target := e.Field(slotToken), e.Field(derived.Token), e.Field(slotTarget)
	pinned := e.exactly(strings.ToLower(d.Value.Text))
	if d.Operator == NotEquals {
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
func (p *Policy) pinning(address string) (symbols []string) {
	if p.EVM == nil {
		return nil
	}
	for _, token := range p.EVM.Tokens {
		if slices.ContainsFunc(token.Pins(), func(pin vm.Pin) bool { return pin.Address == address }) {
			symbols = append(symbols, strings.ToLower(token.Symbol))
		}
	}
	return symbols
}

// operations says which operation compares by which operator.
var operations = [...]vm.Op{Equals: vm.OpIn, NotEquals: vm.OpIn, Contains: vm.OpContains, StartsWith: vm.OpStarts, EndsWith: vm.OpEnds, Matches: vm.OpMatch}

// conditions says in words what is wrong with a denied value.
var conditions = [...]string{
	Equals:     "equals what custom.deny_if denies",
	NotEquals:  "is missing, or not what custom.deny_if demands",
	Contains:   "contains what custom.deny_if denies",
	StartsWith: "starts with what custom.deny_if denies",
	EndsWith:   "ends with what custom.deny_if denies",
	Matches:    "matches what custom.deny_if denies, or is too long to tell",
}
