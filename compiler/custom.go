package compiler

import (
	"bailiff/vm/slot"
)

// Custom is the section `## custom`: its rules in file order.
type Custom struct {
	Heading
	Controls
	Denials      []Denial
	Allowances   []*Allowance
	ResponseDeny *Text // for clients: what the result of a tool must not hold

	allowed map[string]*Allowance // by path and scope
}

var (
	keyCustomResponseDenyString = key(jsonTexts, func(s *Custom) **Text { return &s.ResponseDeny }, Key{Name: "response.deny_string", Since: v22,
		Doc:     "A text that a client must not let through in the result of a tool; needs a tool that `mcp.response.web_fetch_tools` or `mcp.response.http_tools` covers.",
		Example: `response.deny_string: "BEGIN OPENSSH PRIVATE KEY"`})

	keyCustomApproval = approvalKey(func(s *Custom) *Controls { return &s.Controls }, "all kinds of intents", "deploy, wallet.*")

	keyCustomShim = shimKey(func(s *Custom) *Controls { return &s.Controls }, "all intents")
)

var custom = section[Custom]("custom", v10, "Rules about any field of a request.",
	keyDenyIf, keyDenyString, keyAllowances, keyCustomAllowOnlyScoped, keyCustomAllowOnlyAttested,
	keyCustomAllowOnlyOperator, keyCustomResponseDenyString, keyCustomApproval, keyCustomShim)

func (c *Custom) enforces(bool) bool { return len(c.Denials)+len(c.Allowances) > 0 }

// finishCustom checks what the lines of one allow_only are together: the machine takes patterns as one.
func (c *checker) finishCustom() {
	if part[Custom](c.parts) == nil {
		return
	}
	for _, rule := range part[Custom](c.parts).Allowances {
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
