package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/command"
	"bailiff/vm/slot"
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
	{"@token", "the token as it was sent, in lower case", derivedToken},
	{"@amount", "the amount as it was sent, with its unit", derivedAmount},
	{"@token.stray", "the token, in lower case, where it is given by an address that is not targetAddress", derivedStray},
	{"@target.token", "the symbol, in lower case, of the token whose rule pins targetAddress on the intent's chain", derivedTargetToken},
	{"@calldata.method", "the selector of calldata that is not empty, in lower case", derivedMethod},
	{"@calldata.runs", "the method by which calldata makes the target run further calls", derivedRuns},
	{"@calldata.mismatch", "in what calldata is not the call that action, token, amount and to describe: data, method, malformed, amount or recipient", derivedMismatch},
	{"@calldata.amount", "the amount in base units that a token call in calldata moves or lets others move; invalid where it is cut off", derivedCalldataAmount},
	{"@moved", "the symbol, in lower case, of the token that the intent moves or lets others move, as far as a rule knows it", derivedMoved},
	{"@moved.amount", "how much of it in base units; invalid where that can't be read", derivedMovedAmount},
	{"@host", "the canonical host of url", derivedHost},
	{"@hosts", "the canonical host of url; where it is an IPv6 address that holds IPv4 addresses, a list of it and those", derivedHosts},
	{"@url.decoded", "the normal form of url with its path decoded once and runs of / as one; missing where that is url as sent", derivedDecodedURL},
	{"@path.decoded", "the path of @url.decoded; missing where that is the path as sent", derivedDecodedPath},
	{"@urlpath", "the path of url as written, / where it is empty", derivedURLPath},
	{"@query", "the query of url in its normal form, without ?", derivedQuery},
	{"@path", "the canonical form of path, behind cwd where it is relative, or a list of those of paths; invalid, as an element is, where nobody can tell which file is meant", derivedPath},
	{"@files", "for each path the readings that lists of allowed paths have of it: from the root or the home directory, and from the directory at hand; invalid, as an element is, where the text does not tell which file is meant", derivedFileReadings},
	{"@command", "the forms of command in which blocked ones are sought, in lower case; invalid where it can't be read", derivedCommand},
	{"@calls", "the simple commands of command, as entries of a list of allowed ones begin them; invalid where it can't be read, or no list can allow it", derivedCalls},
	{"@server", "the server of an MCP action, in lower case", derivedServer},
	{"@tool", "the tool of an MCP action, in lower case", derivedTool},
	{"@mcp", "<server>.<tool> of an MCP action, in lower case", derivedMCP},
	{"@recipients", "the bare addresses in `to`, in lower case and with ASCII domains; an element that is no address is invalid; missing without any", derivedRecipients},
	{"@text", "every string value of the request, the normal forms that differ, and the numbers in arguments and metadata, joined by Separator", derivedText},
	{"@caseless", "the normal forms that have no case, joined by Separator", derivedCaseless},

	{"@usage", "metadata.model_usage, an object, where it is there", derivedUsage},

	{"@usage.spend", "the spend that metadata.model_usage reports, in micro-USD", derivedSpend},
	{"@usage.tokens", "the tokens that metadata.model_usage reports", derivedTokens},

	{"@evm.call", "what a shim says in metadata.evm that call data does: transfer, approve, run or other; invalid where no shim says it, or not all of it", derivedCall},
	{"@evm.call.token", "the contract of a token call that a shim tells of, in lower case", derivedCallToken},
	{"@evm.call.symbol", "the symbol, in lower case, of the token whose rule pins that contract on the intent's chain", derivedCallSymbol},
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
	{"@fs.git", "written targets that are a git folder, or in one, in any spelling that a file system takes for it", derivedGitFolders},
	{"@fs.taken", "both paths of every target, folded and with / at the end, where an effect reaches what a directory holds", derivedTaken},
	{"@fs.taken.tree", "those of @fs.taken that are the work tree of metadata.git, or hold it; invalid where it is not canonical", derivedTakenTree},
	{"@fs.taken.roots", "those of @fs.taken that are one of the shim's writable_roots, or hold one", derivedTakenRoots},
	{"@fs.classes", "the classification of every target; invalid where one has none", derivedClasses},
	{"@fs.files", "the number of targets", derivedFiles},
	{"@fs.bytes.written", "the bytes of all targets where an effect writes bytes, else 0; invalid where a target does not tell", derivedBytesWritten},
	{"@fs.bytes.deleted", "the bytes of all targets where an effect deletes bytes, else 0; invalid where a target does not tell", derivedBytesDeleted},
	{"@fs.destructive", "the number of destroying effects, each counted once, times that of targets", derivedDestructive},

	{"@git.operation", "the operation in metadata.git; invalid where it is unknown", derivedOperation},
	{"@git.refs", "the refs that are updated; invalid where ref_updates is malformed or empty", derivedRefs},
	{"@git.forced", "the refs whose update is not said to be a fast-forward; invalid as @git.refs", derivedForced},
	{"@git.branch", "the branch of the work tree where the operation moves it; invalid where it names no ref", derivedBranch},
	{"@git.changes", "the number of ref updates", derivedChanges},
	{"@git.worktree", "the work tree with / at the end; invalid where it is not canonical, or the repository has no id", derivedWorktree},
	{"@git.worktree.beyond", "the work tree where it is in none of the shim's writable_roots; invalid as @git.worktree", derivedWorktreeBeyond},
	{"@git.provider", "the host of the repository", derivedProvider},
	{"@git.remote_scheme", "the scheme of the remote, in lower case", derivedRemoteScheme},

	{"@db.operations", "the operations in metadata.database; invalid where one is unknown", derivedOperations},
	{"@db.statements", "the number of statements; invalid where it is no positive integer", derivedStatements},
	{"@db.environment", "the environment, in lower case; invalid where it has white space or is not printable", derivedEnvironment},
	{"@db.resources", "the names of what is touched; invalid where one is no text", derivedResources},
	{"@db.capabilities", "what the credential can do, in lower case; invalid where one is no text", derivedCapabilities},
	{"@db.schema_changes", "the number of statements, or of operations that change a schema where those are more; 0 where none does", derivedSchemaChanges},
}

