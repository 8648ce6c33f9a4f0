package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// maxDepth bounds the nesting of what is sent; the service reads less.
const maxDepth = 256

// encode is the JSON of a body, nil for none. Text that is not UTF-8 is refused: JSON would carry another text, and that
// would be judged.
func encode(content any) ([]byte, error) {
	if content == nil {
		return nil, nil
	}
	if err := checkText(reflect.ValueOf(content), 0); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, fmt.Errorf("the request can't be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// checkText looks at every string of a value.
func checkText(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the request is nested more than %d levels deep; send fewer", maxDepth)
	}
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return errors.New("the request has text that is not UTF-8; it would be judged as another text")
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkText(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkText(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for member := v.MapRange(); member.Next(); {
			if err := errors.Join(checkText(member.Key(), depth+1), checkText(member.Value(), depth+1)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		return checkElements(v, depth)
	}
	return nil
}

// checkElements looks at the strings of a list. Bytes are JSON already, or are sent as base64.
func checkElements(v reflect.Value, depth int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Type() == reflect.TypeFor[json.RawMessage]() && !utf8.Valid(v.Bytes()) {
			return errors.New("the request has JSON that is not UTF-8; it would be judged as another text")
		}
		return nil
	}
	for i := range v.Len() {
		if err := checkText(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}
