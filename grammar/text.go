package grammar

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

// checkSize checks the bound that holds for the text as a whole.
func checkSize(src *Source) Diagnostics {
	if len(src.Text) <= MaxBytes {
		return nil
	}
	return Diagnostics{At(CodeTooLarge, Span{MaxBytes, MaxBytes}, "a policy has at most %d bytes, and this one has more", MaxBytes).
		WithHint("shorten it, or divide what it governs among several keys")}
}

// checkLines checks the bounds that hold for lines.
func checkLines(text []byte) Diagnostics {
	var found collector
	for start, count := 0, 1; start < len(text); count++ {
		line, next := cutLine(text, start)
		if count > MaxLines {
			found.add(At(CodeTooManyLines, Span{start, start + len(line)}, "a policy has at most %d lines", MaxLines).
				WithHint("put long lists on one line, parted by commas"))
			break
		}
		if len(line) > MaxLineBytes {
			found.add(At(CodeLineTooLong, Span{start, start + len(line)}, "a line has at most %d bytes, and this one has %d", MaxLineBytes, len(line)))
		}
		start = next
	}
	return found.list
}

// checkEncoding reports a text that begins as UTF-16 does. Nothing in it is what it would be in UTF-8.
func checkEncoding(text []byte) (d Diagnostic, wide bool) {
	if !bytes.HasPrefix(text, []byte{0xff, 0xfe}) && !bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return Diagnostic{}, false
	}
	return At(CodeInvalidUTF8, Span{0, 2}, "this file is UTF-16").WithHint("save the file as UTF-8 without a byte-order mark"), true
}

// checkText checks the characters: that they are UTF-8, that none of them ends a text or a line for some
// readers only, and that all of them can be seen.
func checkText(text []byte) Diagnostics {
	var found collector
	crlf := false
	for at := 0; at < len(text); {
		if c := text[at]; c == '\t' || c == '\n' || c >= ' ' && c < 0x7f {
			at++
			continue
		}
		if !crlf && bytes.HasPrefix(text[at:], []byte("\r\n")) {
			crlf = true
			found.add(windowsEnds(text, at))
		}
		size := runLength(text[at:])
		if d, wrong := checkCharacter(text[at:], Span{at, at + size}); wrong {
			found.add(d)
		}
		at += size
	}
	return found.list
}

// windowsEnds reports line ends in CR LF, of which the first is at an offset.
func windowsEnds(text []byte, at int) Diagnostic {
	d := At(CodeCRLF, Span{at, at + 1}, "lines end in CR LF")
	if bytes.Count(text, newline) != bytes.Count(text, []byte("\r\n")) {
		d.Message = "some lines end in CR LF and others in LF"
	}
	return d.WithHint("write every line end as LF: a tool that changes line ends breaks the signature")
}

// runLength returns how many bytes the first character takes. Repeated NULs and invalid bytes count as
// one, and so does CR LF.
func runLength(text []byte) int {
	if bytes.HasPrefix(text, []byte("\r\n")) {
		return 2
	}
	r, size := utf8.DecodeRune(text)
	if r != 0 && (r != utf8.RuneError || size != 1) {
		return size
	}
	for n := size; ; n++ {
		if next, size := utf8.DecodeRune(text[n:]); next != r || size != 1 {
			return n
		}
	}
}

// checkCharacter judges the first character of a text, which is no plain ASCII.
func checkCharacter(text []byte, span Span) (d Diagnostic, wrong bool) {
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return At(CodeInvalidUTF8, span, "these bytes are not valid UTF-8").WithHint("save the file as UTF-8"), true
	case r == 0:
		return At(CodeNUL, span, "a policy holds no NUL bytes").WithFix(span, ""), true
	case r == '\uFEFF':
		return At(CodeByteOrderMark, span, "a policy holds no byte-order mark").
			WithHint("save the file as UTF-8 without a byte-order mark").WithFix(span, ""), true
	case r == '\r' && span.End == span.Start+1:
		return At(CodeBareCR, span, "a carriage return must be followed by a line feed").
			WithHint("end lines with LF").WithFix(span, "\n"), true
	case r != '\r' && invisible(r):
		return At(CodeInvisible, span, "U+%04X cannot be seen, or looks like a space", r).
			WithHint("remove it, unless a rule is about it"), true
	}
	return Diagnostic{}, false
}

// lowerASCII returns text with its ASCII letters in lower case, and all others as they are: `İ` is no `i`.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}
