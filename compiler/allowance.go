package compiler

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

var (
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
)

// texts returns the values' texts.
func (a *Allowance) texts() []string {
	texts := make([]string, len(a.Values))
	for i, value := range a.Values {
		texts[i] = value.Text
	}
	return texts
}

// readAllowOnly reads one line of an allow_only and adds it to the others for the same path and scope.
func (c *checker) readAllowOnly(_ *Key, entry *grammar.Entry) {
	line := &Allowance{Span: entry.Span}
	path, ok := c.path(keySegments(entry.Key)[1:])
	line.Path = path
	ok = c.readWords(line, entry.Key) && ok
	ok = c.readScope(line, entry.Key) && ok
	line.Values = c.values(path, line.Operator, entry)
	if !ok {
		return
	}
	if line.Attested && !strings.HasPrefix(path, "metadata.") {
		c.add(grammar.At(codes.AttestedPath, entry.Key.Span, "`attested` is for values below `metadata`, and `%s` is not", Shorten(path)).
			WithHint("leave `attested` out; to want a shim for all of it, write `require_shim: true`"))
		return
	}
	c.addAllowance(line, entry.Key)
}

// readWords reads `[attested] [operator]`.
func (c *checker) readWords(line *Allowance, key *grammar.Key) bool {
	words := key.Words
	if len(words) > 0 && words[0].Text == wordAttested {
		line.Attested, words = true, words[1:]
	}
	if len(words) == 0 {
		return true
	}
	if len(words) > 1 && !line.Attested && grammar.Closest(words[0].Text, []string{wordAttested}) != "" {
		c.add(grammar.At(codes.Operator, words[0].Span, "`%s` is not an operator here", Shorten(words[0].Text)).
			WithHint("did you mean `%s`?", wordAttested).WithFix(words[0].Span, wordAttested))
		return false
	}
	if len(words) > 1 {
		c.add(grammar.At(codes.Operator, words[1].Span, "`%s` can't follow here", Shorten(words[1].Text)).
			WithHint("the form is `allow_only.path attested operator: values`, of which `attested` and the operator may be left out"))
		return false
	}
	operator, ok := c.operator(words[0], false)
	line.Operator = operator
	return ok
}

// readScope reads `[action=pattern]`.
func (c *checker) readScope(line *Allowance, key *grammar.Key) bool {
	if key.Scope == nil {
		return true
	}
	pattern := key.Scope.Pattern
	if !c.actionPattern(pattern.Text, pattern.Span) {
		return false
	}
	line.Scope = pattern.Text
	return true
}

// values reads the values of an allow_only.
func (c *checker) values(path string, operator Operator, entry *grammar.Entry) []Item {
	var values []Item
	cut := operator == Matches && c.cut(entry.Value)
	for _, item := range c.list(entry) {
		if operator == Matches && (cut || !c.pattern(item.Text, item.Span, slot.At(path).Forms()...)) {
			continue
		}
		c.literals(item.Text, item.Span)
		c.lintEqual(path, operator, item)
		c.lintUnmatched(path, operator, item)
		values = append(values, Item{item.Text, item.Span})
	}
	return values
}

// addAllowance adds a line to the rule for its path and scope. Scopes are compared without regard to case, as
// they apply.
func (c *checker) addAllowance(line *Allowance, key *grammar.Key) {
	id := line.Path + "\x00" + strings.ToLower(line.Scope)
	custom := part[Custom](c.parts)
	rule := custom.allowed[id]
	switch {
	case rule == nil:
		put(&custom.allowed, id, line)
		custom.Allowances = append(custom.Allowances, line)
	case rule.Operator != line.Operator:
		c.add(grammar.At(codes.MixedOperators, key.Span, "this path and scope has operator `%s` on another line, and `%s` here", rule.Operator, line.Operator).
			WithHint("use one operator for all lines of a path and scope"))
	case rule.Attested != line.Attested:
		c.add(grammar.At(codes.MixedOperators, key.Span, "this path and scope is `attested` on one line and not on another").
			WithHint("write `attested` on all lines of a path and scope, or on none"))
	default:
		c.extend(rule, line)
	}
}

