// Package strictjson reads JSON objects strictly: a repeated or unknown name, a name in another case, a wrong type, null, bytes
// that are not UTF-8, half a surrogate pair and trailing data are refused, and what is wrong is said with the name of the member
// (decisions, section 3).
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
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

// Object reads one JSON object of valid UTF-8, and returns what is wrong with it.
func Object(text []byte, members []Member) (problem string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return "a JSON object is expected"
	}
	seen := make([]bool, len(members))
	for decoder.More() {
		if problem := readMember(decoder, members, seen); problem != "" {
			return problem
		}
	}
	if _, err := decoder.Token(); err != nil {
		return "it is not valid JSON"
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "something follows the JSON object; send it alone"
	}
	for i := range members {
		if members[i].Required && !seen[i] {
			return members[i].Name + " is missing"
		}
	}
	return ""
}

func readMember(decoder *json.Decoder, members []Member, seen []bool) (problem string) {
	token, err := decoder.Token()
	name, isText := token.(string)
	if err != nil || !isText {
		return "it is not valid JSON"
	}
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return fmt.Sprintf("the value of %.64q is not valid JSON", name)
	}
	for i := range members {
		switch {
		case members[i].Name != name:
		case seen[i]:
			return name + " is there twice; send it once"
		default:
			seen[i] = true
			if problem := members[i].Read(value); problem != "" {
				return name + " " + problem
			}
			return ""
		}
	}
	return fmt.Sprintf("%.64q is no field here", name)
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
	if value[0] != '"' || json.Unmarshal(value, &content) != nil {
		return "", "is not a string"
	}
	if halfSurrogate(value) {
		return "", "has half a surrogate pair"
	}
	return content, ""
}

// halfSurrogate reports whether a JSON string escapes one half of a surrogate pair without the other. The standard decoder
// reads that as another character, which was not sent.
func halfSurrogate(value []byte) bool {
	for i := 0; i+1 < len(value); i++ {
		if value[i] != '\\' {
			continue
		}
		i++
		if value[i] != 'u' {
			continue
		}
		first := unit(value[i+1:])
		i += 4
		if first < 0xd800 || first > 0xdfff {
			continue
		}
		rest := value[i+1:]
		if first > 0xdbff || len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || unit(rest[2:])&^0x3ff != 0xdc00 {
			return true
		}
		i += 6
	}
	return false
}

// unit is the number that four hexadecimal digits are. The text is valid JSON, so that there are four.
func unit(digits []byte) (value rune) {
	for _, c := range digits[:4] {
		value <<= 4
		switch {
		case c <= '9':
			value += rune(c - '0')
		default:
			value += rune(c|0x20-'a') + 10
		}
	}
	return value
}
