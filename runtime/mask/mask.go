// Package mask hides credentials in texts that agents chose, before events, webhooks and logs show them.
//
// It promises that a text is returned with each credential that the table finds replaced by [Hidden], that a text without one
// is returned as it is, without allocating, and that masking a masked text changes nothing. A credential of a form that the
// table does not have is not found: masking limits what leaks by accident, and proves nothing about what a text contains.
package mask

import (
	"math/bits"
	"strings"
)

// Hidden replaces a credential.
const Hidden = "[masked]"

// A Kind is one row of the table: a form of credentials.
type Kind struct {
	Name    string // for documentation
	Example string // a text that has one
	// anchors are the bytes at which a credential of this form is looked for, and seconds those that may follow; "" is any.
	anchors, seconds string
	// find returns the part of text to hide for the anchor at a place; from == to is none.
	find func(text string, at int) (from, to int)
}

// Table returns the forms of credentials that are masked.
func Table() []Kind { return table[:] }

// table has a row for each kind of credential. The rows look at no case, because lists are compared with texts in lower case, and those are what events then show.
var table = [...]Kind{
	{Name: "Authorization: Bearer, Basic or Token", Example: "Authorization: Bearer abc.def", anchors: "BbTt", seconds: "AaEeOo", find: scheme},
	{Name: "keys with a known prefix, such as sk_, ghp_ and xoxb-", Example: "sk_live_0123456789abcdef", anchors: "SsRrGgXxNnWwAa", seconds: "KkHhIiLlOoPp", find: prefixed},
	{Name: "AWS access keys", Example: "AKIAIOSFODNN7EXAMPLE", anchors: "Aa", seconds: "KkSs", find: accessKey},
	{Name: "JSON web tokens", Example: "eyJhbGciOiJFZERTQSJ9.e30.c2ln", anchors: "Ee", seconds: "Yy", find: webToken},
	{Name: "PEM blocks", Example: "-----BEGIN PRIVATE KEY-----MC4CAQ-----END PRIVATE KEY-----", anchors: "-", seconds: "-", find: pemBlock},
	{Name: "the password of user:password@host", Example: "https://user:secret@example.com/", anchors: ":", find: userinfo},
	{Name: "password=, secret=, token= and api_key=", Example: "curl -d password=secret", anchors: "=", find: assignment},
}

// rowsAt and rowsAfter have, for each byte, the rows that it anchors, and those in which it may follow the anchor, a bit each:
// this runs over every text that is recorded.
var rowsAt, rowsAfter = func() (at, after [256]uint8) {
	for i := range table {
		for _, c := range []byte(table[i].anchors) {
			at[c] |= 1 << i
		}
		for c := range after {
			if table[i].seconds == "" || strings.IndexByte(table[i].seconds, byte(c)) >= 0 {
				after[c] |= 1 << i
			}
		}
	}
	return at, after
}()

// maxPasses bounds the passes over a text. A hidden part may end the text of another credential, which the next pass finds; no text is
// known that takes more than two.
const maxPasses = 8

// Text returns text with every credential hidden.
func Text(text string) string {
	for range maxPasses {
		at, from, to := next(text, 0)
		if at < 0 {
			return text
		}
		text = hide(text, at, from, to)
	}
	return text
}

// hide returns text with every credential hidden from the first on, which is given.
func hide(text string, at, from, to int) string {
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for at >= 0 {
		b.WriteString(text[done:from])
		b.WriteString(Hidden)
		done = to
		at, from, to = next(text, to)
	}
	b.WriteString(text[done:])
	return b.String()
}

// next finds the first credential whose hidden part begins at start or later; at is -1 where there is none.
func next(text string, start int) (at, from, to int) {
	for i := start; i+1 < len(text); i++ { // the last byte is followed by nothing to hide
		rows := rowsAt[text[i]] & rowsAfter[text[i+1]]
		for ; rows != 0; rows &= rows - 1 {
			if from, to = table[bits.TrailingZeros8(rows)].find(text, i); from < to && from >= start && text[from:to] != Hidden {
				return i, from, to
			}
		}
	}
	return -1, 0, 0
}

// schemes are the schemes of the Authorization field that are followed by a credential, in lower case.
var schemes = [...]string{"bearer ", "basic ", "token "}

// leastScheme is how long what follows a scheme is at least: "basic idea" is no credential.
const leastScheme = 4

func scheme(text string, at int) (from, to int) {
	if at > 0 && isWord(text[at-1]) {
		return 0, 0
	}
	for _, name := range schemes {
		if !hasPrefix(text[at:], name) {
			continue
		}
		from = at + len(name)
		for from < len(text) && text[from] == ' ' {
			from++
		}
		to = run(text, from, isToken)
		if name == "bearer " || to-from >= leastScheme && announced(text[:at]) {
			return from, to
		}
	}
	return 0, 0
}

// announced reports whether a text ends with the name of the Authorization field, after which any word is a credential.
func announced(before string) bool {
	before = strings.TrimRight(before, " \"'")
	before = strings.TrimRight(strings.TrimSuffix(before, ":"), " \"'")
	const field = "authorization"
	return len(before) >= len(field) && strings.EqualFold(before[len(before)-len(field):], field)
}

