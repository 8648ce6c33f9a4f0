package slot

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/vm/errcode"
	"bailiff/vm/form"
)

// A Field is one field of a request.
type Field uint8

// The fields of a request, in the order in which they are checked. The zero value is none of them.
const (
	NoField Field = iota
	Framework
	AgentID
	TxCommit
	UserOpHash
	ChainID
	Context
	RequestNonce
	IntentObject
	Action
	TargetAddress
	Token
	Amount
	AmountUnit
	To
	TaskID
	Command
	Cwd
	Path
	Paths // several paths; once they are checked they are as Path
	URL
	Method
	Host
	Query
	Calldata
	MaxFee
	Arguments
	Metadata
	Count // one more than there are fields
)

// String returns the name of f as a request spells it.
func (f Field) String() string { return table[f].Name }

// Row returns the row of f, which must not be changed.
func (f Field) Row() *Row { return &table[f] }

// A Row is one row of the table of fields.
type Row struct {
	Name     string
	Field    Field
	Place    Place
	Type     Type
	Presence Presence
	Unruled  bool // no rule can name the field

	// Form says which texts of the field are one value; Other does in requests for which When holds.
	Form, Other form.Form
	When        Condition

	// Source says which bytes of a request the field is filled from. Its zero value is those of the field itself, one text.
	Source Source

	// Bound says in words which values are accepted.
	Bound string
	// Check returns the normal form of a text (of each element of an array), or what is wrong with it. Where it is nil
	// every text is accepted as it is.
	Check func(text string) (normal, problem string)
	// Refusal is the code of a failed check, "" for errcode.ValidationSchema.
	Refusal errcode.Code
}

// Place says where a field may be.
type Place uint8

// The places of fields.
const (
	Top    Place          = 1 << iota // beside `intent`
	Inside                            // in `intent`
	Either = Top | Inside             // in either; in both only with the same value
)

// String returns the place in words.
func (p Place) String() string {
	return [...]string{"", "top level", "intent", "intent or top level"}[p]
}

// Type says which JSON values a field may have. The values are bits.
type Type uint8

// The types of fields.
const (
	Text    Type = 1 << iota // a string
	Integer                  // a number without a fraction (1.0 is one, as in RFC 8785)
	Texts                    // an array of strings
	Members                  // an object
)

// String returns the type in words.
func (t Type) String() string {
	words := make([]string, 0, 2)
	for i, word := range [...]string{"string", "integer", "array of strings", "object"} {
		if t&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " or ")
}

// Object reports whether a field of the type has members, which have forms of their own.
func (t Type) Object() bool { return t&Members != 0 }

// Presence says whether a request must have a field.
type Presence uint8

// The presences of fields.
const (
	Optional Presence = iota
	Required
	OneOf // exactly one of the fields of this presence
)

// String returns the presence in words.
func (p Presence) String() string {
	return [...]string{"optional", "required", "exactly one of both"}[p]
}

// MaxPaths is how many paths one intent names at most.
const MaxPaths = 256

