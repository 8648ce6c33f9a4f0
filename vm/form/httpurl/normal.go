package httpurl

import (
	"strings"
	"unicode/utf8"
)

// Normal returns the address in its normal form, which is the same for all spellings that clients send alike: scheme
// and host in lower case, the scheme's own port and the fragment dropped, an empty path as "/", and escapes as
// [URL.NormalPath] says. An address that is normal already is returned as it was parsed, without allocating.
func (u URL) Normal() string {
	var room [256]byte
	normal := u.appendAuthority(room[:0])
	normal = append(normal, u.NormalPath()...)
	if query, sent := u.hasQuery(); sent {
		normal = append(append(normal, '?'), normalEscapes(query)...)
	}
	if string(normal) == u.raw {
		return u.raw
	}
	return string(normal)
}

// NormalPath returns the path with escapes of unreserved characters (RFC 3986, section 2.3) decoded, those of others in
// upper case, and characters that have no place in a web address escaped, a "%" that begins no escape included.
func (u URL) NormalPath() string { return normalEscapes(u.Path) }

// NormalQuery returns the query with its escapes as [URL.NormalPath] has them.
func (u URL) NormalQuery() string { return normalEscapes(u.Query) }

// DecodedPath returns the path as a server may read it that decodes before it compares: every escape decoded once, and
// each run of "/" as one. Escapes that do not decode to UTF-8 stay as in the normal form.
func (u URL) DecodedPath() string { return collapseSlashes(decode(u.NormalPath())) }

// Decoded returns the normal form with the path as DecodedPath returns it.
func (u URL) Decoded() string {
	decoded := string(u.appendAuthority(nil)) + u.DecodedPath()
	if query, sent := u.hasQuery(); sent {
		decoded += "?" + normalEscapes(query)
	}
	return decoded
}

// HasDotSegment reports whether the path has a segment "." or "..", plain or encoded, between borders that may be encoded
// too. Clients and servers resolve such a path, each in its own way, so that the rules would judge another one.
func (u URL) HasDotSegment() bool {
	if strings.IndexByte(u.Path, '.') < 0 && strings.IndexByte(u.Path, '%') < 0 {
		return false
	}
	for segment := range strings.SplitSeq(borders.Replace(u.Path), "/") {
		if segment = dots.Replace(segment); segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

var (
	borders = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/")
	dots    = strings.NewReplacer("%2e", ".", "%2E", ".")
)

// hasQuery returns the query, and whether the address has one: an empty one keeps its "?".
func (u URL) hasQuery() (query string, sent bool) {
	before, _, _ := strings.Cut(u.raw, "#")
	return u.Query, u.Query != "" || strings.HasSuffix(before, "?")
}

// appendAuthority appends scheme, host and port.
func (u URL) appendAuthority(to []byte) []byte {
	to = append(append(to, u.Scheme...), "://"...)
	if strings.IndexByte(u.Host, ':') >= 0 {
		to = append(append(append(to, '['), u.Host...), ']')
	} else {
		to = append(to, u.Host...)
	}
	if u.Port != "" {
		to = append(append(to, ':'), u.Port...)
	}
	return to
}

// NormalPart puts a part of a path, query or address that a rule seeks into the form that normal ones have. A "%" that
// begins no escape stays: the part may end within one.
func NormalPart(part string) string { return escapes(part, true) }

func normalEscapes(text string) string { return escapes(text, false) }

// escapes returns text with its escapes in their normal form.
func escapes(text string, isPart bool) string {
	first := 0
	for first < len(text) && text[first] != '%' && !mustEscape(text[first]) {
		first++
	}
	if first == len(text) {
		return text
	}
	normal := append(make([]byte, 0, len(text)+16), text[:first]...)
	for i := first; i < len(text); i++ {
		c := text[i]
		if escaped, ok := escapeAt(text, i); ok {
			c, i = escaped, i+len("%2")
			if isUnreserved(c) {
				normal = append(normal, c)
				continue
			}
		} else if (c != '%' || isPart) && !mustEscape(c) { // a % that begins no escape means itself, which is %25
			normal = append(normal, c)
			continue
		}
		normal = append(normal, '%', upperHex[c>>4], upperHex[c&15])
	}
	return string(normal)
}

const upperHex = "0123456789ABCDEF"

// escapeAt returns the byte that an escape at i means.
func escapeAt(text string, i int) (c byte, ok bool) {
	if text[i] != '%' || i+2 >= len(text) {
		return 0, false
	}
	high, low := fromHex(text[i+1]), fromHex(text[i+2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

func fromHex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isUnreserved reports whether c means the same with and without an escape (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// mustEscape reports whether clients escape c before they send it: RFC 3986 has no place for it.
func mustEscape(c byte) bool {
	return c >= utf8.RuneSelf || strings.IndexByte("\"<>^`{|}", c) >= 0
}

// decode decodes every escape of text once, but for runs of them that are not UTF-8.
func decode(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	var decoded strings.Builder
	for i := 0; i < len(text); {
		c, ok := escapeAt(text, i)
		if !ok {
			decoded.WriteByte(text[i])
			i++
			continue
		}
		run := []byte{c}
		for len(run) < utf8.UTFMax && !utf8.FullRune(run) {
			next := i + len(run)*len("%20")
			if next >= len(text) {
				break
			}
			c, ok = escapeAt(text, next)
			if !ok {
				break
			}
			run = append(run, c)
		}
		r, size := utf8.DecodeRune(run)
		if r == utf8.RuneError && size <= 1 {
			decoded.WriteString(text[i : i+len("%20")])
			i += len("%20")
			continue
		}
		decoded.WriteRune(r)
		i += size * len("%20")
	}
	return decoded.String()
}

// collapseSlashes writes each run of "/" as one.
func collapseSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}
