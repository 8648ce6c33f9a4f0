package slot

import "strings"

// A Source says which bytes of a request a slot is filled from. Slots of one family can be filled from the same bytes,
// and those of two families cannot: so what reads the slots of a family shares one request's bytes with all others.
type Source struct {
	// Family names what is read: a field, or a member of `metadata` or `arguments`. All is every text of the request.
	Family string
	// Share is how many bytes the slot may hold for each byte of its source.
	Share int
	// One says that the slot holds one text, not a list of texts.
	One bool
	// Most is how many bytes the slot holds at most; 0 where only the size of a request bounds them.
	Most int
}

// All is the family of the slots that are filled from every text of a request.
const All = "*"

// How slots are spelled that hold a path's values as denials read them.
const (
	EachPrefix = "@each." // a path below an object, which walks through lists of objects
	SentPrefix = "@sent." // the same, as it was sent; missing where that is the normal form
)

// The bytes that some values have at most.
const (
	MostName = 256 // of an action and its parts, of an id, a symbol, an amount
	MostHost = 253 // of a canonical host
)

// The sources of fields that others share, or that are bounded.
var (
	name      = Source{Share: 1, One: true, Most: MostName}
	inAddress = Source{Family: "url", Share: 1, One: true}
)

// SourceOf returns the source of a field, or of a path below one, by its name.
func SourceOf(path string) Source {
	first, _, below := strings.Cut(path, ".")
	row := Find(first).Row()
	switch source := row.Source; {
	case row.Type.Object() && below:
		return Source{Family: path, Share: 1}
	case source.Share == 0:
		return Source{Family: first, Share: 1, One: true}
	case source.Family == "":
		source.Family = first
		return source
	default:
		return source
	}
}
