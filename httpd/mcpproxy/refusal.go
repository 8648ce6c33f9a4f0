package mcpproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A refusalCode says why the proxy itself refused something. The service's own codes are passed on as they are.
type refusalCode string

// The codes of the proxy.
const (
	codeUnreadable      refusalCode = "MCP_MESSAGE_UNREADABLE"
	codeMethod          refusalCode = "MCP_METHOD_UNKNOWN"
	codeName            refusalCode = "MCP_NAME_INVALID"
	codeToolUnlisted    refusalCode = "MCP_TOOL_NOT_LISTED"
	codeToolChanged     refusalCode = "MCP_TOOL_CHANGED"
	codePins            refusalCode = "MCP_PINS_UNAVAILABLE"
	codeDefinition      refusalCode = "MCP_DEFINITION_TOO_LARGE"
	codeUnreachable     refusalCode = "MCP_SERVICE_UNREACHABLE"
	codeState           refusalCode = "MCP_REQUEST_STATE_INVALID"
	codeServerRequest   refusalCode = "MCP_SERVER_REQUEST_REFUSED"
	codeResponse        refusalCode = "MCP_RESPONSE_REFUSED"
	codeRules           refusalCode = "MCP_RESPONSE_RULES_UNAVAILABLE"
	codeServerGone      refusalCode = "MCP_SERVER_GONE"
	codeServerMalformed refusalCode = "MCP_SERVER_MALFORMED"
	codeTooLarge        refusalCode = "MCP_CALL_TOO_LARGE"
	codeBusy            refusalCode = "MCP_TOO_MANY_REQUESTS"
	codeHeader          refusalCode = "MCP_HEADER_MISMATCH"
)

// codes is the table of the proxy's codes, for docs/mcp.md.
var codes = []struct {
	Code refusalCode
	When string
	Do   string
}{
	{codeUnreadable, "a message is not one JSON-RPC 2.0 message, or two readers could read it differently", "send one message, without names that come twice or differ in case only"},
	{codeMethod, "the table of methods does not have the method", "use a method of the table; a newer revision needs a newer Bailiff"},
	{codeName, "a call names no tool, one whose action a method has, or one whose name is too long to be pinned", "rename the tool on the server"},
	{codeToolUnlisted, "the server does not list the tool that is called, or its list cannot be read", "call a tool of `tools/list`"},
	{codeToolChanged, "the definition of a tool is not the one that was pinned", "the operator looks at the change and runs `bailiff mcp accept`"},
	{codePins, "the service did not say which definitions are pinned; also with `--fail-mode open`, unless the proxy has read the pin of this tool before", "start the service, or mend its address; `bailiff doctor` helps"},
	{codeDefinition, "the definition of a tool has more bytes than can be pinned", "shorten it on the server"},
	{codeUnreachable, "the service gave no decision, and `--fail-mode` is `closed`", "start the service, or mend its address; `bailiff doctor` helps"},
	{codeState, "the `requestState` of a held call is not one of this proxy's, is used up or too old, or belongs to another call", "make the call again without `requestState`"},
	{codeServerRequest, "the server asked the client for something", "allow it with `--allow-server-requests` if the server is trusted with that"},
	{codeResponse, "a response rule of the policy keeps the result back", "see the message; ask the tool for something else, or have the operator change the rule"},
	{codeRules, "there are no valid response rules, so no result can be passed on, in both modes of `--fail-mode`", "start the service, or mend its address or this machine's clock; `bailiff doctor` helps"},
	{codeServerGone, "the server ended or broke off before it answered", "look at the server's standard error; what it did before is not known"},
	{codeServerMalformed, "the server's answer cannot be read", "look at the server"},
	{codeTooLarge, "the arguments of a call are larger than the service takes", "split the call, or name a file instead of its content"},
	{codeBusy, "too many requests are under way", "wait for answers, then send the request again"},
	{codeHeader, "`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*` or `Mcp-Protocol-Version` is not what the body says", "send headers that agree with the body"},
}

// A refusal says why something is not forwarded.
type refusal struct {
	code    string
	rule    string
	message string
	holdID  string
	status  string // DENIED, PENDING; ERROR where nothing was decided
	rpc     int64  // the JSON-RPC error code, where it is not implementation-defined
}

// refuse returns a refusal of the proxy's own.
func refuse(code refusalCode, format string, arguments ...any) *refusal {
	return &refusal{code: string(code), message: fmt.Sprintf(format, arguments...), status: statusDenied}
}

// refusedBy returns the refusal that a decision is.
func refusedBy(d *Decision) *refusal {
	r := &refusal{code: d.Code, rule: d.Rule, message: d.Message, holdID: d.HoldID, status: d.Status}
	if d.Status == statusPending {
		r.message = heldText(d)
	}
	return r
}

// heldText says what waits, and how it is approved.
func heldText(d *Decision) string {
	where := ""
	if d.ApprovalURL != "" {
		where = "decide it at " + d.ApprovalURL + ", or "
	}
	return fmt.Sprintf("%s. Hold %s waits for the operator: %sapprove it with `bailiff holds approve %s --key FILE` (the operator's key), then make the same call again.",
		strings.TrimSuffix(d.Message, "."), d.HoldID, where, d.HoldID)
}

// text is the refusal in words, for people and models.
func (r *refusal) text() string {
	head := r.status + " " + r.code
	if r.rule != "" {
		head += " (" + r.rule + ")"
	}
	return head + ": " + r.message
}

// serverErrorCode is the JSON-RPC error code of refusals.
const serverErrorCode = -32000

// decisionKey is the name in _meta under which a refusal's parts are.
const decisionKey = "bailiff/decision"

// parts are the refusal as data.
func (r *refusal) parts() map[string]string {
	parts := map[string]string{"status": r.status, "error_code": r.code}
	if r.rule != "" {
		parts["matched_rule"] = r.rule
	}
	if r.holdID != "" {
		parts["holdId"] = r.holdID
	}
	return parts
}

// answer is the response to a request that is refused: a tool error for a call of a tool, so that the model sees it, and
// a JSON-RPC error otherwise. modern says that the request is of revision 2026-07-28 or later.
func (r *refusal) answer(m *message, modern bool) []byte {
	if m.method != methodCall || r.rpc != 0 {
		return r.fault(m.rawID)
	}
	result := encode(&mcp.CallToolResult{
		Meta:    mcp.Meta{decisionKey: r.parts()},
		Content: []mcp.Content{&mcp.TextContent{Text: r.text()}},
		IsError: true,
	})
	if modern { // the SDK's types cannot say so outside of its server
		result = append([]byte(`{"resultType":"complete",`), result[1:]...)
	}
	return respond(m.rawID, "result", result)
}

// fault is a JSON-RPC error response. The id is null where the request's is not known.
func (r *refusal) fault(rawID []byte) []byte {
	data := r.parts()
	code := r.rpc
	if code == 0 {
		code = serverErrorCode
	}
	return respond(rawID, "error", encode(&jsonrpc.Error{Code: code, Message: r.text(), Data: encode(data)}))
}

// respond writes a response.
func respond(rawID []byte, name string, value []byte) []byte {
	if rawID == nil {
		rawID = []byte("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, rawID, name, value)
}

// encode writes a value of the proxy's own as JSON, without escapes for HTML.
func encode(v any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // it consists of strings and maps of them
	}
	return bytes.TrimSuffix(text.Bytes(), []byte{'\n'})
}
