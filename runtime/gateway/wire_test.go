package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// rough is an upstream that speaks HTTP by hand.
type rough struct {
	address     string
	connections atomic.Int32
	requests    atomic.Int32
}

// newRough answers each request of a connection with what reply returns; afterwards it closes the connection where that is
// told, without having announced it.
func newRough(t *testing.T, reply func(connection, request int) (answer string, hangUp bool)) *rough {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := &rough{address: listener.Addr().String()}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			n := int(r.connections.Add(1))
			go func() {
				defer c.Close()
				reader := bufio.NewReader(c)
				for i := 1; ; i++ {
					request, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					io.Copy(io.Discard, request.Body)
					r.requests.Add(1)
					answer, hangUp := reply(n, i)
					io.WriteString(c, answer)
					if hangUp {
						return
					}
				}
			}()
		}
	}()
	return r
}

func httpAnswer(headers, body string) string {
	return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// openRough returns an upstream over a wire.
func openRough(t *testing.T, r *rough) *upstream {
	t.Helper()
	u, err := (&Config{}).openUpstream(Upstream{RPC, chain, "http://" + r.address})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := u.transport.(*wire); !ok {
		t.Fatalf("plain HTTP goes over %T", u.transport)
	}
	return u
}

func (u *upstream) try(t *testing.T, write bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	status, answer, err := u.post(ctx, []byte(`{}`), write)
	if err != nil {
		return "error: " + err.Error()
	}
	return strconv.Itoa(status) + " " + string(answer)
}

func TestWire(t *testing.T) {
	always := func(answer string, hangUp bool) func(int, int) (string, bool) {
		return func(int, int) (string, bool) { return answer, hangUp }
	}
	for _, c := range []struct {
		name        string
		reply       func(connection, request int) (string, bool)
		want        string
		connections int32 // of three writes
	}{
		{"kept", always(httpAnswer("", "a"), false), "200 a", 1},
		{"in chunks", always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false), "200 a", 1},
		{"early hints", always("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+httpAnswer("", "a"), false), "200 a", 1},
		{"closed, as it says", always(httpAnswer("Connection: close\r\n", "a"), true), "200 a", 3},
		{"closed without a word", always(httpAnswer("", "a"), true), "200 a", 3},
		{"up to the end", always("HTTP/1.1 200 OK\r\n\r\na", true), "200 a", 3},
		{"HTTP/1.0", always("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", true), "200 a", 3},
		{"more than asked for", always(httpAnswer("", "a")+httpAnswer("", "b"), false), "200 a", 3},
		{"a header without end", always("HTTP/1.1 200 OK\r\nA: "+strings.Repeat("x", 2*maxHeaderBytes), true), "error: ", 3},
		{"no HTTP", always("SSH-2.0\r\n", true), "error: ", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRough(t, c.reply)
			u := openRough(t, r)
			for range 3 {
				if got := u.try(t, true); got != c.want && !(strings.HasSuffix(c.want, ": ") && strings.HasPrefix(got, c.want)) {
					t.Errorf("%q, want %q", got, c.want)
				}
				if c.connections == 3 {
					r.settle(t)
				}
			}
			if n := r.connections.Load(); n != c.connections {
				t.Errorf("%d connections for three writes, want %d", n, c.connections)
			}
			if n := r.requests.Load(); n != 3 {
				t.Errorf("%d requests for three writes", n)
			}
		})
	}
}

// settle waits until the end of a connection, or what came unasked, has certainly arrived.
func (r *rough) settle(t *testing.T) {
	t.Helper()
	time.Sleep(20 * time.Millisecond)
}

// A connection that breaks under a request: a read is sent again on a fresh one, a write is not.
func TestWireBreaks(t *testing.T) {
	for _, write := range []bool{false, true} {
		r := newRough(t, func(connection, request int) (string, bool) {
			if connection == 1 && request == 2 {
				return "", true
			}
			return httpAnswer("", "a"), false
		})
		u := openRough(t, r)
		first, second := u.try(t, write), u.try(t, write)
		if first != "200 a" || (second == "200 a") == write {
			t.Errorf("write %v: %q, then %q", write, first, second)
		}
		if want := map[bool]int32{false: 3, true: 2}[write]; r.requests.Load() != want {
			t.Errorf("write %v: %d requests were sent, want %d", write, r.requests.Load(), want)
		}
	}
}

// HTTPS goes over the library's own transport, and user and password never leave as part of the URL.
func TestTransports(t *testing.T) {
	u, err := (&Config{}).openUpstream(Upstream{RPC, chain, "https://user:secret@node.example/path"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := u.transport.(*http.Transport); !ok {
		t.Errorf("HTTPS goes over %T", u.transport)
	}
	if u.url.String() != "https://node.example/path" || u.write.Get("Authorization") != "Basic dXNlcjpzZWNyZXQ=" {
		t.Errorf("%s with %v", u.url, u.write)
	}
	for text, want := range map[string]string{"http://127.0.0.1/x": "127.0.0.1:80", "http://[::1]:8545": "[::1]:8545"} {
		where, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := transportTo(where, 1).(*wire); !ok || w.address != want {
			t.Errorf("%s: %+v", text, w)
		}
	}
}