// Derived returns the table of derived values.
func Derived() []DerivedInfo { return append([]DerivedInfo(nil), derived...) }

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
func derivedHost(in *Intent, _ Provenance) vm.Value         { return textIf(in.Has(slot.URL), in.url.Host) }
func derivedURLPath(in *Intent, _ Provenance) vm.Value      { return textIf(in.Has(slot.URL), in.url.Path) }
func derivedServer(in *Intent, _ Provenance) vm.Value       { return textIf(in.server != "", in.server) }
func derivedTool(in *Intent, _ Provenance) vm.Value         { return textIf(in.tool != "", in.tool) }

// derivedQuery returns the query that rules read, whether it was repeated beside url or not.
func derivedQuery(in *Intent, _ Provenance) vm.Value {
	normal, _ := form.Escapes.Normal(in.url.Query)
	return textIf(in.Has(slot.URL), normal)
}

func derivedMCP(in *Intent, _ Provenance) vm.Value {
	return textIf(in.server != "", strings.TrimPrefix(in.action, mcpPrefix))
}

func derivedToken(in *Intent, _ Provenance) vm.Value {
	return textIf(in.Has(slot.Token), in.lower(in.Text(slot.Token)))
}

func derivedCommand(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Command) {
		return vm.Value{}
	}
	forms, err := command.Read(in.Text(slot.Command))
	if err != nil {
		return unreadable
	}
	start := len(in.elements)
	for _, spelling := range forms.All() {
		in.elements = append(in.elements, text(spelling))
	}
	return in.listFrom(start)
}

func derivedCalls(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Command) {
		return vm.Value{}
	}
	calls, err := command.Listed(in.Text(slot.Command))
	if err != nil {
		return unreadable
	}
	start := len(in.elements)
	for _, call := range calls {
		in.elements = append(in.elements, text(call))
	}
	return in.listFrom(start)
}

// ShowCall returns a simple command of @calls for messages.
func ShowCall(call string) string { return command.ShowListed(call) }

// derivedAmount is what machines calculate with: the amount as it was sent, with its unit.
func derivedAmount(in *Intent, _ Provenance) vm.Value {
	return vm.Value{Kind: in.kind(slot.Amount), Text: in.Text(slot.Amount), BaseUnits: in.AmountInBaseUnits()}
}

// derivedUsage has no text: whether it is there is all that is asked.
func derivedUsage(in *Intent, _ Provenance) vm.Value {
	if !in.hasUsage {
		return vm.Value{}
	}
	return vm.Value{Kind: vm.Object}
}
