package lint

import (
	"slices"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// lintElsewhere warns, once, of the rules that a client has to enforce.
func (c *linter) lintElsewhere() {
	for _, section := range c.file.Sections {
		for _, entry := range section.Entries {
			if first := entry.Key.Segments[0]; first.Text == "response" {
				c.add(grammar.At(codes.ResponseElsewhere, entry.Key.Span, "`response` rules are for a client that inspects results: this service does not enforce them").
					WithHint("see to it that the client that runs the tools does"))
				return
			}
		}
	}
}

// lintResponse warns of keys about results that say nothing, or two things.
func (c *linter) lintResponse() {
	r := &c.policy.MCP.Response
	lists := []*frame.List{r.BlockClasses, r.RedactClasses, r.ObserveClasses}
	for i, list := range lists {
		if list == nil {
			continue
		}
		if !r.Covers() {
			c.add(grammar.At(codes.ResponseUnused, list.Span, "no tool's results are inspected, so this does nothing").
				WithHint("name the tools: `response.web_fetch_tools: …` or `response.http_tools: …`"))
		}
		for _, item := range list.Items {
			if slices.ContainsFunc(lists[:i], func(l *frame.List) bool { return slices.Contains(l.Texts(), item.Text) }) {
				c.add(grammar.At(codes.ResponseTwice, item.Span, "`%s` has another list already", item.Text).
					WithHint("a finding is blocked, redacted or observed; name the class once"))
			}
		}
	}
	if r.ObserveUntil != nil && r.ObserveClasses == nil {
		c.add(grammar.At(codes.ResponseUnused, r.ObserveUntil.Span, "there are no `response.observe_classes`, so this does nothing").WithHint("name them in `response.observe_classes`"))
	}
	if r.ObserveClasses != nil && r.ObserveUntil == nil {
		c.add(grammar.At(codes.ResponseUnused, r.ObserveClasses.Span, "without `response.observe_until` nothing says when observing ends").
			WithHint("add `response.observe_until: …`, at most 30 days ahead"))
	}
}
