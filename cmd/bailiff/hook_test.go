package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"bailiff/cmd/bailiff/cli"
	cmdhook "bailiff/cmd/bailiff/hook"
	"bailiff/cmd/bailiff/policy"
	"bailiff/runtime/hook"
	"bailiff/runtime/hook/setup"
)

// hookEvents are one event of each host.
var hookEvents = map[string]string{
	hook.ClaudeCode: `{"hook_event_name":"PreToolUse","session_id":"s1","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call-1"}`,
	hook.Codex:      `{"hook_event_name":"PreToolUse","session_id":"s1","turn_id":"7","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call-1"}`,
	hook.Gemini:     `{"hook_event_name":"BeforeTool","session_id":"s1","tool_name":"run_shell_command","tool_input":{"command":"ls"}}`,
	hook.Cursor:     `{"hook_event_name":"beforeShellExecution","conversation_id":"s1","command":"ls"}`,
	hook.Copilot:    `{"sessionId":"s1","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`,
	hook.Windsurf:   `{"agent_action_name":"pre_run_command","trajectory_id":"s1","tool_info":{"command_line":"ls"}}`,
	hook.OpenCode:   `{"hook_event_name":"tool.execute.before","session_id":"s1","tool_name":"bash","tool_input":{"command":"ls"}}`,
	hook.OpenClaw:   `{"hook_event_name":"before_tool_call","session_id":"s1","tool_name":"exec","tool_input":{"command":"ls"}}`,
	hook.Hermes:     `{"hook_event_name":"pre_tool_call","session_id":"s1","tool_name":"terminal","tool_input":{"command":"ls"}}`,
}

// hookHome gives a test folders of its own.
func hookHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state"), "SVC_API_KEY": "sk_svc_test",
		"SVC_API_URL": "", "SVC_FAIL_MODE": "", "SVC_TASK_ID": "", "SVC_HOOK_CONFIG": "", "SVC_AGENT_ID": "", "SVC_FRAMEWORK": "", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "",
	} {
		t.Setenv(name, value)
	}
	return home
}

// runHook runs the command with an event.
func runHook(event string, flags ...string) hook.Output {
	var out, errs bytes.Buffer
	code := run(append([]string{"hook"}, flags...), cli.Streams{In: strings.NewReader(event), Out: &out, Err: &errs})
	return hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Exit: code}
}

// runs reports whether a host lets the call run on this answer, by the rules of hosts (docs/hooks.md).
func runs(host string, out hook.Output) bool {
	if out.Exit == 2 && len(out.Stdout) == 0 && !json.Valid(out.Stderr) && len(bytes.TrimSpace(out.Stderr)) > 0 {
		return false // every host takes this for a denial
	}
	if host == hook.Windsurf {
		return true
	}
	var members map[string]any
	if out.Exit != 0 || json.Unmarshal(out.Stdout, &members) != nil {
		return true
	}
	if inner, ok := members["hookSpecificOutput"].(map[string]any); ok && (host == hook.ClaudeCode || host == hook.Codex) {
		members = inner
	}
	word, reason := map[string][2]string{
		hook.ClaudeCode: {"permissionDecision", "permissionDecisionReason"}, hook.Codex: {"permissionDecision", "permissionDecisionReason"},
		hook.Copilot: {"permissionDecision", "permissionDecisionReason"}, hook.Gemini: {"decision", "reason"}, hook.Hermes: {"decision", "reason"}, hook.OpenCode: {"decision", "reason"}, hook.OpenClaw: {"decision", "reason"},
		hook.Cursor: {"permission", "agent_message"},
	}[host][0], map[string]string{
		hook.Gemini: "reason", hook.Hermes: "reason", hook.OpenCode: "reason", hook.OpenClaw: "reason", hook.Cursor: "agent_message",
	}[host]
	if reason == "" {
		reason = "permissionDecisionReason"
	}
	said, _ := members[reason].(string)
	denial := "deny"
	if host == hook.Hermes {
		denial = "block"
	}
	return members[word] != denial || said == ""
}

