package report

import (
	"fmt"
	"strings"

	"bailiff/grammar"
)

// Page returns all there is to say about a code, as text for people:
//
//	error E1041: a space before the colon
//
//	The colon follows its key at once. Remove the space.
//
//	Wrong:
//	    …
//	Right:
//	    …
func Page(info grammar.CodeInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n\n%s\n", info.Severity(), info.Code, info.Title, info.Explanation)
	if info.Wrong != "" {
		fmt.Fprintf(&b, "\nWrong:\n\n%s\nRight:\n\n%s", indent(info.Wrong), indent(info.Right))
	}
	return b.String()
}

// Markdown returns the same as a section of a document, but for the code and title, which are its heading.
func Markdown(info grammar.CodeInfo) string {
	if info.Wrong == "" {
		return info.Explanation + "\n"
	}
	return fmt.Sprintf("%s\n\nWrong:\n\n%s\nRight:\n\n%s", info.Explanation, indent(info.Wrong), indent(info.Right))
}

// indent returns the text of a policy, with everything in it visible and long lines cut, as an indented block.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(grammar.Visible(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			line = "    " + cut(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// The most characters of a line of an example that are shown, and how many of them are from its end.
const (
	lineShown = 120
	tailShown = 20
)

// cut returns a line, of a long one its beginning and its end.
func cut(line string) string {
	runes := []rune(line)
	if len(runes) <= lineShown {
		return line
	}
	return string(runes[:lineShown-tailShown]) + "…" + string(runes[len(runes)-tailShown:])
}