// prefixes begin keys that name their issuer, with the least number of characters that follow.
var prefixes = [...]struct {
	text  string
	least int
}{
	{"sk_", 8}, {"sk-", 16}, {"rk_", 8}, {"ghp_", 8}, {"gho_", 8}, {"ghs_", 8}, {"ghu_", 8}, {"ghr_", 8}, {"github_pat_", 8},
	{"glpat-", 8}, {"xoxa-", 8}, {"xoxb-", 8}, {"xoxp-", 8}, {"xoxr-", 8}, {"xoxs-", 8}, {"npm_", 16}, {"whsec_", 8}, {"AIza", 16},
}

func prefixed(text string, at int) (from, to int) {
	if at > 0 && isWord(text[at-1]) {
		return 0, 0
	}
	for i := range prefixes {
		p := &prefixes[i]
		if !hasPrefix(text[at:], p.text) {
			continue
		}
		from = at + len(p.text)
		if to = run(text, from, isKey); to-from >= p.least {
			return from, to
		}
	}
	return 0, 0
}

// leastAccessKey is how many characters follow AKIA or ASIA at least; a whole key has sixteen, and a text may be cut. Where they
// are not all upper case, one is a digit: asianmarkets is none.
const leastAccessKey = 8

func accessKey(text string, at int) (from, to int) {
	if at > 0 && isWord(text[at-1]) || !hasPrefix(text[at:], "AKIA") && !hasPrefix(text[at:], "ASIA") {
		return 0, 0
	}
	from = at + len("AKIA")
	to = run(text, from, func(c byte) bool { return isWord(c) && c != '_' })
	if key := text[from:to]; len(key) < leastAccessKey || !strings.ContainsAny(key, "0123456789") && strings.ToUpper(key) != key {
		return 0, 0
	}
	return from, to
}

func webToken(text string, at int) (from, to int) {
	const opening = "eyJ" // {" in base64
	if at > 0 && isWord(text[at-1]) || !hasPrefix(text[at:], opening) {
		return 0, 0
	}
	from = at + len(opening)
	to = run(text, from, func(c byte) bool { return isKey(c) || c == '.' })
	if to-from < 8 {
		return 0, 0
	}
	return from, to
}

func pemBlock(text string, at int) (from, to int) {
	const opening, closing = "-----BEGIN ", "-----END "
	if !hasPrefix(text[at:], opening) {
		return 0, 0
	}
	from = run(text, at+len(opening), func(c byte) bool { return isWord(c) || c == ' ' })
	if !strings.HasPrefix(text[from:], "-----") {
		return 0, 0
	}
	from += len("-----")
	for to = from; to < len(text) && !hasPrefix(text[to:], closing); to++ { // a block without an end was cut
	}
	return from, to
}

// notUsers are the text before a colon that begins no password.
var notUsers = [...]string{"mailto", "to", "from", "cc", "bcc"}

// userinfo finds the password behind the colon at a place. One that is cut off before its @ is found in web addresses, where
// it is no port.
func userinfo(text string, at int) (from, to int) {
	if strings.HasPrefix(text[at:], "://") {
		return 0, 0
	}
	start := at
	for start > 0 && isUserinfo(text[start-1]) {
		start--
	}
	from = at + 1
	to = run(text, from, isPassword)
	inURL := strings.HasSuffix(text[:start], "://")
	if inURL { // of several, the last @ ends the user information
		if last := strings.LastIndexByte(text[from:run(text, from, isAuthority)], '@'); last >= 0 {
			to = from + last
		}
	}
	switch {
	case to == from || start == at && !inURL:
		return 0, 0
	case to < len(text) && text[to] == '@':
		for _, name := range notUsers {
			if strings.EqualFold(text[start:at], name) && !inURL {
				return 0, 0
			}
		}
		return from, to
	case inURL && to == len(text) && run(text, from, isDigit) < to:
		return from, to
	}
	return 0, 0
}

// secrets are how names of parameters end whose values are hidden, in lower case.
var secrets = [...]string{"password", "passwd", "secret", "token", "api_key", "apikey", "api-key"}

func assignment(text string, at int) (from, to int) {
	for _, name := range secrets {
		if at < len(name) || !strings.EqualFold(text[at-len(name):at], name) {
			continue
		}
		from = at + 1
		if from < len(text) && (text[from] == '"' || text[from] == '\'') {
			quote := text[from]
			from++
			if end := strings.IndexByte(text[from:], quote); end >= 0 {
				return from, from + end
			}
			return from, len(text)
		}
		return from, run(text, from, isValue)
	}
	return 0, 0
}

// run returns the end of the bytes from a place that are of a class.
func run(text string, from int, of func(byte) bool) int {
	for from < len(text) && of(text[from]) {
		from++
	}
	return from
}

// hasPrefix is strings.HasPrefix without looking at the case of ASCII letters.
func hasPrefix(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '_'
}
func isKey(c byte) bool       { return isWord(c) || c == '-' }
func isSpace(c byte) bool     { return c <= ' ' }
func isQuote(c byte) bool     { return c == '"' || c == '\'' || c == '`' }
func isToken(c byte) bool     { return !isSpace(c) && !isQuote(c) && c != ',' && c != ';' }
func isValue(c byte) bool     { return !isSpace(c) && !isQuote(c) && c != '&' && c != ';' }
func isAuthority(c byte) bool { return !isSpace(c) && !isQuote(c) && c != '/' && c != '?' && c != '#' }
func isPassword(c byte) bool  { return isAuthority(c) && c != '@' }
func isUserinfo(c byte) bool {
	return isWord(c) || strings.IndexByte("-._~%!$&*+", c) >= 0
}
