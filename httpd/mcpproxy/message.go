package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bounds of a message.
const (
	// maxMessage is the most bytes of a message, which is also what the SDK's own transports take.
	maxMessage = 16 << 20
	maxDepth   = 64
	maxID      = 256 // bytes of the id as it was written
	maxMethod  = 128 // bytes
)

// A kind says what a message is.
type kind uint8

const (
	isRequest kind = iota
	isNotification
	isResponse
)

// A message is one JSON-RPC message as it was read, and the bytes that it was read from.
type message struct {
	raw          []byte
	kind         kind
	id           string // the form by which ids are compared; empty where there is none
	rawID        []byte
	method       string
	params       []member
	result       jsontext.Value    // nil where there is none
	fault        jsontext.Value    // the member error
	paramHeaders map[string]string // Mcp-Param-… of the HTTP request that brought it
}

// A member is a name and its value, which is a part of the text.
type member struct {
	name  string
	value jsontext.Value
	start int // where the name begins in the object's text
	end   int // where the value ends
}

// valueOf returns the value of a member.
func valueOf(members []member, name string) (jsontext.Value, bool) {
	for i := range members {
		if members[i].name == name {
			return members[i].value, true
		}
	}
	return nil, false
}

// textOf returns the value of a member that is a string.
func textOf(members []member, name string) (string, bool) {
	raw, ok := valueOf(members, name)
	if !ok || raw.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// errBatch is the error of a batch, which no revision since 2025-06-18 has.
var errBatch = errors.New("the message is a batch; send one message at a time")

// readMessage reads one message, strictly: what two readers could read differently is an error. The SDK reads it a
// second time, and has to find the same.
func readMessage(text []byte, folds bool) (*message, error) {
	trimmed := bytes.Trim(text, " \t\r\n")
	switch {
	case len(trimmed) > maxMessage:
		return nil, fmt.Errorf("the message has %d bytes; at most %d are allowed", len(trimmed), maxMessage)
	case len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[':
		return nil, errors.New("the message is not a JSON object; send one JSON-RPC 2.0 message")
	case trimmed[0] == '[':
		return nil, errBatch
	}
	if err := scan(trimmed, folds); err != nil {
		return nil, fmt.Errorf("the message is not valid JSON: %w", err)
	}
	m := &message{raw: trimmed}
	if err := m.read(); err != nil {
		return nil, err
	}
	return m, m.agree()
}

// read takes the message apart.
func (m *message) read() error {
	members, err := readObject(m.raw)
	if err != nil {
		return err
	}
	version, result, fault := false, false, false
	for i := range members {
		value := members[i].value
		switch members[i].name {
		case "jsonrpc":
			version = string(value) == `"2.0"`
		case "id":
			err = m.setID(value)
		case "method":
			err = m.setMethod(value)
		case "params":
			err = m.setParams(value)
		case "result":
			m.result, result = value, true
		case "error":
			m.fault, fault = value, true
		default:
			err = fmt.Errorf("%.64q is not a member of a JSON-RPC message; allowed: jsonrpc, id, method, params, result, error", members[i].name)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !version:
		return errors.New(`jsonrpc must be "2.0"`)
	case m.method != "" && m.id == "" && m.rawID != nil, m.id == "" && result:
		return errors.New("id is null; write a string or an integer, or leave it out of a notification")
	case m.method != "" && (result || fault):
		return errors.New("the message has a method and a result; send one or the other")
	case m.method != "" && m.id == "":
		m.kind = isNotification
	case m.method == "" && result == fault:
		return errors.New("the message has neither a method nor a single result; send a request or a response")
	case m.method == "":
		m.kind = isResponse
	}
	if m.kind == isResponse && m.params != nil {
		return errors.New("a response has no params")
	}
	return nil
}

func (m *message) setID(raw jsontext.Value) error {
	if m.rawID = raw; raw.Kind() == 'n' {
		return nil // of an error about a message whose id was not read
	}
	if len(raw) > maxID {
		return fmt.Errorf("id has %d bytes; at most %d are allowed", len(raw), maxID)
	}
	key, ok := idKey(raw)
	if !ok {
		return fmt.Errorf("id is %.32s; write a string or an integer of at most 15 digits", raw)
	}
	m.id = key
	return nil
}

// idKey is the form by which ids are compared. An id that readers take for different ones has none.
func idKey(raw jsontext.Value) (key string, ok bool) {
	switch raw.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote([]byte{'s'}, raw)
		return string(text), err == nil
	case '0':
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n <= -1e15 || n >= 1e15 || raw[0] == '-' && n == 0 {
			return "", false
		}
		return strconv.FormatInt(n, 10), true
	}
	return "", false
}

func (m *message) setMethod(raw jsontext.Value) error {
	text, err := jsontext.AppendUnquote(nil, raw)
	if raw.Kind() != '"' || err != nil || len(text) == 0 || len(text) > maxMethod {
		return fmt.Errorf("method must be a string of 1 to %d bytes", maxMethod)
	}
	m.method = string(text)
	return nil
}

func (m *message) setParams(raw jsontext.Value) error {
	if raw.Kind() != '{' {
		return errors.New("params must be an object")
	}
	params, err := readObject(raw)
	m.params = params
	if params == nil {
		m.params = []member{}
	}
	return err
}

// agree has the SDK read the message too: it has to find the same kind and the same method.
func (m *message) agree() error {
	if m.kind == isResponse && m.id == "" {
		return nil // the SDK has no place for it
	}
	other, err := jsonrpc.DecodeMessage(m.raw)
	if err != nil {
		return errors.New("the message is not a JSON-RPC 2.0 message")
	}
	r, ok := other.(*jsonrpc.Request)
	if ok != (m.kind != isResponse) || ok && (r.Method != m.method || r.IsCall() != (m.kind == isRequest)) {
		return errors.New("the message can be read in two ways")
	}
	return nil
}

// readObject reads text as one JSON object. The text was scanned before.
func readObject(text []byte) ([]member, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errors.New("it is not an object")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var members []member
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m := member{start: int(d.InputOffset()) - len(name)}
		unquoted, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return nil, err
		}
		m.name = string(unquoted)
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.end = int(d.InputOffset())
		m.value = text[m.end-len(value) : m.end : m.end]
		members = append(members, m)
	}
	_, err := d.ReadToken()
	return members, err
}

