package sections

import (
	"bailiff/compiler/frame"
	"bailiff/vm/slot"
)

// Custom is the section `## custom`: its rules in file order.
type Custom struct {
	frame.Heading
	frame.Controls
	Denials      []Denial
	Allowances   []*Allowance
	ResponseDeny *frame.Text // for clients: what the result of a tool must not hold

	allowed map[string]*Allowance // by path and scope
}

var (
	keyCustomResponseDenyString = frame.NewKey(jsonTexts, func(s *Custom) **frame.Text { return &s.ResponseDeny }, frame.Key{Name: "response.deny_string", Since: frame.V22,
		Doc:     "A text that a client must not let through in the result of a tool; needs a tool that `mcp.response.web_fetch_tools` or `mcp.response.http_tools` covers.",
		Example: `response.deny_string: "BEGIN OPENSSH PRIVATE KEY"`})

	keyCustomApproval = frame.ApprovalKey(func(s *Custom) *frame.Controls { return &s.Controls }, "all kinds of intents", "deploy, wallet.*")

	keyCustomShim = frame.ShimKey(func(s *Custom) *frame.Controls { return &s.Controls }, "all intents")
)

// CustomSection is the row of `## custom`.
var CustomSection = frame.NewSection[Custom]("custom", frame.V10, "Rules about any field of a request.",
	keyDenyIf, keyDenyString, keyAllowances, keyCustomAllowOnlyScoped, keyCustomAllowOnlyAttested,
	keyCustomAllowOnlyOperator, keyCustomResponseDenyString, keyCustomApproval, keyCustomShim)

// Enforces implements [frame.Enforcing].
func (c *Custom) Enforces(bool) bool { return len(c.Denials)+len(c.Allowances) > 0 }

// FinishCustom checks what the lines of one allow_only are together: the machine takes patterns as one.
func FinishCustom(c *frame.Checker) {
	if frame.Part[Custom](c.Parts) == nil {
		return
	}
	for _, rule := range frame.Part[Custom](c.Parts).Allowances {
		if rule.Operator != frame.Matches {
			continue
		}
		lintPlainAllowance(c, rule)
		if len(rule.Values) > 1 {
			for _, form := range slot.At(rule.Path).Forms() {
				c.Bounded(frame.MachinePattern(rule.Texts(), form), rule.Span)
			}
		}
	}
}
