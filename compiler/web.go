package compiler

import (
	"bailiff/grammar"
	"bailiff/vm/form"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// HTTP is what the keys `http.…` say.
type HTTP struct {
	AllowedMethods *List
	BlockedMethods *List
	AllowedHosts   *List         // canonical hosts, and `*.` and a name for what is below it
	Rules          []*MethodRule // in the order of their first lines
}

// MethodRule is what the keys `http.method_rules.<METHOD>.…` say of one method.
type MethodRule struct {
	Method string
	Deny   *Flag
	Query  *Query
}

// rules reports whether anything is said of typed HTTP.
func (h *HTTP) rules() bool {
	return h.AllowedMethods != nil || h.BlockedMethods != nil || h.AllowedHosts != nil || len(h.Rules) > 0
}

// span returns where the first line about the method stands that says anything.
func (r *MethodRule) span() grammar.Span {
	if r.Query == nil || r.Deny != nil && r.Deny.Span.Start < r.Query.Span.Start {
		return r.Deny.Span
	}
	return r.Query.Span
}

// Query is a pattern that a whole query has to match. A nil Query is absent.
type Query struct {
	Span    grammar.Span // of the entry
	Pattern Item
}

// readMethodDeny reads whether a method is denied.
func (c *checker) readMethodDeny(row *Key, entry *grammar.Entry) {
	if rule := c.methodRule(row, entry); rule != nil {
		rule.Deny = c.boolean(entry)
	}
}

// readMethodQuery reads the pattern that the queries of a method have to match.
func (c *checker) readMethodQuery(row *Key, entry *grammar.Entry) {
	if rule := c.methodRule(row, entry); rule != nil && c.queryPattern(entry.Value) {
		rule.Query = &Query{Span: entry.Span, Pattern: Item{entry.Value.Text, entry.Value.Span}}
	}
}

// methodRule returns the rule of the method that a key names, a new one where it has none yet.
func (c *checker) methodRule(row *Key, entry *grammar.Entry) *MethodRule {
	name := entry.Key.Segments[2]
	named := *row
	named.Name, named.Values = "http.method_rules", slot.Methods()
	if !c.choice(&named, grammar.Item{Text: name.Text, Span: name.Span}) {
		return nil
	}
	h := &c.policy.ToolCalls.HTTP
	for _, rule := range h.Rules {
		if rule.Method == name.Text {
			return rule
		}
	}
	rule := &MethodRule{Method: name.Text}
	h.Rules = append(h.Rules, rule)
	return rule
}

// queryPattern reports a pattern for queries that is empty or that the machine does not take.
func (c *checker) queryPattern(value *grammar.Value) bool {
	if value.Text == "" {
		c.add(grammar.At(CodeEmptyValue, value.Span, "the empty pattern matches the empty query only, and that is denied").
			WithHint("write what queries have to look like, such as `q=[a-z]+`"))
		return false
	}
	return c.pattern(value.Text, value.Span, form.Escapes)
}

func blockedDomain(text string) ([]string, error) {
	host, err := httpurl.BlockedEntry(text)
	return []string{host}, err
}

func allowedHost(text string) ([]string, error) {
	pattern, err := httpurl.AllowedEntry(text)
	return []string{pattern}, err
}
