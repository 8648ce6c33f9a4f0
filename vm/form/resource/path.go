package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CanonicalPath reports whether text is an absolute path in the one spelling that profiles take: "/" at the start, no
// empty, "." or ".." segment, no "/" at the end, no backslash, no control character (of Unicode's category Cc), and
// valid UTF-8. Case counts and nothing is decoded. "/" alone is none: see [CanonicalRoot].
func CanonicalPath(text string) bool { return WhyNotCanonical(text) == "" }

// CanonicalRoot reports whether text is a canonical path or "/", which is inside no other root and covers every path.
func CanonicalRoot(text string) bool { return text == "/" || CanonicalPath(text) }

// WhyNotCanonical says in a few words why text is no canonical path, worded to be after "it"; "" where it is one. It
// repeats nothing of text.
func WhyNotCanonical(text string) string {
	if text == "" || text[0] != '/' {
		return "does not start with /"
	}
	start := 1
	for i := 1; i <= len(text); i++ {
		if i < len(text) && text[i] != '/' {
			if c := text[i]; c < ' ' || c == '\\' || c >= 0x7f {
				return whyNotRest(text)
			}
			continue
		}
		if why := whyNotSegment(text[start:i]); why != "" {
			return why
		}
		start = i + 1
	}
	return ""
}

// whyNotSegment says why one segment keeps a path from being canonical.
func whyNotSegment(segment string) string {
	switch segment {
	case "":
		return "has an empty segment or ends in /"
	case ".", "..":
		return "has a segment of dots alone"
	}
	return ""
}

// whyNotRest is WhyNotCanonical for a path with characters that are not plain.
func whyNotRest(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds a control character"
	case strings.IndexByte(text, '\\') >= 0:
		return "holds a backslash"
	}
	for segment := range strings.SplitSeq(text[1:], "/") {
		if why := whyNotSegment(segment); why != "" {
			return why
		}
	}
	return ""
}
