package oracle

import (
	"strings"

	"bailiff/runtime/intent"
	"bailiff/vm" // for the names of kinds alone, which are what intent.Node.Kind returns
)

// A valueKind is the kind of a JSON value. "A null inside metadata or arguments is judged as missing" (choices).
type valueKind int

const (
	missingKind valueKind = iota
	textKind
	numberKind
	boolKind
	listKind
	objectKind
)

// A value is a JSON value of the request, or one that the service derives.
type value struct {
	kind valueKind
	text string // of text, number ("by their RFC 8785 text") and boolean
	node intent.Node
}

func valueOf(n intent.Node) value {
	v := value{text: n.Text(), node: n}
	switch n.Kind() {
	case vm.String:
		v.kind = textKind
	case vm.Number:
		v.kind = numberKind
	case vm.Bool:
		v.kind = boolKind
	case vm.List:
		v.kind = listKind
	case vm.Object:
		v.kind = objectKind
	}
	return v
}

// scalar reports whether the value has a text to compare.
func (v value) scalar() bool { return v.kind == textKind || v.kind == numberKind || v.kind == boolKind }

// member returns the member of an object, or a missing value.
func (v value) member(name string) value {
	if v.kind != objectKind {
		return value{}
	}
	return valueOf(v.node.Member(name))
}

// elements returns the elements of a list.
func (v value) elements() []value {
	var all []value
	if v.kind == listKind {
		for _, node := range v.node.Children() {
			all = append(all, valueOf(node))
		}
	}
	return all
}

// texts returns the elements of a list of texts. It reports false where the value is anything else, or the list is
// empty.
func (v value) texts() ([]string, bool) {
	var all []string
	for _, element := range v.elements() {
		if element.kind != textKind {
			return nil, false
		}
		all = append(all, element.text)
	}
	return all, len(all) > 0
}

// fieldNamed finds a field by its name.
var fieldNamed = func() map[string]intent.Field {
	index := map[string]intent.Field{}
	for _, row := range intent.Fields() {
		index[row.Name] = row.Field
	}
	return index
}()

// field returns a whole field as it was sent.
func (j *judgement) field(f intent.Field) value { return valueOf(j.in.Node(f)) }

// metadata returns what lies at a path below metadata.
func (j *judgement) metadata(path ...string) value {
	v := j.field(intent.Metadata)
	for _, name := range path {
		v = v.member(name)
	}
	return v
}

// at returns what a rule's path stands for: "A path may start with `intent.`, which is dropped; its first segment
// must be a field of the request; `metadata.x.y` walks objects" (decisions, section 2, "Matching").
func (j *judgement) at(path string) value {
	if derived, ok := j.derived(path); ok {
		return value{kind: textKind, text: derived}
	}
	segments := strings.Split(path, ".")
	v := j.field(fieldNamed[segments[0]])
	for _, name := range segments[1:] {
		v = v.member(name)
	}
	return v
}

// derived returns the values that the service derives: "`host`, `path` and `query` are derived" from the URL, and
// "`metadata.serverId` and `metadata.toolName` are derived from the action", in lower case.
func (j *judgement) derived(path string) (string, bool) {
	switch path {
	case "host", "path", "query":
		if !j.in.Has(intent.URL) {
			return "", false
		}
		u := readURL(j.in.Text(intent.URL))
		return map[string]string{"host": u.host, "path": u.path, "query": u.query}[path], true
	case "metadata.serverId", "metadata.toolName":
		if j.kind != mcpIntent {
			return "", false
		}
		server, tool := j.mcpParts()
		return map[string]string{"metadata.serverId": server, "metadata.toolName": tool}[path], true
	}
	return "", false
}

// dropIntent drops the `intent.` that a path may start with.
func dropIntent(path string) string { return strings.TrimPrefix(path, "intent.") }
