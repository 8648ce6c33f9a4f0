package intent

import (
	"iter"
	"slices"
	"strconv"

	"bailiff/vm"
	"bailiff/vm/slot"
)

// A Node is one JSON value of a request, for readers that walk it as it is: evaluators of another make, tools and
// tests. The zero Node is an absent value.
type Node struct {
	in *Intent
	at int32
}

// Node returns the value of the field f as it was sent, but for numbers, actions, addresses and call data in their normal
// form.
func (in *Intent) Node(f slot.Field) Node {
	if in.at[f] == 0 {
		return Node{}
	}
	return Node{in, in.at[f]}
}

// Kind returns the kind of the value, vm.Missing for an absent one.
func (n Node) Kind() vm.Kind {
	if n.in == nil {
		return vm.Missing
	}
	return n.in.nodes[n.at].kind
}

// Text returns the text of a string, of a number in RFC 8785 form, or of a boolean, and "" of anything else.
func (n Node) Text() string {
	if n.in == nil {
		return ""
	}
	return n.in.nodes[n.at].text
}

// Member returns the member of an object, or an absent value.
func (n Node) Member(name string) Node {
	if n.in == nil {
		return Node{}
	}
	if at := n.in.member(n.at, name); at != 0 {
		return Node{n.in, at}
	}
	return Node{}
}

// Children yields the members of an object with their names, or the elements of an array with "", in order.
func (n Node) Children() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if kind := n.Kind(); kind != vm.Object && kind != vm.List {
			return
		}
		nodes := n.in.nodes
		for i := n.at + 1; i < nodes[n.at].next; i = nodes[i].next {
			if !yield(nodes[i].name, Node{n.in, i}) {
				return
			}
		}
	}
}

// listFrom returns the elements collected since start as a list.
func (in *Intent) listFrom(start int) vm.Value {
	return vm.Value{Kind: vm.List, Elems: slices.Clip(in.elements[start:])}
}

// pathOf returns the path of a node from the body's top, with the indexes of elements.
func (in *Intent) pathOf(target int32) string {
	var path []byte
	at := int32(0)
	for at != target {
		parent, index := at, 0
		at++
		for in.nodes[at].next <= target {
			at = in.nodes[at].next
			index++
		}
		if len(path) > 0 {
			path = append(path, '.')
		}
		if in.nodes[parent].kind == vm.List {
			path = strconv.AppendInt(path, int64(index), 10)
		} else {
			path = append(path, in.nodes[at].name...)
		}
	}
	return string(path)
}
