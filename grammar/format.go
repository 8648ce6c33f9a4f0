package grammar

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lists reports whether the value of a section's key is a list. The value of a key that it does not know is left as it
// is: a comma may be part of it.
type Lists func(section string, key *Key) bool

// Format returns a policy in its canonical layout: the version line first, one blank line before each section and
// nowhere two, section names in lower case, `key: value` with one space, lists joined by a comma and a space, the lines
// of a block indented by two spaces and their keys quoted, `deny_if.path operator value` without a colon, LF line ends,
// no white space at the end of a line, and one line end at the end.
//
// Order and meaning stay as they are, and so does every comment: it stays with what follows it or, where a blank line
// parts the two, where it is. Quotes, numbers and the values of keys that are no lists are kept as written.
//
// What is in canonical layout already is returned as it is, with its signature. Otherwise the signature block is left
// out, because it is about other bytes. A text with errors is not formatted: Format returns nil and all that there is
// to say about it, as Parse does. Formatting twice is the same as once.
func Format(src *Source, isList Lists) ([]byte, Diagnostics) {
	file, found := Parse(src)
	if found.HasErrors() {
		return nil, found
	}
	body := file.layOut(isList)
	if bytes.Equal(body, file.Framed.Body) {
		return src.Text, found
	}
	if wrong := checkFormatted(file, NewSource(src.Name, body), isList); wrong.HasErrors() {
		return nil, wrong
	}
	return body, found
}

// checkFormatted holds a layout to what it must not change, and to the bounds, which spaces and quotes might break.
func checkFormatted(file *File, formatted *Source, isList Lists) Diagnostics {
	again, found := Parse(formatted)
	for _, d := range found {
		if d.Severity == Error {
			return Diagnostics{At(d.Code, Span{}, "the canonical layout of this policy would be refused: %s", d.Message).
				WithHint("shorten the policy, or leave it as it is")}
		}
	}
	if meaning(file, isList) != meaning(again, isList) {
		return Diagnostics{At(CodeUnexpected, Span{}, "the canonical layout would not mean the same, which is a defect of this program")}
	}
	return nil
}

// meaning returns all that a text without errors says, comments included, without its layout. It reads the tree, and
// shares nothing with the layout but the knowledge which keys are lists.
func meaning(f *File, isList Lists) string {
	said := map[int]string{} // by where it starts
	for _, comment := range f.Comments {
		said[comment.Span.Start] = fmt.Sprintf("%q", trimLines(comment.Text))
	}
	entries := func(section string, entries []*Entry) {
		for _, entry := range entries {
			said[entry.Span.Start] = fmt.Sprintf("%q %s", entry.Key, meaningOf(entry.Value, isList(section, entry.Key)))
			for _, line := range entry.Block {
				said[line.Span.Start] = fmt.Sprintf("%q %s", line.Key.Text, meaningOf(line.Value, true))
			}
		}
	}
	entries("", f.Preamble)
	for _, section := range f.Sections {
		said[section.Span.Start] = section.Name
		entries(section.Name, section.Entries)
	}
	var b strings.Builder
	for _, start := range slices.Sorted(maps.Keys(said)) {
		b.WriteString(said[start] + "\n")
	}
	return b.String()
}

// meaningOf returns what a value says: its items as written or, where it is no list, all of it.
func meaningOf(v *Value, list bool) string {
	switch {
	case v == nil:
		return ""
	case !list:
		return fmt.Sprintf("%q", v.Raw)
	}
	var b strings.Builder
	for _, item := range v.Items {
		fmt.Fprintf(&b, "%q,", item.Raw)
	}
	return b.String()
}
