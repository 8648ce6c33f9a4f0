package intent

import (
	"bailiff/vm"
	"bailiff/vm/command"
	"bailiff/vm/pathname"
)

// Provenance says who is behind the API key of a request. No request can claim it (decisions, section 5).
type Provenance string

// The provenances of keys.
const (
	Agent Provenance = "agent"
	Shim  Provenance = "shim"
)

// DerivedInfo is one row of the table of derived values.
type DerivedInfo struct {
	Name    string // as slots spell it, with a leading @
	Meaning string
	value   func(*Intent, Provenance) vm.Value
}

// derived is the one table of values that the service derives for a program's slots.
var derived = []DerivedInfo{
	{"@action", "the action in lower case", derivedAction},
	{"@provenance", "the provenance of the API key, agent or shim", derivedProvenance},
	{"@token", "the token in lower case", derivedToken},
	{"@calldata.amount", "the amount in base units that a token call in calldata transfers or approves; invalid where it is cut off", derivedCalldataAmount},
	{"@host", "the canonical host of url", derivedHost},
	{"@urlpath", "the path of url as written, / where it is empty", derivedURLPath},
	{"@query", "the query of url as written, without ?", derivedQuery},
	{"@path", "the canonical form of path; invalid where nobody can tell which file is meant", derivedPath},
	{"@command", "the forms of command in which blocked ones are sought; invalid where it can't be read", derivedCommand},
	{"@server", "the server of an MCP action, in lower case", derivedServer},
	{"@tool", "the tool of an MCP action, in lower case", derivedTool},
	{"@text", "every string value of the request, joined by Separator", derivedText},
}

// Derived returns the table of derived values.
func Derived() []DerivedInfo { return append([]DerivedInfo(nil), derived...) }

// overrides are the paths of fields whose value is not simply what was sent: the parts of a URL and of an MCP
// action have one definition, whether they were repeated or not, and an amount has its unit.
var overrides = map[string]func(*Intent, Provenance) vm.Value{
	"amount":               amountValue,
	"host":                 orSent(URL, derivedHost, Host),
	"path":                 orSent(URL, derivedURLPath, Path),
	"query":                orSent(URL, derivedQuery, Query),
	"metadata." + serverID: orMetadata(derivedServer, serverID),
	"metadata." + toolName: orMetadata(derivedTool, toolName),
}

// orSent returns derive where the request has the field from, and else what was sent as f.
func orSent(from Field, derive func(*Intent, Provenance) vm.Value, f Field) func(*Intent, Provenance) vm.Value {
	return func(in *Intent, p Provenance) vm.Value {
		if in.Has(from) {
			return derive(in, p)
		}
		return in.walk(f, nil)
	}
}

// orMetadata returns derive for MCP actions, and else what was sent in metadata.
func orMetadata(derive func(*Intent, Provenance) vm.Value, name string) func(*Intent, Provenance) vm.Value {
	path := []string{name}
	return func(in *Intent, p Provenance) vm.Value {
		if in.server != "" {
			return derive(in, p)
		}
		return in.walk(Metadata, path)
	}
}

func text(s string) vm.Value { return vm.Value{Kind: vm.String, Text: s} }

// textIf returns s where it exists.
func textIf(exists bool, s string) vm.Value {
	if !exists {
		return vm.Value{}
	}
	return text(s)
}

func derivedAction(in *Intent, _ Provenance) vm.Value       { return text(in.action) }
func derivedProvenance(_ *Intent, from Provenance) vm.Value { return text(string(from)) }
func derivedHost(in *Intent, _ Provenance) vm.Value         { return textIf(in.Has(URL), in.url.Host) }
func derivedURLPath(in *Intent, _ Provenance) vm.Value      { return textIf(in.Has(URL), in.url.Path) }
func derivedQuery(in *Intent, _ Provenance) vm.Value        { return textIf(in.Has(URL), in.url.Query) }
func derivedServer(in *Intent, _ Provenance) vm.Value       { return textIf(in.server != "", in.server) }
func derivedTool(in *Intent, _ Provenance) vm.Value         { return textIf(in.tool != "", in.tool) }

func derivedToken(in *Intent, _ Provenance) vm.Value {
	return textIf(in.Has(Token), in.lower(in.Text(Token)))
}

func derivedPath(in *Intent, _ Provenance) vm.Value {
	if !in.Has(Path) {
		return vm.Value{}
	}
	clean, suspicious := pathname.Clean(in.Text(Path))
	if suspicious {
		return vm.Value{Kind: vm.Invalid}
	}
	return text(clean)
}

func derivedCommand(in *Intent, _ Provenance) vm.Value {
	if !in.Has(Command) {
		return vm.Value{}
	}
	forms, err := command.Read(in.Text(Command))
	if err != nil {
		return vm.Value{Kind: vm.Invalid}
	}
	start := len(in.elements)
	for _, form := range forms.All() {
		in.elements = append(in.elements, text(form))
	}
	return in.listFrom(start)
}

// Unreadable says in a few words why the derived slot of that name ("@path" or "@command") is vm.Invalid in this
// request: printable text of bounded length, worded to stand after a colon ("it holds a variable"). It is "" where the
// slot is readable or absent, and for all other names. It derives the value once more, so it is for denials only.
func (in *Intent) Unreadable(slotName string) string {
	switch {
	case slotName == "@path" && in.Has(Path):
		return pathname.Explain(in.Text(Path))
	case slotName == "@command" && in.Has(Command):
		if _, err := command.Read(in.Text(Command)); err != nil {
			return printable(err.Error(), maxMessage/2)
		}
	}
	return ""
}

func amountValue(in *Intent, _ Provenance) vm.Value {
	value := in.walk(Amount, nil)
	value.BaseUnits = in.AmountInBaseUnits()
	return value
}

// Separator stands between the texts of @text. No valid UTF-8 holds it, so that nothing is found across a border.
const Separator = '\xff'

// derivedText joins every string value, keys excluded, in the order of the body.
func derivedText(in *Intent, _ Provenance) vm.Value {
	in.joined = in.joined[:0]
	for i := range in.nodes {
		if in.nodes[i].kind == vm.String {
			in.joined = append(append(in.joined, in.nodes[i].text...), Separator)
		}
	}
	return text(borrow(in.joined[:max(len(in.joined)-1, 0)]))
}

// TextAt returns the string value that holds the byte at offset of @text, and the path of it in the request
// ("intent.metadata.notes.2"). It reports false where offset is out of range or on a Separator.
func (in *Intent) TextAt(offset int) (path, value string, ok bool) {
	for i := range in.nodes {
		if in.nodes[i].kind != vm.String {
			continue
		}
		if value = in.nodes[i].text; offset < len(value) {
			return in.pathOf(int32(i)), value, offset >= 0
		}
		if offset -= len(value) + 1; offset < 0 {
			break
		}
	}
	return "", "", false
}
