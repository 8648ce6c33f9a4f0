// Package slot is the one table of request fields: for each its name, whether it has members, and its form. The form says
// which texts of the field are one value (decisions, section 2, "Matching"), so that the decoder of requests and the
// compiler of rules give a value the same text: a rule cannot be passed by writing the value another way.
//
// The forms that need the program's tokens ([Token] and [Amount]) are completed where those are known; this package has
// what the text alone says.
package slot

import "strings"

// A Row is one field of a request.
type Row struct {
	Name    string
	Members bool // an object, whose members have forms of their own
	Form    Form
	// Other is the form of the field in requests for which When holds.
	Other Form
	When  Condition
}

// A Condition says in which requests a field has its other form.
type Condition uint8

// The conditions.
const (
	Never   Condition = iota
	ByEmail           // the action is email.send
	WithURL           // the request has a `url`
	ForMCP            // the action is one of MCP
)

// The fields of a request (decisions, section 3).
var (
	Framework     = Row{Name: "framework"}
	AgentID       = Row{Name: "agentId"}
	TxCommit      = Row{Name: "txCommit"}
	UserOpHash    = Row{Name: "userOpHash", Form: Hex}
	ChainID       = Row{Name: "chainId"}
	Context       = Row{Name: "context"}
	RequestNonce  = Row{Name: "request_nonce"}
	Action        = Row{Name: "action", Form: Lower}
	TargetAddress = Row{Name: "targetAddress", Form: Address}
	TokenField    = Row{Name: "token", Form: Token}
	AmountField   = Row{Name: "amount", Form: Amount}
	AmountUnit    = Row{Name: "amount_unit", Form: Unit}
	To            = Row{Name: "to", Other: Mailbox, When: ByEmail}
	TaskID        = Row{Name: "task_id"}
	Command       = Row{Name: "command"}
	Cwd           = Row{Name: "cwd", Form: Path}
	PathField     = Row{Name: "path", Form: Path, Other: Escapes, When: WithURL}
	PathsField    = Row{Name: "paths", Form: Path} // several values of path; rules name path
	URLField      = Row{Name: "url", Form: URL}
	Method        = Row{Name: "method"}
	HostField     = Row{Name: "host", Form: Host}
	Query         = Row{Name: "query", Other: Escapes, When: WithURL}
	Calldata      = Row{Name: "calldata", Form: Hex}
	MaxFee        = Row{Name: "maxFee", Form: Decimal}
	Arguments     = Row{Name: "arguments", Members: true}
	Metadata      = Row{Name: "metadata", Members: true}
)

// rows are all fields that a rule can name, those of the top level first. `intent` itself is none, nor is `paths`: a rule
// about `path` reads all of them.
var rows = []Row{
	Framework, AgentID, TxCommit, UserOpHash, ChainID, Context, RequestNonce, Action, TargetAddress, TokenField, AmountField,
	AmountUnit, To, TaskID, Command, Cwd, PathField, URLField, Method, HostField, Query, Calldata, MaxFee, Arguments, Metadata,
}

// Rows returns the table of fields.
func Rows() []Row { return append([]Row(nil), rows...) }

// Find returns the field of that name.
func Find(name string) (row Row, ok bool) {
	for i := range rows {
		if rows[i].Name == name {
			return rows[i], true
		}
	}
	return Row{}, false
}

// mcpParts are the members of metadata that repeat a part of an MCP action.
var mcpParts = Row{Members: true, Other: Lower, When: ForMCP}

// At returns the row for the path of a rule: that of its field, or that of a member with a form of its own. Members of
// objects are texts.
func At(path string) Row {
	name, below, found := strings.Cut(path, ".")
	row, _ := Find(name)
	switch {
	case !found:
		return row
	case name == Metadata.Name && (below == "serverId" || below == "toolName"):
		return mcpParts
	}
	return Row{Name: row.Name, Members: row.Members}
}

// Canonical returns the one spelling of a rule's path: `arguments` and `metadata.arguments` are one field.
func Canonical(path string) string {
	const spelled = "metadata.arguments"
	if rest, ok := strings.CutPrefix(path, spelled); ok && (rest == "" || rest[0] == '.') {
		return Arguments.Name + rest
	}
	return path
}

// Forms returns the forms that values of the field have.
func (r Row) Forms() []Form {
	if r.When == Never {
		return []Form{r.Form}
	}
	return []Form{r.Form, r.Other}
}
