package frame

import (
	"strings"
)

// Type is the type of a key's value.
type Type string

// The types of values. Documents show them as they are.
const (
	TypeDecimal   Type = "decimal"
	TypeInteger   Type = "integer"
	TypeBoolean   Type = "boolean"
	TypeText      Type = "text"
	TypeCondition Type = "operator and text"
	TypeActions   Type = "list of actions"
	TypeChains    Type = "list of chain ids"
	TypeChainMap  Type = "block of chain ids with lists of actions"
	TypeAddresses Type = "list of addresses"
	TypeTexts     Type = "list of texts"
	TypeHosts     Type = "list of hosts"
	TypePaths     Type = "list of paths"

	TypePatterns   Type = "list of action patterns"
	TypeWord       Type = "word"
	TypeWords      Type = "list of words"
	TypeNames      Type = "list of names"
	TypeRecipients Type = "list of recipients"
	TypeRegexp     Type = "RE2 pattern"
	TypeField      Type = "path of a field"
	TypePattern    Type = "action pattern"
	TypeTools      Type = "list of tool patterns"
	TypeJSON       Type = "JSON string"
	TypeTime       Type = "time (RFC 3339, UTC)"
	TypeName       Type = "name"
	TypeKeyIDs     Type = "list of key ids, or *"
	TypeMethods    Type = "list of selectors and signatures"
)

// IsList reports whether values of the type are lists.
func (t Type) IsList() bool { return strings.HasPrefix(string(t), "list") }

// The types of values that only resource profiles have. None of their values is written between quotes.
const (
	TypeRoots     Type = "list of roots"
	TypeRefs      Type = "list of refs"
	TypeResources Type = "list of resource patterns"
)
