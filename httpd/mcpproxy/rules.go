package mcpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/response"
)

// Rules inspect what servers answer. They are safe for concurrent use.
type Rules interface {
	// Ready returns when there are rules for the result of a call that the service has decided on, or says why there are none. It is
	// called before the call is forwarded.
	Ready(ctx context.Context, intent *Intent, d *Decision) error
	// Result returns what is shown of a result, of the object of an error or of another JSON value, and waits for nothing. An empty
	// tool is one that is not known. An error withholds it.
	Result(server, tool string, result json.RawMessage) (json.RawMessage, response.Findings, error)
}

// ready makes sure that the result of a call can be inspected, before the call is made.
func (g *Guard) ready(ctx context.Context, intent *Intent, d *Decision) *refusal {
	if g.Rules == nil {
		return nil
	}
	if err := g.Rules.Ready(ctx, intent, d); err != nil {
		r := refuse(codeRules, "%v; the call was not made", err)
		r.status = statusError
		return r
	}
	return nil
}

// covered is the name by which rules cover the result of a request: that of the tool, or the method's part of the action. What a task
// brings can be of any tool.
func (u *underWay) covered() string {
	switch {
	case u.tool != "":
		return u.tool
	case strings.HasPrefix(u.row.name, "tasks/"):
		return ""
	}
	return strings.ReplaceAll(u.row.name, "/", ".")
}

// inspected is what the rules show of what a server answers to a judged request or says beside it.
func (g *Guard) inspected(method, tool string, value jsontext.Value) (jsontext.Value, *refusal) {
	if g.Rules == nil {
		return value, nil
	}
	shown, found, err := g.Rules.Result(g.Server, tool, []byte(value))
	switch {
	case errors.Is(err, response.ErrRefused):
		return nil, refuse(codeResponse, "what the server answered is withheld, and what it did is not undone: %v", err)
	case err != nil:
		r := refuse(codeRules, "what the server answered is withheld, and what it did is not undone: %v", err)
		r.status = statusError
		return nil, r
	}
	if len(found.Observed)+len(found.Redacted) > 0 {
		g.Log("%q of %.64q: the answer contains what looks like %s", method, tool, listed(found))
	}
	return jsontext.Value(shown), nil
}

// listed says what was found.
func listed(found response.Findings) string {
	var parts []string
	for _, class := range found.Observed {
		parts = append(parts, fmt.Sprintf("%s (observed, passed on)", class))
	}
	for _, class := range found.Redacted {
		parts = append(parts, fmt.Sprintf("%s (redacted)", class))
	}
	return strings.Join(parts, ", ")
}

// inspectedMessage is what the rules show of a request or notification of the server, whose contents can come from any tool.
func (g *Guard) inspectedMessage(m *message) ([]byte, *refusal) {
	carries := func(row *method) bool { return row != nil && row.carries }
	if m.params == nil || !carries(find(serverNotifications, m.method)) && !carries(find(serverRequests, m.method)) {
		return m.raw, nil
	}
	members, err := readObject(m.raw)
	if err != nil {
		return nil, refuse(codeServerMalformed, "%v", err)
	}
	at := slices.IndexFunc(members, func(one member) bool { return one.name == "params" })
	params := &members[at]
	shown, r := g.inspected(m.method, "", params.value)
	switch {
	case r != nil:
		return nil, r
	case string(shown) == string(params.value):
		return m.raw, nil
	}
	return slices.Concat(m.raw[:params.end-len(params.value)], shown, m.raw[params.end:]), nil
}

// judges reports whether the request of an exchange is judged, so that what the server answers is inspected.
func (x *exchange) judges() bool {
	if x.m == nil || x.m.kind != isRequest {
		return false
	}
	row := find(clientRequests, x.m.method)
	return row != nil && row.treatment == judged
}

// withholds reports whether the rules keep back a body that is not a JSON-RPC message.
func (x *exchange) withholds(text []byte) bool {
	if !x.judges() {
		return false
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return true // it is not UTF-8
	}
	shown, r := x.h.guard.inspected(x.m.method, "", quoted)
	return r != nil || string(shown) != string(quoted)
}

// lostError is an error of the server about a message whose id it could not read, as the client gets it.
func (x *exchange) lostError(m *message) []byte {
	if !x.judges() {
		return m.raw
	}
	shown, r := x.h.guard.inspected(x.m.method, "", m.fault)
	switch {
	case r != nil:
		x.h.guard.Log("%.64q: %s %s", x.m.method, r.status, r.code)
		return r.fault(nil)
	case string(shown) == string(m.fault):
		return m.raw
	}
	return respond(nil, "error", shown)
}
