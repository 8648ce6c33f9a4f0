// Package derived is the table of values that the service derives from a request for programs: each has a name, which begins
// with @, and a meaning; package runtime/intent computes them. A value is missing if the request says nothing, and invalid if
// what it says cannot be relied on. Values that counters add up, and the amounts of calls, are in base units.
package derived

import (
	"strings"

	"bailiff/vm/slot"
)

// A Row is one row of the table.
type Row struct {
	Name    string // as programs spell it, with a leading @
	Meaning string
	Source  slot.Source
	Called  string // what a request or a message calls it; empty where it has no name of its own
	Counts  bool   // it is a number of things, which Called names
}

var (
	rows  []Row
	index = map[string]int{} // of rows, by name
)

// define adds a row to the table, and returns its name. Without a source the value is a name.
func define(name, meaning string, source ...slot.Source) string {
	family, _, _ := strings.Cut(name, ".")
	row := Row{Name: name, Meaning: meaning, Source: slot.Source{Family: family, Share: 1, One: true, Most: slot.MostName}}
	if len(source) > 0 {
		row.Source = source[0]
	}
	index[name], rows = len(rows), append(rows, row)
	return name
}

// called says what messages call a value.
func called(text, name string) string {
	rows[index[name]].Called = text
	return name
}

// counting does so for a number of things.
func counting(text, name string) string {
	rows[index[name]].Counts = true
	return called(text, name)
}

// Find returns the row of that name, the zero Row where there is none.
func Find(name string) Row {
	if i, known := index[name]; known {
		return rows[i]
	}
	return Row{}
}

// mostCommand is how many bytes all forms of a command have at most. A command has at most 8 KiB, and the most measured is
// five times that.
const mostCommand = 1 << 16

// Sources of several values.
var (
	commands   = slot.Source{Family: "command", Share: 2, Most: mostCommand}
	webAddress = slot.Source{Family: "url", Share: 1, One: true}
	files      = slot.Source{Family: "@fs", Share: 2}
	git        = slot.Source{Family: "@git", Share: 1}
	database   = slot.Source{Family: "@db", Share: 1}
)

