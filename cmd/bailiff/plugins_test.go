package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
	"bailiff/httpd/client/typescript"
	"bailiff/runtime/hook"
)

// nodeTypes is what the plugins use of Node, so that they compile without the types of Node.
const nodeTypes = `
declare const process: { env: Record<string, string | undefined> }
declare module 'node:child_process' {
  interface Stream { setEncoding(name: string): Stream; on(event: 'data', listener: (part: string) => void): Stream }
  interface Child {
    stdout: Stream
    stderr: Stream
    stdin: { on(event: 'error', listener: () => void): void; end(text: string): void }
    on(event: 'error', listener: (error: Error) => void): void
    on(event: 'close', listener: (code: number | null) => void): void
    kill(signal: string): void
  }
  export function spawn(command: string, args: string[], options: { signal?: AbortSignal; killSignal: string; windowsHide: boolean }): Child
}
`

// pluginOptions compile the plugins for hosts that only take the types out of them, too.
const pluginOptions = `{"files": ["node.d.ts", "opencode.ts", "openclaw.ts"], "compilerOptions": {
  "strict": true, "noUncheckedIndexedAccess": true, "noUnusedLocals": true, "erasableSyntaxOnly": true, "verbatimModuleSyntax": true, "types": [],
  "lib": ["es2023", "dom"], "module": "nodenext", "target": "es2022", "rewriteRelativeImportExtensions": true, "rootDir": ".", "outDir": ".."
}}`

// A pluginCall is a call of a tool on a host with plugins, and played what became of it.
type pluginCall struct {
	Host    string          `json:"host"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Session string          `json:"session,omitempty"`
	ID      string          `json:"id,omitempty"`
	Kind    string          `json:"kind,omitempty"`  // toolKind
	Agent   string          `json:"agent,omitempty"` // main where it is empty
	Abort   int             `json:"abort,omitempty"` // after so many milliseconds the host gives the call up
}

type played struct {
	Runs   bool
	Reason string
}

// shells are one call on each host with plugins.
var shells = []pluginCall{
	{Host: hook.OpenCode, Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`), Session: "s", ID: "c"},
	{Host: hook.OpenClaw, Tool: "exec", Input: json.RawMessage(`{"command":"ls"}`), Session: "s", ID: "c"},
}

// buildPlugins compiles the plugins, types checked, beside the fake hosts, and returns the folder. Edits change the sources first.
func buildPlugins(t *testing.T, edits ...func(t *testing.T, source string)) (folder string) {
	t.Helper()
	packages := typescript.Build(t)
	folder, err := os.MkdirTemp(packages, "plugins-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	source := filepath.Join(folder, "src")
	if err := os.CopyFS(source, os.DirFS(filepath.Join("hook", "plugins"))); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		edit(t, source)
	}
	hosts, err := os.ReadFile(filepath.Join("testdata", "plugin_hosts.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"hosts.mjs": string(hosts), "package.json": `{"type": "module"}`, filepath.Join("src", "node.d.ts"): nodeTypes, filepath.Join("src", "tsconfig.json"): pluginOptions,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := npm.Run(t, 3*time.Minute, packages, nil, "node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "--project", source); err != nil {
		t.Fatalf("tsc: %v\n%s", err, output)
	}
	return folder
}

// playPlugins has the fake hosts make calls, with a command in the place of bailiff.
func playPlugins(t *testing.T, folder, command string, calls ...pluginCall) (all []played) {
	t.Helper()
	var input bytes.Buffer
	for _, call := range calls {
		if err := json.NewEncoder(&input).Encode(call); err != nil {
			t.Fatal(err)
		}
	}
	output, err := npm.Run(t, 2*time.Minute, folder, input.Bytes(), "env", "BAILIFF="+command, "node", "hosts.mjs")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(string(output)) {
		var p played
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, p)
	}
	if len(all) != len(calls) {
		t.Fatalf("%d calls became %d", len(calls), len(all))
	}
	return all
}

// scriptFor writes a shell script that is run instead of bailiff.
func scriptFor(t *testing.T, script string) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "bailiff")
	if err := os.WriteFile(command, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return command
}

