package policytest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bailiff/grammar"
	"bailiff/vm/slot"
)

// request is a request as members by name, before it becomes a body: those at the top and those in `intent`.
type request struct {
	top, inside *yaml.Node // mappings
}

// The fields of requests by where they are in the short form of an intent. What can be at either place is in
// `intent`.
var topFields, insideFields = func() (top, inside []string) {
	for _, field := range slot.Fields() {
		switch {
		case field.Field == slot.IntentObject:
		case field.Place == slot.Top:
			top = append(top, field.Name)
		default:
			inside = append(inside, field.Name)
		}
	}
	return top, inside
}()

// wholeField is the member of a request that holds the intent.
var wholeField = slot.IntentObject.String()

// defaults reads what is merged into every intent.
func (r *reader) defaults(node *yaml.Node) (request, error) {
	if node == nil {
		return request{mapping(), mapping()}, nil
	}
	return r.split(node, "defaults", false)
}

// split takes an intent apart, written in full or in short. Unknown fields are an error, unless the test is about one.
func (r *reader) split(node *yaml.Node, what string, lenient bool) (request, error) {
	if node.Kind != yaml.MappingNode {
		return request{}, r.fault(node, "%s has to be a mapping", what)
	}
	split := request{mapping(), mapping()}
	whole := member(node, wholeField)
	for key, value := range pairs(node) {
		switch {
		case key.Value == wholeField:
		case slices.Contains(topFields, key.Value):
			put(split.top, key, value)
		case whole == nil && (lenient || slices.Contains(insideFields, key.Value)):
			put(split.inside, key, value)
		case whole != nil && (lenient || slices.Contains(insideFields, key.Value)):
			put(split.top, key, value) // as it was written: what is where is part of the request
		default:
			return request{}, r.unknown(key, what, slices.Concat(topFields, insideFields))
		}
	}
	if whole == nil {
		return split, nil
	}
	if whole.Kind != yaml.MappingNode {
		if lenient {
			put(split.top, keyNode(node, wholeField), whole)
			return split, nil
		}
		return request{}, r.fault(whole, "%s has to be a mapping", wholeField)
	}
	for key, value := range pairs(whole) {
		if !lenient && !slices.Contains(insideFields, key.Value) {
			return request{}, r.unknown(key, "an intent", insideFields)
		}
		put(split.inside, key, value)
	}
	return split, nil
}

// body returns the request of an intent, with the defaults and what else every request needs.
func (r *reader) body(node *yaml.Node, base request, lenient bool) ([]byte, error) {
	own, err := r.split(node, "an intent", lenient)
	if err != nil {
		return nil, err
	}
	top, inside := merge(base.top, own.top), merge(base.inside, own.inside)
	if member(own.top, "userOpHash") != nil && member(own.top, "txCommit") == nil {
		remove(top, "txCommit") // a request commits to one thing
	}
	if member(own.top, "txCommit") != nil && member(own.top, "userOpHash") == nil {
		remove(top, "userOpHash")
	}
	fill(top, "framework", "custom")
	fill(top, "agentId", "policy-test")
	if member(top, "txCommit") == nil && member(top, "userOpHash") == nil {
		if action := member(inside, "action"); action != nil && strings.EqualFold(action.Value, slot.UserOpAction) {
			fill(top, "userOpHash", "0x"+strings.Repeat("0", 64))
		} else {
			fill(top, "txCommit", strings.Repeat("0", 64))
		}
	}
	if len(inside.Content) > 0 {
		put(top, text(wholeField), inside)
	}
	return r.appendJSON(nil, top)
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// put adds a member.
func put(node, key, value *yaml.Node) { node.Content = append(node.Content, key, value) }

// fill adds a member where there is none of that name.
func fill(node *yaml.Node, name, value string) {
	if member(node, name) == nil {
		put(node, text(name), text(value))
	}
}

// remove takes a member away.
func remove(node *yaml.Node, name string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			node.Content = slices.Delete(node.Content, i, i+2)
			return
		}
	}
}

// merge returns the members of both mappings. Where both have one, over counts, and mappings are merged in turn.
func merge(base, over *yaml.Node) *yaml.Node {
	merged := mapping()
	for key, value := range pairs(base) {
		other := member(over, key.Value)
		switch {
		case other == nil:
			put(merged, key, value)
		case other.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			put(merged, key, merge(value, other))
		default:
			put(merged, key, other)
		}
	}
	for key, value := range pairs(over) {
		if member(base, key.Value) == nil {
			put(merged, key, value)
		}
	}
	return merged
}

// notAmong is the error of a word that is none of those that can be there.
func (r *reader) notAmong(node *yaml.Node, words []string) error {
	if near := grammar.Closest(node.Value, words); near != "" {
		return r.fault(node, "%q is not known; did you mean %s?", node.Value, near)
	}
	if len(words) > len(statuses) {
		return r.fault(node, "%q is not known", node.Value)
	}
	return r.fault(node, "%q is not known; it can be %s", node.Value, strings.Join(words, ", "))
}
