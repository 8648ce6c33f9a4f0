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

// accumulates reports whether an entry may stand several times in its section, each adding to the others.
func accumulates(section string, key *Key) bool {
	switch first := key.Segments[0].Text; section {
	case "evm":
		return isTokenKey(key, "addresses")
	case "custom":
		return first == allowOnly || first == denyIf || key.String() == "deny_string"
	}
	return false
}

// isTokenKey reports whether a key is `token.<SYM>.` and that name.
func isTokenKey(key *Key, name string) bool {
	return len(key.Segments) == 3 && key.Segments[0].Text == "token" && key.Segments[2].Text == name && key.Scope == nil && len(key.Words) == 0
}

// isList reports whether the value of a key is a list. It knows the lists rather than the texts, so that the value of
// a key that it does not know is left as it is: a comma may be part of it.
func isList(section string, key *Key) bool {
	switch name := key.Name(); {
	case section == "custom" && key.Segments[0].Text == allowOnly:
		return true
	case key.Scope != nil || len(key.Words) > 0:
		return false
	default:
		return name == "require_approval" || section == "evm" && (accumulates(section, key) || isTokenKey(key, "methods")) ||
			slices.Contains(listKeys[section], name)
	}
}

// listKeys are the keys that are lists by section, but for those that isList itself knows. The compiler's table of
// keys has their types; a test of the command holds the two together.
var listKeys = map[string][]string{
	"evm": {"allowed_chains", "allowed_actions"},
	"tool_calls": {"allowed", "bash.blocked_commands", "web_fetch.blocked_domains", "file_write.blocked_paths",
		"bash.require_approval", "bash.allowed_commands", "file_write.allowed_paths", "file_read.blocked_paths", "file_read.allowed_paths",
		"email.allowed_recipients", "email.blocked_recipients", "email.approval_exempt_recipients",
		"http.allowed_methods", "http.blocked_methods", "http.allowed_hosts"},
	"mcp": {"allowed_servers", "allowed_tools", "blocked_tools", "response.web_fetch_tools", "response.http_tools",
		"response.block_classes", "response.redact_classes", "response.scanner.classes", "response.observe_classes"},
	"repository": {"roots", "git_providers"},
	"filesystem": {"actions", "write_roots", "read_roots", "allowed_effects", "blocked_paths",
		"protected_file_classes", "protected_effects"},
	"git": {"actions", "filesystem_actions", "providers", "allowed_remote_schemes", "allowed_operations",
		"blocked_operations", "protected_refs"},
	"deployment": {"keys"},
	"database":   {"actions", "protected_environments", "allowed_operations", "allowed_resources", "routine_catalog"},
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
