package httpurl

import (
	"net/netip"
	"strconv"
	"strings"
)

// wildcard starts a pattern that covers subdomains.
const wildcard = "*."

// An EntryError says what is wrong with an entry of a host list.
type EntryError struct {
	Entry   string // as written
	Problem string // a sentence without its full stop
	Fix     string // what to write instead; empty where nothing is likely
}

// Error returns the entry, the problem and the fix in one line.
func (e *EntryError) Error() string {
	text := "host " + quote(e.Entry) + ": " + e.Problem
	if e.Fix != "" {
		text += "; write " + quote(e.Fix)
	}
	return text
}

// BlockedEntry reads an entry of a list of blocked hosts: a host, or "*." and a name, which means the same. It returns
// the canonical host, which blocks itself and, if it is a name, all below it. Every error is an *EntryError.
func BlockedEntry(text string) (entry string, err error) {
	pattern, err := readEntry(text, "to block every host, leave the tool out of the allowed ones")
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(pattern, wildcard), nil
}

// AllowedEntry reads an entry of a list of allowed hosts: a host, which means itself alone, or "*." and a name,
// which means its subdomains alone. It returns the canonical pattern. Every error is an *EntryError.
func AllowedEntry(text string) (pattern string, err error) {
	return readEntry(text, "to allow every host, leave the list out")
}

// readEntry returns the canonical pattern of an entry. The advice is for those who write a bare "*".
func readEntry(text, adviceForStar string) (pattern string, err error) {
	if problem, fix := misplaced(text, adviceForStar); problem != "" {
		return "", &EntryError{Entry: text, Problem: problem, Fix: fix}
	}
	name, wild := strings.CutPrefix(text, wildcard)
	host, err := Host(name)
	if err != nil {
		return "", &EntryError{Entry: text, Problem: err.Error()}
	}
	if !wild {
		return host, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", &EntryError{Entry: text, Problem: "an IP address has no subdomains", Fix: host}
	}
	return wildcard + host, nil
}

// misplaced finds what people write into host lists although it has no place there.
func misplaced(text, adviceForStar string) (problem, fix string) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	network, err := netip.ParsePrefix(text)
	switch {
	case hasScheme:
		rest, _, _ = strings.Cut(rest, "/")
		return "a list holds hosts, not addresses with a scheme (" + quote(scheme) + ")", onlyHost(rest)
	case err == nil:
		return "networks (CIDR) can't be listed; list the addresses, or names", onlyHost(network.Addr().String())
	case strings.Contains(text, "/"):
		rest, _, _ = strings.Cut(text, "/")
		return "a list holds hosts, without paths", onlyHost(rest)
	case text == "*":
		return "a bare * is not a host; " + adviceForStar, ""
	case strings.Contains(text, "@"):
		return "a list holds hosts, without user information", onlyHost(text[strings.LastIndexByte(text, '@')+1:])
	case hasPort(text):
		host, _ := splitPort(text)
		return "a list holds hosts, without ports: an entry is for every port", onlyHost(host)
	case strings.HasPrefix(text, "."):
		return "a host can't start with a dot", onlyHost(wildcard + text[1:])
	case strings.Contains(strings.TrimPrefix(text, wildcard), "*"):
		return "a * can only match subdomains, as *. at the start", onlyHost(wildcard + strings.TrimLeft(text, "*."))
	}
	return "", ""
}

// hasPort reports whether text is a host with a port, and no IPv6 address.
func hasPort(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return false
	}
	host, port := splitPort(text)
	return host != text && port != "" && strings.Trim(port, "0123456789*") == ""
}

// onlyHost returns text without its port if a list could hold that, else nothing.
func onlyHost(text string) string {
	host, _ := splitPort(text)
	if _, err := netip.ParseAddr(text); err == nil {
		host = text
	}
	if _, err := Host(strings.TrimPrefix(host, wildcard)); err != nil {
		return ""
	}
	return host
}

// quote puts text into double quotes, with control characters escaped.
func quote(text string) string { return strconv.Quote(text) }
