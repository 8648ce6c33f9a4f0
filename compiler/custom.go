package compiler

import (
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
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

// Denial is one `deny_if`, or one `deny_string`, which has no path.
type Denial struct {
	Span     grammar.Span // of the entry
	Path     string       // without `intent.`
	Operator Operator     // Contains for a deny_string
	Value    Item
}

// Allowance is what the `allow_only` lines for one path and scope say together.
type Allowance struct {
	Span     grammar.Span // of the first entry
	Path     string       // without `intent.`
	Scope    string       // an action, or the beginning of actions and `*`; empty for all
	Attested bool
	Operator Operator // not NotEquals
	Values   []Item
}

// texts returns the values' texts.
func (a *Allowance) texts() []string {
	texts := make([]string, len(a.Values))
	for i, value := range a.Values {
		texts[i] = value.Text
	}
	return texts
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
		c.add(grammar.At(CodeOperator, key.Span, "a deny_if has one operator after its path").
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
		c.add(grammar.At(CodeEmptyValue, value.Span, "the empty text is no value to look for").
			WithHint("write what should be denied; for the empty text itself `matches \"^$\"`"))
		return
	case len(value.Text) > maxTextBytes:
		c.add(grammar.At(CodeTextLong, value.Span, "a value has at most %d bytes, and this one %d", maxTextBytes, len(value.Text)))
		return
	case d.Operator == Matches && !c.pattern(value.Text, value.Span, slot.At(d.Path).Forms()...):
		return
	}
	c.literals(value.Text, value.Span)
	c.lintDenial(d, value)
	d.Value = Item{value.Text, value.Span}
	c.policy.Custom.Denials = append(c.policy.Custom.Denials, d)
}

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
	d := grammar.At(CodeOperator, word.Span, "`%s` is not an operator here", shorten(word.Text))
	c.add(suggestOperator(d, word, denies))
	return 0, false
}

const listOfOperators = "the operators are equals, contains, starts_with, ends_with and matches; deny_if also has not_equals"

// path reads the path of a custom rule, without `intent.` in front, or reports what is wrong with it.
func (c *checker) path(segments []grammar.Segment) (string, bool) {
	if len(segments) > 1 && segments[0].Text == "intent" {
		segments = segments[1:]
	}
	if len(segments) == 0 { // the schema's <path> stands for at least one name
		return "", false
	}
	path := joinSegments(segments)
	span := segments[0].Span.To(segments[len(segments)-1].Span)
	first := slot.Find(segments[0].Text)
	switch {
	case first == slot.NoField:
		c.add(unknownField(segments[0], path))
	case first.Row().Type.Object() && len(segments) == 1:
		c.add(grammar.At(CodePathObject, span, "`%s` is an object, and rules compare texts", first).
			WithHint("name a member of it, such as `%s.env`", first))
	case !first.Row().Type.Object() && len(segments) > 1:
		c.add(grammar.At(CodePathObject, span, "`%s` has no members, so `%s` can't exist", first, shorten(path)).
			WithHint("data of your own is below `metadata`"))
	case len(path) > maxPathBytes:
		c.add(grammar.At(CodeTextLong, span, "a path has at most %d bytes, and this one %d", maxPathBytes, len(path)))
	default:
		return path, true
	}
	return "", false
}

func unknownField(first grammar.Segment, path string) grammar.Diagnostic {
	d := grammar.At(CodePathField, first.Span, "a request has no field `%s`", shorten(first.Text))
	if near := grammar.Closest(first.Text, fieldNames()); near != "" {
		return d.WithHint("did you mean `%s`?", near).WithFix(first.Span, near)
	}
	if first.Text == "intent" {
		return d.WithHint("name the field, such as `intent.action`")
	}
	return d.WithHint("data of your own is below metadata: `metadata.%s`", shorten(path)).
		WithFix(grammar.Span{Start: first.Span.Start, End: first.Span.Start}, "metadata.")
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
		c.add(grammar.At(CodeAttestedPath, entry.Key.Span, "`attested` is for values below `metadata`, and `%s` is not", shorten(path)).
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
		c.add(grammar.At(CodeOperator, words[0].Span, "`%s` is not an operator here", shorten(words[0].Text)).
			WithHint("did you mean `%s`?", wordAttested).WithFix(words[0].Span, wordAttested))
		return false
	}
	if len(words) > 1 {
		c.add(grammar.At(CodeOperator, words[1].Span, "`%s` can't follow here", shorten(words[1].Text)).
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
	rule := c.allowed[id]
	switch {
	case rule == nil:
		c.allowed[id] = line
		c.policy.Custom.Allowances = append(c.policy.Custom.Allowances, line)
	case rule.Operator != line.Operator:
		c.add(grammar.At(CodeMixedOperators, key.Span, "this path and scope has operator `%s` on another line, and `%s` here", rule.Operator, line.Operator).
			WithHint("use one operator for all lines of a path and scope"))
	case rule.Attested != line.Attested:
		c.add(grammar.At(CodeMixedOperators, key.Span, "this path and scope is `attested` on one line and not on another").
			WithHint("write `attested` on all lines of a path and scope, or on none"))
	default:
		c.extend(rule, line)
	}
}

// extend adds the values of a line to its rule.
func (c *checker) extend(rule, line *Allowance) {
	seen := c.listed[rule]
	if seen == nil {
		seen = make(map[string]bool, len(rule.Values))
		for _, value := range rule.Values {
			seen[value.Text] = true
		}
		c.listed[rule] = seen
	}
	for _, value := range line.Values {
		if seen[value.Text] {
			c.add(grammar.At(CodeRepeatedItem, value.Span, "`%s` is allowed on another line already", shorten(value.Text)))
			continue
		}
		seen[value.Text] = true
		rule.Values = append(rule.Values, value)
	}
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
