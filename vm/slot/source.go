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
	mostName    = 256     // of an action and its parts, of an id, a symbol, an amount
	mostHost    = 253     // of a canonical host
	mostCommand = 1 << 16 // of all forms of a command, which are 8 KiB; most measured: five times that
)

// What the names of slots begin with, up to the first dot, that share a family or are bounded. Derived values that are
// not listed are names.
var families = map[string]Source{
	"@text": {Family: All, Share: 2, One: true}, "@caseless": {Family: All, Share: 1, One: true},
	"@command": {Family: "command", Share: 2, Most: mostCommand},
	"@calls":   {Family: "command", Share: 2, Most: mostCommand},
	"to":       {Family: "to", Share: 1}, "@recipients": {Family: "to", Share: 1},
	"url": {Family: "url", Share: 1, One: true}, "@url": {Family: "url", Share: 1, One: true}, "@urlpath": {Family: "url", Share: 1, One: true},
	"query": {Family: "url", Share: 1, One: true}, "@query": {Family: "url", Share: 1, One: true},
	"path": {Family: "url", Share: 1}, "@path": {Family: "url", Share: 2}, // cwd stands in front of each
	"@files": {Family: "url", Share: 4},
	"host":   {Family: "host", Share: 1, One: true, Most: mostHost}, "@host": {Family: "host", Share: 1, One: true, Most: mostHost}, "@hosts": {Family: "host", Share: 1, Most: 8 * mostHost},
	"@fs": {Family: "@fs", Share: 2}, "@git": {Family: "@git", Share: 1}, "@db": {Family: "@db", Share: 1},
	"action": {Family: "action", Share: 1, One: true, Most: mostName}, "agentId": {Family: "agentId", Share: 1, One: true, Most: mostName},
	"task_id": {Family: "task_id", Share: 1, One: true, Most: mostName}, "method": {Family: "method", Share: 1, One: true, Most: mostName},
	"token": {Family: "token", Share: 1, One: true, Most: mostName}, "amount": {Family: "amount", Share: 1, One: true, Most: mostName},
	"chainId": {Family: "chainId", Share: 1, One: true, Most: mostName}, "targetAddress": {Family: "targetAddress", Share: 1, One: true, Most: mostName},
}

// SourceOf returns the source of a slot by its name.
func SourceOf(name string) Source {
	for _, prefix := range []string{EachPrefix, SentPrefix} {
		name = strings.TrimPrefix(name, prefix)
	}
	first, _, below := strings.Cut(name, ".")
	if source, known := families[first]; known {
		return source
	}
	if Find(first).Row().Type.Object() && below {
		return Source{Family: name, Share: 1}
	}
	if strings.HasPrefix(first, "@") {
		return Source{Family: first, Share: 1, One: true, Most: mostName}
	}
	return Source{Family: first, Share: 1, One: true}
}
