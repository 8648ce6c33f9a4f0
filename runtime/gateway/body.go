package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a request (decisions, section 3).
const (
	MaxBody   = 1 << 20 // bytes
	maxDepth  = 32
	maxParams = 16  // members of params; no method that is let through takes more than four
	maxID     = 256 // bytes of the id as it was written
	maxMethod = 128 // bytes
)

// A call is a JSON-RPC request as it was read.
type call struct {
	id     []byte // as it was written; nil where there is none
	method string
	params []jsontext.Value // each in its shortest form
}

// readCall reads the body of a request: one JSON object with the members jsonrpc, id, method and params, each at most
// once. A batch, a name that comes twice at any depth, trailing data, invalid UTF-8, a lone surrogate, an unknown
// member, and numbers that readers differ on are errors, which name the fault and its place.
func readCall(body []byte) (*call, error) {
	if len(body) > MaxBody {
		return nil, fmt.Errorf("the body has %d bytes; %d are the most", len(body), MaxBody)
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("the body is empty; send one JSON-RPC 2.0 request")
	case trimmed[0] == '[':
		return nil, errors.New("the body is a batch; send one request at a time")
	case trimmed[0] != '{':
		return nil, errors.New("the body is not a JSON object")
	}
	if err := scan(body); err != nil {
		return nil, err
	}
	c := new(call)
	if err := c.read(body); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *call) read(body []byte) error {
	members, err := readObject(body)
	if err != nil {
		return fmt.Errorf("the body is not valid JSON: %w", err)
	}
	version := false
	for _, m := range members {
		switch m.name {
		case "jsonrpc":
			version = string(m.value) == `"2.0"`
		case "id":
			err = c.setID(m.value)
		case "method":
			err = c.setMethod(m.value)
		case "params":
			err = c.setParams(m.value)
		default:
			err = fmt.Errorf("%.64q is not a member of a JSON-RPC request", m.name)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !version:
		return errors.New(`jsonrpc must be "2.0"`)
	case c.method == "":
		return errors.New("method is missing")
	}
	return nil
}

func (c *call) setID(raw jsontext.Value) error {
	if kind := raw.Kind(); kind != '"' && kind != '0' && kind != 'n' {
		return errors.New("id must be a string, a number or null")
	}
	if len(raw) > maxID {
		return fmt.Errorf("id has %d bytes; %d are the most", len(raw), maxID)
	}
	c.id = bytes.Clone(raw)
	return nil
}

func (c *call) setMethod(raw jsontext.Value) error {
	text, err := stringOf(raw)
	if err != nil || text == "" || len(text) > maxMethod {
		return fmt.Errorf("method must be a string of 1 to %d bytes", maxMethod)
	}
	c.method = text
	return nil
}

func (c *call) setParams(raw jsontext.Value) error {
	if string(raw) == "[]" {
		return nil
	}
	if raw.Kind() != '[' {
		return errors.New("params must be an array: parameters go by position")
	}
	values, err := readArray(raw)
	if err != nil {
		return err
	}
	if len(values) > maxParams {
		return fmt.Errorf("params has %d members; %d are the most", len(values), maxParams)
	}
	for i := range values {
		if err := values[i].Format(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
			return fmt.Errorf("params[%d]: %w", i, err)
		}
	}
	c.params = values
	return nil
}

// A member is a name and the text behind it, as it was written: a part of the text.
type member struct {
	name  string
	value jsontext.Value
}

// readObject reads text as one JSON object and nothing behind it.
func readObject(text []byte) ([]member, error) {
	members := make([]member, 0, 4) // as many as a request has
	err := readComposite(text, '{', func(d *decoder) error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err == nil {
			end := d.InputOffset()
			members = append(members, member{name, text[end-int64(len(value)) : end : end]})
		}
		return err
	})
	return members, err
}

// readArray reads text as one JSON array and nothing behind it.
func readArray(text []byte) ([]jsontext.Value, error) {
	var values []jsontext.Value
	err := readComposite(text, '[', func(d *decoder) error {
		value, err := d.ReadValue()
		if err == nil {
			values = append(values, bytes.Clone(value))
		}
		return err
	})
	return values, err
}

func readComposite(text []byte, open byte, each func(*decoder) error) error {
	d := openDecoder(text)
	defer d.close()
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if byte(token.Kind()) != open {
		return fmt.Errorf("it begins with %q, not with %q", byte(token.Kind()), open)
	}
	for kind := d.PeekKind(); kind != '}' && kind != ']'; kind = d.PeekKind() {
		if err := each(d); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if len(bytes.Trim(text[d.InputOffset():], " \t\r\n")) > 0 {
		return errors.New("something follows the value")
	}
	return nil
}

// A decoder is a jsontext.Decoder that is used again. It reads from the text's own memory, and changes nothing there.
type decoder struct {
	jsontext.Decoder
	source bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func openDecoder(text []byte, options ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.source = *bytes.NewBuffer(text)
	d.Reset(&d.source, options...)
	return d
}

// close gives the decoder back, without the text.
func (d *decoder) close() {
	d.source = bytes.Buffer{}
	d.Reset(&d.source)
	decoders.Put(d)
}

// stringOf decodes a JSON string.
func stringOf(raw jsontext.Value) (string, error) {
	if raw.Kind() != '"' {
		return "", errors.New("it is not a string")
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err
}

// scan bounds what readers of JSON differ on, before anything is parsed: how deep values nest, and numbers.
func scan(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("the body is not valid UTF-8")
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = stringEnd(text, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("the body nests deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			end := numberEnd(text, i)
			if !exact(string(text[i:end])) {
				return fmt.Errorf("the number %.32s at byte %d is one that readers differ on; write an integer of up to 2^53-1, one of up to 15 digits with a fraction, or a hexadecimal string", text[i:end], i)
			}
			i = end - 1
		}
	}
	return nil
}

// stringEnd returns where the closing quote of the string at start is, or the end of text.
func stringEnd(text []byte, start int) int {
	i := start + 1
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

func numberEnd(text []byte, i int) int {
	for i < len(text) && bytes.IndexByte([]byte("+-.eE0123456789"), text[i]) >= 0 {
		i++
	}
	return i
}

const (
	maxInteger  = 1<<53 - 1 // RFC 7493, section 2.2
	exactDigits = 15        // so many decimal digits survive a double
)

// exact reports whether every reader takes a number for the same value.
func exact(text string) bool {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return -maxInteger <= n && n <= maxInteger
	}
	digits := len(text) - strings.Count(text, "-") - strings.Count(text, ".")
	return digits <= exactDigits && !strings.ContainsAny(text, "eE")
}
