package compiler

import (
	"strings"

	"bailiff/runtime/code"
	"bailiff/vm"
)

func (e *emitter) denials() []Denial {
	if e.policy.Custom == nil {
		return nil
	}
	return e.policy.Custom.Denials
}

func (e *emitter) allowances() []*Allowance {
	if e.policy.Custom == nil {
		return nil
	}
	return e.policy.Custom.Allowances
}

// isString reports whether a denial is a deny_string.
func (d *Denial) isString() bool { return d.Path == "" }

// emitDenials judges by deny_if and deny_string in file order. All texts of deny_string are sought in one scan,
// at the first of them.
func (e *emitter) emitDenials() {
	var sought vm.Const
	scanned := false
	for i := range e.denials() {
		d := &e.denials()[i]
		e.at(d.Span)
		if !d.isString() {
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
// of other kinds may stand between.
func (e *emitter) scan() vm.Const {
	var entries []vm.Entry
	for i := range e.denials() {
		if d := &e.denials()[i]; d.isString() {
			entries = append(entries, entryOf(d.Value.Text))
		}
	}
	set, next := e.Texts(entries...), e.NewLabel()
	e.Scan(e.Field(slotText), set, next)
	e.Place(next)
	return set
}

func (e *emitter) denyString(d *Denial, sought vm.Const) {
	next := e.NewLabel()
	e.Hit(vm.Unless, sought, entryOf(d.Value.Text), next)
	e.deny(keyDenyString.Rule, keyDenyString.Code, "a text of the request holds what custom.deny_string denies", next)
	e.Place(next)
}

// denyIf denies where the value compares as the rule says. A missing value compares so only by not_equals.
func (e *emitter) denyIf(d *Denial) {
	next := e.NewLabel()
	when := vm.Unless
	if d.Operator == NotEquals { // pass only if there is a value and all of it is equal
		when = vm.If | vm.Every
	}
	slot, found := e.Field(d.Path), e.NewLabel()
	e.inLower(d, found)
	if d.Operator == Matches {
		e.Test(vm.OpMatch, when, slot, e.Pattern(machinePattern([]string{d.Value.Text}), false), next)
	} else {
		e.Test(operations[d.Operator], when, slot, e.folded(d.Value.Text), next)
	}
	e.Place(found)
	e.deny(keyDenyIf.ruleOf(d.Path), keyDenyIf.Code, d.Path+" "+conditions[d.Operator], next)
	e.Place(next)
}

// mcpParts are the paths of the parts of an MCP action, with the slots that hold them for MCP intents alone.
var mcpParts = map[string]string{"metadata.serverId": slotServer, "metadata.toolName": slotTool}

// inLower jumps to found where a part of an MCP action compares as the rule says with its text in lower case. The parts
// are judged in lower case, however they are sent, so that a text in another case would deny none.
func (e *emitter) inLower(d *Denial, found vm.Label) {
	part, lower := mcpParts[d.Path], strings.ToLower(d.Value.Text)
	if part == "" || lower == d.Value.Text || d.Operator == NotEquals || d.Operator == Matches {
		return
	}
	e.Test(operations[d.Operator], vm.If, e.Field(part), e.folded(lower), found)
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
		e.Test(vm.OpIn, vm.If, e.Field(slotProvenance), e.exactly("shim"), attested)
		e.deny(name, code.ProvenanceRequired, rule.Path+" counts only from a key whose provenance is a shim", next)
		e.Place(attested)
	}
	op, set := e.allowed(rule)
	e.Test(op, vm.If|vm.Every, e.Field(rule.Path), set, next)
	e.deny(name, keyAllowances.Code, rule.Path+" is missing, or not on custom.allow_only's list", next)
	e.Place(next)
}

// scope jumps where the action is outside a scope. It looks at the action in lower case: an action in another
// spelling must not escape a rule.
func (e *emitter) scope(pattern string, outside vm.Label) {
	start, isPrefix := strings.CutSuffix(strings.ToLower(pattern), "*")
	switch action := e.Field(slotLowerAction); {
	case start == "": // no scope, or `*`
	case isPrefix:
		e.Test(vm.OpStarts, vm.Unless, action, e.exactly(start), outside)
	default:
		e.Test(vm.OpIn, vm.Unless, action, e.exactly(start), outside)
	}
}

// allowed returns the test for a rule's values.
func (e *emitter) allowed(rule *Allowance) (vm.Op, vm.Const) {
	if rule.Operator == Matches {
		return vm.OpMatch, e.Pattern(machinePattern(rule.texts()), true)
	}
	return operations[rule.Operator], e.folded(rule.texts()...)
}
