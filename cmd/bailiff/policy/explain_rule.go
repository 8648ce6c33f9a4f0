package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/vm/errcode"
)

// chosen is a part of a rule's name that the policy's author chooses.
var chosen = regexp.MustCompile(`<[^<>]+>`)

// findRule returns the page about a rule of policies. The name is that of a key in its section, or the matched_rule of an
// answer, with what the policy's author chose.
func findRule(name string) (explained, bool) {
	for _, exact := range []bool{true, false} {
		for _, row := range compiler.Schema() {
			for _, rule := range []string{row.Section + "." + row.Name, row.Rule} {
				if exact && strings.EqualFold(rule, name) || !exact && rule != "" && ruleMatches(rule, name) {
					return explained{code: rule, title: row.Doc, page: rulePage(rule, &row)}, true
				}
			}
		}
	}
	return explained{}, false
}

// ruleMatches reports whether a name is of a rule, whatever its author chose.
func ruleMatches(rule, name string) bool {
	var b strings.Builder
	b.WriteString("(?i)^")
	for i, part := range chosen.Split(rule, -1) {
		if i > 0 {
			b.WriteString(".+")
		}
		b.WriteString(regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(b.String() + "$").MatchString(name)
}

// ruleNames returns the names of all rules.
func ruleNames() (names []string) {
	for _, row := range compiler.Schema() {
		names = append(names, row.Section+"."+row.Name)
		if row.Rule != "" && !slices.Contains(names, row.Rule) {
			names = append(names, row.Rule)
		}
	}
	return names
}

// rulePage returns what there is to say about a rule, as text for people.
func rulePage(rule string, row *frame.Key) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule %s: %s\n\nThe key `%s` in `## %s`, since version %s of the format. Type: %s.", rule, row.Doc, row.Name, row.Section, row.Since, row.Type)
	if len(row.Values) > 0 {
		fmt.Fprintf(&b, " Values: %s.", strings.Join(row.Values, ", "))
	}
	if row.Default != "" {
		fmt.Fprintf(&b, " Without it: %s.", row.Default)
	}
	fmt.Fprintf(&b, "\n\nExample:\n\n    ## %s\n    %s\n", row.Section, strings.ReplaceAll(strings.TrimRight(row.Example, "\n"), "\n", "\n    "))
	for i, c := range row.AllCodes() {
		if i == 0 {
			b.WriteString("\nIts answers:\n\n")
		}
		for _, info := range errcode.Table {
			if info.Code == c {
				fmt.Fprintf(&b, "    %s: %s\n", c, info.Meaning)
			}
		}
	}
	return b.String()
}