// table is the one table of fields (decisions, section 3).
var table = [Count]Row{
	Framework:     {Name: "framework", Place: Top, Type: Text, Presence: Required, Bound: "1 to 64 of a-z, 0-9 and hyphen", Check: checkFramework},
	AgentID:       {Name: "agentId", Place: Top, Type: Text, Presence: Required, Source: name, Bound: "1 to 256 characters, no control characters", Check: checkAgentID},
	TxCommit:      {Name: "txCommit", Place: Top, Type: Text, Presence: OneOf, Bound: "64 lower-case hexadecimal digits", Check: checkTxCommit},
	UserOpHash:    {Name: "userOpHash", Place: Top, Type: Text, Presence: OneOf, Form: form.Hex, Bound: "0x and 64 hexadecimal digits, for `erc4337.userop` only; read in lower case", Check: checkUserOpHash},
	ChainID:       {Name: "chainId", Place: Top, Type: Integer, Source: name, Bound: "one of " + strings.Join(chainIDs, ", "), Check: checkChain, Refusal: errcode.ValidationChain},
	Context:       {Name: "context", Place: Top, Type: Text, Bound: "any text"},
	RequestNonce:  {Name: "request_nonce", Place: Top, Type: Text, Bound: "up to 64 characters", Check: checkNonce},
	IntentObject:  {Name: "intent", Place: Top, Type: Members, Unruled: true, Bound: "the fields below; may be absent where `action` is at the top level"},
	Action:        {Name: "action", Place: Either, Type: Text, Presence: Required, Form: form.Lower, Source: name, Bound: "1 to 128 characters of printable ASCII, no white space", Check: checkAction},
	TargetAddress: {Name: "targetAddress", Place: Inside, Type: Text, Form: form.Address, Source: name, Bound: "an address; read in lower case", Check: checkAddress},
	Token:         {Name: "token", Place: Inside, Type: Text, Form: form.Token, Source: name, Bound: "a symbol, or an address, which is read in lower case; not empty", Check: checkToken},
	Amount:        {Name: "amount", Place: Either, Type: Text, Form: form.Amount, Source: name, Bound: "any text; the policy's section judges its form"},
	AmountUnit:    {Name: "amount_unit", Place: Inside, Type: Text, Form: form.Unit, Bound: "`base`", Check: checkAmountUnit},
	To:            {Name: "to", Place: Either, Type: Text | Texts, Other: form.Mailbox, When: ByEmail, Source: Source{Family: "to", Share: 1}, Bound: "any text; addresses are read in lower case", Check: checkRecipient},
	TaskID:        {Name: "task_id", Place: Inside, Type: Text, Source: name, Bound: "1 to 128 of A-Z, a-z, 0-9, underscore and hyphen", Check: checkTaskID},
	Command:       {Name: "command", Place: Inside, Type: Text, Bound: "any text"},
	Cwd:           {Name: "cwd", Place: Inside, Type: Text, Form: form.Path, Bound: "an absolute path; the directory that a relative `path` starts from", Check: checkCwd},
	Path:          {Name: "path", Place: Inside, Type: Text, Form: form.Path, Other: form.Escapes, When: WithURL, Source: Source{Family: "url", Share: 1}, Bound: "any text; beside `url` the path of that URL"},
	Paths:         {Name: "paths", Place: Inside, Type: Texts, Form: form.Path, Unruled: true, Bound: fmt.Sprintf("1 to %d texts, with the actions `file_write` and `file_read` only, and not beside `path` or `url`", MaxPaths)},
	URL:           {Name: "url", Place: Inside, Type: Text, Form: form.URL, Source: inAddress, Bound: "an http or https URL with a host"},
	Method:        {Name: "method", Place: Inside, Type: Text, Source: name, Bound: "one of " + strings.Join(methods, ", "), Check: checkMethod},
	Host:          {Name: "host", Place: Inside, Type: Text, Form: form.Host, Source: Source{Share: 1, One: true, Most: MostHost}, Bound: "any text; beside `url` the host of that URL"},
	Query:         {Name: "query", Place: Inside, Type: Text, Other: form.Escapes, When: WithURL, Source: inAddress, Bound: "any text; beside `url` the query of that URL, without `?`"},
	Calldata:      {Name: "calldata", Place: Inside, Type: Text, Form: form.Hex, Bound: "0x and an even number of hexadecimal digits", Check: checkCalldata},
	MaxFee:        {Name: "maxFee", Place: Inside, Type: Text, Form: form.Decimal, Bound: "the most that gas may cost, in native units, such as 0.01; the policy's section judges its form"},
	Arguments:     {Name: "arguments", Place: Inside, Type: Members, Bound: "any object"},
	Metadata:      {Name: "metadata", Place: Inside, Type: Members, Bound: "any object; `model_usage`, and `serverId` and `toolName` of MCP actions, are checked"},
}

func init() {
	for f := range table {
		table[f].Field = Field(f)
	}
}

// Ruled returns the fields that a rule can name: neither `intent` nor `paths`, of which a rule about `path` reads all.
func Ruled() []Row {
	return slices.DeleteFunc(Fields(), func(row Row) bool { return row.Unruled })
}

// Fields returns the table of fields, in the order in which they are checked.
func Fields() []Row { return append([]Row(nil), table[NoField+1:]...) }
