// Package slot is the table of what programs read from a request: fields, with their place, type, bound and form; values
// that the service derives from them; and the chains and methods that a request can name. Decoder and compiler read it, so a
// new field of requests is a row here (field.go).
package slot

import (
	"strings"

	"bailiff/vm/form"
)

// A Condition says in which requests a field has its other form.
type Condition uint8

// The conditions.
const (
	Never   Condition = iota
	ByEmail           // the action is email.send
	WithURL           // the request has a `url`
	ForMCP            // the action is one of MCP
)

// Find returns the field of that name which a rule can name, or NoField.
func Find(name string) Field {
	for f := range Count {
		if row := f.Row(); row.Name == name && !row.Unruled {
			return f
		}
	}
	return NoField
}

// mcpParts are the members of metadata that repeat a part of an MCP action.
var mcpParts = Row{Type: Members, Other: form.Lower, When: ForMCP}

// At returns the row for the path of a rule: that of its field, or that of a member with a form of its own. Members of
// objects are texts.
func At(path string) Row {
	name, below, found := strings.Cut(path, ".")
	row := *Find(name).Row()
	switch {
	case !found:
		return row
	case row.Field == Metadata && (below == ServerID || below == ToolName):
		return mcpParts
	}
	return Row{Name: row.Name, Type: row.Type}
}

// Canonical returns the one spelling of a rule's path: `arguments` and `metadata.arguments` are one field.
func Canonical(path string) string {
	const spelled = "metadata.arguments"
	if rest, ok := strings.CutPrefix(path, spelled); ok && (rest == "" || rest[0] == '.') {
		return Arguments.String() + rest
	}
	return path
}

// Forms returns the forms that values of the field have.
func (r Row) Forms() []form.Form {
	if r.When == Never {
		return []form.Form{r.Form}
	}
	return []form.Form{r.Form, r.Other}
}
