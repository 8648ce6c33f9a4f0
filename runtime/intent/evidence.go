package intent

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/slot"
)

// unreadable is the value of a field that is present but malformed.
var unreadable = vm.Value{Kind: vm.Invalid}

// The objects of metadata in which a shim says what an intent will do (docs/judging.md, "Resource profiles").
const (
	callEvidence      = "evm"
	executionEvidence = "execution"
	fileEvidence      = "filesystem"
	gitEvidence       = "git"
	databaseEvidence  = "database"
)

// A digest is what several slots need of the evidence, read once for a request.
type digest struct {
	files              files
	writable, readable roots
	folded             roots // the writable roots, as file systems compare them
}

// evidence returns an object of metadata, or 0 where there is no such object.
func (in *Intent) evidence(name string) int32 {
	if at := in.member(in.at[slot.Metadata], name); at != 0 && in.nodes[at].kind == vm.Object {
		return at
	}
	return 0
}

// given returns a member of an object, or 0 where it is absent; a null counts as absent.
func (in *Intent) given(object int32, name string) int32 {
	if at := in.member(object, name); at != 0 && in.nodes[at].kind != vm.Null {
		return at
	}
	return 0
}

// givenText returns a member that is a string.
func (in *Intent) givenText(object int32, name string) (text string, ok bool) {
	if at := in.member(object, name); at != 0 && in.nodes[at].kind == vm.String {
		return in.nodes[at].text, true
	}
	return "", false
}

// isTrue reports whether a member is the boolean true.
func (in *Intent) isTrue(object int32, name string) bool {
	at := in.member(object, name)
	return at != 0 && in.nodes[at].kind == vm.Bool && in.nodes[at].text == "true"
}

// isList reports whether the node at is an array with elements.
func (in *Intent) isList(at int32) bool {
	return at != 0 && in.nodes[at].kind == vm.List && in.nodes[at].next > at+1
}

// length returns the number of elements of an array, and 0 for anything else.
func (in *Intent) length(at int32) (n uint64) {
	if !in.isList(at) {
		return 0
	}
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		n++
	}
	return n
}

// texts returns an array of strings. It is missing where there is no array or it is empty, and invalid where an element is
// no string that accept takes.
func (in *Intent) texts(at int32, accept func(string) bool) vm.Value {
	if !in.isList(at) {
		return vm.Value{}
	}
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		if n := &in.nodes[i]; n.kind != vm.String || !accept(n.text) {
			return unreadable
		}
	}
	start := len(in.elements)
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		in.elements = append(in.elements, text(in.nodes[i].text))
	}
	return in.listFrom(start)
}

func anyText(string) bool { return true }

// join puts texts together in the memory of the request.
func (in *Intent) join(parts ...string) string {
	start := len(in.text)
	for _, part := range parts {
		in.text = append(in.text, part...)
	}
	return borrow(in.text[start:])
}

// lowerUnicode returns text in lower case, as strings.ToLower does.
func (in *Intent) lowerUnicode(text string) string {
	if !isASCII(text) {
		return strings.ToLower(text)
	}
	return in.lower(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// count returns a number of things.
func (in *Intent) count(n uint64) vm.Value {
	start := len(in.text)
	in.text = strconv.AppendUint(in.text, n, 10)
	return vm.Value{Kind: vm.Number, Text: borrow(in.text[start:])}
}

// quantity returns what counters add up.
func (in *Intent) quantity(a amount.Amount) vm.Value {
	start := len(in.text)
	in.text = a.AppendFormat(in.text, 0)
	return vm.Value{Kind: vm.Number, Text: borrow(in.text[start:]), BaseUnits: true}
}

// derivedBoundary tells whether there is an execution boundary at all.
func derivedBoundary(in *Intent, from Provenance) vm.Value {
	return textIf(from == Shim && in.evidence(executionEvidence) != 0, string(Shim))
}
