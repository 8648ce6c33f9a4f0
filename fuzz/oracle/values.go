package oracle

import (
	"encoding/json"
	"strings"
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

// A value is a JSON value of the request as it was sent.
type value struct {
	kind valueKind
	text string // of text, number ("in their shortest form, RFC 8785") and boolean
	node any    // as encoding/json reads it
}

func valueOf(node any) value {
	v := value{node: node}
	switch node := node.(type) {
	case string:
		v.kind, v.text = textKind, node
	case json.Number:
		v.kind, v.text = numberKind, numberText(node)
	case bool:
		v.kind, v.text = boolKind, map[bool]string{true: "true", false: "false"}[node]
	case []any:
		v.kind = listKind
	case map[string]any:
		v.kind = objectKind
	}
	return v
}

// scalar reports whether the value has a text to compare.
func (v value) scalar() bool { return v.kind == textKind || v.kind == numberKind || v.kind == boolKind }

// member returns the member of an object, or a missing value.
func (v value) member(name string) value {
	members, _ := v.node.(map[string]any)
	return valueOf(members[name])
}

// elements returns the elements of a list.
func (v value) elements() []value {
	var all []value
	list, _ := v.node.([]any)
	for _, node := range list {
		all = append(all, valueOf(node))
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

// reach returns what lies at a path below v, through the elements of lists: "a path walks through lists of objects".
func (v value) reach(path []string) []value {
	if len(path) == 0 {
		return []value{v}
	}
	elements := v.elements()
	if len(elements) == 0 {
		return v.member(path[0]).reach(path[1:])
	}
	var all []value
	for _, element := range elements {
		all = append(all, element.reach(path)...)
	}
	return all
}

func (j *judgement) has(field string) bool { return j.field(field).kind != missingKind }

func (j *judgement) text(field string) string { return j.field(field).text }

// field returns a whole field as it was sent. What the URL derives counts as sent.
func (j *judgement) field(name string) value {
	switch name {
	case "arguments", "metadata":
		return j.sent.tree(name)
	case "host", "path", "query":
		if u, ok := j.url(); ok {
			return valueOf(map[string]string{"host": u.rawHost, "path": u.path, "query": u.query}[name])
		}
	}
	if name == "path" {
		return j.sentPath()
	}
	return j.sent.field(name)
}

// sentPath returns the field `path`, or the list of several `paths`: "one item is `path`".
func (j *judgement) sentPath() value {
	paths := j.sent.field("paths")
	switch items := paths.elements(); len(items) {
	case 0:
		return j.sent.field("path")
	case 1:
		return items[0]
	}
	return paths
}

// url returns the parts of the field `url`, and false where it is absent.
func (j *judgement) url() (urlParts, bool) {
	sent := j.sent.field("url")
	return readURL(sent.text), sent.kind == textKind
}

// metadata returns what lies at a path below metadata.
func (j *judgement) metadata(path ...string) value {
	v := j.field("metadata")
	for _, name := range path {
		v = v.member(name)
	}
	return v
}

// onePath drops the `intent.` that a path may start with, and writes `metadata.arguments` as `arguments`: "rules may name
// either".
func onePath(path string) string {
	path = dropIntent(path)
	if path == "metadata.arguments" || strings.HasPrefix(path, "metadata.arguments.") {
		return strings.TrimPrefix(path, "metadata.")
	}
	return path
}

// at returns the value at a rule's path: the first segment is a field of the request, the others walk objects
// (specification, custom-rules.4). It does not walk through lists.
func (j *judgement) at(path string) value {
	if part, ok := j.mcpPart(path); ok {
		return valueOf(part)
	}
	segments := strings.Split(onePath(path), ".")
	v := j.field(segments[0])
	for _, name := range segments[1:] {
		v = v.member(name)
	}
	return v
}

// allAt is at for `deny_if`, which walks through lists.
func (j *judgement) allAt(path string) []value {
	if part, ok := j.mcpPart(path); ok {
		return []value{valueOf(part)}
	}
	segments := strings.Split(onePath(path), ".")
	return j.field(segments[0]).reach(segments[1:])
}

// mcpPart returns the values that the service derives of an action: "`metadata.serverId` and `metadata.toolName` are
// derived from the action".
func (j *judgement) mcpPart(path string) (string, bool) {
	if j.kind != mcpIntent || path != "metadata.serverId" && path != "metadata.toolName" {
		return "", false
	}
	server, tool := j.mcpParts()
	return map[string]string{"metadata.serverId": server, "metadata.toolName": tool}[path], true
}

// dropIntent drops the `intent.` that a path may start with.
func dropIntent(path string) string { return strings.TrimPrefix(path, "intent.") }
