package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/gowebpki/jcs"

	"bailiff/runtime/intent"
)

// testConfig is what golden requests say beside their events.
var testConfig = Config{AgentID: "agent", Framework: "agent-hooks", FallbackTaskID: "fallback", Random: "random-nonce"}

// TestEvents holds events of each host and tool, and the requests that they become, against golden files.
func TestEvents(t *testing.T) {
	seen := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			event, err := Read(d.CmdArgs[0].Vals[0], []byte(d.Input))
			if name := strings.TrimSuffix(filepath.Base(path), ".txt"); event.Host != nil && Find(name) != nil && event.Host.Name != name {
				t.Errorf("%s: read as an event of %s", d.Pos, event.Host.Name)
			}
			if err != nil {
				return fmt.Sprintf("denied: %v\n", err)
			}
			request, err := event.Request(testConfig)
			if err != nil {
				return fmt.Sprintf("%s denied: %v\n", event.Host.Name, err)
			}
			checkRequest(t, d.Pos, request)
			seen[event.Host.Name+" "+event.Tool.Name] = true
			return fmt.Sprintf("%s %s nonce=%s\n%s\n", event.Host.Name, event.Tool.Kind, request.Nonce, request.Intent)
		})
	})
	for _, tool := range Tools {
		if !seen[tool.Host+" "+tool.Name] {
			t.Errorf("%s: no golden event calls %s", tool.Host, tool.Name)
		}
	}
}