const policyHashOfTests = `"policyHash":"0000000000000000000000000000000000000000000000000000000000000000"`

// A fakeService answers as a service might.
type fakeService struct {
	status int
	body   string // %s is the nonce of the request
	slow   time.Duration
	bodies []string
}

// ServeHTTP answers.
func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	f.bodies = append(f.bodies, string(text))
	var request struct {
		Nonce string `json:"request_nonce"`
	}
	_ = json.Unmarshal(text, &request)
	select {
	case <-time.After(f.slow):
	case <-r.Context().Done():
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, strings.ReplaceAll(f.body, "%s", request.Nonce))
}

const (
	allowedAnswer = `{"status":"ALLOWED","intent_attestation":"a.b.c",` + policyHashOfTests + `,"message":"ok","request_nonce":"%s"}`
	deniedAnswer  = `{"status":"DENIED","intent_attestation":null,` + policyHashOfTests + `,"error_code":"SVC_POLICY_VIOLATION_BLOCKED_COMMAND","matched_rule":"tool_calls.bash.blocked_commands","message":"no","request_nonce":"%s"}`
	pendingAnswer = `{"status":"PENDING","intent_attestation":null,` + policyHashOfTests + `,"error_code":"SVC_POLICY_HOLD_APPROVAL_REQUIRED","matched_rule":"tool_calls.require_approval","message":"wait","holdId":"h-1","expiresAt":1,"request_nonce":"%s"}`
)

// TestHookDecides holds what every host does with every answer, in both modes.
func TestHookDecides(t *testing.T) {
	hookHome(t)
	for name, row := range map[string]struct {
		service      *fakeService // nil where none listens
		open, closed bool         // whether the call runs
		says         string
	}{
		"allowed":                 {&fakeService{status: 200, body: allowedAnswer}, true, true, ""},
		"denied":                  {&fakeService{status: 403, body: deniedAnswer}, false, false, "tool_calls.bash.blocked_commands"},
		"pending":                 {&fakeService{status: 202, body: pendingAnswer}, false, false, "bailiff holds approve h-1"},
		"a bad key":               {&fakeService{status: 401, body: `{"status":"DENIED","error_code":"SVC_API_KEY_INVALID","message":"no"}`}, false, false, "SVC_API_KEY_INVALID"},
		"too many requests":       {&fakeService{status: 429, body: `{"status":"DENIED","error_code":"SVC_RATE_LIMITED","message":"no"}`}, false, false, "SVC_RATE_LIMITED"},
		"a 4xx without a word":    {&fakeService{status: 418}, false, false, "418"},
		"down":                    {nil, true, false, "cannot be reached"},
		"unavailable":             {&fakeService{status: 503, body: `{"status":"UNAVAILABLE","error_code":"SVC_STORE_UNAVAILABLE","message":"no"}`}, true, false, "SVC_STORE_UNAVAILABLE"},
		"slow":                    {&fakeService{status: 200, body: allowedAnswer, slow: 5 * time.Second}, true, false, "cannot be reached"},
		"garbage":                 {&fakeService{status: 200, body: "<html>"}, true, false, "cannot be reached"},
		"a redirect":              {&fakeService{status: 302, body: allowedAnswer}, true, false, "cannot be reached"},
		"too large":               {&fakeService{status: 200, body: allowedAnswer + strings.Repeat(" ", 2<<20)}, true, false, "cannot be reached"},
		"of another call":         {&fakeService{status: 200, body: strings.Replace(allowedAnswer, "%s", "other", 1)}, true, false, "cannot be reached"},
		"without an attestation":  {&fakeService{status: 200, body: strings.Replace(allowedAnswer, `"a.b.c"`, "null", 1)}, true, false, "cannot be reached"},
		"allowed by a wrong code": {&fakeService{status: 202, body: allowedAnswer}, true, false, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			address := "http://127.0.0.1:1"
			if row.service != nil {
				server := httptest.NewServer(row.service)
				defer server.Close()
				address = server.URL
			}
			for mode, want := range map[string]bool{"open": row.open, "closed": row.closed} {
				for host, event := range hookEvents {
					patience := "60s"
					if name == "slow" {
						if host != hook.Codex && host != hook.Windsurf {
							continue // a second each
						}
						patience = "1s"
					}
					out := runHook(event, "--url", address, "--fail-mode", mode, "--host-timeout", patience)
					if got := runs(host, out); got != want {
						t.Errorf("%s, %s: the call runs: %t, want %t: %+v", host, mode, got, want, out)
					}
					said := string(out.Stdout) + string(out.Stderr)
					if !want && !strings.Contains(said, row.says) {
						t.Errorf("%s, %s: says %s", host, mode, said)
					}
					if tagged := strings.Contains(said, `"failOpen":true`); tagged != (want && !row.closed) {
						t.Errorf("%s, %s: tagged %t: %s", host, mode, tagged, said)
					}
				}
			}
		})
	}
}

