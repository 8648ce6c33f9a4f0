package gen

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Node is one JSON value of a request that is being written: a leaf, whose text Raw is, an object or a list.
type Node struct {
	Name string // as the member of an object
	Raw  string // of a leaf, as it is in the body
	List bool
	Kids []*Node // of an object or a list; not nil where the node is one
}

func object(name string) *Node { return &Node{Name: name, Kids: []*Node{}} }

// set puts a leaf at a dotted path below n, and makes the objects on the way. Where something is already, that
// stays: nothing is there twice.
func (n *Node) set(path, raw string) {
	name, rest, deeper := strings.Cut(path, ".")
	kid := n.member(name)
	switch {
	case !deeper && kid == nil:
		n.Kids = append(n.Kids, &Node{Name: name, Raw: raw})
	case !deeper:
	case kid == nil:
		kid = object(name)
		n.Kids = append(n.Kids, kid)
		kid.set(rest, raw)
	case kid.Kids != nil && !kid.List:
		kid.set(rest, raw)
	}
}

// text is set for a JSON string.
func (n *Node) text(path, value string) { n.set(path, Quote(value)) }

// member returns the member of that name, or nil; nil has none.
func (n *Node) member(name string) *Node {
	if n == nil {
		return nil
	}
	for _, kid := range n.Kids {
		if kid.Name == name {
			return kid
		}
	}
	return nil
}

// drop takes the member at a dotted path away.
func (n *Node) drop(path string) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		n.Kids = slices.DeleteFunc(n.Kids, func(kid *Node) bool { return kid.Name == name })
	} else if kid := n.member(name); kid != nil {
		kid.drop(rest)
	}
}

// Clone returns a copy that shares nothing with n.
func (n *Node) Clone() *Node {
	c := *n
	if n.Kids != nil {
		c.Kids = make([]*Node, len(n.Kids))
		for i, kid := range n.Kids {
			c.Kids[i] = kid.Clone()
		}
	}
	return &c
}

// Append appends the JSON text.
func (n *Node) Append(dst []byte) []byte { return n.write(dst, nil) }

// NoisyAppend appends the JSON text with white space, with the members of objects in any order, and with escapes where
// none are needed.
func (n *Node) NoisyAppend(dst []byte, r *Rand) []byte { return n.write(dst, r) }

func (n *Node) write(dst []byte, noise *Rand) []byte {
	if n.Kids == nil {
		return append(dst, escaped(noise, n.Raw)...)
	}
	opening, closing, kids := byte('{'), byte('}'), n.Kids
	if n.List {
		opening, closing = '[', ']'
	} else if noise != nil {
		kids = slices.Clone(kids)
		Shuffle(noise, kids)
	}
	dst = append(dst, opening)
	for i, kid := range kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, blank(noise)...)
		if !n.List {
			dst = append(dst, escaped(noise, Quote(kid.Name))...)
			dst = append(dst, blank(noise)...)
			dst = append(dst, ':')
			dst = append(dst, blank(noise)...)
		}
		dst = kid.write(dst, noise)
		dst = append(dst, blank(noise)...)
	}
	return append(dst, closing)
}

func blank(noise *Rand) string {
	if noise == nil {
		return ""
	}
	return noise.Pick("", "", " ", "\n\t", "\r\n  ")
}

// escaped escapes a letter of a JSON string now and then.
func escaped(noise *Rand, raw string) string {
	if noise == nil || !strings.HasPrefix(raw, `"`) || strings.Contains(raw, `\`) || !noise.Chance(6) {
		return raw
	}
	at := 1 + noise.N(max(len(raw)-2, 1))
	if c := raw[at]; c < utf8.RuneSelf && c != '"' {
		return raw[:at] + noise.Pick(`\u00`+strconv.FormatInt(int64(c)+0x100, 16)[1:], `\u00`+strings.ToUpper(strconv.FormatInt(int64(c)+0x100, 16)[1:])) + raw[at+1:]
	}
	return raw
}

// Smaller returns the trees that lack one member or element of n, however deep: the steps of shrinking.
func (n *Node) Smaller() []*Node {
	var all []*Node
	for i, kid := range n.Kids {
		c := *n
		c.Kids = slices.Delete(slices.Clone(n.Kids), i, i+1)
		all = append(all, &c)
		for _, less := range kid.Smaller() {
			c := *n
			c.Kids = slices.Clone(n.Kids)
			c.Kids[i] = less
			all = append(all, &c)
		}
	}
	return all
}

// Quote returns a text as a JSON string, with only what must be escaped escaped.
func Quote(text string) string {
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] != '"' && text[i] != '\\'
	}
	if plain {
		return `"` + text + `"`
	}
	quoted := []byte{'"'}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', byte(c))
		case c < ' ':
			quoted = append(quoted, `\u00`...)
			quoted = append(quoted, strconv.FormatInt(int64(c)+0x100, 16)[1:]...)
		default:
			quoted = utf8.AppendRune(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}
