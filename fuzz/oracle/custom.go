package oracle

import (
	"fmt"
	"regexp"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// A denyRule is one `deny_if` or, where path is "", one `deny_string`.
type denyRule struct {
	rule, path, operator string
	text                 string
	pattern              pattern // of matches
}

// An allowRule is all `allow_only` entries of the same path, scope and operator.
type allowRule struct {
	rule, path, operator string
	scope                string // an action pattern; "" for all intents
	attested             bool
	texts                []string
	patterns             []pattern // of matches
}

// readCustom reads `deny_if`, `deny_string` and `allow_only` in file order.
func (p *Policy) readCustom(file *grammar.File) (err error) {
	for _, entry := range entries(file, "custom") {
		if entry.Value == nil {
			continue
		}
		switch entry.Key.Segments[0].Text {
		case "deny_string":
			p.denials = append(p.denials, denyRule{rule: "custom.deny_string", text: entry.Value.Text})
		case "deny_if":
			err = p.readDenyIf(entry)
		case "allow_only":
			err = p.readAllowOnly(entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// joined joins the names of a path.
func joined(segments []grammar.Segment) string {
	var names []string
	for _, segment := range segments {
		names = append(names, segment.Text)
	}
	return strings.Join(names, ".")
}

func (p *Policy) readDenyIf(entry *grammar.Entry) (err error) {
	path := dropIntent(joined(entry.Key.Segments[1:]))
	rule := denyRule{rule: "custom.deny_if." + path, path: path, operator: operatorOf(entry.Key.Words)}
	rule.text = entry.Value.Text
	if rule.operator == "matches" {
		if rule.pattern, err = anyPart(entry.Value.Text); err != nil {
			return fmt.Errorf("oracle: %s: %w", rule.rule, err)
		}
	}
	p.denials = append(p.denials, rule)
	return nil
}

// operatorOf returns the operator among a key's words, "equals" by default; "`prefix` is the same" as `starts_with`.
func operatorOf(words []grammar.Word) string {
	operator := "equals"
	for _, word := range words {
		switch word.Text {
		case "attested":
		case "prefix":
			operator = "starts_with"
		default:
			operator = word.Text
		}
	}
	return operator
}

func (p *Policy) readAllowOnly(entry *grammar.Entry) error {
	key := entry.Key
	path := dropIntent(joined(append(append([]grammar.Segment{}, key.Segments[1:]...), key.Path...)))
	added := allowRule{rule: "custom.allow_only." + path, path: path, operator: operatorOf(key.Words)}
	if key.Scope != nil {
		added.scope = asciiLower(key.Scope.Pattern.Text)
	}
	for _, word := range key.Words {
		added.attested = added.attested || word.Text == "attested"
	}
	added.texts = items(entry.Value)
	if added.operator == "matches" {
		for _, item := range items(entry.Value) {
			pattern, err := wholeValue(item)
			if err != nil {
				return fmt.Errorf("oracle: %s: %w", added.rule, err)
			}
			added.patterns = append(added.patterns, pattern)
		}
	}
	p.accumulate(added)
	return nil
}

// accumulate adds to the rule that stands already, or adds the rule: "A repeated key is an error, except those that
// accumulate: … `allow_only` for the same path, scope and operator".
func (p *Policy) accumulate(added allowRule) {
	for i := range p.allowances {
		rule := &p.allowances[i]
		if rule.path == added.path && rule.scope == added.scope && rule.operator == added.operator {
			rule.attested = rule.attested || added.attested
			rule.texts = append(rule.texts, added.texts...)
			rule.patterns = append(rule.patterns, added.patterns...)
			return
		}
	}
	p.allowances = append(p.allowances, added)
}

// customDenials is step 2, "`deny_string` and `deny_if`, in file order".
func (j *judgement) customDenials() {
	for _, rule := range j.p.denials {
		if rule.path == "" && j.anyString(rule.text) || rule.path != "" && j.deniedBy(rule) {
			j.deny(rule.rule, errcode.CustomRule)
		}
	}
}

// anyString looks "into every string value of the whole request, keys excluded, and, in `arguments` and `metadata` without
// `model_usage`, every number's text".
func (j *judgement) anyString(text string) bool {
	for _, names := range [][]string{topFields, innerFields, eitherFields} {
		for _, name := range names {
			if j.stringBelow(name, j.sent.field(name), text, false) || j.stringBelow(name, valueOf(j.sent.top[name]), text, false) {
				return true
			}
		}
	}
	if j.stringBelow("host", j.field("host"), text, false) { // a URL's host has no case
		return true
	}
	if j.stringBelow("arguments", valueOf(j.sent.inner["arguments"]), text, true) {
		return true
	}
	members, _ := j.sent.inner["metadata"].(map[string]any)
	for name, member := range members {
		if j.stringBelow("metadata."+name, valueOf(member), text, name != "model_usage") {
			return true
		}
	}
	return false
}

// stringBelow seeks a text in a value and all that it holds. What lies below a field has no form of its own, so path is
// that of the whole.
func (j *judgement) stringBelow(path string, v value, text string, numbers bool) bool {
	switch v.kind {
	case textKind:
		return denies(j.formOf(path), "contains", text, v.text)
	case numberKind:
		return numbers && strings.Contains(v.text, text)
	case objectKind:
		for _, member := range v.node.(map[string]any) {
			if j.stringBelow(path+".", valueOf(member), text, numbers) {
				return true
			}
		}
	}
	for _, element := range v.elements() {
		if j.stringBelow(path, element, text, numbers) {
			return true
		}
	}
	return false
}

// deniedBy judges one `deny_if`: "an array matches if any element does, and a path walks through lists of objects; a
// missing value matches nothing but `not_equals`", under which "an element without the path equals nothing".
func (j *judgement) deniedBy(rule denyRule) bool {
	if rule.path == "token" && rule.operator != "matches" {
		if pinned, same := j.contractNamed(rule.text); pinned && rule.operator == "not_equals" {
			return !same
		} else if pinned {
			return same || asciiLower(j.text("token")) == asciiLower(rule.text)
		}
	}
	for _, v := range j.allAt(rule.path) {
		if rule.denies(j.formOf(rule.path), v) {
			return true
		}
	}
	return false
}

// denies judges one value. `not_equals` "matches a missing value, an object and an empty list: what is not there equals
// nothing" (choices).
func (r denyRule) denies(f form, v value) bool {
	if v.kind == listKind {
		elements := v.elements()
		for _, element := range elements {
			if r.denies(f, element) || element.kind == listKind && r.operator == "not_equals" {
				return true // a list in a list equals nothing itself
			}
		}
		return len(elements) == 0 && r.operator == "not_equals"
	}
	if !v.scalar() {
		return r.operator == "not_equals"
	}
	if v.kind != textKind {
		f = plain
	}
	switch r.operator {
	case "not_equals":
		normal, ok := f.normal(v.text)
		return !ok || normal != f.rule(r.text)
	case "matches":
		for _, text := range readings(f, v.text) {
			if len(text) > maxSubject || r.pattern.in(f).MatchString(text) {
				return true
			}
		}
		return false
	}
	return denies(f, r.operator, r.text, v.text)
}

// readings are what denials read of a text: it "as sent besides" its normal form, and what its form says.
func readings(f form, sent string) []string {
	all := append([]string{sent}, f.also(sent)...)
	if normal, ok := f.normal(sent); ok {
		all = append(all, normal)
	}
	return all
}

// denies reports whether a rule's text, as it is written or in the form of the field, holds of a reading of what was sent.
// "An address literal in any rule, `deny_string` included, matches without regard to case", so that `0X…` escapes none.
func denies(f form, operator, rule, sent string) bool {
	for _, reading := range readings(f, sent) {
		for _, text := range []string{f.of(operator, rule), rule} {
			if holds(f, operator, text, reading) || literal.MatchString(text) && literalHolds(operator, text, reading) {
				return true
			}
		}
	}
	return false
}

// literalHolds is holds with the address literals of the rule's text in any case.
func literalHolds(operator, rule, s string) bool {
	expression, end := "", 0
	for _, span := range literals(rule) {
		expression += regexp.QuoteMeta(rule[end:span[0]]) + "(?i:" + rule[span[0]:span[1]] + ")"
		end = span[1]
	}
	expression += regexp.QuoteMeta(rule[end:])
	if operator == "equals" || operator == "starts_with" {
		expression = `\A` + expression
	}
	if operator == "equals" || operator == "ends_with" {
		expression += `\z`
	}
	return regexp.MustCompile(expression).MatchString(s)
}

// of returns a rule's text in the form of the field.
func (f form) of(operator, rule string) string {
	if operator == "equals" || operator == "not_equals" {
		return f.rule(rule)
	}
	return f.part(rule, operator == "starts_with")
}

// holds applies the operators that deny and allow alike.
func holds(f form, operator, rule, s string) bool {
	if f.caseless {
		rule, s = strings.ToLower(rule), strings.ToLower(s)
	}
	switch operator {
	case "equals":
		return s == rule
	case "contains":
		return strings.Contains(s, rule)
	case "starts_with":
		return strings.HasPrefix(s, rule)
	case "ends_with":
		return strings.HasSuffix(s, rule)
	}
	return false
}

// allowOnly is step 5. "`attested` means: the value counts only from a shim-provenance key … otherwise
// PROVENANCE_REQUIRED". "`allow_only[action=…]` compares actions without regard to case".
func (j *judgement) allowOnly() {
	for _, rule := range j.p.allowances {
		switch {
		case rule.scope != "" && !actionPattern(rule.scope, j.action):
		case rule.attested && !j.shim:
			j.deny(rule.rule, errcode.ProvenanceRequired)
		case !rule.allows(j.formOf(rule.path), j.at(rule.path)):
			j.deny(rule.rule, errcode.NotOnAllowlist)
		}
	}
}

// allows judges one rule: "a missing value, an object, or an array with one unlisted element is denied". Of an empty
// array nothing is listed.
func (r allowRule) allows(f form, v value) bool {
	if v.kind != listKind {
		return r.lists(f, v)
	}
	elements := v.elements()
	for _, element := range elements {
		if !r.lists(f, element) {
			return false
		}
	}
	return len(elements) > 0
}

// lists reads the normal form alone: "What has no normal form is denied by a rule that grants by it."
func (r allowRule) lists(f form, v value) bool {
	if !v.scalar() {
		return false
	}
	if v.kind != textKind {
		f = plain
	}
	normal, ok := f.normal(v.text)
	if !ok {
		return false
	}
	for _, pattern := range r.patterns {
		if len(normal) <= maxSubject && pattern.in(f).MatchString(normal) {
			return true
		}
	}
	for _, text := range r.texts {
		wanted := f.of(r.operator, text)
		if r.path == "token" {
			wanted = f.rule(text) // the symbol of a pinned address, whatever the operator
		}
		if holds(f, r.operator, wanted, normal) {
			return true
		}
	}
	return false
}
