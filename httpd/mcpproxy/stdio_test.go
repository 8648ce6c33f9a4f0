package mcpproxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// conversation is a client of a proxy in front of a server that is a child process.
type conversation struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
	pid   func() int
}

func converse(t *testing.T, g *Guard, role string) *conversation {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "MCPPROXY_SERVER="+role)
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c := &conversation{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), ended: make(chan error, 1), pid: func() int { return command.Process.Pid }}
	go func() {
		c.ended <- ServeStdio(context.Background(), g, command, fromClient, toClient)
		toClient.Close()
	}()
	t.Cleanup(func() { in.Close(); out.Close(); fromClient.Close() })
	return c
}

func (c *conversation) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) hear() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// TestLastWords has a server write until it ends: all of it is read.
func TestLastWords(t *testing.T) {
	w := newWorld(t)
	var dropped atomic.Int32
	w.g.Log = func(string, ...any) {
		if dropped.Add(1) == 1 {
			time.Sleep(100 * time.Millisecond) // the server ends meanwhile
		}
	}
	c := converse(t, w.g, "leaves")
	c.say(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	c.hear()
	c.in.Close()
	if err := <-c.ended; err != nil || dropped.Load() != lastWords {
		t.Errorf("%d lines of %d were read: %v", dropped.Load(), lastWords, err)
	}
}

// TestStdio sends messages through a proxy to a server that echoes what it got.
func TestStdio(t *testing.T) {
	w := newWorld(t)
	c := converse(t, w.g, "echoes")
	for i, text := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"ping"}`,
		`{ "id":1 ,"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"n":1.50,"s":"\u00e4ä"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:` + strings.Repeat("b", 90_000) + `"}}`,
	} {
		c.say(text)
		got, _ := json.Marshal(text)
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%s}]}}`, i, got); c.hear() != want {
			t.Errorf("the server got something else than %.80s", text)
		}
	}
	for _, text := range []string{`[]`, `{`, strings.Repeat("x", maxMessage+3)} {
		c.say(text)
		if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) {
			t.Errorf("%.10s is answered %s", text, got)
		}
	}
	w.mu.Lock()
	w.decides = func(*Intent) Decision { return Decision{Status: statusDenied, Code: "SVC_X"} }
	w.mu.Unlock()
	c.say(call(9, "echo", `{}`))
	if got := c.hear(); !strings.Contains(got, `"isError":true`) {
		t.Errorf("a denied call is answered %s", got)
	}
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
	if process, err := os.FindProcess(c.pid()); err == nil && alive(process) {
		t.Error("the server outlives its client")
	}
}

// TestServerDies has a server die in a call: the client is told, and the proxy ends.
func TestServerDies(t *testing.T) {
	for role, why := range map[string]string{"dies": "closed", "floods": "more than"} {
		w := newWorld(t)
		c := converse(t, w.g, role)
		c.say(call(1, "echo", `{}`))
		if got := c.hear(); !strings.Contains(got, string(codeServerGone)) || !strings.Contains(got, `"id":1`) || !strings.Contains(got, "not known") {
			t.Errorf("%s: %s", role, got)
		}
		select {
		case err := <-c.ended:
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", role, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the proxy does not end", role)
		}
	}
}

// TestListChangesWithPolicy tells a client of the older revision when the policy under which its list was filtered is
// replaced.
func TestListChangesWithPolicy(t *testing.T) {
	w := newWorld(t)
	w.g.HideDenied = true
	c := converse(t, w.g, "echoes")
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	c.hear()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.hear()
	c.say(call(2, "echo", `{}`))
	c.hear()
	w.mu.Lock()
	w.decides = func(*Intent) Decision { return Decision{Status: statusAllowed, PolicyHash: "another"} }
	w.mu.Unlock()
	c.say(call(3, "echo", `{}`))
	if got := c.hear() + c.hear(); !strings.Contains(got, "notifications/tools/list_changed") {
		t.Errorf("%s", got)
	}
}
