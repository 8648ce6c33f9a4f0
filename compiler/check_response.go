package compiler

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// readResponse reads one `response.…` entry of `## mcp`, and reports whether it knows the key.
func (c *checker) readResponse(row *Key, entry *grammar.Entry) bool {
	r := &c.policy.MCP.Response
	switch strings.TrimPrefix(row.Name, "response.") {
	case "web_fetch_tools":
		r.WebFetchTools = c.lowered(entry, c.toolPattern)
	case "http_tools":
		r.HTTPTools = c.lowered(entry, c.toolPattern)
	case "deterministic_ruleset":
		r.Ruleset = c.word(row, entry)
	case "block_classes":
		r.BlockClasses = c.choices(row, entry)
	case "redact_classes":
		r.RedactClasses = c.choices(row, entry)
	case "observe_classes":
		r.ObserveClasses = c.choices(row, entry)
	case "observe_until":
		r.ObserveUntil = c.moment(entry)
	case "scanner.required":
		r.Scanner.Required = c.boolean(entry)
	case "scanner.profile":
		r.Scanner.Profile = c.identifier(entry)
	case "scanner.classes":
		r.Scanner.Classes = c.choices(row, entry)
	case "scanner.min_confidence":
		r.Scanner.Confidence = c.confidence(entry)
	default:
		return false
	}
	return true
}

// moment reads a time in UTC. It returns nil after reporting.
func (c *checker) moment(entry *grammar.Entry) *Moment {
	text := entry.Value.Text
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && at.UTC().Format(time.RFC3339Nano) == text {
		return &Moment{Span: entry.Span, Time: at.UTC()}
	}
	d := grammar.At(CodeTime, entry.Value.Span, "`%s` is no time in UTC", shorten(text)).
		WithHint("write it as RFC 3339 has it, such as `2026-12-01T00:00:00Z`")
	if err == nil {
		d = d.WithFix(entry.Value.Span, at.UTC().Format(time.RFC3339Nano))
	}
	c.add(d)
	return nil
}

// identifier reads a name that a client knows. It returns nil after reporting.
func (c *checker) identifier(entry *grammar.Entry) *Text {
	const most = 128
	text := entry.Value.Text
	if text == "" || len(text) > most || strings.Trim(text, nameLetters+".:/") != "" {
		c.add(grammar.At(CodeIdentifier, entry.Value.Span, "`%s` is no identifier", shorten(text)).
			WithHint("use up to %d letters, digits and `._:/-`", most))
		return nil
	}
	return &Text{entry.Span, Item{text, entry.Value.Span}}
}

// confidence reads a decimal from 0 to 1. It returns nil after reporting.
func (c *checker) confidence(entry *grammar.Entry) *Limit {
	const decimals = 4
	one, _ := amount.Parse("1", decimals)
	value, err := amount.Parse(entry.Value.Text, decimals)
	if err != nil || value.Cmp(one) > 0 {
		c.add(grammar.At(CodeConfidence, entry.Value.Span, "`%s` is no decimal from 0 to 1 with at most %d fraction digits", shorten(entry.Value.Text), decimals).
			WithHint("write it as 0.85"))
		return nil
	}
	return &Limit{Span: entry.Span, Amount: value, Decimals: decimals}
}

// jsonText reads a JSON string that is not empty. It returns nil after reporting.
func (c *checker) jsonText(entry *grammar.Entry) *Text {
	value := entry.Value
	var text string
	err := json.Unmarshal([]byte(value.Raw), &text)
	switch {
	case !strings.HasPrefix(value.Raw, `"`) || err != nil || strings.ContainsRune(text, utf8.RuneError):
		d := grammar.At(CodeJSONString, value.Span, "this is no JSON string").
			WithHint("put it between double quotes, with \\ in front of quotes and backslashes inside")
		if fixed, err := json.Marshal(value.Text); err == nil && !value.Quoted && !strings.ContainsRune(value.Text, utf8.RuneError) {
			d = d.WithFix(value.Span, string(fixed))
		}
		c.add(d)
	case text == "":
		c.add(grammar.At(CodeEmptyValue, value.Span, "the empty text is no value to look for").WithHint("write what should be denied"))
	case len(text) > maxTextBytes:
		c.add(grammar.At(CodeTextLong, value.Span, "a value has at most %d bytes, and this one %d", maxTextBytes, len(text)))
	default:
		return &Text{entry.Span, Item{text, value.Span}}
	}
	return nil
}

