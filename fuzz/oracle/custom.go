package oracle

import (
	"fmt"
	"regexp"
	"strings"

	"bailiff/grammar"
	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// A denyRule is one `deny_if` or, where path is "", one `deny_string`.
type denyRule struct {
	rule, path, operator string
	needle               needle
	pattern              *regexp.Regexp // of matches
}

// An allowRule is all `allow_only` entries of the same path, scope and operator.
type allowRule struct {
	rule, path, operator string
	scope                string // an action pattern; "" for all intents
	attested             bool
	needles              []needle
	patterns             []*regexp.Regexp // of matches
}

// readCustom reads `deny_if`, `deny_string` and `allow_only` in file order.
func (p *Policy) readCustom(file *grammar.File) (err error) {
	for _, entry := range entries(file, "custom") {
		if entry.Value == nil {
			continue
		}
		switch entry.Key.Segments[0].Text {
		case "deny_string":
			p.denials = append(p.denials, denyRule{rule: "custom.deny_string", needle: newNeedle(entry.Value.Text)})
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
	rule.needle = newNeedle(entry.Value.Text)
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
	added.needles = needles(items(entry.Value))
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
			rule.needles = append(rule.needles, added.needles...)
			rule.patterns = append(rule.patterns, added.patterns...)
			return
		}
	}
	p.allowances = append(p.allowances, added)
}

// customDenials is step 2, "`deny_string` and `deny_if`, in file order".
func (j *judgement) customDenials() {
	for _, rule := range j.p.denials {
		if rule.path == "" && j.anyString(rule.needle) || rule.path != "" && rule.denies(j.at(rule.path)) || j.deniesPart(rule) {
			j.deny(rule.rule, code.CustomRule)
		}
	}
}

// deniesPart judges a rule about a part of an MCP action once more, with its text in lower case: the parts are "without
// regard to case", and what is derived of them is in lower case.
func (j *judgement) deniesPart(rule denyRule) bool {
	ofPart := rule.path == "metadata.serverId" || rule.path == "metadata.toolName"
	if j.kind != mcpIntent || !ofPart || rule.operator == "not_equals" || rule.operator == "matches" {
		return false
	}
	rule.needle = newNeedle(strings.ToLower(rule.needle.text))
	return rule.denies(j.at(rule.path))
}

// anyString looks "into every string value of the whole request, keys excluded".
func (j *judgement) anyString(n needle) bool {
	for _, row := range intent.Fields() {
		if row.Field != intent.IntentObject && stringBelow(j.in.Node(row.Field), n) {
			return true
		}
	}
	return false
}

func stringBelow(node intent.Node, n needle) bool {
	if v := valueOf(node); v.kind == textKind {
		return n.containedIn(v.text)
	}
	for _, child := range node.Children() {
		if stringBelow(child, n) {
			return true
		}
	}
	return false
}

// denies judges one `deny_if`: "an array matches if any element does; a missing value matches nothing but
// `not_equals`", which "matches a missing value, an object and an empty list: what is not there equals nothing"
// (choices).
func (r denyRule) denies(v value) bool {
	if v.kind == listKind {
		elements := v.elements()
		for _, element := range elements {
			if r.matches(element) || element.kind == listKind && r.denies(element) {
				return true
			}
		}
		return len(elements) == 0 && r.operator == "not_equals"
	}
	return r.matches(v)
}

func (r denyRule) matches(v value) bool {
	if !v.scalar() {
		return r.operator == "not_equals"
	}
	switch r.operator {
	case "not_equals":
		return !r.needle.equals(v.text)
	case "matches":
		return len(v.text) > maxSubject || r.pattern.MatchString(v.text)
	}
	return holds(r.operator, r.needle, v.text)
}

// holds applies the operators that deny and allow alike.
func holds(operator string, n needle, s string) bool {
	switch operator {
	case "equals":
		return n.equals(s)
	case "contains":
		return n.containedIn(s)
	case "starts_with":
		return n.begins(s)
	case "ends_with":
		return n.ends(s)
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
			j.deny(rule.rule, code.ProvenanceRequired)
		case !rule.allows(j.at(rule.path)):
			j.deny(rule.rule, code.NotOnAllowlist)
		}
	}
}

// allows judges one rule: "a missing value, an object, or an array with one unlisted element is denied". Of an empty
// array nothing is listed.
func (r allowRule) allows(v value) bool {
	if v.kind != listKind {
		return r.lists(v)
	}
	elements := v.elements()
	for _, element := range elements {
		if !r.lists(element) {
			return false
		}
	}
	return len(elements) > 0
}

func (r allowRule) lists(v value) bool {
	if !v.scalar() {
		return false
	}
	if r.operator == "matches" {
		return len(v.text) <= maxSubject && anyMatches(r.patterns, v.text)
	}
	for _, n := range r.needles {
		if holds(r.operator, n, v.text) {
			return true
		}
	}
	return false
}