// TestHookRefusesEvents denies what cannot be read, in both modes.
func TestHookRefusesEvents(t *testing.T) {
	hookHome(t)
	server := httptest.NewServer(&fakeService{status: 200, body: allowedAnswer})
	defer server.Close()
	for name, event := range map[string]string{
		"empty": "", "garbage": "rm -rf /", "two events": hookEvents[hook.ClaudeCode] + hookEvents[hook.ClaudeCode], "not UTF-8": "{\"a\":\"\xff\"}",
		"large": `{"hook_event_name":"PreToolUse","x":"` + strings.Repeat("x", 10<<20) + `"}`, "UTF-16": "\xff\xfe{\x00}\x00",
	} {
		for _, mode := range []string{"open", "closed"} {
			for _, adapter := range hook.Adapters() {
				host := adapter
				if name == "large" && adapter != hook.Auto && adapter != hook.Codex {
					continue // a tenth of a second each
				}
				if adapter == hook.Auto {
					host = hook.Gemini
				}
				if out := runHook(event, "--url", server.URL, "--fail-mode", mode, "--adapter", adapter); runs(host, out) {
					t.Errorf("%s, %s, %s: the call runs: %+v", name, adapter, mode, out)
				}
			}
		}
	}
	marked := "\xef\xbb\xbf" + hookEvents[hook.Cursor]
	if out := runHook(marked, "--url", server.URL, "--adapter", hook.Cursor); !runs(hook.Cursor, out) {
		t.Errorf("a byte-order mark: %+v", out)
	}
}

