package mcpproxy

import (
	"strings"
	"testing"
)

// TestUnreadable has messages that two readers could read differently.
func TestUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"a batch":                      `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"an empty batch":               `[]`,
		"nothing":                      ` `,
		"no object":                    `"ping"`,
		"a member twice":               `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`,
		"a member twice, escaped":      `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`,
		"a member in another case":     `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`,
		"a foreign member":             `{"jsonrpc":"2.0","id":1,"method":"ping","x":1}`,
		"an argument twice":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"p":1,"p":2}}}`,
		"an argument in another case":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":1,"Path":2}}}`,
		"a name with a long s":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"s":1,"ſ":2}}}`,
		"a name with the Kelvin sign":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"k":1,"K":2}}}`,
		"deep, in an array":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[{"x":1,"X":2}]}}`,
		"no version":                   `{"id":1,"method":"ping"}`,
		"another version":              `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"a null id":                    `{"jsonrpc":"2.0","id":null,"method":"tools/call"}`,
		"a fraction as id":             `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		"an exponent in the id":        `{"jsonrpc":"2.0","id":1e0,"method":"ping"}`,
		"minus zero as id":             `{"jsonrpc":"2.0","id":-0,"method":"ping"}`,
		"an inexact id":                `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
		"an object as id":              `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"a long id":                    `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"ping"}`,
		"an empty method":              `{"jsonrpc":"2.0","id":1,"method":""}`,
		"a number as method":           `{"jsonrpc":"2.0","id":1,"method":1}`,
		"params by position":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a"]}`,
		"null params":                  `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`,
		"a method and a result":        `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		"a result and an error":        `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`,
		"neither":                      `{"jsonrpc":"2.0","id":1}`,
		"a result without id":          `{"jsonrpc":"2.0","id":null,"result":{}}`,
		"a response with params":       `{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`,
		"something behind it":          `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`,
		"a comment":                    `{"jsonrpc":"2.0","id":1,"method":"ping"/**/}`,
		"an invalid byte":              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}",
		"a lone surrogate":             `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}`,
		"nested deeper than the bound": `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}}`,
	} {
		if m, err := readMessage([]byte(text), true); err == nil {
			t.Errorf("%s was read as %d %q", name, m.kind, m.method)
		}
	}
}

// TestReadable has messages at the edge of what is read, and the bytes that are forwarded.
func TestReadable(t *testing.T) {
	for text, want := range map[string]kind{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                                                                       isRequest,
		`{ "params" : {"a":{"x":1},"b":{"X":1}}, "method" : "m", "id" : "a\u0062", "jsonrpc":"2.0" }`:                                    isRequest,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                                                         isNotification,
		`{"jsonrpc":"2.0","id":"x","result":{"a":1.50}}`:                                                                                 isResponse,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`:                                                               isResponse,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", maxDepth-2) + strings.Repeat("]", maxDepth-2) + `}}`: isRequest,
	} {
		m, err := readMessage([]byte("  "+text+"\n"), true)
		if err != nil || m.kind != want || string(m.raw) != text {
			t.Errorf("%s: %v %+v", text, err, m)
		}
	}
	if m, err := readMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{"path":1,"Path":2}}`), false); err != nil {
		t.Errorf("a server's result is refused for names in different case: %v %v", m, err)
	}
}

// TestLines has what makes one line two messages for some readers.
func TestLines(t *testing.T) {
	inner := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`
	if _, err := readLine([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":`+"\r"+inner+"\r}"), false, true); err == nil {
		t.Error("a carriage return between tokens was taken for white space")
	}
	var lines []string
	long := strings.Repeat("x", maxMessage+3)
	err := eachLine(strings.NewReader("a\r\n\n"+long+"\nb"), func(line []byte, tooLong bool) error {
		if tooLong {
			line = []byte("long")
		}
		lines = append(lines, string(line))
		return nil
	})
	if got := strings.Join(lines, ","); err != nil || got != "a,long,b" {
		t.Errorf("%v %s", err, got)
	}
}

// FuzzMessage holds reading to two promises: what is read is forwarded as it came, and what is stripped is read again.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"x","arguments":{"b":[1,{}]}}}`))
	f.Add([]byte(`{"id":"\u0041","result":null,"jsonrpc":"2.0"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := readMessage(text, true)
		if err != nil {
			return
		}
		if !strings.Contains(string(text), string(m.raw)) {
			t.Fatalf("%q became %q", text, m.raw)
		}
		stripped, err := m.without("requestState", "inputResponses")
		if err != nil {
			t.Fatalf("%q cannot be stripped: %v", text, err)
		}
		if _, left := valueOf(stripped.params, "requestState"); left || stripped.method != m.method || stripped.id != m.id {
			t.Fatalf("%q became %q", text, stripped.raw)
		}
	})
}
