package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/system"
)

// bare is what an upstream needs of a gateway.
var bare = &Config{Log: slog.New(slog.DiscardHandler), Calls: system.Real(time.Now)}

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
	u, err := bare.openUpstream(Upstream{RPC, chain, "http://" + r.address})
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
	status, answer, err := u.post(ctx, []byte(`{}`), write, new(held))
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
		{"kept, as it says", always(httpAnswer("CONNECTION: Keep-Alive\r\nX-Y: z\r\n", "a"), false), "200 a", 1},
		{"another status", always("HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\na", false), "503 a", 1},
		{"empty", always(httpAnswer("", ""), false), "200 ", 1},
		{"two lengths that differ", always(httpAnswer("Content-Length: 2\r\n", "a"), true), "error: ", 3},
		{"cut off", always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", true), "error: ", 3},
		{"in chunks", always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false), "200 a", 1},
		{"early hints", always("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+httpAnswer("", "a"), false), "200 a", 1},
		{"processing", always("HTTP/1.1 102 Processing\r\n\r\n"+httpAnswer("", "a"), false), "200 a", 1},
		{"the last status before an answer's", always("HTTP/1.1 199 Wait\r\n\r\n"+httpAnswer("", "a"), false), "200 a", 1},
		{"closed, as it says, but late", always(httpAnswer("Connection: close\r\n", "a"), false), "200 a", 3},
		{"a byte more than asked for", always(httpAnswer("", "a")+"b", false), "200 a", 3},
		{"another protocol", always("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", true), "101 ", 3},
		{"closed, as it says", always(httpAnswer("Connection: close\r\n", "a"), true), "200 a", 3},
		{"closed without a word", always(httpAnswer("", "a"), true), "200 a", 3},
		{"up to the end", always("HTTP/1.1 200 OK\r\n\r\na", true), "200 a", 3},
		{"HTTP/1.0", always("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", true), "200 a", 3},
		{"HTTP/1.0 that would keep it", always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", false), "200 a", 3},
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

// A header that comes in two parts is one header, and a long body is read to its end.
func TestWireInParts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	body := strings.Repeat("x", 300_000)
	answer := httpAnswer("A: b\r\n", body)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		reader := bufio.NewReader(c)
		for _, cut := range []int{1, 10, 40, len(answer) - len(body) - 2, len(answer) - 1} {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			_, _ = io.WriteString(c, answer[:cut])
			time.Sleep(5 * time.Millisecond)
			_, _ = io.WriteString(c, answer[cut:])
		}
	}()
	u := openRough(t, &rough{address: listener.Addr().String()})
	for i := range 5 { // over one connection, since no second one is accepted
		if got := u.try(t, true); got != "200 "+body {
			t.Errorf("answer %d: %.100q with %d bytes", i, got, len(got))
		}
	}
}

// What is sent is what the library would send: the same header, and the body after its length.
func TestWireRequest(t *testing.T) {
	sent := make(chan *http.Request, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		sent <- r
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	where := Upstream{RPC, chain, strings.Replace(server.URL, "http://", "http://user:secret@", 1) + "/v3/a%2Fb?key=1"}
	opened, err := bare.openUpstream(where)
	if err != nil {
		t.Fatal(err)
	}
	library, err := (&Config{Transport: func() http.RoundTripper { return bare.pooled(1) }, Log: bare.Log, Calls: bare.Calls}).openUpstream(where)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"{}", strings.Repeat("x", 2*maxKeptBytes), "[]"} {
		var requests [2]*http.Request
		for i, u := range []*upstream{opened, library} {
			if _, _, err := u.post(t.Context(), []byte(body), i == 0, new(held)); err != nil {
				t.Fatal(err)
			}
			requests[i] = <-sent
		}
		a, b := requests[0], requests[1]
		b.Header.Del("Accept-Encoding") // the library asks for compression, and undoes it
		got, _ := io.ReadAll(a.Body)
		if string(got) != body || a.ContentLength != b.ContentLength || a.RequestURI != b.RequestURI || a.Host != b.Host || !reflect.DeepEqual(a.Header, b.Header) {
			t.Errorf("%s %s %v with %d bytes, the library %s %s %v", a.RequestURI, a.Host, a.Header, len(got), b.RequestURI, b.Host, b.Header)
		}
	}
}

// Where the header of an answer is taken for a usual one, the library reads the same out of it.
func FuzzUsualHeader(f *testing.F) {
	for _, text := range []string{
		httpAnswer("", "a"), httpAnswer("Connection: keep-alive\r\nServer: x\r\n", "a"), httpAnswer("Connection: close\r\n", "a"),
		httpAnswer("Content-Length: 1\r\n", "a"), httpAnswer("Transfer-Encoding: chunked\r\n", "a"), httpAnswer("A: b\r\n c\r\n", "a"),
		httpAnswer("A: b\nContent-Length: 5\r\n", "a"), httpAnswer("A : b\r\n", "a"), "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
		"HTTP/1.1 200 \r\ncontent-length:\t1 \r\n\r\n", "HTTP/1.1 200 OK\n\nA: b\r\nContent-Length: 1\r\n\r\n", "HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n", httpAnswer("Connection: keep-alive, close\r\n", "a"), httpAnswer(": x\r\n", "a"), httpAnswer("A: \x00\r\n", "a"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end, length := usualHeader(text)
		if end == 0 {
			return
		}
		source := bytes.NewReader(text)
		reader := bufio.NewReaderSize(source, len(text)+16)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("%q: usual, but %v", text, err)
		}
		left := reader.Buffered() + source.Len()
		if response.StatusCode != http.StatusOK || response.Close || !response.ProtoAtLeast(1, 1) || response.ContentLength != int64(length) || left != len(text)-end {
			t.Fatalf("%q: usual with %d bytes from %d on; the library: %+v, %d bytes left", text, length, end, response, left)
		}
	})
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
	u, err := bare.openUpstream(Upstream{RPC, chain, "https://user:secret@node.example/path"})
	if err != nil {
		t.Fatal(err)
	}
	over, ok := u.transport.(*tripper)
	if !ok {
		t.Fatalf("HTTPS goes over %T", u.transport)
	}
	if over.write.URL.String() != "https://node.example/path" || over.write.Header.Get("Authorization") != "Basic dXNlcjpzZWNyZXQ=" {
		t.Errorf("%s with %v", over.write.URL, over.write.Header)
	}
	if u, err = bare.openUpstream(Upstream{RPC, chain, "http://b\u00fccher.example"}); err != nil {
		t.Fatal(err)
	}
	if _, ok := u.transport.(*tripper); !ok {
		t.Errorf("a name that is to be translated goes over %T", u.transport)
	}
	for text, want := range map[string]string{"http://127.0.0.1/x": "127.0.0.1:80", "http://[::1]:8545": "[::1]:8545"} {
		u, err := bare.openUpstream(Upstream{RPC, chain, text})
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := u.transport.(*wire); !ok || w.address != want {
			t.Errorf("%s: %+v", text, u.transport)
		}
	}
}

