package command

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// stripQuotes removes every quote and backslash of a text, whatever they are in. The dollar in front of a double quote
// goes with it. With decode $'…' is decoded, and what comes out of it loses its quotes and backslashes too: it may be
// evaluated again. Without, the dollar stays, since a $' in other quotes begins nothing.
func stripQuotes(text string, decode bool) string {
	if !strings.ContainsAny(text, `'"\`) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
		case '\\':
			if i++; i < len(text) && text[i] != '\n' && text[i] != '\\' && text[i] != '\'' && text[i] != '"' {
				b.WriteByte(text[i])
			}
		case '$':
			i += stripDollar(&b, text[i:], decode) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// stripDollar writes what means text, which starts with a dollar, and returns how many bytes it read.
func stripDollar(b *strings.Builder, text string, decode bool) int {
	if strings.HasPrefix(text, `$"`) {
		return len(`$"`)
	}
	if !decode || !strings.HasPrefix(text, `$'`) {
		b.WriteByte('$')
		return 1
	}
	end := 2
	for end < len(text) && text[end] != '\'' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(text))
	b.WriteString(stripQuotes(decodeANSI(text[2:end]), false))
	return min(end+1, len(text))
}

// single returns the text of a single-quoted part.
func single(part *syntax.SglQuoted) string {
	if part.Dollar {
		return decodeANSI(part.Value)
	}
	return part.Value
}

// What a backslash escapes: in double quotes and in a here-document only these, elsewhere everything.
const (
	quotedEscapes   = "$`\"\\\n"
	documentEscapes = "$`\\\n"
)

// unescape removes the backslashes from a literal that is in double quotes, or in none.
func unescape(literal string, quoted bool) string {
	if quoted {
		return unescapeOnly(literal, quotedEscapes)
	}
	return unescapeOnly(literal, "")
}

// unescapeOnly removes the backslashes in front of the bytes that are escapable, or of all if that is empty.
func unescapeOnly(literal, escapable string) string {
	if strings.IndexByte(literal, '\\') < 0 {
		return literal
	}
	var b strings.Builder
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' || i+1 == len(literal) {
			b.WriteByte(literal[i])
			continue
		}
		i++
		if escapable != "" && strings.IndexByte(escapable, literal[i]) < 0 {
			b.WriteByte('\\')
		}
		if literal[i] != '\n' {
			b.WriteByte(literal[i])
		}
	}
	return b.String()
}

// ansiLetters are the one-letter escapes of $'…' and what they mean.
const (
	ansiLetters = `abeEfnrtv\'"?`
	ansiValues  = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
)

// decodeANSI returns what $'text' means in bash. A NUL ends it, as in bash.
func decodeANSI(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			i++
			continue
		}
		decoded, read := decodeEscape(text[i:])
		if decoded == "\x00" {
			break
		}
		b.WriteString(decoded)
		i += read
	}
	return b.String()
}

// decodeEscape returns what the escape at the start of text means, and its length. Text holds a backslash
// and at least one more byte; an unknown escape means itself.
func decodeEscape(text string) (decoded string, read int) {
	c := text[1]
	if i := strings.IndexByte(ansiLetters, c); i >= 0 {
		return ansiValues[i : i+1], 2
	}
	switch {
	case c >= '0' && c <= '7':
		return decodeNumber(text, 1, 3, 8)
	case strings.HasPrefix(text, `\x{`):
		return decodeBraced(text)
	case c == 'x':
		return decodeNumber(text, 2, 2, 16)
	case c == 'u':
		return decodeNumber(text, 2, 4, 16)
	case c == 'U':
		return decodeNumber(text, 2, 8, 16)
	case strings.HasPrefix(text, `\c\\`):
		return "\x1c", 4
	case c == 'c' && len(text) > 2:
		return string(text[2] & 0x1f), 3
	}
	return text[:2], 2
}

// decodeNumber decodes up to limit digits from start on: one byte for octal and \x, else a rune.
func decodeNumber(text string, start, limit, base int) (decoded string, read int) {
	end := start
	for end < len(text) && end < start+limit && isDigit(text[end], base) {
		end++
	}
	if end == start {
		return text[:2], 2
	}
	n, err := strconv.ParseUint(text[start:end], base, 32)
	if err != nil {
		return text[:end], end
	}
	if base == 8 || text[1] == 'x' {
		return string([]byte{byte(n)}), end
	}
	if n > utf8.MaxRune {
		n = utf8.RuneError
	}
	return string(rune(n)), end
}

// decodeBraced decodes \x{…}, one byte of any number of digits, whose closing brace may be missing; no
// digits make a NUL.
func decodeBraced(text string) (decoded string, read int) {
	end := len(`\x{`)
	var value byte
	for end < len(text) && isDigit(text[end], 16) {
		digit, _ := strconv.ParseUint(text[end:end+1], 16, 8)
		value = value<<4 | byte(digit)
		end++
	}
	if end < len(text) && text[end] == '}' {
		end++
	}
	return string([]byte{value}), end
}

// isDigit reports whether c is a digit in base 8 or 16.
func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c-'0' <= 9 || (c|0x20)-'a' <= 5
}

// runeLength returns the number of bytes that r, decoded at the start of text, takes there: an invalid byte
// decodes to a rune that is longer than itself.
func runeLength(text string, r rune) int {
	if r == utf8.RuneError {
		_, size := utf8.DecodeRuneInString(text)
		return size
	}
	return utf8.RuneLen(r)
}
