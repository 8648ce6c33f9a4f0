package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonDocument is a JSON file as a tree that has every byte of it.
type jsonDocument struct {
	root    hujson.Value
	decoded any
	unit    string // one step of indentation; empty where the file is one line
	newline string // empty where the file is one line
}

// parseJSON reads a JSON file; with comments also one that has comments and trailing commas.
func (h *Host) parseJSON(text []byte, comments bool) (*jsonDocument, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
		if h.fresh != "" {
			text = []byte("{\n  " + h.fresh + "\n}\n")
		}
	}
	root, err := hujson.Parse(slices.Clone(text))
	if err != nil && h.form == json5Form {
		return nil, fmt.Errorf("it is not JSON with comments (%w), and of JSON5 no more than comments and trailing commas is edited; put all names and texts in double quotes first", plainJSON(err))
	} else if err != nil {
		return nil, fmt.Errorf("it is not JSON (%w); mend it first", plainJSON(err))
	}
	if !comments && !root.IsStandard() {
		return nil, errors.New("it has comments or trailing commas, which this host does not read; remove them first")
	}
	object, isObject := root.Value.(*hujson.Object)
	if !isObject {
		return nil, errors.New("it is not a JSON object; mend it first")
	}
	if name := repeated(&root); name != "" {
		return nil, fmt.Errorf("it has the key %q twice in one object, and hosts differ on which one counts; remove one first", name)
	}
	standard := root.Clone()
	standard.Standardize()
	d := &jsonDocument{root: root, unit: "  ", newline: "\n"}
	if err := json.Unmarshal(standard.Pack(), &d.decoded); err != nil {
		return nil, fmt.Errorf("it is not JSON (%w); mend it first", err)
	}
	d.style(text, object)
	return d, nil
}

// plainJSON is an error of the parser without its package's name.
func plainJSON(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "hujson: ")) }

// style finds the file's indentation and line ends.
func (d *jsonDocument) style(text []byte, root *hujson.Object) {
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	if len(root.Members) == 0 {
		return
	}
	if unit, broken := indentation(root.Members[0].Name.BeforeExtra); broken {
		d.unit = unit
		return
	}
	d.unit, d.newline = "", ""
}

// indentation returns the white space after the last line end of the text in front of a value.
func indentation(extra hujson.Extra) (indent string, broken bool) {
	_, indent, broken = cutLast(string(extra), "\n")
	return indent, broken && strings.TrimLeft(indent, " \t") == ""
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// repeated returns a name that an object has twice, empty where none has.
func repeated(root *hujson.Value) string {
	for value := range root.All() {
		object, isObject := value.Value.(*hujson.Object)
		if !isObject {
			continue
		}
		seen := map[string]bool{}
		for _, member := range object.Members {
			name := member.Name.Value.(hujson.Literal).String()
			if seen[name] {
				return name
			}
			seen[name] = true
		}
	}
	return ""
}

func (d *jsonDocument) value() any { return d.decoded }

// insert implements document.
func (d *jsonDocument) insert(path []string, entry any) ([]byte, error) {
	return d.put(path, entry, atStart)
}

// where is the place of a value that is put into a document: at the start or the end of the list at a path, or the path itself.
type where int

const (
	atStart where = iota
	atEnd
	atName
)

// put returns the text with a value at a place, and makes the objects and the list that are not there.
func (d *jsonDocument) put(path []string, entry any, place where) ([]byte, error) {
	at, depth := &d.root, 0
	for ; depth < len(path); depth++ {
		object, isObject := at.Value.(*hujson.Object)
		if !isObject {
			return nil, misplaced(path[:depth], "an object")
		}
		i := slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == path[depth] })
		if i < 0 {
			return d.addMember(object, depth, path[depth], nested(path[depth+1:], entry, place))
		}
		at = &object.Members[i].Value
	}
	array, isArray := at.Value.(*hujson.Array)
	if place == atName || !isArray {
		return nil, misplaced(path, "a list")
	}
	var first hujson.Extra
	if len(array.Elements) > 0 {
		first = array.Elements[0].BeforeExtra
	}
	value, err := d.made(entry, depth, first, len(array.Elements) == 0, &array.AfterExtra)
	if err != nil {
		return nil, err
	}
	if last := len(array.Elements) - 1; place == atEnd && last >= 0 {
		if len(value.BeforeExtra) == 0 && d.newline != "" {
			value.BeforeExtra = hujson.Extra(" ")
		}
		if array.Elements[last].AfterExtra != nil { // there is a comma after the last value
			value.AfterExtra = hujson.Extra{}
		}
		array.Elements = append(array.Elements, value)
		return d.root.Pack(), nil
	}
	array.Elements = slices.Insert(array.Elements, 0, value)
	return d.root.Pack(), nil
}

// misplaced is the error of a value that has another type than hooks need.
func misplaced(path []string, want string) error {
	return fmt.Errorf("%s is not %s, so no hook can be added; mend it first", strings.Join(path, "."), want)
}

// nested wraps an entry in the objects of a path, and in a list where it belongs into one.
func nested(path []string, entry any, place where) any {
	value := entry
	if place != atName {
		value = []any{entry}
	}
	for _, name := range slices.Backward(path) {
		value = map[string]any{name: value}
	}
	return value
}