// checkRequest holds a request against the service's own reader, and its commitment against another library.
func checkRequest(t *testing.T, at string, r *Request) {
	t.Helper()
	if _, err := intent.NewDecoder(intent.Options{}).Decode(r.Body); err != nil {
		t.Errorf("%s: the service refuses the request: %v", at, err)
	}
	var body struct {
		TxCommit string
		Intent   json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	form, err := jcs.Transform(body.Intent)
	if err != nil || digest(form) != body.TxCommit {
		t.Errorf("%s: txCommit is not that of %s (%v)", at, form, err)
	}
}

// TestTables holds the tables to what their readers rely on.
func TestTables(t *testing.T) {
	for _, h := range Hosts {
		if h.Title == "" || h.Timeout == 0 || h.Open == "" || h.NoEvent == "" || h.Register < 1 || h.Register > len(h.Forms) {
			t.Errorf("%s: the row is incomplete", h.Name)
		}
		if (h.FailClosed == "") != (h.FailClosedValue == "") || h.TimeoutField != "" && h.TimeoutUnit == 0 {
			t.Errorf("%s: half of a setting is missing", h.Name)
		}
	}
	seen := map[string]bool{}
	for _, tool := range Tools {
		if Find(tool.Host) == nil || tool.Kind == KindOther || seen[tool.Host+tool.Name] {
			t.Errorf("%+v: of no host, of no kind, or twice", tool)
		}
		if from := tool.Kind == KindShell || tool.Kind == KindPatch; from != (tool.From != "") {
			t.Errorf("%+v: From", tool)
		}
		seen[tool.Host+tool.Name] = true
	}
}

// known are the members that a host's answers may have, the required ones of a denial first.
var known = map[string][]string{
	ClaudeCode: {"hookSpecificOutput", "systemMessage"}, Codex: {"hookSpecificOutput"}, Gemini: {"decision", "reason", "systemMessage"},
	Cursor: {"permission", "user_message", "agent_message"}, Copilot: {"permissionDecision", "permissionDecisionReason"}, Hermes: {"decision", "reason"},
	OpenCode: {"decision", "reason"}, OpenClaw: {"decision", "reason"},
}

// checkAnswer returns what is wrong with an answer.
func checkAnswer(h *Host, d Decision, out Output) error {
	if h == nil || h.answer.byExit && !d.Allowed {
		if out.Exit != 2 || len(out.Stdout) > 0 || len(bytes.TrimSpace(out.Stderr)) == 0 || json.Valid(out.Stderr) {
			return errors.New("is no denial by exit code")
		}
		return nil
	}
	if out.Exit != 0 {
		return errors.New("exits with another code than 0")
	}
	if len(out.Stdout) == 0 {
		if !d.Allowed {
			return errors.New("denies without a word")
		}
		return nil
	}
	var members map[string]any
	if err := json.Unmarshal(out.Stdout, &members); err != nil {
		return err
	}
	for name := range members {
		if !slices.Contains(known[h.Name], name) {
			return fmt.Errorf("has %s", name)
		}
	}
	denies := bytes.Contains(out.Stdout, []byte(`"deny"`)) || bytes.Contains(out.Stdout, []byte(`"block"`))
	if denies == d.Allowed {
		return errors.New("says the other thing")
	}
	if inner, ok := members["hookSpecificOutput"].(map[string]any); ok {
		members = inner
	}
	if d.Allowed {
		return nil
	}
	for _, name := range []string{"permissionDecisionReason", "reason", "agent_message"} {
		if reason, _ := members[name].(string); reason != "" && reason == plainReason(d.Reason) {
			return nil
		}
	}
	return errors.New("gives no reason")
}

// TestAnswers holds the answers of every host to its rules, whatever the reason is.
func TestAnswers(t *testing.T) {
	reasons := []string{"", " ", "\x00\x1b", "no \"quotes\" \\ \n\x1b[2J", strings.Repeat("long ", 2000), "\xff\xfe", "\u202eevil", "{}"}
	hosts := []*Host{nil}
	for _, name := range Adapters()[1:] {
		hosts = append(hosts, Find(name))
	}
	for _, h := range hosts {
		for _, reason := range reasons {
			for _, d := range []Decision{{Reason: reason}, {Allowed: true}, {Allowed: true, FailOpen: true, Reason: reason}} {
				out := Answer(h, d)
				if err := checkAnswer(h, d, out); err != nil {
					t.Errorf("%v %+v: the answer %v: %q", h, d, err, out.Stdout)
				}
				if bytes.ContainsAny(append(out.Stdout, out.Stderr...), "\x1b\x00\u202e") {
					t.Errorf("%v: steers the terminal", h)
				}
				if tagged := bytes.Contains(out.Stderr, []byte(`"failOpen":true`)); tagged != (d.FailOpen && h != nil) {
					t.Errorf("%v %+v: the tag is %t", h, d, tagged)
				}
				if n := len(out.Stdout); n > 3*maxReason {
					t.Errorf("an answer of %d bytes", n)
				}
			}
		}
	}
	// The canary: answers that hosts take for none.
	for text, d := range map[string]Decision{
		`{}`: {Reason: "no"}, `{"decision":"deny","reason":"reason","stopReason":"x"}`: {Reason: "reason"}, `{"decision":"deny","reason":""}`: {Reason: "reason"},
		`{}{}`: {Allowed: true}, `{"decision":"deny","reason":"x"}`: {Allowed: true},
	} {
		if checkAnswer(Find(Gemini), d, Output{Stdout: []byte(text)}) == nil {
			t.Errorf("%s passes for an answer", text)
		}
	}
}

// TestCanonicalNames lists names of tools with their actions.
func TestCanonicalNames(t *testing.T) {
	for name, want := range map[string]string{
		"TodoWrite": "todo_write", "MCPTool": "mcp_tool", "LSP": "lsp", "google_web_search": "google_web_search", "AskUserQuestion": "ask_user_question",
		"a.b": "a_b", "mcp.x.y": "mcp_x_y", "Bash2": "bash2", "BASH": "tool_bash", "Http": "tool_http", "WEB_FETCH": "tool_web_fetch", "email.send": "email_send",
		"model.inference": "model_inference", "mcp": "tool_mcp", "...": "", "": "", "bäsh": "", "a\nb": "", strings.Repeat("a", 129): "",
	} {
		if got, ok := canonicalName(name); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %t, want %q", name, got, ok, want)
		}
	}
}

