package mcpproxy

import "github.com/go-json-experiment/json/jsontext"

// failOpenTag is what `bailiff/decision` in the _meta of a result says where the request was forwarded without a decision.
const failOpenTag = `{"failOpen":true}`

// tagFailOpen marks a result of a request that was forwarded without a decision. What the server says under that name itself
// is replaced. All else stays byte for byte.
func tagFailOpen(result jsontext.Value) jsontext.Value {
	members, err := readObject(result)
	if err != nil {
		return result // a result is an object; what is not one has no _meta
	}
	raw, _ := valueOf(members, "_meta")
	meta, err := readObject(raw)
	if err != nil {
		meta = nil
	}
	meta = replaced(meta, decisionKey, jsontext.Value(failOpenTag))
	return appendMembers(nil, replaced(members, "_meta", appendMembers(nil, meta)))
}