// addMember puts a member in front of those of an object.
func (d *jsonDocument) addMember(object *hujson.Object, depth int, name string, value any) ([]byte, error) {
	var first hujson.Extra
	if len(object.Members) > 0 {
		first = object.Members[0].Name.BeforeExtra
	}
	made, err := d.made(value, depth, first, len(object.Members) == 0, &object.AfterExtra)
	if err != nil {
		return nil, err
	}
	member := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: made.BeforeExtra, Value: hujson.String(name)}, Value: made}
	member.Value.BeforeExtra = nil
	if d.newline != "" {
		member.Value.BeforeExtra = hujson.Extra(" ")
	}
	object.Members = slices.Insert(object.Members, 0, member)
	return d.root.Pack(), nil
}

// made returns a value to be put in front of the values of a container at a depth. First is the text in front of the first of
// these; an empty container gets a line end before its closing bracket.
func (d *jsonDocument) made(value any, depth int, first hujson.Extra, empty bool, after *hujson.Extra) (hujson.Value, error) {
	indent, broken := indentation(first)
	if !broken {
		indent = strings.Repeat(d.unit, depth+1)
	}
	newline, unit := d.newline, d.unit
	if !empty && !broken {
		newline, unit, indent = "", "", ""
	}
	text := render(value, indent, unit)
	if newline == "\r\n" {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	made, err := hujson.Parse(text)
	made.BeforeExtra, made.AfterExtra = hujson.Extra(newline+indent), nil
	if empty && !strings.Contains(string(*after), "\n") && newline != "" {
		*after = append(slices.Clone(*after), newline+strings.Repeat(d.unit, depth)...)
	}
	return made, err
}

// remove implements document.
func (d *jsonDocument) remove(path []string) ([]byte, error) {
	for ; len(path) > 1; path = path[:len(path)-1] {
		parent := d.at(path[:len(path)-1])
		if removeChild(parent, path[len(path)-1]) > 0 {
			break
		}
	}
	if len(path) == 1 {
		removeChild(&d.root, path[0])
	}
	return d.root.Pack(), nil
}

// at returns the value at a path that exists.
func (d *jsonDocument) at(path []string) *hujson.Value {
	value := &d.root
	for _, name := range path {
		switch container := value.Value.(type) {
		case *hujson.Object:
			value = &container.Members[memberOf(container, name)].Value
		case *hujson.Array:
			i, _ := strconv.Atoi(name)
			value = &container.Elements[i]
		}
	}
	return value
}

func memberOf(object *hujson.Object, name string) int {
	return slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name })
}

// removeChild removes a member or an element, and returns how many are left.
func removeChild(parent *hujson.Value, name string) int {
	switch container := parent.Value.(type) {
	case *hujson.Object:
		i := memberOf(container, name)
		container.Members = slices.Delete(container.Members, i, i+1)
		return len(container.Members)
	case *hujson.Array:
		i, _ := strconv.Atoi(name)
		comma := container.Elements[len(container.Elements)-1].AfterExtra != nil // after the last one
		container.Elements = slices.Delete(container.Elements, i, i+1)
		if last := len(container.Elements) - 1; comma && last >= 0 && container.Elements[last].AfterExtra == nil {
			container.Elements[last].AfterExtra = hujson.Extra{}
		}
		return len(container.Elements)
	}
	return 0
}

// keyOrder is the order in which the members of an entry are written; others follow by name.
var keyOrder = []string{"matcher", "hooks", "type", "name", "command", "bash", "args", "url", "headers", "allowedEnvVars", "timeout", "timeoutSec", "onFailure", "failClosed", "fail_closed"}

// ordered returns the names of an object as they are written.
func ordered(object map[string]any) []string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	rank := func(name string) int {
		if i := slices.Index(keyOrder, name); i >= 0 {
			return i
		}
		return len(keyOrder)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// render writes a value as JSON: every line but the first begins with indent. Without a unit it is one line.
func render(value any, indent, unit string) []byte {
	line, space, deeper := "\n", " ", indent+unit
	if unit == "" {
		line, space, deeper, indent = "", "", "", ""
	}
	var out bytes.Buffer
	put := func(open, shut string, n int, item func(i int)) {
		out.WriteString(open)
		for i := range n {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(line + deeper)
			item(i)
		}
		if n > 0 {
			out.WriteString(line + indent)
		}
		out.WriteString(shut)
	}
	switch v := value.(type) {
	case map[string]any:
		names := ordered(v)
		put("{", "}", len(names), func(i int) {
			out.Write(literal(names[i]))
			out.WriteString(":" + space)
			out.Write(render(v[names[i]], deeper, unit))
		})
	case []any:
		put("[", "]", len(v), func(i int) { out.Write(render(v[i], deeper, unit)) })
	default:
		out.Write(literal(value))
	}
	return out.Bytes()
}

// literal is a scalar as JSON.
func literal(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte("null") // no value of a document is without a JSON form
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// normal is a value with its numbers as JSON's decoder has them.
func normal(value any) any {
	var decoded any
	_ = json.Unmarshal(render(value, "", ""), &decoded) // what render writes is JSON
	return decoded
}
