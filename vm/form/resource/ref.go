package resource

import "strings"

// WhyNoRef says in a few words why text is no name of a ref, worded to be after "it", and "" where it is one. The names
// are those of git check-ref-format, short ones included. What git would read as a refspec or as a revision
// ("+main", "HEAD:main", "main~1") changes another ref than the one of that name, and HEAD the branch that is checked out,
// so they are no names here.
func WhyNoRef(text string) string {
	switch {
	case text == "":
		return "is empty"
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }):
		return `holds a space, a control character or one of ~^:?*[\`
	case text[0] == '+' || text[0] == '-' || text == "@" || strings.Contains(text, "@{"):
		return "is a refspec, an option or a revision"
	case strings.EqualFold(text, "HEAD"):
		return "is the branch that is checked out, whichever that is"
	case strings.Contains(text, "..") || text[len(text)-1] == '.':
		return "holds two dots, or ends in one"
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "" || segment[0] == '.' || strings.HasSuffix(segment, ".lock") {
			return "has a segment that is empty, starts with a dot or ends in .lock"
		}
	}
	return ""
}
