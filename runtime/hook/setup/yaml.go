package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlDocument is a YAML file as lines, and as nodes that know their lines.
type yamlDocument struct {
	lines   []string // each with its line end
	root    *yaml.Node
	decoded any
}

// parseYAML reads a YAML file of one document whose outermost node is a block mapping, or which is empty.
func parseYAML(text []byte) (document, error) {
	if strings.ContainsAny(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r\u0085\u2028\u2029\ufeff") {
		return nil, errors.New("it has line ends other than LF and CRLF, or a byte-order mark, so lines can't be told; write it anew with one kind of line end")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	d := &yamlDocument{lines: slices.Collect(strings.Lines(string(text)))}
	err := decoder.Decode(&node)
	if errors.Is(err, io.EOF) {
		d.decoded = map[string]any{}
		return d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("it is not YAML (%s); mend it first", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document; the host reads one")
	}
	if d.root = node.Content[0]; lastLine(d.root) > len(d.lines) {
		return nil, errors.New("its lines can't be told; write it anew in block form")
	}
	var decoded map[string]any
	if err := node.Decode(&decoded); err != nil { // a key that is there twice is an error, too
		return nil, fmt.Errorf("it is not a YAML mapping, or has a key twice (%s); mend it first", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoded == nil {
		decoded = map[string]any{}
	}
	d.decoded = decoded
	return d, nil
}

func (d *yamlDocument) value() any { return normal(d.decoded) }

// insert implements document.
func (d *yamlDocument) insert(path []string, entry any) ([]byte, error) {
	mapping, line, indent := d.root, len(d.lines), ""
	if mapping != nil && mapping.Kind == yaml.ScalarNode && mapping.Tag == "!!null" {
		mapping = nil
	}
	for depth, name := range path {
		if mapping == nil {
			return d.with(line, indent, path[depth:], entry), nil
		}
		if mapping.Kind != yaml.MappingNode || mapping.Style&yaml.FlowStyle != 0 {
			return nil, misplaced(path[:depth], "a mapping in block form")
		}
		key, value := child(mapping, name)
		if depth > 0 {
			indent = strings.Repeat(" ", mapping.Column-1)
		}
		if key == nil {
			return d.with(line, indent, path[depth:], entry), nil
		}
		line, mapping = key.Line, value
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "" {
			mapping, indent = nil, indent+"  "
			if depth == len(path)-1 {
				return d.with(line, indent, nil, entry), nil
			}
		}
	}
	if mapping.Kind != yaml.SequenceNode || mapping.Style&yaml.FlowStyle != 0 || len(mapping.Content) == 0 {
		return nil, misplaced(path, "a list in block form")
	}
	return d.with(mapping.Line-1, strings.Repeat(" ", mapping.Column-1), nil, entry), nil
}

// child returns a key of a mapping and its value, nil where there is none.
func child(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// with returns the text with an entry, below the keys of a path, after so many lines.
func (d *yamlDocument) with(line int, indent string, path []string, entry any) []byte {
	var added strings.Builder
	for _, name := range path {
		added.WriteString(indent + name + ":\n")
		indent += "  "
	}
	object, _ := entry.(map[string]any)
	mark := "- "
	for _, name := range ordered(object) {
		added.WriteString(indent + mark + name + ": " + string(literal(object[name])) + "\n") // a JSON scalar is a YAML one
		mark = "  "
	}
	text := strings.Join(d.lines[:line], "")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	block := added.String()
	if strings.Contains(text, "\r\n") {
		block = strings.ReplaceAll(block, "\n", "\r\n")
	}
	return []byte(text + block + strings.Join(d.lines[line:], ""))
}

// remove implements document. It removes whole lines, of block nodes only.
func (d *yamlDocument) remove(path []string) ([]byte, error) {
	nodes := []*yaml.Node{d.root} // the text at each part of the path
	keys := []*yaml.Node{nil}     // and the key in front of it
	for _, name := range path {
		parent := nodes[len(nodes)-1]
		if parent.Style&yaml.FlowStyle != 0 {
			return nil, misplaced(path[:len(nodes)-1], "in block form")
		}
		var key, value *yaml.Node
		if parent.Kind == yaml.SequenceNode {
			i, _ := strconv.Atoi(name)
			value = parent.Content[i]
		} else {
			key, value = child(parent, name)
		}
		nodes, keys = append(nodes, value), append(keys, key)
	}
	at := len(nodes) - 1
	for at > 1 && size(nodes[at-1]) == 1 { // the list, or the mapping, has nothing else
		at--
	}
	first := nodes[at].Line
	if keys[at] != nil {
		first = keys[at].Line
	}
	last := lastLine(nodes[at])
	return []byte(strings.Join(d.lines[:first-1], "") + strings.Join(d.lines[last:], "")), nil
}

// size is how many values a list or a mapping has.
func size(node *yaml.Node) int {
	if node.Kind == yaml.MappingNode {
		return len(node.Content) / 2
	}
	return len(node.Content)
}

// lastLine is the line on which a node of plain scalars ends.
func lastLine(node *yaml.Node) int {
	last := node.Line
	for _, inner := range node.Content {
		last = max(last, lastLine(inner))
	}
	return last
}