// TestPlugins plays OpenCode and OpenClaw with their plugins.
func TestPlugins(t *testing.T) {
	folder := buildPlugins(t)
	t.Run("answers", func(t *testing.T) { testPluginAnswers(t, folder) })
	t.Run("events", func(t *testing.T) { testPluginEvents(t, folder) })
	t.Run("ids", func(t *testing.T) { testPluginIDs(t, folder) })
	t.Run("abort", func(t *testing.T) { testPluginAbort(t, folder) })
	t.Run("settings", func(t *testing.T) { testPluginSettings(t, folder) })
	t.Run("decide", func(t *testing.T) { testPluginDecisions(t, folder) })
}

// testPluginAnswers has the plugins ask commands that allow, deny and fail: a call runs on {} alone.
func testPluginAnswers(t *testing.T, folder string) {
	const silent = "bailiff hook gave no answer"
	for script, want := range map[string]string{
		`cat > /dev/null; echo "{}"`: "",
		`echo "{}"`:                  "",
		`cat > /dev/null; echo '{"decision":"deny","reason":"no ls"}'`: "no ls",
		`cat > /dev/null; echo '{"decision":"deny"}'`:                  "denied by bailiff",
		`cat > /dev/null; echo '{"decision":"allow"}'`:                 "denied by bailiff",
		`cat > /dev/null; echo "{}"; exit 1`:                           silent,
		`cat > /dev/null; echo "{}"; kill -9 $$`:                       silent,
		`cat > /dev/null; echo why >&2; exit 2`:                        "why",
		`cat > /dev/null; echo "{}{}"`:                                 silent,
		`cat > /dev/null; echo "[]"`:                                   silent,
		`cat > /dev/null; echo "null"`:                                 silent,
		`cat > /dev/null`:                                              silent,
		`kill -9 $$`:                                                   silent,
		`cat > /dev/null; yes`:                                         "bailiff hook answered with more than 1 MiB",
		`cat > /dev/null; yes >&2`:                                     "bailiff hook answered with more than 1 MiB",
	} {
		holdPlugins(t, folder, scriptFor(t, script), script, want)
	}
	holdPlugins(t, folder, filepath.Join(folder, "missing"), "missing", "bailiff hook cannot be run")
}

// holdPlugins makes a call on both hosts, and holds what becomes of it to a reason, empty where it runs.
func holdPlugins(t *testing.T, folder, command, name, want string) {
	t.Helper()
	for i, p := range playPlugins(t, folder, command, shells...) {
		if p.Runs != (want == "") || !strings.HasPrefix(p.Reason, want) {
			t.Errorf("%s, %s: %+v, want %q", shells[i].Host, name, p, want)
		}
	}
}

