package compiler

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// reference returns the manual of the policy language in Markdown: every section and key of the schema, and a list of
// the findings, with links to where each is explained. docs/policy-reference.md is this text.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Policy reference

Made from the tables of the compiler; docs/judging.md says what the keys do together.

A policy begins with ` + "`version: X.Y.Z`" + `, which names the version of the format: 1.x or 2.0 to 2.4. Then sections
follow, each a heading ` + "`## name`" + ` and lines ` + "`key: value`" + `. Lists are divided by commas; single or double quotes protect a
comma. A line whose first character is ` + "`#`" + ` is a comment.

In the names of keys, the text between ` + "`<` and `>`" + ` is chosen by the author of the policy. "Since" is the first version
of the format that has a key; an earlier one refuses it. Version 2.4 is Bailiff's own extension of the format, and so are
the keys marked as such: other engines refuse them.

`)
	for _, s := range table {
		writeSection(&b, s)
	}
	b.WriteString("## Findings\n\nErrors (E) keep a policy from being used; warnings (W) do not. Each has a section in diagnostics.md.\n\n")
	for _, info := range slices.Concat(grammar.Codes(), codes.All()) {
		fmt.Fprintf(&b, "- [%s](diagnostics.md#%s): %s\n", info.Code, anchor(string(info.Code)+": "+info.Title), info.Title)
	}
	return b.String()
}

// anchor returns the name by which a link finds a heading, as renderers of Markdown make it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func writeSection(b *strings.Builder, section *frame.Section) {
	fmt.Fprintf(b, "## %s\n\n%s Since version %s.\n\n", section.Name, section.Doc, section.Since)
	for _, row := range section.Keys {
		writeKey(b, row)
	}
}

func writeKey(b *strings.Builder, row *frame.Key) {
	fmt.Fprintf(b, "### `%s`\n\n%s\n\n", row.Name, row.Doc)
	kind := string(row.Type)
	if len(row.Values) > 0 {
		kind += " of " + frame.Alternatives(row.Values)
	}
	fmt.Fprintf(b, "- Type: %s\n- Since: %s\n", kind, since(row.Since))
	if row.Default != "" {
		fmt.Fprintf(b, "- Default: `%s`\n", row.Default)
	}
	if row.Rule != "" {
		fmt.Fprintf(b, "- Rule: `%s`\n", row.Rule)
	}
	if all := row.AllCodes(); len(all) > 0 {
		texts := make([]string, len(all))
		for i, c := range all {
			texts[i] = "`" + string(c) + "`"
		}
		fmt.Fprintf(b, "- Codes: %s\n", strings.Join(texts, ", "))
	}
	fmt.Fprintf(b, "\n```\n%s\n```\n\n", row.Example)
}

// since returns a version as the reference shows it beside a key.
func since(v frame.FormatVersion) string {
	if v.Extends() {
		return v.String() + ", an extension of Bailiff"
	}
	return v.String()
}
