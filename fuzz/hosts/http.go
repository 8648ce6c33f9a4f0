//go:build unix

package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"bailiff/runtime/hook/setup"
)

// Columns are the hosts that the honesty table has: those that run a program, and the one that sends a request.
var Columns = append(slices.Clone(Hosts), httpHook)

// httpHook is Claude Code's HTTP hook. The service is the hook: an answer's status and body are what the host reads.
var httpHook = Host{
	Name: "claude-code", Title: "Claude Code, HTTP", Switch: `onFailure: "block"`, HTTP: true,
	Rules: []Rule{
		{"no answer in time", timedOut, Fails, claudeCode.at(`describe("Timeout in seconds for this specific request"),onFailure:`)},
		{"no connection, or one that ends without an answer", notStarted, Fails, claudeCode.at("Hooks: HTTP hook error: ")},
		{"a status other than 2xx, a redirect included", notSuccess, Fails, claudeCode.at("maxRedirects:0,")},
		{"status 2xx with a valid denial", claudeDenies, Stops, claudeCode.at(`permissionDecision:'"allow" | "deny" | "ask" | "defer" (optional)'`)},
		{"status 2xx with an empty body", silent, Runs, claudeCode.at("HTTP hook returned empty body, treating as empty JSON object")},
		{"status 2xx with text that is not JSON", notObject, Fails, claudeCode.at("HTTP hook must return JSON, but got non-JSON response body: ")},
		{"status 2xx with JSON that is broken or fails validation", httpInvalid, Fails, claudeCode.at("HTTP hook must return valid JSON, but parsing failed: ")},
		{"status 2xx with other JSON", always, Runs, claudeCode.at("Parsed JSON output from HTTP hook: ")},
	},
	Facts: []Fact{
		{"A header gets the value of a variable only if `allowedEnvVars` of the entry names it, and so does `httpHookAllowedEnvVars` where settings have it.",
			claudeCode.at("not in allowedEnvVars, skipping interpolation")},
		{"Claude Code's own credentials, and those of some other tools, are left empty; `SVC_API_KEY` is sent.",
			claudeCode.at("is a credential and is not interpolated into an HTTP hook header")},
		{"With `CLAUDE_CODE_SUBPROCESS_ENV_SCRUB`, or under GitHub Actions, variables whose names look like a credential are left empty too, `SVC_API_KEY` among them.",
			claudeCode.at("M??=Ue(e)||Ue(process.env.GITHUB_ACTIONS)&&!Jt(e)")},
		{"Addresses that are link-local, of a cloud's metadata or reserved are refused; loopback and private ones are not.",
			claudeCode.at("is a link-local, cloud metadata or reserved address.")},
		{"Where settings have `allowedHttpHookUrls`, the address has to match one of it.",
			claudeCode.at("does not match any pattern in allowedHttpHookUrls")},
	},
}

// An HTTPSetup is one installation of the HTTP hook on a fake host.
type HTTPSetup struct {
	URL      string
	Header   http.Header
	Key      string // in the host's environment
	Patience time.Duration
	Closed   bool // whether the host's fail-closed setting is on
}

// ask sends an event as the host does: it follows no redirect, and waits for so long.
func (s HTTPSetup) ask(event []byte) Result {
	limit, cancel := context.WithTimeout(context.Background(), s.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(limit, http.MethodPost, s.URL, bytes.NewReader(event))
	if err != nil {
		return Result{NotStarted: true, Stderr: []byte(err.Error())}
	}
	request.Header = s.Header
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err == nil {
		defer response.Body.Close()
		var body []byte
		if body, err = io.ReadAll(response.Body); err == nil {
			return Result{Status: response.StatusCode, Stdout: body}
		}
	}
	if errors.Is(limit.Err(), context.DeadlineExceeded) {
		return Result{TimedOut: true}
	}
	return Result{NotStarted: true, Stderr: []byte(err.Error())}
}

// playHTTP lets the failure happen to the HTTP hook. Where the event is what is wrong, or nothing is, the built service at an
// address is asked, with its key; else a fake one that fails.
func (c Case) playHTTP(address, key, witness string) (Outcome, error) {
	event := c.Host.Event(c.command())
	if c.Failure.Event != nil {
		event = c.Failure.Event(event)
	}
	switch mode := c.Failure.served(); mode {
	case Denying, Allowing:
	default:
		service, err := NewService(mode)
		if err != nil {
			return Outcome{}, err
		}
		defer service.Close()
		address = service.URL
	}
	installed, err := c.installHTTP(address)
	if err != nil {
		return Outcome{}, err
	}
	for name, values := range installed.Header { // as the host replaces variables
		installed.Header.Set(name, strings.ReplaceAll(values[0], "$"+setup.KeyVariable, key))
	}
	installed.Patience = long
	if c.Failure.served() == Slow {
		installed.Patience = 2 * briefly
	}
	outcome := Outcome{Result: installed.ask(event)}
	outcome.Rule, outcome.Ran = c.Host.Judge(outcome.Result, installed.Closed)
	if outcome.Ran {
		return outcome, os.WriteFile(witness, []byte("the call ran\n"), 0o600)
	}
	return outcome, nil
}

// served is how the service treats the request where it is the hook itself: one that crashes or is killed leaves the request
// without an answer.
func (f Failure) served() Mode {
	if f.Signal != 0 && f.Patience == 0 {
		return Dropping
	}
	return f.Service
}

// command is the command that the host asks about: the built service denies Command.
func (c Case) command() string {
	if c.Failure.Service == Allowing {
		return harmless
	}
	return Command
}

// installHTTP writes the hook into the host's settings as bailiff hook install --http does, and reads them as the host does.
func (c Case) installHTTP(address string) (s HTTPSetup, err error) {
	place := setup.Find(c.Host.Name)
	settings, err := place.Install(nil, setup.Options{URL: address, KeyVariable: setup.KeyVariable, Timeout: long, Closed: c.Closed})
	if err != nil {
		return s, err
	}
	var read struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct {
					Type, URL, OnFailure string
					Headers              map[string]string
					AllowedEnvVars       []string
				}
			}
		}
	}
	if err := json.Unmarshal(settings, &read); err != nil {
		return s, err
	}
	if len(read.Hooks.PreToolUse) != 1 || len(read.Hooks.PreToolUse[0].Hooks) != 1 {
		return s, errors.New("there is not one hook: " + string(settings))
	}
	entry := read.Hooks.PreToolUse[0].Hooks[0]
	if entry.Type != "http" || strings.Join(entry.AllowedEnvVars, " ") != setup.KeyVariable {
		return s, errors.New("the host would not send the key: " + string(settings))
	}
	s = HTTPSetup{URL: entry.URL, Header: http.Header{"Content-Type": {"application/json"}}, Closed: entry.OnFailure == "block"}
	for name, value := range entry.Headers {
		s.Header.Set(name, value)
	}
	return s, nil
}
