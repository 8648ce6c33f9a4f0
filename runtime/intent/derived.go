package intent

import (
	"strings"

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

// derived is the one table of values that the service derives for a program's slots. A value is
// vm.Missing where the request says nothing, and vm.Invalid where nobody can rely on what it says. Those that counters
// add up, and the amounts of calls, are in base units.
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
	{"@mcp", "<server>.<tool> of an MCP action, in lower case", derivedMCP},
	{"@recipients", "the bare addresses in `to`, in lower case and with ASCII domains; an element that is no address is invalid; missing without any", derivedRecipients},
	{"@text", "every string value of the request, joined by Separator", derivedText},

	{"@usage.spend", "the spend that metadata.model_usage reports, in micro-USD", derivedSpend},
	{"@usage.tokens", "the tokens that metadata.model_usage reports", derivedTokens},

	{"@evm.call", "transfer, transferFrom, approve or other, as a shim says in metadata.evm; invalid where no shim says it, or not all of it", derivedCall},
	{"@evm.call.token", "the contract of a token call that a shim tells of, in lower case", derivedCallToken},
	{"@evm.call.amount", "the amount in base units of such a call; invalid where it is no string of digits below 2^256", derivedCallAmount},

	{"@boundary", "shim, where the key is a shim's and metadata.execution an object", derivedBoundary},

	{"@fs.effects", "the effects in metadata.filesystem; invalid where they are missing, empty or not all known", derivedEffects},
	{"@fs.targets", "both paths of every target, with / at the end, and once where they are equal; missing where a path is, invalid where one can't be trusted", derivedTargets},
	{"@fs.written", "the targets where an effect writes", derivedWritten},
	{"@fs.read", "the targets where an effect reads", derivedRead},
	{"@fs.written.beyond", "written targets in none of the shim's writable_roots", derivedWrittenBeyond},
	{"@fs.read.beyond", "read targets in none of the shim's readable_roots", derivedReadBeyond},
	{"@fs.written.roots", "written targets that are one of the shim's writable_roots themselves, or a directory that holds one", derivedWrittenRoots},
	{"@fs.paths", "both paths of every target in the form of @path; an element of which nobody can tell what it means is invalid", derivedPaths},
	{"@fs.classes", "the classification of every target; invalid where one has none", derivedClasses},
	{"@fs.files", "the number of targets", derivedFiles},
	{"@fs.bytes.written", "the bytes of all targets where an effect writes bytes, else 0; invalid where a target does not tell", derivedBytesWritten},
	{"@fs.bytes.deleted", "the bytes of all targets where an effect deletes bytes, else 0; invalid where a target does not tell", derivedBytesDeleted},
	{"@fs.destructive", "the number of destroying effects times that of targets", derivedDestructive},

	{"@git.operation", "the operation in metadata.git; invalid where it is unknown", derivedOperation},
	{"@git.refs", "the refs that are updated; invalid where ref_updates is malformed or empty", derivedRefs},
	{"@git.forced", "the refs whose update is not said to be a fast-forward; invalid as @git.refs", derivedForced},
	{"@git.changes", "the number of ref updates", derivedChanges},
	{"@git.worktree", "the work tree with / at the end; invalid where it is not canonical, or the repository has no id", derivedWorktree},
	{"@git.worktree.beyond", "the work tree where it is in none of the shim's writable_roots; invalid as @git.worktree", derivedWorktreeBeyond},
	{"@git.provider", "the host of the repository", derivedProvider},
	{"@git.remote_scheme", "the scheme of the remote, in lower case", derivedRemoteScheme},

	{"@db.operations", "the operations in metadata.database; invalid where one is unknown", derivedOperations},
	{"@db.statements", "the number of statements; invalid where it is no positive integer", derivedStatements},
	{"@db.environment", "the environment, in lower case", derivedEnvironment},
	{"@db.resources", "the names of what is touched; invalid where one is no text", derivedResources},
	{"@db.capabilities", "what the credential can do, in lower case; invalid where one is no text", derivedCapabilities},
	{"@db.schema_changes", "the number of operations that change a schema", derivedSchemaChanges},
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

func derivedMCP(in *Intent, _ Provenance) vm.Value {
	return textIf(in.server != "", strings.TrimPrefix(in.action, mcpPrefix))
}

func derivedToken(in *Intent, _ Provenance) vm.Value {
	return textIf(in.Has(Token), in.lower(in.Text(Token)))
}

func derivedPath(in *Intent, _ Provenance) vm.Value {
	if !in.Has(Path) {
		return vm.Value{}
	}
	clean, suspicious := pathname.Clean(in.Text(Path))
	if suspicious {
		return unreadable
	}
	return text(clean)
}

func derivedCommand(in *Intent, _ Provenance) vm.Value {
	if !in.Has(Command) {
		return vm.Value{}
	}
	forms, err := command.Read(in.Text(Command))
	if err != nil {
		return unreadable
	}
	start := len(in.elements)
	for _, form := range forms.All() {
		in.elements = append(in.elements, text(form))
	}
	return in.listFrom(start)
}

func amountValue(in *Intent, _ Provenance) vm.Value {
	value := in.walk(Amount, nil)
	value.BaseUnits = in.AmountInBaseUnits()
	return value
}