// An address never becomes a part of the header, nor its spaces a part of the first line.
func TestWireAddress(t *testing.T) {
	for path, opens := range map[string]bool{
		"/x?Content-Length:%200": true, "/Content-Length:%200": true, "/x?Content-Length: 0": false, "/x?a b": false, "/a b": true, "/x?\u00e9": true,
	} {
		r := newRough(t, func(int, int) (string, bool) { return httpAnswer("", "a"), false })
		u, err := bare.openUpstream(Upstream{RPC, chain, "http://" + r.address + path})
		if (err == nil) != opens {
			t.Errorf("%s: %v", path, err)
		}
		if err != nil {
			continue
		}
		if got := u.try(t, true) + u.try(t, true); got != "200 a200 a" || r.requests.Load() != 2 || r.connections.Load() != 1 {
			t.Errorf("%s: %q, of %d requests over %d connections", path, got, r.requests.Load(), r.connections.Load())
		}
	}
}

// A read that got no answer in time is not sent again, and what else is idle stays open. It is tried often, since the
// connection's time and the context's end in any order.
func TestWireTimeout(t *testing.T) {
	for range 20 {
		hang := make(chan struct{})
		r := newRough(t, func(connection, request int) (string, bool) {
			if connection == 2 && request == 2 {
				<-hang
			}
			return httpAnswer("", "a"), false
		})
		u := openRough(t, r)
		w := u.transport.(*wire)
		var kept [2]*wireConn
		for i := range kept {
			if got := u.try(t, false); got != "200 a" {
				t.Fatal(got)
			}
			kept[i] = w.pop()
		}
		w.push(kept[0])
		w.push(kept[1])
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _, err := u.post(ctx, []byte("{}"), false, new(held))
		cancel()
		var operation *net.OpError
		if !errors.As(err, &operation) || operation.Op != "read" || !operation.Timeout() {
			t.Errorf("%v", err)
		}
		if w.pop() != kept[0] {
			t.Error("the other connection was not left alone")
		}
		close(hang)
	}
}

