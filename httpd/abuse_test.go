package httpd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/fuzz/kit/rawhttp"
	"bailiff/httpd/strict"
	"bailiff/runtime/accounts"
)

// listen serves on a real socket and returns its address.
func (w *world) listen(config Config) string {
	w.t.Helper()
	server, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	return listener.Addr().String()
}

// answers is rawhttp.Statuses with the pause that suits here.
func answers(t *testing.T, address, raw string) string {
	t.Helper()
	return rawhttp.Statuses(t, address, raw, 200*time.Millisecond)
}

// shapes are requests of which two readers could think differently, each with what comes of it and of a good request
// right behind it. What is refused closes the connection, so that nothing behind it is read as a request.
var shapes = []struct{ name, raw, want string }{
	{"good", "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "200 200"},
	{"good post", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "401 200"},
	{"good chunk", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "401 200"},
	{"bare LF", "GET /healthz HTTP/1.1\nHost: h\n\n", "400 closed"},
	{"bare LF in one header", "GET /healthz HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "400 closed"},
	{"bare CR in header", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "400 closed"},
	{"bare LF end", "GET /healthz HTTP/1.1\r\nHost: h\r\n\n", "400 closed"},
	{"a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n", "400 closed"},
	{"NUL in name", "GET /healthz HTTP/1.1\r\nHost: h\r\nX\x00: b\r\n\r\n", "400 closed"},
	{"a control character in a header", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\x01b\r\n\r\n", "400 closed"},
	{"obs-fold", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", "400 closed"},
	{"obs-fold tab first", "GET /healthz HTTP/1.1\r\n X: a\r\nHost: h\r\n\r\n", "400 closed"},
	{"space before colon", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length : 2\r\n\r\n{}", "400 closed"},
	{"space in name", "GET /healthz HTTP/1.1\r\nHost: h\r\nX Y: 2\r\n\r\n", "400 closed"},
	{"no colon", "GET /healthz HTTP/1.1\r\nHost: h\r\nXY\r\n\r\n", "400 closed"},
	{"empty name", "GET /healthz HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", "400 closed"},
	{"no host", "GET /healthz HTTP/1.1\r\n\r\n", "400 closed"},
	{"two hosts", "GET /healthz HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "400 closed"},
	{"a length twice", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "400 closed"},
	{"a list of lengths", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 2, 2\r\n\r\n{}", "400 closed"},
	{"a length with a plus", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: +2\r\n\r\n{}", "400 closed"},
	{"a negative length", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: -2\r\n\r\n{}", "400 closed"},
	{"a length in hexadecimal", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 0x2\r\n\r\n{}", "400 closed"},
	{"an empty length", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\n", "400 closed"},
	{"a length that overflows", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n{}", "400 closed"},
	{"a length with a space", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 1 2\r\n\r\n{}", "400 closed"},
	{"a length beside chunks", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 closed"},
	{"chunked twice", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 closed"},
	{"another encoding beside chunked", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400 closed"},
	{"an unknown encoding", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400 closed"},
	{"a vertical tab before chunked", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "400 closed"},
	{"chunked in upper case", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", "401 200"},
	{"chunks in HTTP/1.0", "POST /v1/authorize HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"chunks on GET", "GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 200"},
	{"a body on GET", "GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "200 200"},
	{"a chunk extension", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n", "401 200"},
	{"a line feed in a chunk extension", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"a chunk size with 0x", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"a chunk size with a plus", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"a space behind a chunk size", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n", "401 200"},
	{"a space before a chunk size", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n 2\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"chunks with bare line feeds", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n", "400 closed"},
	{"a chunk size that overflows", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff2\r\n{}\r\n0\r\n\r\n", "400 closed"},
	{"a chunk longer than its size", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n", "400 closed"},
	{"a length in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 3\r\n\r\n", "400 closed"},
	{"an Authorization in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nAuthorization: x\r\n\r\n", "400 closed"},
	{"a request id in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Request-Id: x\r\n\r\n", "400 closed"},
	{"an attestation in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nSvc-Receipt: x\r\n\r\n", "400 closed"},
	{"a bare LF in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\nZ: z\r\n\r\n", "400 closed"},
	{"obs-fold in the trailer", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n", "400 closed"},
	{"space in a trailer's name", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX Y: 2\r\n\r\n", "400 closed"},
	{"chunks on a connection that ends", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTrailer: X\r\nCookie: a=b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "401 closed"},
	{"a trailer on a connection that ends", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nUser-Agent: x\r\n\r\n", "400 closed"},
	{"the last request", "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "200 closed"},
	{"the last request, in capitals", "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n", "200 closed"},
	{"the last request, in a list", "GET /healthz HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nConnection: TE,close\r\n\r\n", "200 closed"},
	{"the last request, in the first of two fields", "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\nConnection: TE\r\n\r\n", "200 closed"},
	{"an option that begins alike", "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n", "200 200"},
	{"the last request, refused", "PUT /healthz HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n", "405 closed"},
	{"an absolute target", "GET http://h/healthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"an authority as target", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"an asterisk as target", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"dot segments", "GET /v1/../healthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"dot segments with percents", "GET /v1/%2e%2e/healthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a letter with a percent", "GET /%68ealthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"two slashes", "GET //healthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a fragment", "GET /healthz#x HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"upper case", "GET /HEALTHZ HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a slash at the end", "GET /healthz/ HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a path parameter", "GET /healthz;x HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a backslash", "GET /v1\\healthz HTTP/1.1\r\nHost: h\r\n\r\n", "404 200"},
	{"a NUL in the target", "GET /healthz\x00 HTTP/1.1\r\nHost: h\r\n\r\n", "400 closed"},
	{"tabs in the request line", "GET\t/healthz\tHTTP/1.1\r\nHost: h\r\n\r\n", "400 closed"},
	{"two spaces in the request line", "GET  /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "400 closed"},
	{"space in target", "GET /health z HTTP/1.1\r\nHost: h\r\n\r\n", "400 closed"},
	{"a method in lower case", "get /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "405 200"},
	{"HTTP/0.9", "GET /healthz\r\n\r\n", "400 closed"},
	{"HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", "200 closed"},
	{"HTTP/2.0", "GET /healthz HTTP/2.0\r\nHost: h\r\n\r\n", "505 closed"},
	{"HTTP/1.2", "GET /healthz HTTP/1.2\r\nHost: h\r\n\r\n", "505 closed"},
	{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 closed"},
	{"an empty line before the request", "\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "200 200"},
	{"Expect: 100-continue", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", "100 401 200"},
	{"another Expect", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nExpect: x\r\nContent-Length: 2\r\n\r\n{}", "401 200"},
	{"an upgrade to HTTP/2", "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n", "200 200"},
	{"TLS", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", "400 closed"},
}

// TestSmuggling sends each shape twice: without a key, when the body is not used, and with one, when it is.
func TestSmuggling(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("", false)))
	key := w.createKey("agent", accounts.NewKey{}).APIKey
	for _, shape := range shapes {
		for name, x := range map[string]struct{ raw, want string }{
			"": {shape.raw, shape.want},
			" with a key": {
				strings.Replace(shape.raw, "Host: h\r\n", "Host: h\r\nAuthorization: Bearer "+key+"\r\n", 1),
				strings.Replace(shape.want, "401", "400", 1),
			},
		} {
			t.Run(shape.name+name, func(t *testing.T) {
				t.Parallel()
				if got := answers(t, address, x.raw+"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"); got != x.want {
					t.Errorf("%q: %s, want %s", x.raw, got, x.want)
				}
			})
		}
	}
}

// TestSlow holds clients that drip to the time that a whole request may take: a byte now and then does not extend it.
func TestSlow(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Timeouts = Timeouts{Transfer: 300 * time.Millisecond, Idle: 300 * time.Millisecond}
	address := w.listen(config)
	key := w.createKey("agent", accounts.NewKey{}).APIKey
	for name, x := range map[string]struct{ head, want string }{
		"headers":           {"GET /healthz HTTP/1.1\r\nHost: h\r\nX: ", "408"},
		"body":              {"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + key + "\r\nContent-Length: 90000\r\n\r\n", "408"},
		"chunks":            {"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + key + "\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", "408"},
		"body without key":  {"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n", "401"},
		"chunk without key": {"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", "401"},
		"nothing":           {"", ""},
	} {
		head := x.head
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			done := make(chan struct{})
			defer close(done)
			go func() {
				_, _ = io.WriteString(connection, head)
				for head != "" {
					select {
					case <-done:
						return
					case <-time.After(20 * time.Millisecond):
						_, _ = io.WriteString(connection, "x")
					}
				}
			}()
			_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
			answer, err := io.ReadAll(connection)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection is still open")
			}
			if head != "" && len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+x.want+" ")) {
				t.Errorf("answered %.80q", answer)
			}
		})
	}
}

// TestShutdownOfTheSilent shuts down while clients say nothing, or only half of something: it does not wait for them as long
// as they may take. What is being answered is answered.
func TestShutdownOfTheSilent(t *testing.T) {
	w := newWorld(t)
	server, err := New(w.config(w.authority("", false)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	for _, said := range []string{
		"", "GET /healthz HTTP/1.1\r\nHo", "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n{",
		"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, said); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond) // they arrive
	ctx, cancel := context.WithTimeout(t.Context(), transferTimeout/2)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestIdle keeps many connections open that say nothing, and wants an answer on another one meanwhile.
func TestIdle(t *testing.T) {
	const idle = 2000
	w := newWorld(t)
	config := w.config(w.authority("", false))
	address := w.listen(config)
	connections := make([]net.Conn, idle)
	t.Cleanup(func() {
		for _, c := range connections {
			if c != nil {
				c.Close()
			}
		}
	})
	for i := range connections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		connections[i] = c
	}
	begun := time.Now()
	if got := answers(t, address, "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); got != "200 closed" {
		t.Errorf("answered %s", got)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("beside %d idle connections an answer takes %v", idle, took)
	}
	for _, i := range []int{0, idle / 2, idle - 1} { // those that have waited are still served
		if response, body := exchange(t, connections[i], []byte("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")); response.StatusCode != 200 {
			t.Errorf("connection %d: %d %s", i, response.StatusCode, body)
		}
	}
}

// TestLarge holds bodies and headers to their bounds, whichever way their length is told.
func TestLarge(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("version: 1.0.0\n\n## tool_calls\nallowed: bash\n", false)))
	key := w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize", "warranty:deploy"}}).APIKey
	deep := func(n int) string {
		return `{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"bash","metadata":{"x":` +
			strings.Repeat("[", n) + strings.Repeat("]", n) + `}}}`
	}
	for _, x := range []struct {
		name, path, header, body string
		want                     int
		code                     string
	}{
		{"authorize at its bound", "/v1/authorize", "", strings.Repeat(" ", authorizeBodyBytes), 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"authorize beyond", "/v1/authorize", "", strings.Repeat(" ", authorizeBodyBytes+1), 413, "SVC_BODY_TOO_LARGE"},
		{"deploy at its bound", "/v1/warranty/deploy", "", strings.Repeat(" ", deployBodyBytes), 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"deploy beyond", "/v1/warranty/deploy", "", strings.Repeat(" ", deployBodyBytes+1), 413, "SVC_BODY_TOO_LARGE"},
		{"register beyond", "/v1/keys/register", "", strings.Repeat(" ", smallBodyBytes+1), 413, "SVC_BODY_TOO_LARGE"},
		{"resolution beyond", "/v1/holds/x/resolution", "", strings.Repeat(" ", smallBodyBytes+1), 413, "SVC_BODY_TOO_LARGE"},
		{"gateway at its bound", "/rpc/1", "", strings.Repeat(" ", gatewayBodyBytes), 404, "SVC_NOT_FOUND"},
		{"gateway beyond", "/rpc/1", "", strings.Repeat(" ", gatewayBodyBytes+1), 413, "SVC_BODY_TOO_LARGE"},
		{"large headers", "/v1/authorize", "X: " + strings.Repeat("x", strict.ReadBufferBytes), "{}", 431, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"nested within bounds", "/v1/authorize", "", deep(20), 200, ""},
		{"nested too deep", "/v1/authorize", "", deep(40), 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"nothing but brackets", "/v1/authorize", "", strings.Repeat("[", 90_000), 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"a deployment of brackets", "/v1/warranty/deploy", "", `{"warranty_md":` + strings.Repeat("[", 390_000), 400, "SVC_VALIDATION_ERROR_SCHEMA"},
	} {
		for _, framing := range []string{"", "Transfer-Encoding: chunked\nX-Test: no-length\n"} {
			begun := time.Now()
			head := "POST " + x.path + "\nAuthorization: Bearer " + key + "\n" + framing
			if x.header != "" {
				head += x.header + "\n"
			}
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			response, body := exchange(t, connection, w.request(head+"\n"+x.body))
			connection.Close()
			if response.StatusCode != x.want || !strings.Contains(body, x.code) {
				t.Errorf("%s %s: %d %.200s", x.name, framing, response.StatusCode, body)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%s %s: it took %v", x.name, framing, took)
			}
		}
	}
}

// TestEnumeration asks for keys and holds that are missing in every way: nothing in the answers tells the ways apart.
func TestEnumeration(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: email.send\nemail.require_approval: true\n", false)))
	w.createKey("agent", accounts.NewKey{})
	w.createKey("other", accounts.NewKey{})
	gone := w.createKey("gone", accounts.NewKey{})
	if _, err := w.admin.RevokeKey(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	_, body := w.send(w.request("POST /v1/authorize\nAuthorization: Bearer $agent\n\n" +
		`{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"email.send","to":"a@example.com"}}`))
	_, rest, _ := strings.Cut(body, `"holdId":"`)
	hold, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no hold: %s", body)
	}
	ask := func(key, path string) string {
		response, body := w.send(w.request("GET " + path + "\nX-Request-Id: same\nAuthorization: Bearer " + key))
		response.Header.Del("Date")
		return fmt.Sprintf("%d %v %s", response.StatusCode, response.Header, body)
	}
	same := func(kind string, all ...string) {
		t.Helper()
		for _, one := range all[1:] {
			if one != all[0] {
				t.Errorf("%s differ:\n%s\n%s", kind, all[0], one)
			}
		}
	}
	path := "/v1/holds/" + hold
	same("bad keys", ask("$gone", path), ask("sk_svc_"+strings.Repeat("0", 64), path), ask("sk_svc_", path), ask("nonsense", path),
		ask("sk_svc_"+strings.Repeat("x", 5000), path), ask("sk_svc_\xff", path))
	missing := []string{ask("$other", path), ask("$agent", "/v1/holds/"+strings.Repeat("0", 36)), ask("$agent", "/v1/holds/%2e%2e"), ask("$agent", path+"x")}
	if good := ask("$agent", path); !strings.HasPrefix(good, "200 ") {
		t.Fatalf("the hold itself: %s", good)
	}
	w.now = w.now.Add(25 * time.Hour)
	same("missing holds", append(missing, ask("$agent", path), ask("$other", path))...)
}

// TestInjection sends what would become a header or a line of the log of its own.
func TestInjection(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("", false)))
	for sent, kept := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("a", maxRequestID): true, strings.Repeat("a", maxRequestID+1): false,
		"": false, "a b": false, "a\tb": false, "a;b": false, `a"b`: false, "a,b": false, "é": false, "<script>": false,
	} {
		response, _ := w.send(w.request("GET /healthz\nX-Request-Id: " + sent))
		got := response.Header.Get("X-Request-Id")
		if (got == sent) != kept || !wellFormedID([]byte(got)) {
			t.Errorf("X-Request-Id %q is answered with %q", sent, got)
		}
	}
	if response, _ := w.send(w.request("GET /healthz\nx-request-id: lower")); response.Header.Get("X-Request-Id") != "lower" {
		t.Errorf("x-request-id in lower case is answered with %q", response.Header.Get("X-Request-Id"))
	}
	var log bytes.Buffer
	handler := guard(slog.New(slog.NewTextHandler(&log, nil)), func(*fasthttp.RequestCtx) { panic("planted\nlevel=INFO msg=forged") })
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetProtocol("HTTP/1.1")
	ctx.Request.SetRequestURI("/x\nlevel=INFO msg=forged")
	handler(&ctx)
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("a failed request writes %d lines:\n%s", lines, log.String())
	}
	if ctx.Response.StatusCode() != 500 || strings.Contains(string(ctx.Response.Body()), "planted") {
		t.Errorf("a failed request is answered %d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}

// TestRequestIDsDiffer makes ids from many goroutines: none may come twice.
func TestRequestIDsDiffer(t *testing.T) {
	var ids requestIDs
	if err := ids.init(newWorld(t).random); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[string]bool{}
	for range 8 {
		all.Go(func() {
			for range 1000 {
				id := fmt.Sprintf("%x", [16]byte(ids.next()))
				mu.Lock()
				if seen[id] || !wellFormedID([]byte(id)) || len(id) != madeRequestID {
					t.Errorf("id %q", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// TestMalformedIsNotLogged: no client without a key can fill the log, or put there what was sent.
func TestMalformedIsNotLogged(t *testing.T) {
	w := newWorld(t)
	var said bytes.Buffer
	config := w.config(w.authority("", false))
	config.Log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server := w.serve(config)
	for _, raw := range []string{
		"GET /healthz\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /healthz\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nAuthorization: Bearer sk_svc_secret\x00\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nsk_svc_secret\r\n\r\n",
		"POST /v1/authorize HTTP/1.1\r\nHost: a\r\nContent-Length: sk_svc_secret\r\n\r\n",
	} {
		if response, body := w.send([]byte(raw)); response.StatusCode != 400 {
			t.Errorf("%q: %d %s", raw, response.StatusCode, body)
		}
	}
	if err := server.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", &said)
	}
	strict.Logger{Log: config.Log}.Printf("%s", "out of files")
	if !strings.Contains(said.String(), "out of files") {
		t.Error("what is wrong with the server is not logged")
	}
}
