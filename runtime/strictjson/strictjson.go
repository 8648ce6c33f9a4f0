// Package strictjson reads JSON objects strictly: a repeated or unknown name, a name in another case, a wrong type, null, bytes
// that are not UTF-8, half a surrogate pair and trailing data are refused, with an error that names the member (decisions,
// section 3). Bodies of requests for decisions are read by package intent.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Member is one member of a JSON object that is read strictly.
type Member struct {
	Name     string
	Required bool
	Read     func(value json.RawMessage) (problem string) // the value is valid JSON, and valid UTF-8
}

// Document reads a text that is one JSON object, and returns what is wrong with it. The name is what it is called there.
func Document(name string, text []byte, members []Member) (problem string) {
	if !utf8.Valid(text) {
		return name + " is not valid UTF-8"
	}
	return Object(text, members)
}

// lax leaves it to the members to find what is wrong in them, so that problems have their names.
var lax = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Object reads one JSON object of valid UTF-8, and returns what is wrong with it.
func Object(text []byte, members []Member) (problem string) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), lax...)
	if open, err := decoder.ReadToken(); err != nil || open.Kind() != jsontext.KindBeginObject {
		return "a JSON object is expected"
	}
	seen := make([]bool, len(members))
	for decoder.PeekKind() == jsontext.KindString {
		if problem := readMember(decoder, members, seen); problem != "" {
			return problem
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return "it is not valid JSON"
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return "something follows the JSON object; send it alone"
	}
	for i := range members {
		if members[i].Required && !seen[i] {
			return members[i].Name + " is missing"
		}
	}
	return ""
}

func readMember(decoder *jsontext.Decoder, members []Member, seen []bool) (problem string) {
	token, err := decoder.ReadToken()
	if err != nil {
		return "it is not valid JSON"
	}
	name := token.String()
	value, err := decoder.ReadValue()
	if err != nil {
		return fmt.Sprintf("the value of %.64q is not valid JSON", name)
	}
	for i := range members {
		switch {
		case members[i].Name != name:
		case seen[i]:
			return name + " is there twice; send it once"
		default:
			seen[i] = true
			if problem := members[i].Read(json.RawMessage(value.Clone())); problem != "" {
				return name + " " + problem
			}
			return ""
		}
	}
	return fmt.Sprintf("%.64q is not a field here", name)
}

// Text reads a string of at most limit bytes.
func Text(name string, required bool, limit int, into *string) Member {
	return Member{name, required, func(value json.RawMessage) string {
		var problem string
		switch *into, problem = String(value); {
		case problem != "":
			return problem
		case len(*into) > limit:
			return fmt.Sprintf("has %d bytes; at most %d are accepted", len(*into), limit)
		case required && *into == "":
			return "is empty"
		}
		return ""
	}}
}

// Integer reads an integer.
func Integer(name string, into *int64) Member {
	return Member{name, true, func(value json.RawMessage) string {
		if json.Unmarshal(value, into) != nil || bytes.Equal(value, []byte("null")) {
			return "is not an integer"
		}
		return ""
	}}
}

// List reads an array, element by element.
func List(name string, required bool, each func(value json.RawMessage) (problem string)) Member {
	return Member{name, required, func(value json.RawMessage) string {
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil || elements == nil {
			return "is not an array"
		}
		for i, element := range elements {
			if problem := each(element); problem != "" {
				return fmt.Sprintf("[%d]: %s", i, problem)
			}
		}
		if required && len(elements) == 0 {
			return "is empty"
		}
		return ""
	}}
}

// BoundedList is a required list of at most so many elements.
func BoundedList(name string, most int, each func(value json.RawMessage) (problem string)) Member {
	count := 0
	return List(name, true, func(value json.RawMessage) string {
		if count++; count > most {
			return fmt.Sprintf("is one too many; send at most %d at once", most)
		}
		return each(value)
	})
}

// String reads a JSON string.
func String(value json.RawMessage) (content, problem string) {
	if value[0] != '"' {
		return "", "is not a string"
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil { // the value is valid but for halves of surrogate pairs, which many decoders read as another character
		return "", "has half a surrogate pair"
	}
	return string(text), ""
}
