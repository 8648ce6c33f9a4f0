package hook

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A member is a member of a JSON object, its value as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// An object is a JSON object in the order of its text. Names are unique, at all levels.
type object []member

// maxParts bounds the members of an object and the elements of a list that are looked at one by one: there is no tool with
// so many, and each takes more memory than its text.
const maxParts = 4096

// readObject reads a text as one JSON object and nothing else. What it returns shares the text's memory.
func readObject(text []byte) (object, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	if decoder.PeekKind() != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	members := object{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, malformed(err)
		}
		m := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, malformed(err)
		}
		end := decoder.InputOffset()
		m.value = text[end-int64(len(value)) : end : end] // the decoder's own may change
		if members = append(members, m); len(members) > maxParts {
			return nil, fmt.Errorf("an object has more than %d members", maxParts)
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	if len(bytes.Trim(text[decoder.InputOffset():], " \t\r\n")) > 0 {
		return nil, errors.New("something follows the JSON object")
	}
	return members, nil
}

// malformed names the fault of a JSON text, without the text itself.
func malformed(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("a name occurs twice in an object")
	case errors.As(err, &syntactic):
		return fmt.Errorf("it is not valid JSON from byte %d on", syntactic.ByteOffset)
	}
	return errors.New("it ends before the JSON object does")
}

// get returns the value of a member, nil where there is none or it is null.
func (o object) get(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name && o[i].value.Kind() != 'n' {
			return o[i].value
		}
	}
	return nil
}

// text returns the text of a member, empty where there is none. A member of another type is an error.
func (o object) text(name string) (string, error) {
	value := o.get(name)
	if value == nil {
		return "", nil
	}
	text, ok := textOf(value)
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return text, nil
}

// first returns the text of the first of several members that is there and not empty.
func (o object) first(names ...string) (string, error) {
	for _, name := range names {
		if text, err := o.text(name); text != "" || err != nil {
			return text, err
		}
	}
	return "", nil
}

// object returns the members of an object, or of one that is in a string; nil where there is none.
func (o object) object(name string) (object, error) {
	value := o.get(name)
	if value == nil {
		return nil, nil
	}
	if text, ok := textOf(value); ok {
		value = jsontext.Value(text)
	}
	inner, err := readObject(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return inner, nil
}

// without returns the members with other names.
func (o object) without(names ...string) object {
	rest := make(object, 0, len(o))
	for _, m := range o {
		if !slices.Contains(names, m.name) {
			rest = append(rest, m)
		}
	}
	return rest
}

// json is the object as JSON.
func (o object) json() []byte {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendText(text, m.name), ':')
		text = append(text, m.value...)
	}
	return append(text, '}')
}

// add appends a member with a text, unless it is empty.
func (o *object) add(name, text string) {
	if text != "" {
		*o = append(*o, member{name, appendText(nil, text)})
	}
}

// textOf returns the text of a JSON string.
func textOf(value jsontext.Value) (string, bool) {
	if value.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

// elements returns the elements of an array; a value that is none is its own only element. They share its memory.
func elements(value jsontext.Value) ([]jsontext.Value, error) {
	if value.Kind() != '[' {
		return []jsontext.Value{value}, nil
	}
	var all []jsontext.Value
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	for decoder.PeekKind() != ']' {
		element, err := decoder.ReadValue()
		if err != nil {
			return nil, malformed(err)
		}
		end := decoder.InputOffset()
		if all = append(all, value[end-int64(len(element)):end:end]); len(all) > maxParts {
			return nil, fmt.Errorf("a list has more than %d elements", maxParts)
		}
	}
	return all, nil
}