// configWriter returns what writes a configuration file.
func configWriter(t *testing.T, file string) func(text string, mode os.FileMode) {
	t.Helper()
	return func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHookConfiguration reads flags before variables before the file.
func TestHookConfiguration(t *testing.T) {
	home := hookHome(t)
	service := &fakeService{status: 200, body: allowedAnswer}
	server := httptest.NewServer(service)
	defer server.Close()
	file := filepath.Join(home, "config", "bailiff", "hook.json")
	write := configWriter(t, file)
	agent := func(want string, flags ...string) {
		t.Helper()
		out := runHook(hookEvents[hook.ClaudeCode], flags...)
		last := strings.Join(service.bodies, "")
		service.bodies = nil
		if !strings.Contains(last, `"agentId":"`+want+`"`) || !runs(hook.ClaudeCode, out) {
			t.Errorf("%v: want the agent %s: %s %+v", flags, want, last, out)
		}
	}
	agent("agent", "--url", server.URL)
	write(fmt.Sprintf(`{"apiKey":"sk_svc_file","apiUrl":%q,"agentId":"of-file","failMode":"closed","taskId":"t9"}`, server.URL), 0o600)
	t.Setenv("SVC_API_KEY", "")
	agent("of-file")
	t.Setenv("SVC_AGENT_ID", "of-variable")
	agent("of-variable")
	agent("of-flag", "--agent-id", "of-flag")
}

// TestHookRefusesConfiguration denies by what is wrong with the configuration.
func TestHookRefusesConfiguration(t *testing.T) {
	home := hookHome(t)
	file := filepath.Join(home, "config", "bailiff", "hook.json")
	write := configWriter(t, file)
	refused := func(want string, flags ...string) {
		t.Helper()
		out := runHook(hookEvents[hook.ClaudeCode], flags...)
		if runs(hook.ClaudeCode, out) || !strings.Contains(string(out.Stdout)+string(out.Stderr), want) {
			t.Errorf("%v: %+v, want %s", flags, out, want)
		}
	}
	refused("failMode", "--fail-mode", "ajar")
	refused("task id", "--task-id", "a b")
	refused("--host-timeout", "--wait", "5m")
	refused("unknown flag", "--no-such-flag")
	refused("adapter", "--adapter", "none")
	write(`{"apiKey":"x","failmode2":"open"}`, 0o600)
	refused("failmode2")
	write(`{"apiKey":"x"}{}`, 0o600)
	refused("follows")
	if runtime.GOOS != "windows" {
		write(`{"apiKey":"x"}`, 0o640)
		refused("chmod 600")
		good := filepath.Join(home, "good.json")
		if err := os.WriteFile(good, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused("chmod 600", "--api-key-file", file, "--config", good)
		refused("not a file", "--config", "/dev/null")
	}
	refused("no such file", "--config", filepath.Join(home, "missing.json"))
}

// TestHookWaits waits for a hold, and acts on the second answer alone.
func TestHookWaits(t *testing.T) {
	hookHome(t)
	for name, row := range map[string]struct {
		hold, second string
		status       int
		want         bool
	}{
		"approved":                 {`{"holdId":"h-1","status":"ALLOWED"}`, allowedAnswer, 200, true},
		"approved, denied by then": {`{"holdId":"h-1","status":"ALLOWED"}`, deniedAnswer, 403, false},
		"refused":                  {`{"holdId":"h-1","status":"DENIED"}`, deniedAnswer, 403, false},
		"approved, then lost":      {`{"holdId":"h-1","status":"ALLOWED"}`, "", 503, false},
		"of another hold":          {`{"holdId":"h-2","status":"ALLOWED"}`, allowedAnswer, 200, false},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, row.hold)
				return
			}
			asked++
			if asked == 1 {
				w.WriteHeader(202)
				_, _ = io.WriteString(w, strings.ReplaceAll(pendingAnswer, "%s", "call-1"))
				return
			}
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, strings.ReplaceAll(row.second, "%s", "call-1"))
		}))
		out := runHook(hookEvents[hook.ClaudeCode], "--url", server.URL, "--fail-mode", "open", "--wait", "2s", "--host-timeout", "32s")
		server.Close()
		if got := runs(hook.ClaudeCode, out); got != row.want {
			t.Errorf("%s: the call runs: %t: %+v", name, got, out)
		}
	}
}

// brokenInput is a standard input that fails in its own way.
type brokenInput func() (int, error)

// Read implements io.Reader.
func (b brokenInput) Read([]byte) (int, error) { return b() }

// TestHookBreaks denies when it hangs, when it fails, and when it panics.
func TestHookBreaks(t *testing.T) {
	hookHome(t)
	hang := make(chan int)
	defer close(hang)
	for name, in := range map[string]brokenInput{
		"hangs":  func() (int, error) { return <-hang, io.EOF },
		"fails":  func() (int, error) { return 0, io.ErrUnexpectedEOF },
		"panics": func() (int, error) { panic("planted") },
	} {
		for _, host := range hook.Hosts {
			if name == "hangs" && host.Name != hook.Codex && host.Name != hook.Windsurf {
				continue // more than half a second each
			}
			var out, errs bytes.Buffer
			code := run([]string{"hook", "--adapter", host.Name, "--fail-mode", "open", "--host-timeout", "1s"}, cli.Streams{In: in, Out: &out, Err: &errs})
			if runs(host.Name, hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Exit: code}) {
				t.Errorf("%s, %s: the call runs: %d %s %s", name, host.Name, code, &out, &errs)
			}
		}
	}
}