// TestTaskIDs gives the order of task ids, and keeps subagents apart.
func TestTaskIDs(t *testing.T) {
	read := func(members string) Event {
		e, err := Read(Codex, []byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}`+members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, row := range []struct{ members, configured, want string }{
		{``, "", "env"}, {``, "set", "set"}, {`,"session_id":"s"`, "set", "set"},
		{`,"turn_id":"t","run_id":"r","conversation_id":"c","session_id":"s"`, "", "s"}, {`,"turn_id":"t","run_id":"r","conversation_id":"c"`, "", "c"},
		{`,"turn_id":"t","runId":"r"`, "", "r"}, {`,"turnId":"t"`, "", "t"}, {`,"session_id":"","turn_id":"t"`, "", "t"},
		{`,"session_id":"s","agent_id":"a"`, "", "s_agent_a"}, {`,"session_id":"s","agent_id":"a"`, "set", "set"},
		{`,"session_id":"s/1"`, "", "id-" + digest([]byte("s/1"))}, {`,"session_id":"s","agent_id":"a b"`, "", "id-" + digest([]byte("s\x00a b"))},
	} {
		e := read(row.members)
		if got := e.taskID(Config{TaskID: row.configured, FallbackTaskID: "env"}); got != row.want || !IsTaskID(got) {
			t.Errorf("%s: %s, want %s", row.members, got, row.want)
		}
	}
}

// TestContents sends contents where that is configured, and refuses more than can be sent.
func TestContents(t *testing.T) {
	event := func(content string) Event {
		text, _ := json.Marshal(content)
		e, err := Read(ClaudeCode, []byte(`{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"a","content":`+string(text)+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	sending := testConfig
	sending.SendContent = true
	e := event("SECRET")
	without, err1 := e.Request(testConfig)
	with, err2 := e.Request(sending)
	if err1 != nil || err2 != nil || bytes.Contains(without.Body, []byte("SECRET")) || !bytes.Contains(with.Body, []byte("SECRET")) {
		t.Errorf("%v %v: contents are sent where they should not be, or not where they should", err1, err2)
	}
	e = event(strings.Repeat("x", maxContent+1))
	if _, err := e.Request(sending); err == nil {
		t.Error("contents that are too long to be sent are passed over")
	}
	if _, err := e.Request(testConfig); err != nil {
		t.Errorf("contents that are not sent: %v", err)
	}
}

// TestManyPaths refuses a patch of more paths than a request takes.
func TestManyPaths(t *testing.T) {
	patch := func(n int) error {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "*** Delete File: f%d\\n", i)
		}
		e, err := Read(Codex, []byte(`{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"`+b.String()+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Request(testConfig)
		return err
	}
	if err := patch(maxPaths); err != nil {
		t.Error(err)
	}
	if patch(maxPaths+1) == nil {
		t.Error("a patch of too many paths is asked for")
	}
}

// TestNumbers sends numbers as they were written, so that the service refuses what two readers take for two values.
func TestNumbers(t *testing.T) {
	e, err := Read(ClaudeCode, []byte(`{"hook_event_name":"PreToolUse","tool_name":"mcp__a__b","tool_input":{"n":9007199254740993}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Request(testConfig)
	if err != nil || !bytes.Contains(r.Body, []byte("9007199254740993")) {
		t.Errorf("%v: %s", err, r.Body)
	}
}

// FuzzRead holds that no event makes the package fail otherwise than by an error, and that what it asks for can be asked.
func FuzzRead(f *testing.F) {
	f.Add(`{"hook_event_name":"BeforeTool","tool_name":"glob","tool_input":{"pattern":"*"}}`)
	f.Add(`{"toolName":"edit","toolArgs":"{\"path\":[\"a\"]}"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, adapter := range Adapters() {
			e, err := Read(adapter, []byte(text))
			if err != nil {
				continue
			}
			r, err := e.Request(testConfig)
			if err != nil {
				continue
			}
			if _, err := readObject(r.Body); err != nil {
				t.Errorf("the body %s: %v", r.Body, err)
			}
		}
	})
}
