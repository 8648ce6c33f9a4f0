package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// sectionNames is the one table of the sections that a policy may have.
var sectionNames = []string{
	"evm", "tool_calls", "custom", "mcp", "soft_limits", "execution_limits",
	"repository", "filesystem", "git", "database", "deployment", signatureSection,
}

// signatureSection is the name of the section that framing takes off before the productions run.
const signatureSection = "signature"

// SectionNames returns the names of all sections, in lower case.
func SectionNames() []string { return slices.Clone(sectionNames) }

func isSection(name string) bool { return slices.Contains(sectionNames, name) }

// accumulates reports whether an entry may be several times in its section, each adding to the others.
func accumulates(section string, key *Key) bool {
	switch first := key.Segments[0].Text; section {
	case "evm":
		return len(key.Segments) == 3 && first == "token" && key.Segments[2].Text == "addresses" && key.Scope == nil && len(key.Words) == 0
	case "custom":
		return first == allowOnly || first == denyIf || key.String() == "deny_string"
	}
	return false
}

// shown returns text for use in a message, between backquotes and not too long.
func shown(text string) string {
	const most = 40
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return "`" + strings.ToValidUTF8(text, "\uFFFD") + "`"
}

// Foreign names the first character of a text that is no printable ASCII, by its number, for it may look like one that
// is; "" where there is none.
func Foreign(text string) string {
	for _, r := range text {
		if r < ' ' || r > '~' {
			return fmt.Sprintf("%s (U+%04X)", shown(string(r)), r)
		}
	}
	return ""
}