// The derived values.
var (
	Action         = called("action", define("@action", "the action in lower case"))
	Provenance     = define("@provenance", "the provenance of the API key, agent or shim")
	Token          = called("token", define("@token", "the token as it was sent, in lower case"))
	Amount         = called("amount", define("@amount", "the amount as it was sent, with its unit"))
	Stray          = called("targetAddress", define("@token.stray", "the token, in lower case, where it is given by an address that is not targetAddress"))
	TargetToken    = called("targetAddress", define("@target.token", "the symbol, in lower case, of the token whose rule pins targetAddress on the intent's chain"))
	Method         = called("the method in calldata", define("@calldata.method", "the selector of calldata that is not empty, in lower case"))
	Runs           = define("@calldata.runs", "the method by which calldata makes the target run further calls")
	Mismatch       = define("@calldata.mismatch", "in what calldata is not the call that action, token, amount and to describe: data, method, malformed, amount or recipient")
	CalldataAmount = called("the amount in calldata", define("@calldata.amount", "the amount in base units that a token call in calldata moves or lets others move; invalid where it is cut off"))
	Moved          = define("@moved", "the symbol, in lower case, of the token that the intent moves or lets others move, as far as a rule knows it")
	MovedAmount    = define("@moved.amount", "how much of it in base units; invalid where that can't be read")
	Host           = called("the host of url", define("@host", "the canonical host of url", slot.Source{Family: "host", Share: 1, One: true, Most: slot.MostHost}))
	Hosts          = called("the host of url", define("@hosts", "the canonical host of url; where it is an IPv6 address that holds IPv4 addresses, a list of it and those", slot.Source{Family: "host", Share: 1, Most: 8 * slot.MostHost}))
	DecodedURL     = define("@url.decoded", "the normal form of url with its path decoded once and runs of / as one; missing where that is url as sent", webAddress)
	DecodedPath    = define("@path.decoded", "the path of @url.decoded; missing where that is the path as sent", slot.Source{Family: "url", Share: 2})
	URLPath        = define("@urlpath", "the path of url as written, / where it is empty", webAddress)
	Query          = called("the query of url", define("@query", "the query of url in its normal form, without ?", webAddress))
	Path           = called("path", define("@path", "the canonical form of path, behind cwd where it is relative, or a list of those of paths; invalid, as an element is, where the path cannot be resolved to a single file", slot.Source{Family: "url", Share: 2}))
	Files          = called("path", define("@files", "for each path the readings that lists of allowed paths have of it: from the root or the home directory, and from the directory at hand; invalid, as an element is, where the text does not tell which file is meant", slot.Source{Family: "url", Share: 4}))
	Command        = called("command", define("@command", "the forms of command in which blocked ones are sought, in lower case; invalid where it can't be read", commands))
	Calls          = called("command", define("@calls", "the simple commands of command, as entries of a list of allowed ones begin them; invalid where it can't be read, or no list can allow it", commands))
	Server         = called("the MCP server", define("@server", "the server of an MCP action, in lower case"))
	Tool           = called("the MCP tool", define("@tool", "the tool of an MCP action, in lower case"))
	MCP            = called("the MCP tool", define("@mcp", "<server>.<tool> of an MCP action, in lower case"))
	Recipients     = called("to", define("@recipients", "the bare addresses in `to`, in lower case and with ASCII domains; an element that is not an address is invalid; missing without any", slot.Source{Family: "to", Share: 1}))
	Text           = define("@text", "every string value of the request, the normal forms that differ, and the numbers in arguments and metadata, joined by Separator", slot.Source{Family: slot.All, Share: 2, One: true})
	Caseless       = define("@caseless", "the normal forms that have no case, joined by Separator", slot.Source{Family: slot.All, Share: 1, One: true})

	Usage  = define("@usage", "metadata.model_usage, an object, where it is there")
	Spend  = define("@usage.spend", "the spend that metadata.model_usage reports, in micro-USD")
	Tokens = define("@usage.tokens", "the tokens that metadata.model_usage reports")

	Call       = define("@evm.call", "what a shim says in metadata.evm that call data does: transfer, approve, run or other; invalid where no shim says it, or not all of it")
	CallToken  = define("@evm.call.token", "the contract of a token call that a shim tells of, in lower case")
	CallSymbol = define("@evm.call.symbol", "the symbol, in lower case, of the token whose rule pins that contract on the intent's chain")
	CallAmount = called("metadata.evm.token_amount", define("@evm.call.amount", "the amount in base units of such a call; invalid where it is not a string of digits below 2^256"))

	Boundary = define("@boundary", "shim, where the key is a shim's and metadata.execution an object")

	Effects       = called("metadata.filesystem.effects", define("@fs.effects", "the effects in metadata.filesystem; invalid where they are missing, empty or not all known", files))
	Targets       = define("@fs.targets", "both paths of every target, with / at the end, and once where they are equal; missing where a path is, invalid where one can't be trusted", files)
	Written       = called("a written path", define("@fs.written", "the targets where an effect writes", files))
	Read          = called("a read path", define("@fs.read", "the targets where an effect reads", files))
	WrittenBeyond = called("a written path", define("@fs.written.beyond", "written targets in none of the shim's writable_roots", files))
	ReadBeyond    = called("a read path", define("@fs.read.beyond", "read targets in none of the shim's readable_roots", files))
	WrittenRoots  = define("@fs.written.roots", "written targets that are one of the shim's writable_roots themselves, or a directory that holds one", files)
	Paths         = define("@fs.paths", "both paths of every target in the form of @path; an element without a clear meaning is invalid", files)
	GitFolders    = define("@fs.git", "written targets that are a git folder, or in one, in any spelling that a file system takes for it", files)
	Taken         = define("@fs.taken", "both paths of every target, folded and with / at the end, where an effect reaches what a directory holds", files)
	TakenTree     = define("@fs.taken.tree", "those of @fs.taken that are the work tree of metadata.git, or hold it; invalid where it is not canonical", files)
	TakenRoots    = define("@fs.taken.roots", "those of @fs.taken that are one of the shim's writable_roots, or hold one", files)
	Classes       = define("@fs.classes", "the classification of every target; invalid where one has none", files)
	FileCount     = counting("the number of targets", define("@fs.files", "the number of targets", files))
	BytesWritten  = counting("the sum of the targets' bytes", define("@fs.bytes.written", "the bytes of all targets where an effect writes bytes, else 0; invalid where a target does not tell", files))
	BytesDeleted  = counting("the sum of the targets' bytes", define("@fs.bytes.deleted", "the bytes of all targets where an effect deletes bytes, else 0; invalid where a target does not tell", files))
	Destructive   = counting("the number of effects times that of targets", define("@fs.destructive", "the number of destroying effects, each counted once, times that of targets", files))

	Operation      = called("metadata.git.operation", define("@git.operation", "the operation in metadata.git; invalid where it is unknown", git))
	Refs           = define("@git.refs", "the refs that are updated; invalid where ref_updates is malformed or empty", git)
	Forced         = define("@git.forced", "the refs whose update is not said to be a fast-forward; invalid as @git.refs", git)
	Branch         = define("@git.branch", "the branch of the work tree where the operation moves it; invalid where it names no ref", git)
	Changes        = counting("the number of ref updates", define("@git.changes", "the number of ref updates", git))
	Worktree       = called("metadata.git.worktree", define("@git.worktree", "the work tree with / at the end; invalid where it is not canonical, or the repository has no id", git))
	WorktreeBeyond = called("metadata.git.worktree", define("@git.worktree.beyond", "the work tree where it is in none of the shim's writable_roots; invalid as @git.worktree", git))
	Provider       = called("metadata.git.provider", define("@git.provider", "the host of the repository", git))
	RemoteScheme   = called("metadata.git.remote_scheme", define("@git.remote_scheme", "the scheme of the remote, in lower case", git))

	Operations    = called("metadata.database.operations", define("@db.operations", "the operations in metadata.database; invalid where one is unknown", database))
	Statements    = define("@db.statements", "the number of statements; invalid where it is not a positive integer", database)
	Environment   = define("@db.environment", "the environment, in lower case; invalid where it has white space or is not printable", database)
	Resources     = called("metadata.database.resources", define("@db.resources", "the names of the touched resources; invalid where one is not a text", database))
	Capabilities  = define("@db.capabilities", "what the credential can do, in lower case; invalid where one is not a text", database)
	SchemaChanges = counting("the number of schema changes", define("@db.schema_changes", "the number of statements, or of operations that change a schema where those are more; 0 where none does", database))
)

// Rows returns the table of derived values.
func Rows() []Row { return append([]Row(nil), rows...) }

// SourceOf returns the source of a slot by its name: a derived value, a field, or a path below one, with the prefixes of
// paths that are read in another way.
func SourceOf(name string) slot.Source {
	for _, prefix := range []string{slot.EachPrefix, slot.SentPrefix} {
		name = strings.TrimPrefix(name, prefix)
	}
	if i, known := index[name]; known {
		return rows[i].Source
	}
	return slot.SourceOf(name)
}
