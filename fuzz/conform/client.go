package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"bailiff/fuzz/hosts"
)

// noClient says why the level is not run.
const noClient = "the kit was not given the command line of a hook adapter (--client)"

// A scene is one event that an adapter is given, what the service answers, and whether the call may run.
type scene struct {
	name     string
	event    []byte
	failMode string
	status   int // of the answer; 0: the connection is closed without one
	body     string
	runs     bool
	asks     bool   // a decision is asked for
	action   string // that is asked for
}

// attestation is what the kit's own service gives: nothing spends it.
const anAttestation = `"e30.e30.c2ln"`

const zeroHash = `"0000000000000000000000000000000000000000000000000000000000000000"`

// scenes are what the level Client tries, in the form of Claude Code's events.
func scenes(host hosts.Host) []scene {
	shell := host.Event("git status")
	tool := func(name, input string) []byte {
		return fmt.Appendf(nil, `{"session_id":"s1","transcript_path":"/nonexistent/t.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"t1"}`, name, input)
	}
	const (
		allowed = `{"status":"ALLOWED","intent_attestation":` + anAttestation + `,"policyHash":` + zeroHash + `,"message":"allowed"NONCE}`
		denied  = `{"status":"DENIED","intent_attestation":null,"policyHash":` + zeroHash + `,"error_code":"SVC_POLICY_VIOLATION_BLOCKED_COMMAND","matched_rule":"tool_calls.bash.blocked_commands","message":"denied"NONCE}`
		pending = `{"status":"PENDING","intent_attestation":null,"policyHash":` + zeroHash + `,"error_code":"SVC_POLICY_HOLD_APPROVAL_REQUIRED","matched_rule":"tool_calls.require_approval","policyRule":"tool_calls.require_approval","holdId":"6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90","expiresAt":4102444800,"message":"pending"NONCE}`
	)
	refused := func(code string) string {
		return `{"status":"DENIED","error_code":"` + code + `","message":"refused"}`
	}
	all := []scene{
		{"an ALLOWED lets the call run", shell, "closed", 200, allowed, true, true, "bash"},
		{"a DENIED stops the call", shell, "open", 403, denied, false, true, "bash"},
		{"a PENDING stops the call", shell, "open", 202, pending, false, true, "bash"},
		{"a 400 stops the call, whatever failMode says", shell, "open", 400, refused("SVC_VALIDATION_ERROR_SCHEMA"), false, true, "bash"},
		{"a 401 stops the call, whatever failMode says", shell, "open", 401, refused("SVC_API_KEY_INVALID"), false, true, "bash"},
		{"a 409 stops the call, whatever failMode says", shell, "open", 409, refused("SVC_NO_POLICY_DEPLOYED"), false, true, "bash"},
		{"a 429 stops the call, whatever failMode says", shell, "open", 429, refused("SVC_RATE_LIMITED"), false, true, "bash"},
		{"an event that can't be read stops the call", []byte(`{"session_id":`), "open", 200, allowed, false, false, ""},
		{"an event with a member twice stops the call", []byte(strings.Replace(string(shell), `"cwd"`, `"tool_name":"Read","cwd"`, 1)), "open", 200, allowed, false, false, ""},
		{"a tool that names nothing to be judged stops the call", tool("Bash", `{}`), "open", 200, allowed, false, false, ""},
		{"a tool that writes is file_write", tool("Write", `{"file_path":"/work/a","content":"x"}`), "closed", 200, allowed, true, true, "file_write"},
		{"a tool that reads is file_read", tool("Read", `{"file_path":"/work/a"}`), "closed", 200, allowed, true, true, "file_read"},
		{"an MCP tool is named by its server and its name", tool("mcp__GitHub__create_issue", `{"title":"x"}`), "closed", 200, allowed, true, true, "mcp.github.create_issue"},
		{"a tool without a row goes by its own name", tool("SomethingElse", `{"a":1}`), "closed", 200, allowed, true, true, "something_else"},
	}
	for _, failure := range []struct {
		name   string
		status int
		body   string
	}{{"a 503", 503, `{"error_code":"SVC_STORE_UNAVAILABLE","message":"no"}`}, {"a redirect", 307, ""}, {"an answer that can't be read", 200, "<html>ALLOWED</html>"}, {"a connection that is closed", 0, ""}} {
		all = append(all,
			scene{failure.name + " stops the call where failMode is closed", shell, "closed", failure.status, failure.body, false, true, "bash"},
			scene{failure.name + " lets the call run where failMode is open", shell, "open", failure.status, failure.body, true, true, "bash"})
	}
	return all
}