func (e *emitter) allowances() []*Allowance {
	if part[Custom](e.parts) == nil {
		return nil
	}
	return part[Custom](e.parts).Allowances
}

// emitAllowances denies where a value is not one of those that allow_only allows.
func (e *emitter) emitAllowances() {
	for _, rule := range e.allowances() {
		e.at(rule.Span)
		e.allowOnly(rule)
	}
}

func (e *emitter) allowOnly(rule *Allowance) {
	name := keyAllowances.ruleOf(rule.Path)
	next := e.NewLabel()
	e.scope(rule.Scope, next)
	if rule.Attested {
		attested := e.NewLabel()
		e.Test(vm.OpIn, vm.If, e.Field(derived.Provenance), e.exactly("shim"), attested)
		e.deny(name, errcode.ProvenanceRequired, rule.Path+" counts only from a key whose provenance is a shim", e.value(derived.Provenance), next)
		e.Place(attested)
	}
	e.listed(true, operated(rule.Operator, e.words(rule.Values)))
	denied := e.NewLabel()
	e.byForm(formed{rule.Path, rule.Scope, rule.Operator, rule.texts()}, func(as form.Form) {
		op, set := e.allowed(rule, as)
		e.Test(op, vm.If|vm.Every, e.Field(slot.Canonical(rule.Path)), set, next)
	}, func() { e.Jump(denied) })
	e.Place(denied)
	e.deny(name, keyAllowances.Code, rule.Path+" is missing, or not on custom.allow_only's list", e.element(slot.Canonical(rule.Path)), next)
	e.Place(next)
}

// scope jumps where the action is outside a scope. It looks at the action in lower case: an action in another
// spelling must not escape a rule.
func (e *emitter) scope(pattern string, outside vm.Label) {
	start, isPrefix := strings.CutSuffix(strings.ToLower(pattern), "*")
	switch action := e.Field(derived.Action); {
	case start == "": // no scope, or `*`
	case isPrefix:
		e.Test(vm.OpStarts, vm.Unless, action, e.exactly(start), outside)
	default:
		e.Test(vm.OpIn, vm.Unless, action, e.exactly(start), outside)
	}
}

// allowed returns the test for a rule's values, in which what grants is exact: an address written otherwise than in a normal
// form (0X…) denies, but counts as another value in groups.
func (e *emitter) allowed(rule *Allowance, as form.Form) (vm.Op, vm.Const) {
	texts := rule.texts()
	if rule.Operator == Matches {
		return vm.OpMatch, e.Pattern(machinePattern(texts, as), true)
	}
	for i, text := range texts {
		texts[i] = as.Rule(text, places[rule.Operator])
		if symbols := pinning(part[EVM](e.parts), texts[i]); as == form.Token && len(symbols) == 1 {
			texts[i] = symbols[0]
		}
	}
	return operations[rule.Operator], e.exactly(texts...)
}

// extend adds the values of a line to its rule.
func (c *checker) extend(rule, line *Allowance) {
	if rule.listed == nil {
		for _, value := range rule.Values {
			put(&rule.listed, value.Text, true)
		}
	}
	for _, value := range line.Values {
		if rule.listed[value.Text] {
			c.add(grammar.At(codes.RepeatedItem, value.Span, "`%s` is allowed on another line already", Shorten(value.Text)))
			continue
		}
		put(&rule.listed, value.Text, true)
		rule.Values = append(rule.Values, value)
	}
}

// lintPlainAllowance warns of the patterns of an allow_only where all of them are plain texts: one rule has one operator, so
// that beside a real pattern a plain text has to be one, too.
func (c *checker) lintPlainAllowance(rule *Allowance) {
	for _, value := range rule.Values {
		if _, _, ok := plainText(value.Text, Equals); !ok {
			return
		}
	}
	for _, value := range rule.Values {
		c.lintPlain(rule.Operator, Equals, value.Span, value.Text)
	}
}

// Allowance is what the `allow_only` lines for one path and scope say together.
type Allowance struct {
	Span     grammar.Span // of the first entry
	Path     string       // without `intent.`
	Scope    string       // an action, or the beginning of actions and `*`; empty for all
	Attested bool
	Operator Operator // not NotEquals
	Values   []Item

	listed map[string]bool // the values, of rules of several lines
}
