package mcpproxy

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestServerRequests has what a server may ask of clients.
func TestServerRequests(t *testing.T) {
	for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tasks/result", "tools/call", "x"} {
		text := `{"jsonrpc":"2.0","id":"s1","method":"` + method + `","params":{"a":1}}`
		w := newWorld(t)
		c, s := w.server(text)
		if c != "" || !strings.Contains(s, `"id":"s1","error":{"code":-32601`) {
			t.Errorf("%s: the client gets %q, the server %q", method, c, s)
		}
		if v := w.client(`{"jsonrpc":"2.0","id":"s1","result":{}}`); v.forward != nil {
			t.Errorf("%s: an answer that nobody asked for is forwarded", method)
		}
		w.g.AllowServerRequests = true
		known := find(serverRequests, method) != nil
		if c, s := w.server(text); known && (c != text || s != "") || !known && (c != "" || s == "") {
			t.Errorf("%s, allowed: the client gets %q, the server %q", method, c, s)
		}
		answer := `{"jsonrpc":"2.0","id":"s1","result":{"b":1}}`
		if v := w.client(answer); known && string(v.forward) != answer || !known && v.forward != nil {
			t.Errorf("%s, allowed: the server gets %q", method, v.forward)
		}
		if v := w.client(answer); v.forward != nil {
			t.Errorf("%s: a second answer is forwarded", method)
		}
	}
}

// TestServerMessages has what a server says on its own account.
func TestServerMessages(t *testing.T) {
	w := newWorld(t)
	for text, passes := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}`: true,
		`{"jsonrpc":"2.0","method":"notifications/other"}`:                         false,
		`{"jsonrpc":"2.0","id":4,"result":{}}`:                                     false,
		`{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":""}}`:                 false,
	} {
		if c, s := w.server(text); (c == text) != passes || !passes && c != "" || s != "" {
			t.Errorf("%s: %q %q", text, c, s)
		}
	}
	w.client(call(4, "read", `{}`))
	text := `{ "jsonrpc":"2.0","result":{"content":[],"x":1.0},"id":4}`
	if c, _ := w.server(text); c != text {
		t.Errorf("the answer became %q", c)
	}
	if c, _ := w.server(text); c != "" {
		t.Errorf("a second answer reaches the client: %q", c)
	}
}

// TestServerAsksForInput has results by which a server of 2026-07-28 asks the client for something.
func TestServerAsksForInput(t *testing.T) {
	for result, asks := range map[string]bool{
		`{"resultType":"input_required","inputRequests":{},"requestState":"s"}`: true,
		`{"inputRequests":{"a":{}}}`:              true,
		`{"InputRequests":{"a":{}},"content":[]}`: true,
		`{"resultType":"input_\u0072equired"}`:    true,
		`{"resultType":"something_new"}`:          true,
		`{"resultType":1}`:                        true,
		`{"resultType":"complete","content":[]}`:  false,
		`{"content":[]}`:                          false,
	} {
		w := newWorld(t)
		w.client(call(1, "read", `{}`))
		text := `{"jsonrpc":"2.0","id":1,"result":` + result + `}`
		c, _ := w.server(text)
		if refused := strings.Contains(c, string(codeServerRequest)); refused != asks || !asks && c != text {
			t.Errorf("%s: %s", result, c)
		}
		w.g.AllowServerRequests = true
		w.client(call(1, "read", `{}`))
		if c, _ := w.server(text); c != text {
			t.Errorf("allowed, %s: %s", result, c)
		}
	}
}

// TestFail answers what the server leaves open.
func TestFail(t *testing.T) {
	w := newWorld(t)
	w.client(call(1, "read", `{}`))
	w.client(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	answers := w.s.fail(codeServerGone, "the server ended")
	all := ""
	for _, a := range answers {
		all += string(a)
	}
	if len(answers) != 2 || !strings.Contains(all, `"isError":true`) || !strings.Contains(all, `"id":"p","error"`) {
		t.Errorf("%s", all)
	}
	if w.s.fail(codeServerGone, "") != nil {
		t.Error("they are answered twice")
	}
}

// TestEarlyAnswer has a server answer a request that it has not seen: the client gets no such answer, and the request goes on.
func TestEarlyAnswer(t *testing.T) {
	w := newWorld(t)
	asked, decide := make(chan bool), make(chan bool)
	w.g.Decide = func(context.Context, *Intent, bool) Decision {
		asked <- true
		<-decide
		return allowed(nil)
	}
	done := make(chan verdict)
	go func() { done <- w.client(call(1, "read", `{}`)) }()
	<-asked
	if c, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":{"forged":1}}`); c != "" {
		t.Errorf("the client gets %s", c)
	}
	close(decide)
	if v := <-done; v.forward == nil {
		t.Errorf("the request was lost: %+v", v.refused)
	}
	if c, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":{}}`); c == "" {
		t.Error("its answer was lost")
	}
}

// TestLog keeps what a client writes from steering the terminal of who reads the log.
func TestLog(t *testing.T) {
	w := newWorld(t)
	var said []string
	w.g.Log = func(format string, arguments ...any) { said = append(said, fmt.Sprintf(format, arguments...)) }
	w.client(`{"jsonrpc":"2.0","id":1,"method":"a\u001b[2J\n"}`)
	w.client(`{"jsonrpc":"2.0","method":"a\u001b[2J\n"}`)
	if len(said) != 2 || strings.ContainsAny(strings.Join(said, ""), "\n\x1b") {
		t.Errorf("%q", said)
	}
}
