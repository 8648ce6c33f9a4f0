// Package email reads the recipients of e-mail: a text becomes one bare address in lower case, or nothing.
//
// [Parse] takes an address of RFC 5322 (section 3.4), with or without a display name, and returns `local@domain`. Mail
// software differs in how it reads the odder corners of that grammar, and where two readings are possible the mail
// might go to the one that was not judged. So these are refused: groups, several addresses, comments, source routes,
// domain literals, quoted local parts (needlessly quoted ones too), white space around the "@", a "@" in a display name
// without quotes, everything that is not printable (control characters, invisible ones, white space but the plain
// space), and texts longer than maxLength.
//
// Lower case is that of strings.ToLower, and texts are composed (NFC), so that accents have one spelling. Nothing else is
// folded: no dots, no "+tags", no lookalikes, no punycode. A letter outside of ASCII that would become one of ASCII (the
// Kelvin sign, İ) is refused, since it names a different mailbox than the ASCII letter does.
//
// [Entry] reads an entry of a policy's list, in which "*" means any characters but "@".
package email

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxLength is the longest text in bytes that is read: 64 of a local part, "@", and 255 of a domain (RFC 5321,
// section 4.5.3.1). A display name counts too.
const maxLength = 320

// Parse returns the bare address in lower case that text means, and false where it means none, or could mean two. Bare
// ASCII addresses in lower case are returned as they are, without allocating.
func Parse(text string) (address string, ok bool) {
	if len(text) > maxLength {
		return "", false
	}
	if isPlain(text) {
		return text, true
	}
	if !isPrintable(text) || !isSingle(text) {
		return "", false
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return "", false
	}
	local, domain, _ := strings.Cut(parsed.Address, "@")
	if !isDotAtom(local) || !isDotAtom(domain) {
		return "", false
	}
	return lower(parsed.Address)
}

// Entry returns the pattern that an entry of a policy's list means: the entry in lower case, with "*" for any
// characters but "@". It holds exactly one "@", with something that can be part of an address on either side. The
// error says what to write instead.
func Entry(text string) (pattern string, err error) {
	local, domain, found := strings.Cut(text, "@")
	switch {
	case text == "":
		return "", errors.New("a recipient is empty: write an address, or *@example.com for all of a domain")
	case len(text) > maxLength:
		return "", fmt.Errorf("a recipient is longer than %d bytes, and no address is: write a shorter one, or use *", maxLength)
	case text == "*":
		return "", errors.New("recipient \"*\" has no @: write *@example.com for all of a domain, or *@* for every address")
	case strings.ContainsAny(text, "<>"):
		return "", fmt.Errorf("recipient %q: write the bare address, without a name and without < and >", text)
	case !found:
		return "", fmt.Errorf("recipient %q has no @: write an address, or *@example.com for all of a domain", text)
	case strings.Contains(domain, "@"):
		return "", fmt.Errorf("recipient %q has more than one @: write one address an item", text)
	case !isPrintable(text) || !isDotAtom(local) || !isDotAtom(domain):
		return "", fmt.Errorf("recipient %q can't match an address: write it without spaces, quotes, comments and brackets, "+
			"and with something between the dots and around the @", text)
	}
	pattern, ok := lower(text)
	if !ok {
		return "", fmt.Errorf("recipient %q holds a letter whose small form is of ASCII or makes it too long, or a mark that is not shown: write plain small letters", text)
	}
	return pattern, nil
}

// isPlain reports whether text is a bare ASCII address in lower case.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	local, domain, _ := strings.Cut(text, "@")
	return isDotAtom(local) && isDotAtom(domain)
}

// isPrintable reports whether text is valid UTF-8 without control characters, invisible characters, and white space
// but the plain space.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// isDotAtom reports whether text is one or more atoms with dots between them (RFC 5322, section 3.2.3, with the
// characters outside of ASCII that RFC 6532 adds).
func isDotAtom(text string) bool {
	dot := true // one more would be one too many
	for i := range len(text) {
		switch c := text[i]; {
		case c != '.':
			if !isAtext(c) {
				return false
			}
			dot = false
		case dot:
			return false
		default:
			dot = true
		}
	}
	return !dot
}

// isAtext reports whether c may be in an atom, or is a byte of a character outside of ASCII.
func isAtext(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c >= utf8.RuneSelf:
		return true
	}
	return c != 0 && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// isSingle reports whether text, outside of quotes, is free of all that makes several addresses, or hides one: it is
// `local@domain`, or a name and that between "<" and ">" at the end, with no space and no quote in the address.
func isSingle(text string) bool {
	bare := unquoted(strings.Trim(text, " "))
	if strings.ContainsAny(bare, "()[]:;,\\") {
		return false
	}
	if name, address, found := strings.Cut(bare, "<"); found {
		if strings.ContainsAny(name, "@>") || !strings.HasSuffix(address, ">") {
			return false
		}
		bare = strings.TrimSuffix(address, ">")
	}
	return strings.Count(bare, "@") == 1 && !strings.ContainsAny(bare, " <>\"")
}

// unquoted returns text with each quoted string (RFC 5322, section 3.2.4) replaced by one quote. A quote that nothing closes
// stays with what follows it, for the parser to refuse.
func unquoted(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, `"`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := closing(rest)
		if end < 0 {
			return out.String() + `"` + rest
		}
		out.WriteByte('"')
		text = rest[end+1:]
	}
}

// closing returns the index of the quote that ends a quoted string, or -1.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// lower returns an address in lower case and composed (NFC), and false where that would turn another letter into one of
// ASCII, where it has a mark that is not shown (which display names may have), or is too long: some small letters take more bytes.
func lower(address string) (string, bool) {
	for _, r := range address {
		if r >= utf8.RuneSelf && (becomesASCII(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			return "", false
		}
	}
	if address = norm.NFC.String(strings.ToLower(norm.NFC.String(address))); len(address) > maxLength {
		return "", false
	}
	return address, true
}

// becomesASCII reports whether the small or the composed form of a letter outside of ASCII is in it.
func becomesASCII(r rune) bool {
	composed, _ := utf8.DecodeRuneInString(norm.NFC.String(string(r)))
	return unicode.ToLower(r) < utf8.RuneSelf || composed < utf8.RuneSelf
}
