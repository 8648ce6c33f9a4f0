package mcpproxy

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Headers of the streamable HTTP transport.
const (
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerParam    = "Mcp-Param-"
	headerRevision = "Mcp-Protocol-Version"
	headerSession  = "Mcp-Session-Id"
	headerEvent    = "Last-Event-Id"
)

// bindings are the arguments that a tool has in headers, by the header's name in lower case. A server may act on either.
type bindings map[string][]string

// bindingsOf reads the annotations x-mcp-header of an input schema.
func bindingsOf(schema jsontext.Value) bindings {
	all := bindings{}
	all.collect(schema, nil, 0)
	return all
}

func (b bindings) collect(schema jsontext.Value, path []string, depth int) {
	members, err := readObject(schema)
	if err != nil || depth > maxDepth {
		return
	}
	raw, _ := valueOf(members, "properties")
	properties, err := readObject(raw)
	if err != nil {
		return
	}
	for i := range properties {
		inner := append(path[:len(path):len(path)], properties[i].name)
		property, err := readObject(properties[i].value)
		if err != nil {
			continue
		}
		if name, ok := textOf(property, "x-mcp-header"); ok {
			b[strings.ToLower(headerParam+name)] = inner
		}
		b.collect(properties[i].value, inner, depth+1)
	}
}

// agreeing returns a refusal where a header Mcp-Param-… is not what the arguments say.
func (m *message) agreeing(b bindings) *refusal {
	arguments, _ := valueOf(m.params, "arguments")
	for name, value := range m.paramHeaders {
		path, bound := b[strings.ToLower(name)]
		if !bound {
			return mismatch("%s is not a header of this tool", name)
		}
		if text, ok := argumentText(arguments, path); !ok || text != decodeHeader(value) {
			return mismatch("%s differs from the argument %s", name, strings.Join(path, "."))
		}
	}
	return nil
}

// argumentText is the text of an argument as a header has it.
func argumentText(value jsontext.Value, path []string) (string, bool) {
	for _, name := range path {
		members, err := readObject(value)
		if err != nil {
			return "", false
		}
		value, _ = valueOf(members, name)
	}
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		return string(text), err == nil
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

// decodeHeader is the value that a header means. One that is badly encoded means itself.
func decodeHeader(value string) string {
	if encoded, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if encoded, ok = strings.CutSuffix(encoded, "?="); ok {
			if text, err := base64.StdEncoding.Strict().DecodeString(encoded); err == nil {
				return string(text)
			}
		}
	}
	return value
}

// checkHeaders returns a refusal where a header says something else than the message. From 2026-07-28 on the headers
// have to be there.
func (m *message) checkHeaders(get func(string) string) *refusal {
	meta, _ := valueOf(m.params, "_meta")
	revision, header := revisionIn(meta), get(headerRevision)
	if revision != "" && m.kind == isRequest && header != revision {
		return mismatch("%s is %.32q, and the message says %.32q", headerRevision, header, revision)
	}
	must := header >= modernRevision && m.kind == isRequest
	if method := get(headerMethod); method != m.method && (method != "" || must) {
		return mismatch("%s is %.64q, and the message says %.64q", headerMethod, method, m.method)
	}
	name, row := "", find(clientRequests, m.method)
	if row != nil && row.name1 != "" {
		name, _ = textOf(m.params, row.name1)
	}
	given := get(headerName)
	if decodeHeader(given) != name && (given != "" || must && name != "") {
		return mismatch("%s differs from what the message asks for", headerName)
	}
	if len(m.paramHeaders) > 0 && m.method != methodCall {
		return mismatch("%s… goes with calls of tools only", headerParam)
	}
	return nil
}

// mismatch is the refusal of a message whose headers differ from it.
func mismatch(format string, arguments ...any) *refusal {
	r := refuse(codeHeader, format, arguments...)
	r.rpc = mcp.CodeHeaderMismatch
	return r
}
