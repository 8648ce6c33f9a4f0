package gen

import (
	"slices"
	"strings"
)

// caseless are the fields whose form has no case, so that a part of a value is compared without it.
var caseless = []string{"action", "targetAddress", "token", "calldata", "host"}

// ruleForms are the fields whose form does not depend on the kind of the request, so that a rule's value can be put
// into another spelling without knowing which requests it will see.
var ruleForms = []string{"action", "targetAddress", "calldata", "url", "host"}

// RespellRules returns a copy of a policy whose custom rules say the same in other spellings: addresses in any text in
// another case, whole values in another spelling of their field's form, and parts of values that have no case in another
// case. changed reports whether anything is another.
func RespellRules(r *Rand, p *Policy) (respelled *Policy, changed bool) {
	respelled = p.Clone()
	custom := respelled.Section("custom")
	if custom == nil {
		return respelled, false
	}
	at := &site{lore: newLore(p), r: r, request: object(""), intent: object("intent")}
	for i := range custom.Entries {
		entry := &custom.Entries[i]
		path, operator := ruleOf(entry)
		for j, value := range entry.Values {
			entry.Values[j] = at.otherValue(path, operator, value)
		}
		if len(unique(lowered(entry.Values))) < len(entry.Values) {
			copy(entry.Values, p.Section("custom").Entries[i].Values) // two items that are one are an error
		}
		changed = changed || !slices.Equal(entry.Values, p.Section("custom").Entries[i].Values)
	}
	return respelled, changed
}

func lowered(values []string) []string {
	var all []string
	for _, value := range values {
		all = append(all, strings.ToLower(value))
	}
	return all
}

// ruleOf returns the path and the operator of a custom rule; deny_string and approvals have no path.
func ruleOf(e *Entry) (path, operator string) {
	key, operator, _ := strings.Cut(e.Key, " ")
	operator = strings.TrimSpace(strings.TrimPrefix(operator, "attested"))
	if _, scoped, has := strings.Cut(key, "]."); has {
		return strings.TrimPrefix(scoped, "intent."), operator
	}
	_, path, _ = strings.Cut(key, ".")
	return strings.TrimPrefix(path, "intent."), operator
}

// otherValue returns another spelling of a rule's value.
func (s *site) otherValue(path, operator, value string) string {
	whole := operator == "" || operator == "equals" || operator == "not_equals"
	at := slices.IndexFunc(forms, func(f form) bool { return f.field == path && slices.Contains(ruleForms, path) })
	switch {
	case !s.r.Chance(70):
		return value
	case operator == "matches":
		return otherLiterals(s.r, value)
	case whole && path == "amount" && decimal.MatchString(value) && len(value) < 20:
		return otherDecimal(s.r, value, len(value)+3)
	case whole && at >= 0:
		if normal, ok := forms[at].normal(s, value); ok {
			return forms[at].other(s, s.r, normal)
		}
	case !whole && slices.Contains(caseless, path):
		return otherPart(s.r, value)
	}
	return otherLiterals(s.r, value)
}

// otherPart returns a part of a value that has no case in another case; a whole address in a case that is one.
func otherPart(r *Rand, text string) string {
	if literal.MatchString(text) {
		return otherLiterals(r, text)
	}
	if r.Chance(50) {
		return strings.ToLower(text)
	}
	return mixCase(r, strings.ToLower(text))
}