// TestHookSignals denies when it is stopped by a signal that can be caught.
func TestHookSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such signals")
	}
	hookHome(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "bailiff") // which the tests' own binary is by that name
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		command := exec.Command(program, "hook", "--adapter", "gemini")
		in, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var out, errs bytes.Buffer
		command.Stdout, command.Stderr = &out, &errs
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		_ = command.Process.Signal(s)
		_ = command.Wait()
		if answer := (hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Exit: command.ProcessState.ExitCode()}); runs(hook.Gemini, answer) {
			t.Errorf("%v: the call runs: %+v", s, answer)
		}
	}
}

// TestHookUsage reads usage from transcripts in the host's own folder, and from no other file.
func TestHookUsage(t *testing.T) {
	home := hookHome(t)
	folder := filepath.Join(home, ".claude", "projects", "p")
	line := `{"type":"assistant","message":{"id":"m1","model":"m","usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":3}}}` + "\n"
	for name, text := range map[string]string{
		filepath.Join(folder, "s.jsonl"):                             line,
		filepath.Join(folder, "s", "subagents", "agent-a1.jsonl"):    line + line,
		filepath.Join(home, "outside.jsonl"):                         line,
		filepath.Join(home, ".codex", "sessions", "rollout-1.jsonl"): `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":7,"output_tokens":1,"total_tokens":8}}}}` + "\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"out.jsonl": "../../../outside.jsonl", "in.jsonl": "s.jsonl"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := syscall.Mkfifo(filepath.Join(folder, "pipe.jsonl"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		host, path, agent string
		want              int64 // of all tokens; -1 for no usage
	}{
		{hook.ClaudeCode, filepath.Join(folder, "s.jsonl"), "", 10}, {hook.ClaudeCode, filepath.Join(folder, "s.jsonl"), "a1", 10},
		{hook.ClaudeCode, filepath.Join(folder, "s.jsonl"), "a2", -1}, {hook.ClaudeCode, filepath.Join(folder, "s.jsonl"), "../../x", -1},
		{hook.ClaudeCode, filepath.Join(folder, "out.jsonl"), "", -1}, {hook.ClaudeCode, filepath.Join(folder, "in.jsonl"), "", -1},
		{hook.ClaudeCode, filepath.Join(folder, "pipe.jsonl"), "", -1}, {hook.ClaudeCode, filepath.Join(folder, "missing.jsonl"), "", -1},
		{hook.ClaudeCode, folder, "", -1}, {hook.ClaudeCode, "s.jsonl", "", -1},
		{hook.ClaudeCode, filepath.Join(home, "outside.jsonl"), "", -1}, {hook.ClaudeCode, filepath.Join(folder, "..", "..", "..", "outside.jsonl"), "", -1},
		{hook.Codex, filepath.Join(home, ".codex", "sessions", "rollout-1.jsonl"), "", 8}, {hook.Codex, filepath.Join(folder, "s.jsonl"), "", -1},
		{hook.Gemini, filepath.Join(folder, "s.jsonl"), "", -1},
	} {
		got := int64(-1)
		if used := cmdhook.ReadUsage(&hook.Event{Host: hook.Find(row.host), Transcript: row.path, Agent: row.agent}); used != nil {
			got = used.Input + used.Output
		}
		if got != row.want {
			t.Errorf("%s of %s %s: %d, want %d", row.path, row.host, row.agent, got, row.want)
		}
	}
}

// TestHookAdapters holds what --adapter takes to the table.
func TestHookAdapters(t *testing.T) {
	field, _ := reflect.TypeFor[cmdhook.Flags]().FieldByName("Adapter")
	if got, want := field.Tag.Get("enum"), strings.Join(hook.Adapters(), ","); got != want {
		t.Errorf("--adapter takes %s, want %s", got, want)
	}
}

