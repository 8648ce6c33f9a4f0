//go:build unix

package hosts

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// find returns the host of a name.
func find(t testing.TB, name string) Host {
	t.Helper()
	for _, h := range Hosts {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no host %s", name)
	return Host{}
}

// unreadScript denies without having read an event of more than a pipe holds.
const unreadScript = "head -c 1000 >/dev/null; echo no >&2; exit 2"

// TestCall runs hooks that are shell scripts: what they do arrives in the result, a call that is not stopped leaves its
// witness, and one that is stopped does not.
func TestCall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		host, script string
		closed, runs bool
		check        func(Result) bool
	}{
		{"claude-code", "exit 2", false, false, func(r Result) bool { return r.Exit == 2 }},
		{"claude-code", "kill -9 $$", false, true, func(r Result) bool { return r.Exit == -1 }},
		{"claude-code", "kill -9 $$", true, false, func(r Result) bool { return r.Exit == -1 }},
		{"claude-code", "sleep 30", false, true, func(r Result) bool { return r.TimedOut }},
		{"claude-code", "sleep 30", true, false, func(r Result) bool { return r.TimedOut }},
		{"claude-code", "kill -STOP $$", true, false, func(r Result) bool { return r.TimedOut }},
		{"claude-code", "cat", true, true, func(r Result) bool { return string(r.Stdout) == "the event" }},
		{"codex", "cat >/dev/null; echo no >&2; exit 2", false, false, func(r Result) bool { return string(r.Stderr) == "no\n" }},
		{"codex", unreadScript, false, true, func(r Result) bool { return r.Unread && r.Exit == 2 }},
		{"codex", "cat >/dev/null; exit 2", false, true, func(r Result) bool { return r.Exit == 2 }},
		{"gemini", "head -c 10000000 /dev/zero | tr '\\0' x", false, true, func(r Result) bool { return len(r.Stdout) == 10000000 }},
		{"windsurf", "(sleep 8) & exit 2", false, false, func(r Result) bool { return r.Exit == 2 && !r.TimedOut }},
	} {
		t.Run(row.host+" "+row.script, func(t *testing.T) {
			t.Parallel()
			witness := filepath.Join(t.TempDir(), "witness")
			setup := Setup{Host: find(t, row.host), Command: []string{"/bin/sh", "-c", row.script}, Env: os.Environ(), Timeout: time.Second, Closed: row.closed}
			if !strings.Contains(row.script, "sleep 30") && !strings.Contains(row.script, "STOP") {
				setup.Timeout = 30 * time.Second
			}
			event := []byte("the event")
			if row.script == unreadScript {
				event = make([]byte, 10<<20)
			}
			outcome, err := setup.Call(event, witness)
			if err != nil {
				t.Fatal(err)
			}
			if !row.check(outcome.Result) {
				t.Errorf("the result is %+.200v", outcome.Result)
			}
			if outcome.Ran != row.runs || ran(t, witness) != row.runs {
				t.Errorf("the call ran: %v, its witness is there: %v, by the rule %q", outcome.Ran, ran(t, witness), outcome.Rule.Name)
			}
		})
	}
	missing := Setup{Host: find(t, "claude-code"), Command: []string{"/nonexistent/hook"}, Timeout: time.Second, Closed: true}
	if outcome, err := missing.Call(nil, filepath.Join(t.TempDir(), "witness")); err != nil || outcome.Ran || !outcome.Result.NotStarted {
		t.Errorf("a hook that is not there: %+v, %v", outcome, err)
	}
}

// ran reports whether a witness is there.
func ran(t testing.TB, witness string) bool {
	t.Helper()
	_, err := os.Stat(witness)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestService holds the fake service to its modes.
func TestService(t *testing.T) {
	t.Parallel()
	for mode, answer := range answers {
		service, err := NewService(mode)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(service.URL+"/v1/authorize", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != answer.status || string(body) != strings.ReplaceAll(answer.body, "NONCE", "") {
			t.Errorf("mode %d answers %d %s, %v", mode, response.StatusCode, body, err)
		}
		service.Close()
	}
	down, err := NewService(Down)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get(down.URL); err == nil {
		t.Error("a service that is down answers")
	}
}
