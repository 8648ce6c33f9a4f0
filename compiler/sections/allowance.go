package sections

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

var (
	keyAllowances = frame.NewKeyFunc(frame.TypeTexts, readAllowOnly, frame.Key{Name: "allow_only.<path>",
		Code:    errcode.NotOnAllowlist,
		Doc:     "Denies where the value is missing or not one of these. Lines for the same path and scope add up.",
		Example: "allow_only.metadata.team: research, trading"})

	keyCustomAllowOnlyScoped = frame.NewKeyFunc(frame.TypeTexts, readAllowOnly, frame.Key{Name: "allow_only[action=<pattern>].<path>", Since: frame.V20, Modifies: true,
		Code:    errcode.NotOnAllowlist,
		Doc:     "The same for some actions only: an action, or the beginning of actions and `*`, without regard to case.",
		Example: "allow_only[action=wallet.transfer].metadata.desk: desk-1, desk-2"})

	keyCustomAllowOnlyAttested = frame.NewKeyFunc(frame.TypeTexts, readAllowOnly, frame.Key{Name: "allow_only.<path> attested", Since: frame.V20, Modifies: true,
		Code: errcode.ProvenanceRequired, Codes: []errcode.Code{errcode.NotOnAllowlist},
		Doc:     "The value counts only from a key whose provenance is a shim.",
		Example: "allow_only.metadata.branch attested: main"})

	keyCustomAllowOnlyOperator = frame.NewKeyFunc(frame.TypeTexts, readAllowOnly, frame.Key{Name: "allow_only.<path> <operator>", Since: frame.V20, Modifies: true,
		Code:    errcode.NotOnAllowlist,
		Doc:     "Compares by equals, contains, starts_with (or prefix), ends_with, or matches (the whole value).",
		Example: "allow_only.metadata.ticket matches: \"OPS-[0-9]{1,6}\""})
)

// Texts returns the values' texts.
func (a *Allowance) Texts() []string {
	texts := make([]string, len(a.Values))
	for i, value := range a.Values {
		texts[i] = value.Text
	}
	return texts
}

// readAllowOnly reads one line of an allow_only and adds it to the others for the same path and scope.
func readAllowOnly(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
	line := &Allowance{Span: entry.Span}
	path, ok := c.Path(frame.KeySegments(entry.Key)[1:])
	line.Path = path
	ok = readWords(c, line, entry.Key) && ok
	ok = readScope(c, line, entry.Key) && ok
	line.Values = readValues(c, path, line.Operator, entry)
	if !ok {
		return
	}
	if line.Attested && !strings.HasPrefix(path, "metadata.") {
		c.Add(grammar.At(codes.AttestedPath, entry.Key.Span, "`attested` is for values below `metadata`, and `%s` is not", frame.Shorten(path)).
			WithHint("leave `attested` out; to want a shim for all of it, write `require_shim: true`"))
		return
	}
	addAllowance(c, line, entry.Key)
}

// readWords reads `[attested] [operator]`.
func readWords(c *frame.Checker, line *Allowance, key *grammar.Key) bool {
	words := key.Words
	if len(words) > 0 && words[0].Text == frame.WordAttested {
		line.Attested, words = true, words[1:]
	}
	if len(words) == 0 {
		return true
	}
	if len(words) > 1 && !line.Attested && grammar.Closest(words[0].Text, []string{frame.WordAttested}) != "" {
		c.Add(grammar.At(codes.Operator, words[0].Span, "`%s` is not an operator here", frame.Shorten(words[0].Text)).
			WithHint("did you mean `%s`?", frame.WordAttested).WithFix(words[0].Span, frame.WordAttested))
		return false
	}
	if len(words) > 1 {
		c.Add(grammar.At(codes.Operator, words[1].Span, "`%s` can't follow here", frame.Shorten(words[1].Text)).
			WithHint("the form is `allow_only.path attested operator: values`, of which `attested` and the operator may be left out"))
		return false
	}
	operator, ok := c.Operator(words[0], false)
	line.Operator = operator
	return ok
}

// readScope reads `[action=pattern]`.
func readScope(c *frame.Checker, line *Allowance, key *grammar.Key) bool {
	if key.Scope == nil {
		return true
	}
	pattern := key.Scope.Pattern
	if !c.ActionPattern(pattern.Text, pattern.Span) {
		return false
	}
	line.Scope = pattern.Text
	return true
}

// readValues reads the values of an allow_only.
func readValues(c *frame.Checker, path string, operator frame.Operator, entry *grammar.Entry) []frame.Item {
	var values []frame.Item
	cut := operator == frame.Matches && c.Cut(entry.Value)
	for _, item := range c.List(entry) {
		if operator == frame.Matches && (cut || !c.Pattern(item.Text, item.Span, slot.At(path).Forms()...)) {
			continue
		}
		c.Literals(item.Text, item.Span)
		lintEqual(c, path, operator, item)
		c.LintUnmatched(path, operator, item)
		values = append(values, frame.Item{Text: item.Text, Span: item.Span})
	}
	return values
}