// TestHookGrammar reads every subcommand of hook by the whole command line, and an event by the small one.
func TestHookGrammar(t *testing.T) {
	parser, err := kong.New(&command{}, kong.Vars{"starters": strings.Join(policy.StarterNames(), ","), "hosts": strings.Join(setup.Names(), ", ")})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range parser.Model.Children {
		if node.Name != "hook" {
			continue
		}
		for _, sub := range node.Children {
			if _, whole := grammarFor([]string{"hook", sub.Name}).(*command); !whole {
				t.Errorf("hook %s is taken for an event", sub.Name)
			}
		}
	}
	for _, arguments := range [][]string{{"hook"}, {"hook", "--adapter", "codex"}} {
		if _, whole := grammarFor(arguments).(*command); whole {
			t.Errorf("%v takes the whole command line", arguments)
		}
	}
}

// TestHookDefaults holds what is configured where nothing says otherwise (specification, hook-adapter.4).
func TestHookDefaults(t *testing.T) {
	hookHome(t)
	service := &fakeService{status: 200, body: allowedAnswer}
	server := httptest.NewServer(service)
	runHook(hookEvents[hook.ClaudeCode], "--url", server.URL)
	server.Close()
	sent := strings.Join(service.bodies, "")
	for _, want := range []string{`"agentId":"agent"`, `"framework":"agent-hooks"`, `"task_id":"s1"`, `"request_nonce":"call-1"`} {
		if !strings.Contains(sent, want) {
			t.Errorf("%s is not in %s", want, sent)
		}
	}
	if out := runHook(hookEvents[hook.ClaudeCode], "--url", server.URL); !runs(hook.ClaudeCode, out) || !strings.Contains(string(out.Stderr), `"failOpen":true`) {
		t.Errorf("the mode is not open: %+v", out)
	}
	t.Setenv("SVC_API_KEY", "")
	if out := runHook(hookEvents[hook.ClaudeCode], "--url", server.URL); runs(hook.ClaudeCode, out) {
		t.Errorf("no key: %+v", out)
	}
	t.Setenv("SVC_API_KEY", "sk_svc_test")
	t.Setenv("SVC_TASK_ID", "of-variable")
	server = httptest.NewServer(service)
	defer server.Close()
	runHook(strings.Replace(hookEvents[hook.ClaudeCode], `"session_id":"s1",`, "", 1), "--url", server.URL)
	if last := service.bodies[len(service.bodies)-1]; !strings.Contains(last, `"task_id":"of-variable"`) {
		t.Errorf("the variable is not the last resort: %s", last)
	}
}

// TestHookTellsUsage sends what the task has used with the request.
func TestHookTellsUsage(t *testing.T) {
	home := hookHome(t)
	name := filepath.Join(home, ".claude", "s.jsonl")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(`{"type":"assistant","message":{"id":"m","model":"m","usage":{"input_tokens":5,"output_tokens":3}}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := &fakeService{status: 200, body: allowedAnswer}
	server := httptest.NewServer(service)
	defer server.Close()
	runHook(strings.Replace(hookEvents[hook.ClaudeCode], `"session_id"`, fmt.Sprintf(`"transcript_path":%q,"session_id"`, name), 1), "--url", server.URL)
	want := `"model_usage":{"provider":"anthropic","model":"m","input_tokens":5,"output_tokens":3,"total_tokens":8}`
	if len(service.bodies) != 1 || !strings.Contains(service.bodies[0], want) {
		t.Errorf("%s, want %s", service.bodies, want)
	}
}

// TestHookLog notes what the service has no record of, and nothing else.
func TestHookLog(t *testing.T) {
	home := hookHome(t)
	server := httptest.NewServer(&fakeService{status: 200, body: allowedAnswer})
	defer server.Close()
	runHook(hookEvents[hook.ClaudeCode], "--url", server.URL)
	name := filepath.Join(home, "state", "bailiff", "hook.log")
	if text, err := os.ReadFile(name); err == nil {
		t.Errorf("a decision of the service is noted: %s", text)
	}
	runHook(hookEvents[hook.ClaudeCode], "--url", "http://127.0.0.1:1", "--fail-mode", "open")
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), `"failOpen":true`) || !strings.Contains(string(text), `"session":"s1"`) {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v: the log is of mode %v", err, info.Mode())
	}
}
