// Package jcs writes JSON strings in the one form of RFC 8785 (JSON Canonicalization Scheme), which is also plain
// JSON: for attestations and intent hashes, where every byte counts, and for answers, where one writer is enough. [Request] writes
// the request for a decision about an intent in that form.
package jcs

// AppendString appends s as a JSON string with the escapes of RFC 8785, section 3.2.2.2: only what must be
// escaped is, in its two-character form where there is one, otherwise as \u00xx in lower case. s must be valid
// UTF-8; it is not checked.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
