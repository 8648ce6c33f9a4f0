package oracle

import (
	"net/mail"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"bailiff/vm/errcode"
)

// recipientPatterns compiles a list of recipients: "`*` in an entry stands for any characters but `@`", compared "in
// lower case" and normal form C.
func recipientPatterns(list []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, entry := range list {
		parts := strings.Split(domainInASCII(foldedMail(entry), "*."), "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		all = append(all, regexp.MustCompile(`\A`+strings.Join(parts, `[^@]*`)+`\z`))
	}
	return all
}

// domainInASCII returns an address, or an entry of a list, with a domain outside of ASCII "in the ASCII form by which
// mail finds it", behind characters that may stand in front of it. It is "" where there is no such form.
func domainInASCII(address, front string) string {
	at := strings.LastIndex(address, "@") + 1
	wild := len(address[at:]) - len(strings.TrimLeft(address[at:], front))
	domain := address[at+wild:]
	if asciiText(domain) {
		return address
	}
	host := canonicalHost(domain)
	if host == "" {
		return ""
	}
	return address[:at+wild] + host
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
		j.deny("tool_calls."+rule, errcode.RecipientNotAllowed)
		return
	}
	// "One that does not parse as an RFC 5322 address is denied by the first list that is declared, with that list's
	// code."
	if hasBlocked && (!readable || someMatch(j.p.patterns.blockedRecipients, addresses)) {
		j.deny("tool_calls."+blocked, errcode.BlockedRecipient)
	}
	if hasAllowed && (!readable || !allMatch(j.p.patterns.allowed, addresses)) {
		j.deny("tool_calls."+allowed, errcode.RecipientNotAllowed)
	}
}

// addresses returns the bare addresses of `to` in lower case, how many recipients there are, and whether all of them
// parse.
func (j *judgement) addresses() (bare []string, count int, readable bool) {
	to := j.field("to")
	all := to.elements()
	if to.kind == textKind {
		all = []value{to}
	}
	readable = true
	for _, recipient := range all {
		address, ok := readRecipient(recipient.text)
		if ok {
			bare = append(bare, address)
		}
		readable = readable && ok
	}
	return bare, len(all), readable
}

const longestAddress = 320

// recipientForms are what a recipient may look like: the bare address, or that between < and > behind a name of words
// and quoted strings. The address is of atoms with dots between them. So there are no "groups, quoted local parts,
// comments, source routes, domain literals, white space around the `@`".
var recipientForms = func() *regexp.Regexp {
	const dotAtom = "[-!#$%&'*+/=?^_`{|}~0-9A-Za-z\u0080-\U0010ffff]+"
	const address = "(" + dotAtom + `(?:\.` + dotAtom + ")*@" + dotAtom + `(?:\.` + dotAtom + ")*)"
	const name = `(?:[^"()\[\]:;,\\<>@]|"(?:[^"\\]|\\.)*")*`
	return regexp.MustCompile("^(?: *" + address + " *| *" + name + "<" + address + "> *)$")
}()

// readAddress returns the bare address in lower case of a text that "parses as an RFC 5322 address" and holds nothing
// of the list of what is "refused as unreadable, too".
func readAddress(text string) (string, bool) {
	found := recipientForms.FindStringSubmatch(text)
	if len(text) > longestAddress || found == nil || invisible(text) {
		return "", false
	}
	parsed, err := mail.ParseAddress(text)
	if bare := found[1] + found[2]; err != nil || parsed.Address != bare {
		return "", false
	}
	address := norm.NFC.String(strings.ToLower(norm.NFC.String(parsed.Address)))
	for _, r := range parsed.Address { // "letters whose lower case is ASCII though they are not (the Kelvin sign)"
		if r > unicode.MaxASCII && (unicode.ToLower(r) <= unicode.MaxASCII || asciiText(norm.NFC.String(string(r)))) {
			return "", false // "a letter whose composed form is of ASCII" (choices)
		}
		if unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
			return "", false // "invisible characters", which marks of emoji in a name are as well
		}
	}
	return address, len(address) <= longestAddress
}

func asciiText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// readRecipient is the normal form of a recipient: "the bare address in lower case, IDNA, NFC".
func readRecipient(text string) (string, bool) {
	address, ok := readAddress(text)
	address = domainInASCII(address, "")
	return address, ok && address != ""
}

// domainInASCIIOr is domainInASCII for a rule's text, which stays as it is where its domain has no such form.
func domainInASCIIOr(text string) string {
	if ascii := domainInASCII(text, "*."); ascii != "" {
		return ascii
	}
	return text
}

// invisible: "control and invisible characters".
func invisible(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return true
		}
	}
	return false
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
