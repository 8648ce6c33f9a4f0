package oracle

import (
	"net/mail"
	"regexp"
	"strings"

	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// recipientPatterns compiles a list of recipients: "`*` in an entry stands for any characters but `@`", compared "in
// lower case".
func recipientPatterns(list []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, entry := range list {
		parts := strings.Split(strings.ToLower(entry), "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		all = append(all, regexp.MustCompile(`\A`+strings.Join(parts, `[^@]*`)+`\z`))
	}
	return all
}

// recipients judges the recipients of `email.send`, "where one of the two lists is declared".
func (j *judgement) recipients() {
	const blocked, allowed = "email.blocked_recipients", "email.allowed_recipients"
	hasBlocked, hasAllowed := j.p.tools.has(blocked), j.p.tools.has(allowed)
	if !hasBlocked && !hasAllowed {
		return
	}
	addresses, count, readable := j.addresses()
	if count == 0 { // "by `email.allowed_recipients` or, without it, `email.blocked_recipients`"
		rule := blocked
		if hasAllowed {
			rule = allowed
		}
		j.deny("tool_calls."+rule, code.RecipientNotAllowed)
		return
	}
	// "One that does not parse as an RFC 5322 address is denied by the first list that is declared, with that list's
	// code."
	if hasBlocked && (!readable || someMatch(j.p.patterns.blockedRecipients, addresses)) {
		j.deny("tool_calls."+blocked, code.BlockedRecipient)
	}
	if hasAllowed && (!readable || !allMatch(j.p.patterns.allowed, addresses)) {
		j.deny("tool_calls."+allowed, code.RecipientNotAllowed)
	}
}

// addresses returns the bare addresses of `to` in lower case, how many recipients there are, and whether all of them
// parse.
func (j *judgement) addresses() (bare []string, count int, readable bool) {
	to := j.field(intent.To)
	all := to.elements()
	if to.kind == textKind {
		all = []value{to}
	}
	readable = true
	for _, recipient := range all {
		address, err := mail.ParseAddress(recipient.text)
		if err != nil {
			readable = false
			continue
		}
		bare = append(bare, strings.ToLower(address.Address))
	}
	return bare, len(all), readable
}

func someMatch(list []*regexp.Regexp, addresses []string) bool {
	for _, address := range addresses {
		if anyMatches(list, address) {
			return true
		}
	}
	return false
}

func allMatch(list []*regexp.Regexp, addresses []string) bool {
	for _, address := range addresses {
		if !anyMatches(list, address) {
			return false
		}
	}
	return true
}