// addAllowance adds a line to the rule for its path and scope. Scopes are compared without regard to case, as
// they apply.
func addAllowance(c *frame.Checker, line *Allowance, key *grammar.Key) {
	id := line.Path + "\x00" + strings.ToLower(line.Scope)
	custom := frame.Part[Custom](c.Parts)
	rule := custom.allowed[id]
	switch {
	case rule == nil:
		frame.Put(&custom.allowed, id, line)
		custom.Allowances = append(custom.Allowances, line)
	case rule.Operator != line.Operator:
		c.Add(grammar.At(codes.MixedOperators, key.Span, "this path and scope has operator `%s` on another line, and `%s` here", rule.Operator, line.Operator).
			WithHint("use one operator for all lines of a path and scope"))
	case rule.Attested != line.Attested:
		c.Add(grammar.At(codes.MixedOperators, key.Span, "this path and scope is `attested` on one line and not on another").
			WithHint("write `attested` on all lines of a path and scope, or on none"))
	default:
		extend(c, rule, line)
	}
}

// AllowancesOf returns the rules of `allow_only`, in the order of their first lines.
func AllowancesOf(e *frame.Emitter) []*Allowance {
	if frame.Part[Custom](e.Parts) == nil {
		return nil
	}
	return frame.Part[Custom](e.Parts).Allowances
}

// EmitAllowances denies where a value is not one of those that allow_only allows.
func EmitAllowances(e *frame.Emitter) {
	for _, rule := range AllowancesOf(e) {
		e.At(rule.Span)
		allowOnly(e, rule)
	}
}

func allowOnly(e *frame.Emitter, rule *Allowance) {
	name := keyAllowances.RuleOf(rule.Path)
	next := e.NewLabel()
	emitScope(e, rule.Scope, next)
	if rule.Attested {
		attested := e.NewLabel()
		e.Test(vm.OpIn, vm.If, e.Field(derived.Provenance), e.Exactly("shim"), attested)
		e.DenyBy(name, errcode.ProvenanceRequired, rule.Path+" counts only from a key whose provenance is a shim", e.Value(derived.Provenance), next)
		e.Place(attested)
	}
	e.Listed(true, frame.Operated(rule.Operator, e.WordsOf(rule.Values)))
	denied := e.NewLabel()
	byForm(e, formed{rule.Path, rule.Scope, rule.Operator, rule.Texts()}, func(as form.Form) {
		op, set := emitAllowed(e, rule, as)
		e.Test(op, vm.If|vm.Every, e.Field(slot.Canonical(rule.Path)), set, next)
	}, func() { e.Jump(denied) })
	e.Place(denied)
	e.DenyBy(name, keyAllowances.Code, rule.Path+" is missing, or not on custom.allow_only's list", e.Element(slot.Canonical(rule.Path)), next)
	e.Place(next)
}

// emitScope jumps where the action is outside a scope. It looks at the action in lower case: an action in another
// spelling must not escape a rule.
func emitScope(e *frame.Emitter, pattern string, outside vm.Label) {
	start, isPrefix := strings.CutSuffix(strings.ToLower(pattern), "*")
	switch action := e.Field(derived.Action); {
	case start == "": // no scope, or `*`
	case isPrefix:
		e.Test(vm.OpStarts, vm.Unless, action, e.Exactly(start), outside)
	default:
		e.Test(vm.OpIn, vm.Unless, action, e.Exactly(start), outside)
	}
}

// emitAllowed returns the test for a rule's values, in which what grants is exact: an address written otherwise than in a normal
// form (0X…) denies, but counts as another value in groups.
func emitAllowed(e *frame.Emitter, rule *Allowance, as form.Form) (vm.Op, vm.Const) {
	texts := rule.Texts()
	if rule.Operator == frame.Matches {
		return vm.OpMatch, e.Pattern(frame.MachinePattern(texts, as), true)
	}
	for i, text := range texts {
		texts[i] = as.Rule(text, places[rule.Operator])
		if symbols := pinning(frame.Part[EVM](e.Parts), texts[i]); as == form.Token && len(symbols) == 1 {
			texts[i] = symbols[0]
		}
	}
	return frame.Operations[rule.Operator], e.Exactly(texts...)
}

// extend adds the values of a line to its rule.
func extend(c *frame.Checker, rule, line *Allowance) {
	if rule.listed == nil {
		for _, value := range rule.Values {
			frame.Put(&rule.listed, value.Text, true)
		}
	}
	for _, value := range line.Values {
		if rule.listed[value.Text] {
			c.Add(grammar.At(codes.RepeatedItem, value.Span, "`%s` is allowed on another line already", frame.Shorten(value.Text)))
			continue
		}
		frame.Put(&rule.listed, value.Text, true)
		rule.Values = append(rule.Values, value)
	}
}

// lintPlainAllowance warns of the patterns of an allow_only where all of them are plain texts: one rule has one operator, so
// that beside a real pattern a plain text has to be one, too.
func lintPlainAllowance(c *frame.Checker, rule *Allowance) {
	for _, value := range rule.Values {
		if _, _, ok := frame.PlainText(value.Text, frame.Equals); !ok {
			return
		}
	}
	for _, value := range rule.Values {
		c.LintPlain(rule.Operator, frame.Equals, value.Span, value.Text)
	}
}

// Allowance is what the `allow_only` lines for one path and scope say together.
type Allowance struct {
	Span     grammar.Span // of the first entry
	Path     string       // without `intent.`
	Scope    string       // an action, or the beginning of actions and `*`; empty for all
	Attested bool
	Operator frame.Operator // not NotEquals
	Values   []frame.Item

	listed map[string]bool // the values, of rules of several lines
}
