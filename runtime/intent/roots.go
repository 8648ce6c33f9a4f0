package intent

import (
	"slices"
	"strings"

	"bailiff/vm"
	"bailiff/vm/form/resource"
)

// The members of metadata.execution that list roots.
const (
	writableRoots = "writable_roots"
	readableRoots = "readable_roots"
)

// roots are directories that a shim confines an intent to. Each text ends in a slash, so that a path that ends in one
// lies inside of a root exactly where the root's text begins the path's.
type roots struct {
	known bool
	all   []vm.Value // in the order of their bytes
	outer []vm.Value // those of them that lie in no other
}

func (in *Intent) writable() *roots {
	if !in.digest.writable.known {
		in.digest.writable = in.readRoots(writableRoots)
	}
	return &in.digest.writable
}

func (in *Intent) readable() *roots {
	if !in.digest.readable.known {
		in.digest.readable = in.readRoots(readableRoots)
	}
	return &in.digest.readable
}

// readRoots reads an array of roots. A missing or malformed one means no directory.
func (in *Intent) readRoots(name string) roots {
	at := in.given(in.evidence(executionEvidence), name)
	if in.texts(at, resource.CanonicalRoot).Kind != vm.List {
		return roots{known: true}
	}
	start := len(in.elements)
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		in.elements = append(in.elements, text(in.directory(in.nodes[i].text)))
	}
	all := in.listFrom(start).Elems
	slices.SortFunc(all, func(a, b vm.Value) int { return strings.Compare(a.Text, b.Text) })
	start = len(in.elements)
	for _, root := range all {
		if last := len(in.elements) - 1; last < start || !strings.HasPrefix(root.Text, in.elements[last].Text) {
			in.elements = append(in.elements, root)
		}
	}
	return roots{known: true, all: all, outer: in.listFrom(start).Elems}
}

// directory returns a path with one slash at its end.
func (in *Intent) directory(path string) string {
	if path == "/" {
		return path
	}
	return in.join(path, "/")
}

// find returns where path is, or would be, in a sorted list.
func find(list []vm.Value, path string) (at int, found bool) {
	return slices.BinarySearchFunc(list, path, func(v vm.Value, path string) int { return strings.Compare(v.Text, path) })
}

// cover reports whether path, which ends in a slash, is a root or lies inside of one. What a root begins follows
// it in the order of bytes, and no outer root begins another, so that only the one before path can.
func (r *roots) cover(path string) bool {
	at, found := find(r.outer, path)
	return found || at > 0 && strings.HasPrefix(path, r.outer[at-1].Text)
}

// holds reports whether path, which ends in a slash, is a root or has one inside: the first of those that path begins
// is where path would.
func (r *roots) holds(path string) bool {
	at, _ := find(r.all, path)
	return at < len(r.all) && strings.HasPrefix(r.all[at].Text, path)
}

// keep returns those elements of a list for which holds is as wanted, and missing where there are none. What is no list
// stays as it is.
func (in *Intent) keep(list vm.Value, holds func(path string) bool, wanted bool) vm.Value {
	if list.Kind != vm.List {
		return list
	}
	start := len(in.elements)
	for _, element := range list.Elems {
		if holds(element.Text) == wanted {
			in.elements = append(in.elements, element)
		}
	}
	if len(in.elements) == start {
		return vm.Value{}
	}
	return in.listFrom(start)
}
