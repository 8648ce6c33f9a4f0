package mcpproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestNothingPassesUndecided sends every method of the table, and some that it does not have, while the policy denies
// everything: only what the table lets pass is forwarded, and each judged one was asked about under its own action.
func TestNothingPassesUndecided(t *testing.T) {
	params := map[string]string{
		"tools/call":           `{"name":"read","arguments":{}}`,
		"subscriptions/listen": `{"notifications":{"resourceSubscriptions":["file:///a"]}}`,
	}
	names := []string{"tools/Call", "tools", "resources/write", "rpc.discover", "notifications/initialized", "tasks/new", "elicitation/create"}
	for i := range clientRequests {
		names = append(names, clientRequests[i].name)
	}
	for i, name := range names {
		w := newWorld(t)
		w.decides = func(*Intent) Decision {
			return Decision{Status: statusDenied, Code: "SVC_X", Rule: "mcp.allowed_tools", Message: "no", PolicyHash: "p"}
		}
		asks := params[name]
		if asks == "" {
			asks = `{"uri":"file:///a","name":"n","taskId":"1"}`
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, name, asks)
		v := w.client(text)
		row := find(clientRequests, name)
		switch {
		case row != nil && row.treatment == passes:
			if string(v.forward) != text || len(w.asked) != 0 {
				t.Errorf("%s: forwarded %q after %d questions", name, v.forward, len(w.asked))
			}
		case row == nil:
			if v.forward != nil || v.refused.code != string(codeMethod) {
				t.Errorf("%s: forwarded %q: %+v", name, v.forward, v.refused)
			}
		default:
			want := "mcp.files." + strings.ReplaceAll(name, "/", ".")
			if name == methodCall {
				want = "mcp.files.read"
			}
			if v.forward != nil || len(w.asked) != 1 || w.asked[0].Action != want || !strings.Contains(string(v.answer), "SVC_X (mcp.allowed_tools): no") {
				t.Errorf("%s: forwarded %q after %+v, answered %s", name, v.forward, w.asked, v.answer)
			}
		}
	}
}

// TestNotifications has what a client may and may not send without an id.
func TestNotifications(t *testing.T) {
	for text, passes := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                        true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`: true,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}`:                              false,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`:                                false,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"payload":"x"}}`:               false,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`:                 false,
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                                                          false,
	} {
		w := newWorld(t)
		if v := w.client(text); (v.forward != nil) != passes || v.answer != nil || passes && string(v.forward) != text {
			t.Errorf("%s: %q %q", text, v.forward, v.answer)
		}
	}
}

// TestForwardedAsJudged holds what is forwarded to the bytes that came, and what was asked to everything in them.
func TestForwardedAsJudged(t *testing.T) {
	w := newWorld(t)
	text := `{ "method":"tools/call" ,"id":"\u0041","params":{"arguments":{"n":1.50,"s":"\u0061"},"name":"Write","task":{"ttl":1},"_meta":{"progressToken":4}},"jsonrpc":"2.0"}`
	if v := w.client(text); string(v.forward) != text {
		t.Fatalf("forwarded %s", v.forward)
	}
	intent := w.asked[0]
	var metadata struct {
		ServerID, ToolName, DefinitionSha256 string
		Arguments, Request                   json.RawMessage
	}
	if err := json.Unmarshal(intent.Metadata, &metadata); err != nil {
		t.Fatal(err)
	}
	if intent.Action != "mcp.files.write" || metadata.ServerID != "files" || metadata.ToolName != "Write" || len(metadata.DefinitionSha256) != 64 ||
		string(metadata.Arguments) != `{"n":1.50,"s":"\u0061"}` || string(metadata.Request) != `{"task":{"ttl":1}}` {
		t.Errorf("asked about %s %s", intent.Action, intent.Metadata)
	}
	again := newWorld(t)
	again.client(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Write","task":{"ttl":1},"arguments":{"s":"a","n":1.5}}}`)
	if again.asked[0].TxCommit != intent.TxCommit || len(intent.TxCommit) != 64 {
		t.Errorf("another spelling commits to %s, not to %s", again.asked[0].TxCommit, intent.TxCommit)
	}
}

