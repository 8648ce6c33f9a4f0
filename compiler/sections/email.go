package sections

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/email"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/match"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Email is what the keys `email.…` say.
type Email struct {
	Approval *frame.Flag
	Exempt   *frame.List // patterns over mailboxes
	Allowed  *frame.List // patterns over mailboxes
	Blocked  *frame.List // patterns over mailboxes
}

var (
	keyEmailApproval = frame.NewKey(frame.Booleans, func(s *ToolCalls) **frame.Flag { return &s.Email.Approval }, frame.Key{Name: "email.require_approval", Default: "false",
		Code: errcode.HoldApproval,
		Doc:  "Whether a person has to decide on every `email.send`.", Example: "email.require_approval: true"})

	keyToolsEmailApprovalExemptRecipients = frame.NewKey(recipients, func(s *ToolCalls) **frame.List { return &s.Email.Exempt }, frame.Key{Name: "email.approval_exempt_recipients", Since: frame.V24,
		Doc:     "Recipients to whom `email.require_approval` does not apply, where all recipients of an e-mail are among them; `*` matches any characters but `@`.",
		Example: "email.require_approval: true\nemail.approval_exempt_recipients: *@example.com"})

	keyRecipients = frame.NewKey(recipients, func(s *ToolCalls) **frame.List { return &s.Email.Allowed }, frame.Key{Name: "email.allowed_recipients",
		Code:    errcode.RecipientNotAllowed,
		Doc:     "The recipients that `email.send` may have, all of them; `*` matches any characters but `@`.",
		Example: "email.allowed_recipients: *@example.com"})

	keyNoRecipients = frame.NewKey(recipients, func(s *ToolCalls) **frame.List { return &s.Email.Blocked }, frame.Key{Name: "email.blocked_recipients", Blocks: true,
		Code: errcode.BlockedRecipient, Codes: []errcode.Code{errcode.RecipientNotAllowed},
		Doc:     "The recipients that `email.send` must not have, any of them; `*` matches any characters but `@`.",
		Example: "email.blocked_recipients: *@example.net"})
)

var (
	recipients = frame.EntriesOf(frame.TypeRecipients, codes.Recipient, recipient)
)

// lists reports whether recipients are restricted.
func (m *Email) lists() bool { return m.Allowed != nil || m.Blocked != nil }

// span returns where a list of recipients is: the allowed one where there is one.
func (m *Email) span() grammar.Span {
	if m.Allowed != nil {
		return m.Allowed.Span
	}
	return m.Blocked.Span
}

// recipient reads an entry of a list of recipients. Its domain is in ASCII, as those of intents are.
func recipient(text string) ([]string, error) {
	pattern, err := email.Entry(text)
	if err == nil {
		pattern, err = asciiDomain(pattern)
	}
	if err == nil && strings.Count(pattern, "*") > match.MaxStars {
		err = fmt.Errorf("a recipient has at most %d stars: write fewer", match.MaxStars)
	}
	return []string{pattern}, err
}

// asciiDomain puts the domain of a recipient's pattern into ASCII.
func asciiDomain(pattern string) (string, error) {
	at := strings.Index(pattern, "@") + 1
	for strings.HasPrefix(pattern[at:], "*.") {
		at += len("*.")
	}
	domain := pattern[at:]
	if !strings.ContainsFunc(domain, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return pattern, nil
	}
	host, err := httpurl.Host(domain)
	if err != nil {
		return "", fmt.Errorf("recipient %q: %q is not a domain: write it out, with a star only in front, as in *@*.example.com", pattern, domain)
	}
	return pattern[:at] + host, nil
}

// emitEmail judges recipients: whether there are any, the blocked list, the allowed list. What is no address is denied by
// the first of the two, since a test of it never jumps.
func emitEmail(e *frame.Emitter, done vm.Label) {
	m := &frame.Part[ToolCalls](e.Parts).Email
	recipients, present := e.Field(derived.Recipients), e.NewLabel()
	first := keyRecipients
	e.At(m.span())
	if m.Allowed == nil {
		first = keyNoRecipients
	} else {
		e.Allowing(m.Allowed)
	}
	e.Kind(vm.Unless, recipients, frame.Absent, present)
	e.DenyBy(first.Rule, keyRecipients.Code, "the policy restricts recipients, and the intent has none", e.Value(derived.Recipients), done)
	e.Place(present)
	if m.Blocked != nil {
		next := e.NewLabel()
		e.Blocking(m.Blocked)
		e.Test(vm.OpGlob, vm.Unless, recipients, e.Globs(match.Mailbox, m.Blocked.Texts()...), next)
		e.DenyBy(keyNoRecipients.Rule, keyNoRecipients.Code, "a recipient is in tool_calls.email.blocked_recipients, or no address", e.Element(derived.Recipients), next)
		e.Place(next)
	}
	if m.Allowed != nil {
		e.Allowing(m.Allowed)
		e.Test(vm.OpGlob, vm.If|vm.Every, recipients, e.Globs(match.Mailbox, m.Allowed.Texts()...), done)
		e.DenyBy(keyRecipients.Rule, keyRecipients.Code, "a recipient is not in tool_calls.email.allowed_recipients", e.Element(derived.Recipients), done)
	} else {
		e.Jump(done)
	}
}

// EmitEmailApproval holds every e-mail but those whose recipients are all exempt.
func EmitEmailApproval(e *frame.Emitter) {
	next := e.NewLabel()
	e.At(frame.Part[ToolCalls](e.Parts).Email.Approval.Span)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.EmailAction), next)
	if exempt := frame.Part[ToolCalls](e.Parts).Email.Exempt; exempt != nil {
		e.Test(vm.OpGlob, vm.If|vm.Every, e.Field(derived.Recipients), e.Globs(match.Mailbox, exempt.Texts()...), next)
	}
	e.HoldBy(keyEmailApproval, "a person has to decide on every e-mail")
	e.Place(next)
}
