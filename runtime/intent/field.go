package intent

import (
	"cmp"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
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
	Paths // several paths; once they are checked they stand as Path
	URL
	Method
	Host
	Query
	Calldata
	MaxFee
	Arguments
	Metadata
	fieldCount
)

// String returns the name of f as a request spells it.
func (f Field) String() string { return table[f].Name }

// Place says where a field may stand.
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

// Info is one row of the table of fields.
type Info struct {
	slot.Row // name and form, which rules share
	Field    Field
	Place    Place
	Type     Type
	Presence Presence
	// Bound says in words which values are accepted.
	Bound string

	// check returns the normal form of a text (of each element of an array), or what is wrong with it. Where
	// it is nil every text is accepted as it is.
	check func(text string) (normal, problem string)
	// refusal is the code of a failed check, "" for errcode.ValidationSchema.
	refusal errcode.Code
}

// table is the one table of fields: it drives decoding and documentation (decisions, section 3).
var table = [fieldCount]Info{
	Framework:     {Row: slot.Framework, Place: Top, Type: Text, Presence: Required, Bound: "1 to 64 of a-z, 0-9 and hyphen", check: checkFramework},
	AgentID:       {Row: slot.AgentID, Place: Top, Type: Text, Presence: Required, Bound: "1 to 256 characters, no control characters", check: checkAgentID},
	TxCommit:      {Row: slot.TxCommit, Place: Top, Type: Text, Presence: OneOf, Bound: "64 lower-case hexadecimal digits", check: checkTxCommit},
	UserOpHash:    {Row: slot.UserOpHash, Place: Top, Type: Text, Presence: OneOf, Bound: "0x and 64 hexadecimal digits, for `erc4337.userop` only; read in lower case", check: checkUserOpHash},
	ChainID:       {Row: slot.ChainID, Place: Top, Type: Integer, Bound: "one of " + strings.Join(chains, ", "), check: checkChain, refusal: errcode.ValidationChain},
	Context:       {Row: slot.Context, Place: Top, Type: Text, Bound: "any text"},
	RequestNonce:  {Row: slot.RequestNonce, Place: Top, Type: Text, Bound: "up to 64 characters", check: checkNonce},
	IntentObject:  {Row: slot.Row{Name: "intent", Members: true}, Place: Top, Type: Members, Bound: "the fields below; may be absent where `action` stands at the top level"},
	Action:        {Row: slot.Action, Place: Either, Type: Text, Presence: Required, Bound: "1 to 128 characters of printable ASCII, no white space", check: checkAction},
	TargetAddress: {Row: slot.TargetAddress, Place: Inside, Type: Text, Bound: "an address; read in lower case", check: checkAddress},
	Token:         {Row: slot.TokenField, Place: Inside, Type: Text, Bound: "a symbol, or an address, which is read in lower case; not empty", check: checkToken},
	Amount:        {Row: slot.AmountField, Place: Either, Type: Text, Bound: "any text; the policy's section judges its form"},
	AmountUnit:    {Row: slot.AmountUnit, Place: Inside, Type: Text, Bound: "`base`", check: checkAmountUnit},
	To:            {Row: slot.To, Place: Either, Type: Text | Texts, Bound: "any text; addresses are read in lower case", check: checkRecipient},
	TaskID:        {Row: slot.TaskID, Place: Inside, Type: Text, Bound: "1 to 128 of A-Z, a-z, 0-9, underscore and hyphen", check: checkTaskID},
	Command:       {Row: slot.Command, Place: Inside, Type: Text, Bound: "any text"},
	Cwd:           {Row: slot.Cwd, Place: Inside, Type: Text, Bound: "an absolute path; the directory that a relative `path` starts from", check: checkCwd},
	Path:          {Row: slot.PathField, Place: Inside, Type: Text, Bound: "any text; beside `url` the path of that URL"},
	Paths:         {Row: slot.PathsField, Place: Inside, Type: Texts, Bound: pathsBound},
	URL:           {Row: slot.URLField, Place: Inside, Type: Text, Bound: "an http or https URL with a host"},
	Method:        {Row: slot.Method, Place: Inside, Type: Text, Bound: "one of " + strings.Join(methods, ", "), check: checkMethod},
	Host:          {Row: slot.HostField, Place: Inside, Type: Text, Bound: "any text; beside `url` the host of that URL"},
	Query:         {Row: slot.Query, Place: Inside, Type: Text, Bound: "any text; beside `url` the query of that URL, without `?`"},
	Calldata:      {Row: slot.Calldata, Place: Inside, Type: Text, Bound: "0x and an even number of hexadecimal digits", check: checkCalldata},
	MaxFee:        {Row: slot.MaxFee, Place: Inside, Type: Text, Bound: "the most that gas may cost, in native units, such as 0.01; the policy's section judges its form"},
	Arguments:     {Row: slot.Arguments, Place: Inside, Type: Members, Bound: "any object"},
	Metadata:      {Row: slot.Metadata, Place: Inside, Type: Members, Bound: "any object; `model_usage`, and `serverId` and `toolName` of MCP actions, are checked"},
}

// Fields returns the table of fields, in the order in which they are checked.
func Fields() []Info {
	rows := make([]Info, 0, fieldCount-1)
	for f := NoField + 1; f < fieldCount; f++ {
		row := table[f]
		row.Field = f
		rows = append(rows, row)
	}
	return rows
}

// maxName is the length of the longest field name in bytes.
const maxName = 13

// The names of each place by their length, which tells nearly all of them apart.
var (
	topNames    = indexNames(Top)
	insideNames = indexNames(Inside)
)

type nameIndex [maxName + 1][]Field

func indexNames(place Place) *nameIndex {
	index := new(nameIndex)
	for _, row := range Fields() {
		if row.Place&place != 0 {
			index[len(row.Name)] = append(index[len(row.Name)], row.Field)
		}
	}
	return index
}

// find returns the field that name names, or NoField. Names are case-sensitive.
func (index *nameIndex) find(name string) Field {
	if len(name) > maxName {
		return NoField
	}
	for _, f := range index[len(name)] {
		if table[f].Name == name {
			return f
		}
	}
	return NoField
}

// hint returns the field that the author of the unknown name probably meant, or NoField, and advice as a sentence's end.
func hint(name string, place Place) (meant Field, advice string) {
	for f := NoField + 1; f < fieldCount; f++ {
		switch known := table[f].Name; {
		case known == name && place == Top:
			return f, "it belongs into intent"
		case known == name:
			return f, "it belongs to the top level, outside of intent"
		case strings.EqualFold(known, name):
			return f, "did you mean " + known + "?"
		}
	}
	var names []string
	for _, row := range Fields() {
		if row.Place&place != 0 {
			names = append(names, row.Name)
		}
	}
	if near := grammar.Closest(name, names); near != "" {
		return indexNames(place).find(near), "did you mean " + near + "?"
	}
	if place == Inside {
		return NoField, "put data of your own into intent.metadata"
	}
	return NoField, "remove it, or put data of your own into intent.metadata"
}

// unhashed are the fields of `intent` that say nothing about what is done, or only how another field is written.
var unhashed = []string{slot.TaskID.Name, slot.MaxFee.Name}

// canonicalOrder holds the fields of `intent` that its canonical form may show, by name (RFC 8785, section 3.2.3).
var canonicalOrder = func() []Field {
	var order []Field
	for _, row := range Fields() {
		if row.Place&Inside != 0 && !slices.Contains(unhashed, row.Name) {
			order = append(order, row.Field)
		}
	}
	slices.SortFunc(order, func(a, b Field) int { return cmp.Compare(table[a].Name, table[b].Name) })
	return order
}()
