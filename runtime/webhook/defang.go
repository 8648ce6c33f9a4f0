package webhook

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// What shows messages makes links of bare addresses, and a link in an alarm looks as if the service had put it there. So the texts that an agent chose have
// their addresses broken, in the way that is usual among those who report such addresses: https[:]//evil[.]example.

// anyIPv4 is what looks like an IPv4 address.
var anyIPv4 = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}`)

// defang breaks whatever could be taken for an address: the colon before two slashes, and each dot between a name and a letter.
func defang(text string) string {
	text = anyIPv4.ReplaceAllStringFunc(text, func(address string) string { return strings.ReplaceAll(address, ".", "[.]") })
	text = strings.ReplaceAll(text, "://", "[:]//")
	var b strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if isDot(r) && i > 0 && i+1 < len(runes) && !unicode.IsSpace(runes[i-1]) && unicode.IsLetter(runes[i+1]) {
			b.WriteString("[.]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isDot reports whether a character separates the labels of a name (UTS 46, section 2.3).
func isDot(r rune) bool { return strings.ContainsRune(".\u3002\uff0e\uff61", r) }

// defangAction breaks an action that could be taken for an address. Most have a dot, and are no names of the internet.
func defangAction(action string) string {
	if _, known := publicsuffix.PublicSuffix(strings.ToLower(action)); known || strings.ContainsFunc(action, func(r rune) bool {
		return r > unicode.MaxASCII || strings.ContainsRune(":/@", r)
	}) {
		return defang(action)
	}
	return action
}
