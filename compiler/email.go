package compiler

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form/email"
	"bailiff/vm/form/httpurl"
)

// Email is what the keys `email.…` say.
type Email struct {
	Approval *Flag
	Exempt   *List // patterns over mailboxes
	Allowed  *List // patterns over mailboxes
	Blocked  *List // patterns over mailboxes
}

// lists reports whether recipients are restricted.
func (m *Email) lists() bool { return m.Allowed != nil || m.Blocked != nil }

// span returns where a list of recipients stands: the allowed one where there is one.
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
	if err == nil && strings.Count(pattern, "*") > vm.MaxStars {
		err = fmt.Errorf("a recipient has at most %d stars: write fewer", vm.MaxStars)
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
		return "", fmt.Errorf("recipient %q: %q is no domain: write it out, with a star only in front, as in *@*.example.com", pattern, domain)
	}
	return pattern[:at] + host, nil
}