// finishResponse checks what the keys about results need of others.
func (c *checker) finishResponse() {
	if c.lost("mcp", "tools") {
		return
	}
	before := len(c.found)
	m := c.policy.MCP
	if custom := c.policy.Custom; custom != nil && custom.ResponseDeny != nil && (m == nil || !m.Response.covers()) {
		c.add(grammar.At(CodeResponseUncovered, custom.ResponseDeny.Span, "no tool's results are inspected, so there is nothing to look into").
			WithHint("name the tools in `## mcp`: `response.web_fetch_tools: …` or `response.http_tools: …`"))
	}
	if m != nil && m.Response.covers() {
		c.finishCoverage(m)
	}
	c.partial = c.partial || c.found[before:].HasErrors()
}

// finishCoverage checks the tools whose results are inspected.
func (c *checker) finishCoverage(m *MCP) {
	r := &m.Response
	allowed := map[string]bool{}
	for _, text := range m.AllowedTools.texts() {
		allowed[text] = true
	}
	blocked := newGlobIndex(vm.Unbounded, m.BlockedTools.texts())
	for _, list := range []*List{r.WebFetchTools, r.HTTPTools} {
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if _, isBlocked := blocked.coversTool(item.Text); isBlocked || !allowed[item.Text] || strings.Contains(item.Text, "*") {
				c.add(grammar.At(CodeResponseTool, item.Span, "`%s` is no exact entry of `allowed_tools` that nothing blocks", shorten(item.Text)).
					WithHint("a covered tool is written out in `allowed_tools`, in the same words"))
			}
		}
		if r.Ruleset == nil && !c.lost("mcp", "response.deterministic_ruleset") {
			c.add(grammar.At(CodeResponseRuleset, list.Span, "tools are covered, and there is no `response.deterministic_ruleset`").
				WithHint("add `response.deterministic_ruleset: sof-response-rules-v1`"))
			return
		}
	}
}

// lintElsewhere warns, once, of the rules that a client has to enforce.
func (c *checker) lintElsewhere() {
	for _, section := range c.file.Sections {
		for _, entry := range section.Entries {
			if first := entry.Key.Segments[0]; first.Text == "response" {
				c.add(grammar.At(CodeResponseElsewhere, entry.Key.Span, "`response` rules are for a client that inspects results: this service does not enforce them").
					WithHint("see to it that the client that runs the tools does"))
				return
			}
		}
	}
}

// lintResponse warns of keys about results that say nothing, or two things.
func (c *checker) lintResponse() {
	r := &c.policy.MCP.Response
	lists := []*List{r.BlockClasses, r.RedactClasses, r.ObserveClasses}
	for i, list := range lists {
		if list == nil {
			continue
		}
		if !r.covers() {
			c.add(grammar.At(CodeResponseUnused, list.Span, "no tool's results are inspected, so this does nothing").
				WithHint("name the tools: `response.web_fetch_tools: …` or `response.http_tools: …`"))
		}
		for _, item := range list.Items {
			if slices.ContainsFunc(lists[:i], func(l *List) bool { return slices.Contains(l.texts(), item.Text) }) {
				c.add(grammar.At(CodeResponseTwice, item.Span, "`%s` has another list already", item.Text).
					WithHint("a finding is blocked, redacted or observed; name the class once"))
			}
		}
	}
	if r.ObserveUntil != nil && r.ObserveClasses == nil {
		c.add(grammar.At(CodeResponseUnused, r.ObserveUntil.Span, "there are no `response.observe_classes`, so this does nothing").WithHint("name them in `response.observe_classes`"))
	}
	if r.ObserveClasses != nil && r.ObserveUntil == nil {
		c.add(grammar.At(CodeResponseUnused, r.ObserveClasses.Span, "without `response.observe_until` nothing says when observing ends").
			WithHint("add `response.observe_until: …`, at most 30 days ahead"))
	}
}
