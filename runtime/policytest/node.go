package policytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bailiff/grammar"
)

// fileProblem is what is wrong with a test file, and where.
type fileProblem struct {
	File         string
	Line, Column int // from 1; 0 where it is the file as a whole
	Message      string
}

// Error returns place and message.
func (p *fileProblem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// reader reads the nodes of one file.
type reader struct{ file string }

// fault returns what is wrong with a node.
func (r *reader) fault(at *yaml.Node, format string, arguments ...any) error {
	return &fileProblem{r.file, at.Line, at.Column, fmt.Sprintf(format, arguments...)}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document reads the one document of a file. Every node in it is a mapping, a sequence or a plain scalar.
func (r *reader) document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &fileProblem{File: r.file, Message: "the file is empty; it has to hold tests"}
		}
		problem := &fileProblem{File: r.file, Message: "not YAML: " + yamlLine.ReplaceAllString(err.Error(), "")}
		if found := yamlLine.FindStringSubmatch(err.Error()); found != nil && found[1] != "" {
			problem.Line, _ = strconv.Atoi(found[1])
			problem.Column = 1
		}
		return nil, problem
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, r.fault(&root, "the file holds more than one document")
	}
	return root.Content[0], r.check(root.Content[0])
}

// check refuses what has two readings: aliases, tags, keys that are twice or are no text.
func (r *reader) check(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return r.fault(node, "anchors and aliases are not supported; write it out, or use defaults")
	}
	if node.Style&yaml.TaggedStyle != 0 {
		return r.fault(node, "tags are not supported; remove %s", node.Tag)
	}
	if node.Kind == yaml.MappingNode {
		if err := r.checkKeys(node); err != nil {
			return err
		}
	}
	for _, child := range node.Content {
		if err := r.check(child); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) checkKeys(node *yaml.Node) error {
	lines := map[string]int{}
	for key := range pairs(node) {
		if key.Kind != yaml.ScalarNode || key.Value == "<<" {
			return r.fault(key, "a key has to be a plain name")
		}
		if line := lines[key.Value]; line > 0 {
			return r.fault(key, "%q is in line %d already", key.Value, line)
		}
		lines[key.Value] = key.Line
	}
	return nil
}

// pairs yields the keys and values of a mapping.
func pairs(node *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i], node.Content[i+1]) {
				return
			}
		}
	}
}

// member returns the value of a key, or nil.
func member(node *yaml.Node, name string) *yaml.Node {
	for key, value := range pairs(node) {
		if key.Value == name {
			return value
		}
	}
	return nil
}

// fields reads a mapping whose keys are known: each by its own function.
func (r *reader) fields(node *yaml.Node, what string, readers map[string]func(*yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return r.fault(node, "%s has to be a mapping", what)
	}
	for key, value := range pairs(node) {
		read, known := readers[key.Value]
		if !known {
			return r.unknown(key, what, sorted(readers))
		}
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

// unknown is the error of a key that is none of names.
func (r *reader) unknown(key *yaml.Node, what string, names []string) error {
	if near := grammar.Closest(key.Value, names); near != "" {
		return r.fault(key, "%s has no key %q; did you mean %s?", what, key.Value, near)
	}
	return r.fault(key, "%s has no key %q; it can have %s", what, key.Value, strings.Join(names, ", "))
}

// text returns a function that reads a text.
func (r *reader) text(into *string) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" || node.Value == "" {
			return r.fault(node, "has to be a text that is not empty")
		}
		*into = node.Value
		return nil
	}
}

// flag returns a function that reads true or false.
func (r *reader) flag(into *bool) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
			return r.fault(node, "has to be true or false")
		}
		*into = strings.EqualFold(node.Value, "true")
		return nil
	}
}

// number is a number as JSON writes it (RFC 8259, section 6).
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// appendJSON appends a node as JSON: numbers as they are written.
func (r *reader) appendJSON(dst []byte, node *yaml.Node) ([]byte, error) {
	switch node.Kind {
	case yaml.MappingNode:
		return r.appendObject(dst, node)
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, child := range node.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = r.appendJSON(dst, child); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return r.appendScalar(dst, node)
}

func (r *reader) appendObject(dst []byte, node *yaml.Node) ([]byte, error) {
	dst = append(dst, '{')
	for key, value := range pairs(node) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, key.Value), ':')
		var err error
		if dst, err = r.appendJSON(dst, value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (r *reader) appendScalar(dst []byte, node *yaml.Node) ([]byte, error) {
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return appendText(dst, node.Value), nil
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		return append(dst, strings.ToLower(node.Value)...), nil
	case "!!int", "!!float":
		if number.MatchString(node.Value) {
			return append(dst, node.Value...), nil
		}
	}
	return nil, r.fault(node, "%s is not a JSON number; put a text in quotes", node.Value)
}

// appendText appends a JSON string. What YAML reads is valid UTF-8.
func appendText(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a string can't fail
	return append(dst, quoted...)
}
