package frame

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/grammar"
)

// permission is a permission rule of an agent's client, such as `Bash(rm:*)`.
var permission = regexp.MustCompile(`^(Bash|Shell|Read|Write|Edit|MultiEdit|NotebookEdit|WebFetch|WebSearch|Glob|Grep|Task|Agent|Mcp)\((.*)\)$`)

// findPermissions finds permission rules of agents' clients.
func findPermissions(row *Key, value *grammar.Value) (listFault, bool) {
	is := func(item grammar.Item) bool { return !item.Quoted && permission.MatchString(item.Text) }
	first := slices.IndexFunc(value.Items, is)
	if first < 0 {
		return listFault{}, false
	}
	fault := listFault{unlessQuoted: true, hint: "write the text itself",
		message: "`" + Shorten(value.Items[first].Text) + "` is a permission rule of an agent's client, and means nothing here"}
	texts, known := make([]string, len(value.Items)), true
	for i, item := range value.Items {
		texts[i] = item.Raw
		if is(item) {
			texts[i] = permitted(row, item.Text)
			known = known && texts[i] != ""
		}
	}
	fault.span, fault.replacement = partOf(value.Items, texts, is)
	switch {
	case known:
		fault.hint = "write"
	case row.Type == TypeActions:
		fault.hint = "name the tool as requests do, such as `bash`, and put what it may not do into a list such as `bash.blocked_commands`"
		fallthrough
	default:
		fault.replacement = ""
	}
	return fault, true
}

// permitted returns what a list has in place of a permission rule, "" where that cannot be told.
func permitted(row *Key, rule string) string {
	match := permission.FindStringSubmatch(rule)
	tool, of := match[1], strings.TrimSpace(match[2])
	switch {
	case row.Type == TypeTexts && (tool == "Bash" || tool == "Shell"):
		of = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(of, "*"), ":"))
	case row.Type == TypeHosts && tool == "WebFetch":
		of = strings.TrimPrefix(of, "domain:")
	case row.Type == TypePaths && slices.Contains([]string{"Read", "Write", "Edit", "MultiEdit"}, tool):
		of = strings.TrimSuffix(of, "/**")
		if strings.HasPrefix(of, "//") { // an absolute path
			of = of[1:]
		}
	default:
		return ""
	}
	if strings.ContainsAny(of, "*,") {
		return ""
	}
	return of
}

// isEscaping reports whether a backslash in an item has no meaning. A blocked command is also read as a shell does.
func isEscaping(row *Key) bool { return IsListKey(row) && row.Type != TypeTexts }

// findEscapes finds signs of comments behind a backslash.
func findEscapes(_ *Key, value *grammar.Value) (listFault, bool) {
	is := func(item grammar.Item) bool { return !item.Quoted && strings.Contains(item.Text, `\#`) }
	if !slices.ContainsFunc(value.Items, is) {
		return listFault{}, false
	}
	texts := make([]string, len(value.Items))
	for i, item := range value.Items {
		texts[i] = item.Raw
		if is(item) {
			texts[i] = strings.ReplaceAll(item.Text, `\#`, "#")
		}
	}
	fault := listFault{message: "a `#` within a line begins no comment, and the backslash before it is part of the item", hint: "write", unlessQuoted: true}
	fault.span, fault.replacement = partOf(value.Items, texts, is)
	return fault, true
}