// goldenEvents are the events of a host's golden file (runtime/hook).
func goldenEvents(t *testing.T, host string) (events []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "runtime", "hook", "testdata", host+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"hook_event_name"`) {
			events = append(events, unmarshalObject(t, []byte(line)))
		}
	}
	return events
}

func unmarshalObject(t *testing.T, text []byte) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return members
}

// testPluginEvents holds that the plugins write the events of the golden files, of which package hook shows the requests.
func testPluginEvents(t *testing.T, folder string) {
	var calls []pluginCall
	var want []map[string]any
	for _, host := range []string{hook.OpenCode, hook.OpenClaw} {
		seen := map[any]bool{}
		for i, event := range goldenEvents(t, host) {
			input, err := json.Marshal(event["tool_input"])
			if err != nil {
				t.Fatal(err)
			}
			session, _ := event["session_id"].(string)
			call := pluginCall{Host: host, Session: session, Input: input, ID: host + string(rune('a'+i))}
			call.Tool, _ = event["tool_name"].(string)
			if call.Tool == "code_mode_exec" {
				call.Tool, call.Kind = "exec", call.Tool
			}
			event["tool_use_id"] = call.ID
			calls, want = append(calls, call), append(want, event)
			seen[event["tool_name"]] = true
		}
		for _, tool := range hook.Tools {
			if tool.Host == host && !seen[tool.Name] {
				t.Errorf("%s: no event calls %s", host, tool.Name)
			}
		}
	}
	if got := recordEvents(t, folder, calls...); !reflect.DeepEqual(got, want) {
		t.Errorf("the events\n%v\nwant\n%v", got, want)
	}
}

// recordEvents returns the events that the plugins write about calls.
func recordEvents(t *testing.T, folder string, calls ...pluginCall) (events []map[string]any) {
	t.Helper()
	record := filepath.Join(t.TempDir(), "events")
	for i, p := range playPlugins(t, folder, scriptFor(t, `cat >> '`+record+`'; echo >> '`+record+`'; echo "{}"`), calls...) {
		if !p.Runs {
			t.Errorf("%+v: %s", calls[i], p.Reason)
		}
	}
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		events = append(events, unmarshalObject(t, lines.Bytes()))
	}
	return events
}

// testPluginIDs asks for each call under an id of its own, though a host repeats its ids, and sends no folder that it does
// not know.
func testPluginIDs(t *testing.T, folder string) {
	again, other, unnamed, strange := shells[1], shells[1], shells[1], shells[1]
	other.Session, unnamed.ID, strange.Agent, strange.ID = "t", "", "stranger", "d"
	var got []any
	events := recordEvents(t, folder, shells[1], again, other, unnamed, again, strange)
	for _, event := range events {
		got = append(got, event["tool_use_id"])
	}
	if want := []any{"c", "c~1", "c", nil, "c~2", "d"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the ids %v, want %v", got, want)
	}
	if cwd, sent := events[len(events)-1]["cwd"]; sent {
		t.Errorf("an agent without a known folder works in %v", cwd)
	}
}

// testPluginAbort stops the question when the host gives the call up, and does not let it run.
func testPluginAbort(t *testing.T, folder string) {
	call := shells[1]
	call.Abort = 300
	start := time.Now()
	p := playPlugins(t, folder, scriptFor(t, `sleep 45; echo "{}"`), call)[0]
	if p.Runs || time.Since(start) > 30*time.Second {
		t.Errorf("%+v after %v", p, time.Since(start))
	}
}

// testPluginSettings has the plugins run the command line of their settings, and deny where that is none.
func testPluginSettings(t *testing.T, folder string) {
	words := scriptFor(t, `cat > /dev/null; echo "{\"decision\":\"deny\",\"reason\":\"$*\"}"`)
	for command, want := range map[string]string{
		`["` + words + `", "hook", "a b"]`: "hook a b",
		`[]`:                               "the settings of the plugin have a command that is not a list of words",
		`"` + words + `"`:                  "the settings of the plugin have a command",
		`["` + words + `", 1]`:             "the settings of the plugin have a command",
		`[""]`:                             "bailiff hook cannot be",
		`null`:                             "the settings of the plugin have a command",
	} {
		t.Setenv("PLUGIN_OPTIONS", `{"command": `+command+`}`)
		for i, p := range playPlugins(t, folder, scriptFor(t, `echo "{}"`), shells...) {
			if p.Runs || !strings.Contains(p.Reason, want) {
				t.Errorf("%s, %s: %+v, want %q", shells[i].Host, command, p, want)
			}
		}
	}
}

// testPluginDecisions has the plugins ask a service through bailiff itself.
func testPluginDecisions(t *testing.T, folder string) {
	hookHome(t)
	service := &fakeService{}
	server := httptest.NewServer(service)
	defer server.Close()
	for name, row := range map[string]struct {
		url          string
		status       int
		body         string
		open, closed bool // whether the call runs
		says         string
	}{
		"allowed":           {server.URL, 200, allowedAnswer, true, true, ""},
		"denied":            {server.URL, 403, deniedAnswer, false, false, "tool_calls.bash.blocked_commands"},
		"pending":           {server.URL, 202, pendingAnswer, false, false, "bailiff holds approve h-1"},
		"too many requests": {server.URL, 429, `{"status":"DENIED","error_code":"SVC_RATE_LIMITED","message":"no"}`, false, false, "SVC_RATE_LIMITED"},
		"unavailable":       {server.URL, 503, `{"status":"UNAVAILABLE","error_code":"SVC_STORE_UNAVAILABLE","message":"no"}`, true, false, "SVC_STORE_UNAVAILABLE"},
		"garbage":           {server.URL, 200, "<html>", true, false, "cannot be reached"},
		"down":              {"http://127.0.0.1:1", 0, "", true, false, "cannot be reached"},
	} {
		service.status, service.body = row.status, row.body
		t.Setenv("SVC_API_URL", row.url)
		for mode, want := range map[string]bool{"open": row.open, "closed": row.closed} {
			t.Setenv("SVC_FAIL_MODE", mode)
			for i, p := range playPlugins(t, folder, "", shells...) { // bailiff is in PATH
				if p.Runs != want || !want && !strings.Contains(p.Reason, row.says) {
					t.Errorf("%s, %s, %s: %+v", shells[i].Host, name, mode, p)
				}
			}
		}
	}
}