// connected returns both ends of a connection.
func connected(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if ours, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	if theirs, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// TestProber: a connection is used again while it is open and silent, and never where the prober cannot tell.
func TestProber(t *testing.T) {
	ours, theirs := connected(t)
	alive := prober(ours)
	for range 2 {
		if !alive() {
			t.Error("a connection that is open and silent is not used again")
		}
	}
	if _, err := theirs.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	settled(t, "something came unasked", alive)
	ours, theirs = connected(t)
	alive = prober(ours)
	theirs.Close()
	settled(t, "the other side closed it", alive)
	ours, _ = connected(t)
	alive = prober(ours)
	ours.Close()
	if alive() {
		t.Error("a connection that is closed is used again")
	}
	pipe, _ := net.Pipe()
	if prober(pipe)() {
		t.Error("a connection that is not the system's is used again")
	}
	if prober(new(net.TCPConn))() {
		t.Error("a connection without a descriptor is used again")
	}
}

// settled waits until a connection is not used again.
func settled(t *testing.T, why string, alive func() bool) {
	t.Helper()
	for range 1000 {
		if !alive() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%s, and it is used again", why)
}

// closing is a connection that notes that it was closed.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// handTimer is a timer that a test lets run out.
type handTimer struct {
	after   time.Duration
	expires func()
	stopped bool
}

func (h *handTimer) Stop() bool { was := h.stopped; h.stopped = true; return !was }

func (h *handTimer) Reset(d time.Duration) bool { h.after, h.stopped = d, false; return true }

// TestWireExpiry: a connection that was idle for too long is closed, and no other; the time begins anew with each use.
func TestWireExpiry(t *testing.T) {
	var timers []*handTimer
	config := *bare
	config.Calls.Timers = func(d time.Duration, f func()) system.Timer {
		timers = append(timers, &handTimer{after: d, expires: f})
		return timers[len(timers)-1]
	}
	u, err := config.openUpstream(Upstream{RPC, chain, "http://node.example"})
	if err != nil {
		t.Fatal(err)
	}
	w := u.transport.(*wire)
	var connections []*wireConn
	closed := func() (said string) {
		for _, c := range connections {
			said += strconv.FormatBool(c.Conn.(*closing).closed) + " "
		}
		return said
	}
	for range 4 {
		connections = append(connections, &wireConn{Conn: new(closing)})
		w.push(connections[len(connections)-1])
	}
	for i, timer := range timers {
		if timer.after != idleTimeout {
			t.Errorf("connection %d may be idle for %s", i, timer.after)
		}
	}
	timers[0].expires()
	timers[2].expires()
	timers[2].expires()
	if got := closed(); got != "true false true false " || len(w.idle) != 2 {
		t.Errorf("the first and the third were idle for too long; closed are %sand %d are idle", got, len(w.idle))
	}
	last := w.pop()
	timers[3].expires() // it is under way
	if got := closed(); last != connections[3] || got != "true false true false " || len(w.idle) != 1 {
		t.Errorf("the last is under way; closed are %sand %d are idle", got, len(w.idle))
	}
	timers[3].after = 0
	w.push(last)
	if timers[3].after != idleTimeout || len(timers) != 4 {
		t.Errorf("after its use it may be idle for %s, by %d timers", timers[3].after, len(timers))
	}
	timers[1].expires()
	if got := closed(); got != "true true true false " || w.pop() != last || w.pop() != nil {
		t.Errorf("all but the last were idle for too long; closed are %s", got)
	}
}

// TestWireTake: take returns an idle connection whose timer has not run out, which accepts a deadline and is alive. It closes others.
func TestWireTake(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for name, c := range map[string]struct {
		deadline error
		alive    func() bool
		expired  bool
		reused   bool
	}{
		"as it was":          {nil, yes, false, true},
		"its time ran out":   {nil, yes, true, false},
		"no deadline":        {errors.New("a fault"), yes, false, false},
		"it does not live":   {nil, no, false, false},
		"none of them holds": {errors.New("a fault"), no, true, false},
	} {
		fresh, idle := new(broken), &broken{deadline: c.deadline}
		w := &wire{dial: func(context.Context, string, string) (net.Conn, error) { return fresh, nil }}
		kept := &wireConn{Conn: idle, alive: c.alive, expiry: &handTimer{stopped: c.expired}}
		w.idle = append(w.idle, kept)
		got, reused, err := w.take(t.Context())
		if err != nil || reused != c.reused || (got == kept) != c.reused || idle.closed == c.reused || fresh.closed || len(w.idle) != 0 {
			t.Errorf("%s: reused %t, closed %t, %v", name, reused, idle.closed, err)
		}
	}
}

// TestWireMemory: a connection keeps the memory of a usual request, and not that of a large one.
func TestWireMemory(t *testing.T) {
	r := newRough(t, func(int, int) (string, bool) { return httpAnswer("", "a"), false })
	u := openRough(t, r)
	w := u.transport.(*wire)
	for size, keeps := range map[int]bool{10: true, maxKeptBytes / 2: true, maxKeptBytes + 1: false, MaxBody: false} {
		if _, _, err := u.post(t.Context(), bytes.Repeat([]byte("x"), size), true, new(held)); err != nil {
			t.Fatal(err)
		}
		c := w.pop()
		if n := cap(c.request); n > maxKeptBytes || (n > 0) != keeps {
			t.Errorf("after a request of %d bytes a connection keeps %d", size, n)
		}
		_ = c.Close()
	}
}

// broken is a connection that takes no deadline, or nothing that is written.
type broken struct {
	closing
	deadline, written error
}

func (b *broken) SetDeadline(time.Time) error { return b.deadline }

func (b *broken) Write([]byte) (int, error) { return 0, b.written }

// TestWireFaults: a connection that cannot be made or used is closed, with an error. A write is not tried on another one.
func TestWireFaults(t *testing.T) {
	fault := errors.New("a fault")
	for name, c := range map[string]struct {
		connection *broken
		dial       error
	}{
		"no connection": {nil, fault},
		"no deadline":   {&broken{deadline: fault}, nil},
		"no writing":    {&broken{written: fault}, nil},
	} {
		dials := 0
		w := &wire{maxResponse: 10, dial: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return c.connection, c.dial
		}}
		_, _, err := w.post(t.Context(), nil, true, new(held))
		if !errors.Is(err, fault) || dials != 1 || len(w.idle) != 0 || c.connection != nil && !c.connection.closed {
			t.Errorf("%s: %v after %d dials; %d are idle", name, err, dials, len(w.idle))
		}
	}
}