// scan checks all of text: valid JSON and UTF-8, no name twice in an object (with folds: nor in another case, since some
// readers do not tell them apart), no deeper nesting than maxDepth, nothing behind the value.
func scan(text []byte, folds bool) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	var names []map[string]bool // of the objects that are open, with folds; nil where there is none yet
	for {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		depth := d.StackDepth()
		switch {
		case depth > maxDepth:
			return fmt.Errorf("it nests deeper than %d", maxDepth)
		case depth == 0 && int(d.InputOffset()) != len(text):
			return errors.New("something follows the value")
		case depth == 0:
			return nil
		case !folds:
			continue
		}
		for names = names[:min(depth, len(names))]; len(names) < depth; {
			names = append(names, nil)
		}
		if token.Kind() != '"' || !isName(d) {
			continue
		}
		if names[depth-1] == nil {
			names[depth-1] = map[string]bool{}
		}
		folded := fold(token.String())
		if names[depth-1][folded] {
			return fmt.Errorf("the name %.64q comes twice in one object, in different case; some readers do not tell them apart", token.String())
		}
		names[depth-1][folded] = true
	}
}

// isName reports whether the string just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
}

// fold is the one form of all spellings that differ in case only, for every reader: each rune is the least of those that
// Unicode's simple folding takes for the same.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') {
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}

// otherCase returns the first member that differs from a known name in case only: some readers take it for that one.
func otherCase(members []member, known []string) (name string, found bool) {
	for i := range members {
		for _, k := range append(known[:len(known):len(known)], "_meta") {
			if members[i].name != k && strings.EqualFold(members[i].name, k) {
				return members[i].name, true
			}
		}
	}
	return "", false
}
