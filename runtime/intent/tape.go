package intent

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unsafe"

	"bailiff/vm"
	"bailiff/vm/errcode"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the largest body of an authorize or test-run request in bytes (decisions, section 3). This is the one
// definition: readers of a body from a connection or a file stop there too. Decode refuses what is longer
// with errcode.BodyTooLarge, so readers pass on one byte more than fits.
const MaxBody = 100_000

// maxDepth is how deep objects and arrays may nest, the body itself included.
const maxDepth = 32

// What a decoder keeps for the next request. Typical intents need far less; one huge body must not make a pooled
// decoder huge for ever.
const (
	keptBytes = 64 << 10
	keptNodes = 2 << 10
)

// A node is one JSON value on the tape. A container's descendants follow it, in the order of the body.
type node struct {
	name string  // decoded member name; "" for elements
	text string  // of a String, decoded; of a Number, in RFC 8785 form; of a Bool, "true" or "false"
	kind vm.Kind // Null, String, Number, Bool, List or Object
	next int32   // index of the node after the last descendant
}

// tape is a decoded body: its values in order, and the memory they point into.
type tape struct {
	nodes []node
	body  []byte // the body; texts without escapes point into it
	text  []byte // texts that differ from their spelling in the body
}

// reset empties the tape, and lets go of memory that only an unusual body needed.
func (t *tape) reset() {
	t.nodes = emptied(t.nodes, keptNodes)
	t.body = emptied(t.body, keptBytes)
	t.text = emptied(t.text, keptBytes)
}

// reader fills a tape from the tokens of a body.
type reader struct {
	tokens jsontext.Decoder
	source bytes.Buffer
	offset int             // where the last token ends
	open   [maxDepth]int32 // the open containers, outermost first
	depth  int
}

// read puts body on the tape. A body is exactly one JSON object.
func (r *reader) read(t *tape, body []byte) *Error {
	t.body = append(t.body, body...)
	r.source = *bytes.NewBuffer(t.body)
	r.tokens.Reset(&r.source)
	r.offset, r.depth = 0, 0
	for {
		if err := r.value(t); err != nil {
			return err
		}
		if r.depth == 0 {
			return r.end(t)
		}
	}
}

// end makes sure that the body was an object, and that nothing but white space follows it.
func (r *reader) end(t *tape) *Error {
	if t.nodes[0].kind != vm.Object {
		return invalid("", "the body must be one JSON object")
	}
	if _, err := r.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return invalid("", "the body must be one JSON object; remove what follows its end"+r.near())
	}
	return nil
}

func (r *reader) near() string { return " near byte " + strconv.Itoa(r.offset) }

// token reads the next token and returns its bytes. The tokenizer hands out texts only as copies, so they are cut
// from the body here: between two tokens are only white space, a colon and a comma.
func (r *reader) token(t *tape) ([]byte, *Error) {
	if _, err := r.tokens.ReadToken(); err != nil {
		return nil, r.fault(err)
	}
	start, end := r.offset, int(r.tokens.InputOffset())
	for isBetween(t.body[start]) {
		start++
	}
	r.offset = end
	return t.body[start:end], nil
}

func isBetween(c byte) bool { return c <= ' ' || c == ',' || c == ':' }

// value reads one member, element or closing bracket.
func (r *reader) value(t *tape) *Error {
	raw, err := r.token(t)
	if err != nil {
		return err
	}
	var name string
	if raw[0] == '"' && r.depth > 0 && t.nodes[r.open[r.depth-1]].kind == vm.Object {
		name = t.unquote(raw)
		if raw, err = r.token(t); err != nil {
			return err
		}
	}
	switch raw[0] {
	case '{':
		return r.push(t, name, vm.Object)
	case '[':
		return r.push(t, name, vm.List)
	case '}', ']':
		r.depth--
		t.nodes[r.open[r.depth]].next = int32(len(t.nodes))
		return nil
	}
	return r.scalar(t, name, raw)
}

// push opens a container.
func (r *reader) push(t *tape, name string, kind vm.Kind) *Error {
	if r.depth == maxDepth {
		return invalid("", "the body nests deeper than 32 levels; flatten it"+r.near())
	}
	r.open[r.depth] = int32(len(t.nodes))
	r.depth++
	t.nodes = append(t.nodes, node{name: name, kind: kind})
	return nil
}

// scalar puts a string, a number or a literal on the tape.
func (r *reader) scalar(t *tape, name string, raw []byte) *Error {
	n := node{name: name, next: int32(len(t.nodes)) + 1}
	switch raw[0] {
	case '"':
		n.kind, n.text = vm.String, t.unquote(raw)
	case 't', 'f':
		n.kind, n.text = vm.Bool, borrow(raw)
	case 'n':
		n.kind = vm.Null
	default:
		var ok bool
		if n.kind, n.text, ok = vm.Number, borrow(raw), true; !isPlainInteger(raw) {
			n.text, ok = t.number(n.text)
		}
		if !ok {
			return invalid(dotted(r.tokens.StackPointer()), "the number "+quote(string(raw))+
				" is not exactly a double, or is an integer beyond ±(2^53-1); send another one, or a string where the field takes one")
		}
	}
	t.nodes = append(t.nodes, n)
	return nil
}

// unquote returns the text of a JSON string that the tokenizer has accepted.
func (t *tape) unquote(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return borrow(inner)
	}
	start := len(t.text)
	t.text, _ = jsontext.AppendUnquote(t.text, raw)
	return borrow(t.text[start:])
}

// number returns the canonical text of a number, or false as appendNumber does.
func (t *tape) number(raw string) (string, bool) {
	start := len(t.text)
	var ok bool
	t.text, ok = appendNumber(t.text, raw)
	return borrow(t.text[start:]), ok
}

// borrow returns b as a string without copying. The bytes stay as they are until the tape is reset.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fault turns an error of the tokenizer into one of this package.
func (r *reader) fault(err error) *Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return invalid(dotted(syntax.JSONPointer), "the key occurs twice; send it once")
	case errors.As(err, &syntax) && syntax.Err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return invalid(dotted(syntax.JSONPointer), "the body is not valid JSON at byte "+
			strconv.FormatInt(syntax.ByteOffset, 10)+": "+printable(syntax.Err.Error(), maxMessage/2))
	}
	return refuse(errcode.ValidationSchema, "", "the body ends before the JSON object does; send it whole")
}

// dotted returns a JSON pointer as the path that policies and messages use, shortened where it is long.
func dotted(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		if path.Len() > 2*maxQuoted {
			break
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(clip(token, 2*maxQuoted))
	}
	return path.String()
}