// TestRefusedCalls has calls that are refused before the service is asked.
func TestRefusedCalls(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		code   refusalCode
	}{
		"no name":                    {`{"arguments":{}}`, codeName},
		"a name that is not text":    {`{"name":1}`, codeName},
		"an empty name":              {`{"name":""}`, codeName},
		"a name of a method":         {`{"name":"Resources.read"}`, codeName},
		"a tool that is not listed":  {`{"name":"delete"}`, codeToolUnlisted},
		"the tool in another case":   {`{"name":"READ"}`, codeToolUnlisted},
		"a member in another case":   {`{"name":"read","Arguments":{}}`, codeUnreadable},
		"more than can be judged":    {`{"name":"read","arguments":{"a":"` + strings.Repeat("x", maxIntent) + `"}}`, codeTooLarge},
		"a foreign proxy's state":    {`{"name":"read","requestState":"bailiff1.AAAA"}`, codeState},
		"a state without its issuer": {`{"name":"read","requestState":"bailiff1.` + strings.Repeat("A", 75) + `"}`, codeState},
	} {
		w := newWorld(t)
		v := w.client(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + c.params + `}`)
		if v.forward != nil || v.refused.code != string(c.code) || len(w.asked) > 0 {
			t.Errorf("%s: forwarded %q, %+v, asked %d times", name, v.forward, v.refused, len(w.asked))
		}
	}
}

// TestFailMode has a service that cannot be asked, and one that refuses to decide.
func TestFailMode(t *testing.T) {
	unreachable := func(*Intent) Decision { return Decision{Unreachable: true, Message: "no connection"} }
	refuses := func(*Intent) Decision { return Decision{Status: statusDenied, Code: "SVC_API_KEY_INVALID"} }
	for name, c := range map[string]struct {
		decides func(*Intent) Decision
		open    bool
		runs    bool
	}{
		"closed, no service": {unreachable, false, false},
		"open, no service":   {unreachable, true, true},
		"closed, a 401":      {refuses, false, false},
		"open, a 401":        {refuses, true, false},
		"a status of none":   {func(*Intent) Decision { return Decision{} }, true, false},
	} {
		w := newWorld(t)
		w.decides, w.g.FailOpen = c.decides, c.open
		if v := w.client(call(1, "read", `{}`)); (v.forward != nil) != c.runs {
			t.Errorf("%s: forwarded %q", name, v.forward)
		}
	}
	w := newWorld(t)
	w.g.FailOpen, w.tools = true, `{"tools":[{"name":"read"},{"name":"read"}]}`
	if v := w.client(call(1, "read", `{}`)); v.forward != nil {
		t.Error("open lets a call through whose tool cannot be told from another")
	}
}

// TestDenialIsAToolError has the form of refusals: a result for a call, an error for everything else.
func TestDenialIsAToolError(t *testing.T) {
	w := newWorld(t)
	w.decides = func(*Intent) Decision {
		return Decision{Status: statusDenied, Code: "SVC_X", Rule: "mcp.blocked_tools", Message: "no", PolicyHash: "p"}
	}
	want := `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"bailiff/decision":{"error_code":"SVC_X","matched_rule":"mcp.blocked_tools","status":"DENIED"}},"content":[{"type":"text","text":"DENIED SVC_X (mcp.blocked_tools): no"}],"isError":true}}`
	if got := string(w.client(call(1, "read", `{}`)).answer); got != want {
		t.Errorf("a call is answered\n%s, not\n%s", got, want)
	}
	if got := string(w.client(modernCall(2, `{}`, "")).answer); !strings.Contains(got, `{"resultType":"complete",`) {
		t.Errorf("a call of 2026-07-28 is answered %s", got)
	}
	want = `{"jsonrpc":"2.0","id":"r","error":{"code":-32000,"message":"DENIED SVC_X (mcp.blocked_tools): no","data":{"error_code":"SVC_X","matched_rule":"mcp.blocked_tools","status":"DENIED"}}}`
	if got := string(w.client(`{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"a:b"}}`).answer); got != want {
		t.Errorf("a read is answered\n%s, not\n%s", got, want)
	}
}

