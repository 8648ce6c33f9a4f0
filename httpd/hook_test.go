package httpd

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"bailiff/runtime/accounts"
)

const hookEvent = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/work","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1"}`

// rawAnswer sends bytes, says that no more will come, and returns all that comes back.
func rawAnswer(t *testing.T, address, raw string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, raw); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(connection) // a reset is seen in what is missing
	return string(text)
}

// patience is how long an answer may take.
const patience = 10 * time.Second

// TestHookFaults sends the hook of Claude Code what is refused before it is a request: the host reads no status, so that each
// answer is 200 and denies.
func TestHookFaults(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("version: 2.1.0\n\n## tool_calls\nallowed: bash\n", false)))
	w.createKey("agent", accounts.NewKey{})
	head := "POST /v1/hooks/claude-code HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.said["agent"] + "\r\n"
	good := head + "Content-Length: 136\r\n\r\n" + hookEvent
	for name, raw := range map[string]string{
		"another version": strings.Replace(good, "HTTP/1.1", "HTTP/1.2", 1),
		"a folded header": strings.Replace(good, "Host: x", "Host: x\r\n y", 1),
		"too large":       head + "Content-Length: 400001\r\n\r\n{",
		"a trailer":       head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: y\r\n\r\n",
		"cut off":         head + "Content-Length: 200\r\nConnection: close\r\n\r\n{",
		"two keys":        strings.Replace(good, "Host: x", "Host: x\r\nAuthorization: Bearer x", 1),
	} {
		answer := rawAnswer(t, address, raw)
		if !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.Contains(answer, `"permissionDecision":"deny"`) || strings.Contains(answer, `"error_code"`) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	if answer := rawAnswer(t, address, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.HasSuffix(answer, "\r\n\r\n{}\n") {
		t.Errorf("what the others are spoilt from: %s", answer)
	}
	// What the HTTP library cannot parse has no path that is known. The host then sees a status of failure (onFailure).
	if answer := rawAnswer(t, address, strings.Replace(good, "Host: x", "Host: x\r\nContent-Length: 136", 1)); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("two lengths: %s", answer)
	}
	// Another path is no hook's, and has its status.
	if answer := rawAnswer(t, address, strings.Replace(good, "/v1/hooks/claude-code", "/v1/hooks/claude-code/", 1)); !strings.HasPrefix(answer, "HTTP/1.1 404 ") {
		t.Errorf("another path: %s", answer)
	}
}

// TestHookInternalError has randomness end, and the handler panic: both deny.
func TestHookInternalError(t *testing.T) {
	w := newWorld(t)
	decider := w.authority(limitedPolicy, false)
	decider.Random = iotest.ErrReader(errors.New("planted"))
	server := w.serve(w.config(decider))
	w.createKey("agent", accounts.NewKey{})
	request := w.request("POST /v1/hooks/claude-code\nAuthorization: Bearer $agent\n\n" + hookEvent)
	if response, body := w.send(request); response.StatusCode != 200 || !strings.Contains(body, "SVC_INTERNAL_ERROR") || !strings.Contains(body, `"deny"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	server.config.Authority = nil // the planted fault
	if response, body := w.send(request); response.StatusCode != 200 || !strings.Contains(body, "SVC_INTERNAL_ERROR") || !strings.Contains(body, `"deny"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestHookBudget takes what reading an event weighs from the budget of bodies, denies where there is no room, and gives it back.
func TestHookBudget(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("version: 2.1.0\n\n## tool_calls\nallowed: bash\n", false))
	config.Bodies = bodies(60<<10, 60<<10, 0)
	w.serve(config)
	w.createKey("agent", accounts.NewKey{})
	send := func(event string) string {
		_, body := w.send(w.request("POST /v1/hooks/claude-code\nAuthorization: Bearer $agent\n\n" + event))
		return body
	}
	heavy := strings.Replace(hookEvent, `"cwd"`, `"other":"`+strings.Repeat("x", 1000)+`","cwd"`, 1)
	for range 3 {
		if body := send(heavy); !strings.Contains(body, "SVC_OVERLOADED") || !strings.Contains(body, `"deny"`) {
			t.Errorf("an event that weighs more than there is room for: %s", body)
		}
		if body := send(hookEvent); body != "{}\n" {
			t.Errorf("an event that there is room for: %s", body)
		}
	}
	if held := config.Bodies.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
