// Package slot is the one table of what programs read of a request: fields, with their place, type, bound and form; values
// that the service derives from them; and the chains and methods that a request can name. Decoder and compiler read it.
package slot

import (
	"strings"

	"bailiff/vm/form"
)

// A Row is one field of a request.
type Row struct {
	Name    string
	Members bool // an object, whose members have forms of their own
	Form    form.Form
	// Other is the form of the field in requests for which When holds.
	Other form.Form
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
	UserOpHash    = Row{Name: "userOpHash", Form: form.Hex}
	ChainID       = Row{Name: "chainId"}
	Context       = Row{Name: "context"}
	RequestNonce  = Row{Name: "request_nonce"}
	Action        = Row{Name: "action", Form: form.Lower}
	TargetAddress = Row{Name: "targetAddress", Form: form.Address}
	TokenField    = Row{Name: "token", Form: form.Token}
	AmountField   = Row{Name: "amount", Form: form.Amount}
	AmountUnit    = Row{Name: "amount_unit", Form: form.Unit}
	To            = Row{Name: "to", Other: form.Mailbox, When: ByEmail}
	TaskID        = Row{Name: "task_id"}
	Command       = Row{Name: "command"}
	Cwd           = Row{Name: "cwd", Form: form.Path}
	PathField     = Row{Name: "path", Form: form.Path, Other: form.Escapes, When: WithURL}
	PathsField    = Row{Name: "paths", Form: form.Path} // several values of path; rules name path
	URLField      = Row{Name: "url", Form: form.URL}
	Method        = Row{Name: "method"}
	HostField     = Row{Name: "host", Form: form.Host}
	Query         = Row{Name: "query", Other: form.Escapes, When: WithURL}
	Calldata      = Row{Name: "calldata", Form: form.Hex}
	MaxFee        = Row{Name: "maxFee", Form: form.Decimal}
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
var mcpParts = Row{Members: true, Other: form.Lower, When: ForMCP}

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
func (r Row) Forms() []form.Form {
	if r.When == Never {
		return []form.Form{r.Form}
	}
	return []form.Form{r.Form, r.Other}
}