// A stage is the service that the kit plays for an adapter.
type stage struct {
	*httptest.Server
	mutex sync.Mutex
	scene *scene
	asked []members
	keys  []string
}

// ServeHTTP answers as the scene says.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxAnswer)) // what can't be read was not asked for
	s.mutex.Lock()
	one, request := s.scene, parse(body)
	if r.Method == http.MethodPost && r.URL.Path == "/v1/authorize" {
		s.asked, s.keys = append(s.asked, request), append(s.keys, r.Header.Get("Authorization"))
	}
	s.mutex.Unlock()
	if one.status == 0 {
		panic(http.ErrAbortHandler) // closes the connection, and logs nothing
	}
	nonce := ""
	if sent := request.text("request_nonce"); sent != "" {
		quoted, _ := json.Marshal(sent)
		nonce = `,"request_nonce":` + string(quoted)
	}
	w.Header().Set("Content-Type", "application/json")
	if one.status == http.StatusTemporaryRedirect {
		w.Header().Set("Location", "http://127.0.0.1:9/")
	}
	w.WriteHeader(one.status)
	_, _ = io.WriteString(w, strings.Replace(one.body, "NONCE", nonce, 1))
}

// clientKey is the API key that the adapter is given.
const clientKey = "sk_svc_conform"

// adapterTime is how long an adapter may take for one event.
const adapterTime = 60 * time.Second

// client runs the level Client.
func (k *Kit) client(ctx context.Context) error {
	if len(k.config.Client) == 0 {
		k.skip(Client, noClient, 1)
		return nil
	}
	host := hosts.Hosts[slices.IndexFunc(hosts.Hosts, func(h hosts.Host) bool { return h.Name == "claude-code" })]
	s := &stage{}
	s.Server = httptest.NewServer(s)
	defer s.Close()
	for _, one := range scenes(host) {
		wrong, err := s.play(ctx, &one, host, k.config.Client)
		if err != nil {
			return err
		}
		k.count(Client, 1)
		if wrong.any() {
			k.mutex.Lock()
			k.found = true
			k.report.add(Client, k.config.Seed, &finding{difference: wrong}, "the event is\n"+string(one.event), "")
			k.mutex.Unlock()
			return nil
		}
	}
	return nil
}

// play gives the adapter one event, and holds what it asks and what the host makes of its answer.
func (s *stage) play(ctx context.Context, one *scene, host hosts.Host, command []string) (difference, error) {
	s.mutex.Lock()
	s.scene, s.asked, s.keys = one, nil, nil
	s.mutex.Unlock()
	limited, cancel := context.WithTimeout(ctx, adapterTime)
	defer cancel()
	adapter := exec.CommandContext(limited, command[0], command[1:]...)
	adapter.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "SVC_") }),
		"SVC_API_URL="+s.URL, "SVC_API_KEY="+clientKey, "SVC_FAIL_MODE="+one.failMode)
	var said, complained bytes.Buffer
	adapter.Stdin, adapter.Stdout, adapter.Stderr = bytes.NewReader(one.event), &said, &complained
	err := adapter.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil: // which has killed it
		return difference{}, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return difference{}, fmt.Errorf("the adapter can't be run: %w", err)
	}
	_, runs := host.Judge(hosts.Result{Stdout: said.Bytes(), Stderr: complained.Bytes(), Exit: adapter.ProcessState.ExitCode()}, true)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wrong := same(one.name+": the host runs the call", one.runs, runs)
	if !wrong.any() {
		wrong = s.asks(one)
	}
	if wrong.any() {
		wrong.got += "; the adapter says " + shorten(said.String()+complained.String())
	}
	return wrong, nil
}

// asks holds what an adapter has asked for.
func (s *stage) asks(one *scene) difference {
	switch {
	case !one.asks && len(s.asked) > 0:
		return difference{one.name + ": decisions that are asked for", "none", fmt.Sprint(len(s.asked))}
	case !one.asks:
		return difference{}
	case len(s.asked) == 0:
		return difference{one.name + ": decisions that are asked for", "one", "none"}
	}
	request := s.asked[0]
	return differ(
		same(one.name+": the API key", "Bearer "+clientKey, s.keys[0]), same(one.name+": the action", one.action, request.object("intent").text("action")),
		same(one.name+": the task", "s1", request.object("intent").text("task_id")), same(one.name+": a commitment", 64, len(request.text("txCommit"))),
	)
}
