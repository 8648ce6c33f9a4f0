package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// delimiters is "a letter, digit or `_`, and then these, `.` and `-`, in one pair of quotes that may hold spaces too, or none, or behind a
// backslash" (choices).
var delimiters = regexp.MustCompile(`^(?:\\?(\w[\w.-]*)|'(\w[\w. -]*)'|"(\w[\w. -]*)")$`)

// documentIn: "in backquotes, or in a substitution that closes in the line of its `<<`" (choices).
func documentIn(substitution syntax.Node, backquotes bool, closes syntax.Pos) (found bool) {
	syntax.Walk(substitution, func(node syntax.Node) bool {
		redirect, ok := node.(*syntax.Redirect)
		if ok && (redirect.Op == syntax.Hdoc || redirect.Op == syntax.DashHdoc) {
			found = found || backquotes || redirect.Word.End().Line() >= closes.Line()
		}
		return true
	})
	return found
}

// documentsEnd: "behind the first line of a here-document the lines that begin with its delimiter, tabs before it aside, are as many as there
// are here-documents with it, and each is the delimiter alone", in a text in which no backslash at the end of a line makes another one of it.
func documentsEnd(command string, found []*syntax.Redirect) bool {
	began, number := map[string]uint{}, map[string]int{}
	for _, redirect := range found {
		parts := delimiters.FindStringSubmatch(between(command, redirect.Word.Pos().Offset(), redirect.Word.End().Offset()))
		if parts == nil {
			return false
		}
		name := parts[1] + parts[2] + parts[3]
		if first, known := began[name]; !known || redirect.OpPos.Offset() < first {
			began[name] = redirect.OpPos.Offset()
		}
		number[name]++
	}
	for name, first := range began {
		operator, behind, _ := strings.Cut(command[first:], "\n")
		continued := endsInBackslash.MatchString(operator)
		for line := range strings.SplitSeq(behind, "\n") {
			text, continues := strings.TrimLeft(line, "\t"), endsInBackslash.MatchString(line)
			if strings.HasPrefix(text, name) {
				number[name]--
				if text != name || continued {
					return false
				}
			} else if continues && strings.HasPrefix(name, strings.TrimSuffix(text, `\`)) {
				return false
			}
			continued = continues
		}
		if number[name] != 0 {
			return false
		}
	}
	return true
}