// TestCancel takes back a request while it is judged: it is never forwarded, nor is the cancellation.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	asked, go_ := make(chan bool), make(chan bool)
	w.g.Decide = func(ctx context.Context, _ *Intent, _ bool) Decision {
		asked <- true
		<-go_
		return allowed(nil)
	}
	done := make(chan verdict)
	go func() { done <- w.client(call(1, "read", `{}`)) }()
	<-asked
	if v := w.client(call(1, "read", `{}`)); v.forward != nil || v.refused.code != string(codeUnreadable) {
		t.Errorf("an id that is in use was taken: %+v", v)
	}
	if v := w.client(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); v.forward != nil {
		t.Error("the server is told of a request that it has not seen")
	}
	close(go_)
	if v := <-done; v.forward != nil || v.answer != nil {
		t.Errorf("a cancelled request went on: %+v", v)
	}
	w.g.Decide = func(context.Context, *Intent, bool) Decision { return allowed(nil) }
	if v := w.client(call(1, "read", `{}`)); v.forward == nil {
		t.Fatalf("the id is not free again: %+v", v.refused)
	}
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	if v := w.client(cancel); string(v.forward) != cancel {
		t.Error("the server is not told of the cancellation")
	}
	if c, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":{}}`); c != "" {
		t.Error("an answer to a cancelled request reaches the client")
	}
}

// TestTooMany bounds the requests under way.
func TestTooMany(t *testing.T) {
	w := newWorld(t)
	for i := range maxUnderWay {
		if v := w.client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)); v.forward == nil {
			t.Fatalf("request %d was refused", i)
		}
	}
	if v := w.client(`{"jsonrpc":"2.0","id":"x","method":"ping"}`); v.forward != nil || v.refused.code != string(codeBusy) {
		t.Errorf("%+v", v)
	}
	w.s.leave("5")
	if v := w.client(`{"jsonrpc":"2.0","id":"x","method":"ping"}`); v.forward == nil {
		t.Errorf("a request whose client has left takes a place: %+v", v.refused)
	}
}

// TestListIsAskedOnce has the proxy list the tools by itself, all pages, for the first call.
func TestListIsAskedOnce(t *testing.T) {
	w := newWorld(t)
	pages := map[string]string{
		`{}`:                `{"tools":[{"name":"read"}],"nextCursor":"n\"1"}`,
		`{"cursor":"n\"1"}`: `{"tools":[{"name":"write"}]}`,
	}
	count := 0
	list := func(_ context.Context, params jsontext.Value) (jsontext.Value, error) {
		count++
		return jsontext.Value(pages[string(params)]), nil
	}
	for i := range 3 {
		m, _ := readMessage([]byte(call(i, "write", `{}`)), true)
		if v := w.s.fromClient(t.Context(), m, list); v.forward == nil {
			t.Fatalf("%+v", v.refused)
		}
	}
	if count != 2 {
		t.Errorf("the server was asked %d times, not for two pages", count)
	}
	w.server(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	m, _ := readMessage([]byte(call(9, "write", `{}`)), true)
	if w.s.fromClient(t.Context(), m, list); count != 4 {
		t.Errorf("after list_changed the server was asked %d times, not 4", count)
	}
}

func TestServerNames(t *testing.T) {
	for name, want := range map[string]string{"files": "files", "My-Files_2": "my-files_2", "": "", "a.b": "", "a b": "", "a*": "", "ä": "", "a/b": ""} {
		if got, err := CheckServerName(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
}
