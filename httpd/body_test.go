package httpd

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/accounts"
	"bailiff/runtime/budget"
	"bailiff/runtime/ratelimit"
)

// A caller is a client that sends a request bit by bit.
type caller struct {
	net.Conn
	t      *testing.T
	reader *bufio.Reader
}

func dial(t *testing.T, address string) *caller {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &caller{c, t, bufio.NewReader(c)}
}

// say sends a piece.
func (c *caller) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// hear reads an answer that has to come soon.
func (c *caller) hear() (*http.Response, string) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(12 * time.Second)) // below the time that a body may take
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatalf("there is no answer: %v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response, string(text)
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happens: %s", what)
		}
	}
}

// bodies returns a budget of request bodies.
func bodies(most, share, kept int64) *budget.Budget {
	return budget.New(budget.Options{Name: "test", Most: most, Share: share, Kept: kept, Clock: time.Now, Log: slog.New(slog.DiscardHandler)})
}

const anyBody = "Content-Length: 90000\r\n\r\n{"

// What the headers show to be refused is refused before the body comes, and no memory is taken for it.
func TestRefusedAtTheHeaders(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Bodies = bodies(1, 0, 0) // none would fit
	config.Gateway = w.gateway()
	config.Limits.IP = ratelimit.Window{Limit: 1, Per: time.Minute}
	address := w.listen(config)
	free := w.config(w.authority("", false))
	free.Bodies = config.Bodies
	unlimited := w.listen(free)
	narrow := w.createKey("narrow", accounts.NewKey{Scopes: []string{"webhooks:write"}}).APIKey
	if got := answers(t, address, "GET /v1/holds/x HTTP/1.1\r\nHost: h\r\n\r\n"); got != "401" { // uses the limit up
		t.Fatal(got)
	}
	for _, x := range []struct{ name, address, head, want string }{
		{"no key", unlimited, "POST /v1/authorize HTTP/1.1\r\nHost: h\r\n", "401 SVC_API_KEY_REQUIRED"},
		{"another key", unlimited, "POST /v1/warranty/deploy HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer sk_svc_x\r\n", "401 SVC_API_KEY_INVALID"},
		{"no scope", unlimited, "POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + narrow + "\r\n", "403 SVC_API_KEY_SCOPE_INSUFFICIENT"},
		{"no route", unlimited, "POST /v1/else HTTP/1.1\r\nHost: h\r\n", "404 SVC_NOT_FOUND"},
		{"no method", unlimited, "PUT /v1/authorize HTTP/1.1\r\nHost: h\r\n", "405 SVC_METHOD_NOT_ALLOWED"},
		{"an encoding", unlimited, "POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n", "400 SVC_VALIDATION_ERROR_SCHEMA"},
		{"the source's limit", address, "POST /v1/authorize HTTP/1.1\r\nHost: h\r\n", "429 SVC_RATE_LIMITED"},
		{"the source's limit, at a gateway", address, "POST /rpc/1 HTTP/1.1\r\nHost: h\r\n", "429 SVC_RATE_LIMITED"},
		{"the same with a bad attestation", address, "POST /rpc/1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x.y.z\r\n", "429 SVC_RATE_LIMITED"},
	} {
		for _, begun := range []string{anyBody, "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n15f90\r\n{"} {
			c := dial(t, x.address)
			c.say(x.head + begun)
			if response, body := c.hear(); !strings.HasPrefix(x.want, fmt.Sprint(response.StatusCode)) || !strings.Contains(body, x.want[4:]) || !response.Close {
				t.Errorf("%s, %q: %d %s", x.name, begun, response.StatusCode, body)
			}
		}
	}
	if n := config.Bodies.Held(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// A client whose body is not used finds its next request answered, if it has sent all of it; and its answer in any case.
func TestUnusedBodies(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("", false)))
	next := "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, size := range []int{0, 1, 2, firstBodyBytes, 90_000, 3 << 20} {
		body := strings.Repeat("x", size)
		for name, framed := range map[string]string{
			"length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, body),
			"chunks": "Transfer-Encoding: chunked\r\n\r\n" + strings.Replace(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body), "0\r\n\r\n0", "0", 1),
		} {
			for path, want := range map[string]string{"/v1/authorize": "401 200", "/v1/else": "404 200", "/rpc/1": "404 200"} {
				if path == "/rpc/1" && size > gatewayBodyBytes {
					want = "413 200"
				}
				if got := answers(t, address, "POST "+path+" HTTP/1.1\r\nHost: h\r\n"+framed+next); got != want {
					t.Errorf("%s, %d bytes by %s: %s, want %s", path, size, name, got, want)
				}
			}
		}
	}
}

// A body that ends too early is none, however its end is told.
func TestCutOffBodies(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Bodies = bodies(1<<20, 0, 0)
	address := w.listen(config)
	key := w.createKey("agent", accounts.NewKey{}).APIKey
	for _, rest := range []string{
		"Content-Length: 4\r\n\r\n{}", "Content-Length: 40000\r\n\r\n{}" + strings.Repeat(" ", 30000),
		"Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
	} {
		c := dial(t, address)
		c.say("POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + key + "\r\n" + rest)
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		response, body := c.hear()
		if response.StatusCode != 400 || !response.Close || !strings.Contains(body, "not well-formed HTTP") {
			t.Errorf("%.80q: %d %s", rest, response.StatusCode, body)
		}
	}
	await(t, "nothing is held", func() bool { return config.Bodies.Held() == 0 })
}

// Memory for bodies grows with what has arrived, and is bounded: for one source, for all, and apart from those for small ones.
func TestBudgetOfBodies(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Bodies = bodies(1_000_000, 600_000, 200_000)
	config.Gateway = w.gateway()
	address := w.listen(config)
	large := func(sent int) *caller {
		c := dial(t, address)
		c.say(fmt.Sprintf("POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", gatewayBodyBytes, strings.Repeat(" ", sent)))
		return c
	}
	idle := large(1)
	await(t, "the first bytes are held", func() bool { return config.Bodies.Held() > 0 })
	if n := config.Bodies.Held(); n > firstBodyBytes {
		t.Errorf("%d bytes are held for one that has arrived", n)
	}
	half := large(100_000)
	await(t, "what has arrived is held", func() bool { return config.Bodies.Held() > 200_000 })
	if n := config.Bodies.Held(); n > firstBodyBytes+bodyGrowth*100_000 {
		t.Errorf("%d bytes are held for 100,000 that have arrived", n)
	}
	response, body := large(500_000).hear()
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"status":"RATE_LIMITED","error_code":"SVC_RATE_LIMITED"`) || !strings.Contains(body, "most for one address") {
		t.Errorf("beyond the share of a source: %d %s", response.StatusCode, body)
	}
	config.Bodies.Share = 0
	config.Bodies.Force(netip.Addr{}, 500_000) // others'
	response, body = large(500_000).hear()
	if response.StatusCode != 503 || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"status":"UNAVAILABLE","error_code":"SVC_OVERLOADED"`) {
		t.Errorf("beyond all: %d %s", response.StatusCode, body)
	}
	read := `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`
	c := dial(t, address)
	c.say(fmt.Sprintf("POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(read), read))
	if response, body := c.hear(); response.StatusCode != 200 {
		t.Errorf("a small one meanwhile: %d %s", response.StatusCode, body)
	}
	idle.Close()
	half.Close()
	await(t, "all is given back", func() bool { return config.Bodies.Held() == 500_000 })
}

// A request that fails gives the memory of its body back, and its connection is closed.
func TestFaultGivesBodyBack(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Bodies = bodies(1<<20, 0, 0)
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	server.config.Authority = nil // the handler trips over it
	server.config.Limits.Register = ratelimit.Window{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Shutdown(t.Context())
	c := dial(t, listener.Addr().String())
	c.say("POST /v1/keys/register HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}")
	if response, body := c.hear(); response.StatusCode != fasthttp.StatusInternalServerError || !response.Close {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if n := config.Bodies.Held(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// An upstream's answer is held until its client has read it or is gone, and counts for the client's address.
func TestAnswersAreHeldForClients(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 30<<20) + `"}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(large)))
		_, _ = io.WriteString(w, large)
	}))
	defer node.Close()
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Gateway = w.gatewayTo(node)
	answers := config.Gateway.Answers
	address := w.listen(config)
	const read = `{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}`
	ask := func() *caller {
		c := dial(t, address)
		c.say(fmt.Sprintf("POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(read), read))
		return c
	}
	const one = 30 << 20
	deaf := []*caller{ask(), ask(), ask()} // as many as the share of an address is for
	await(t, "three answers are held", func() bool { return answers.Held() > 3*one })
	fourth := ask()
	time.Sleep(200 * time.Millisecond)
	if n := answers.Held(); n > 3*one+1<<20 {
		t.Errorf("%d bytes are held", n)
	}
	deaf[0].Close()
	response, body := fourth.hear()
	for range 5 { // a machine under load may take longer than a read waits
		if strings.Contains(body, "SVC_GATEWAY_BUSY") {
			body = fourth.more(read)
		}
	}
	if response.StatusCode != 200 || len(body) < one || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":7,"result":"xxx`) {
		t.Errorf("%d %.100s", response.StatusCode, body)
	}
	if _, body = deaf[1].hear(); len(body) < one {
		t.Errorf("%.100s", body)
	}
	deaf[2].Close()
	await(t, "all is given back", func() bool { return answers.Held() == 0 })
	if got := fourth.more(read); len(got) < one {
		t.Errorf("the next answer: %.100s", got)
	}
}

// more sends another read over the connection.
func (c *caller) more(read string) string {
	c.say(fmt.Sprintf("POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(read), read))
	_, body := c.hear()
	return body
}

var _ io.WriterTo = (*heldBody)(nil) // or every answer would be copied in pieces
var _ io.Closer = (*heldBody)(nil)   // or none would be released

// TestSmallChunks holds a body to so many chunks as its bytes need, whether it is used or not: its answer comes, the connection
// ends, and what is left of the body is not read chunk by chunk.
func TestSmallChunks(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("", false)))
	key := w.createKey("chunks", accounts.NewKey{Scopes: []string{"authorize"}}).APIKey
	single := strings.Repeat("1\r\n \r\n", firstChunks)
	for _, x := range []struct{ name, head, chunks, want string }{
		{"as many as there may be, used", "Authorization: Bearer " + key + "\r\n", single, "400"},
		{"as many as there may be, unused", "", single, "401"},
		{"one for each so many bytes", "Authorization: Bearer " + key + "\r\n", strings.Repeat("40\r\n"+strings.Repeat(" ", chunkBytes)+"\r\n", 2*firstChunks), "400"},
		{"many, used", "Authorization: Bearer " + key + "\r\n", strings.Repeat(single, 40), "413"},
		{"many, unused", "", strings.Repeat(single, 40), "401"},
	} {
		c := dial(t, address)
		c.say("POST /v1/authorize HTTP/1.1\r\nHost: h\r\n" + x.head + "Transfer-Encoding: chunked\r\n\r\n")
		go func() { _, _ = io.WriteString(c, x.chunks+"0\r\n\r\n") }() // it may be cut off
		response, body := c.hear()
		if fmt.Sprint(response.StatusCode) != x.want || response.Close != strings.HasPrefix(x.name, "many") {
			t.Errorf("%s: %d, %q, closes %v", x.name, response.StatusCode, body, response.Close)
		}
		if x.want == "413" && !strings.Contains(body, "too many chunks") {
			t.Errorf("%s: %s", x.name, body)
		}
	}
}

// TestChunksCost is about what is not read: of a body of single bytes that is refused no more chunks are looked at.
func TestChunksCost(t *testing.T) {
	b, stream := body{}, strings.NewReader(strings.Repeat("x", 1<<20))
	for {
		if _, err := b.next(nil, stream, make([]byte, 1), -1); err != nil {
			break
		}
		b.passed++
	}
	if most := firstChunks * chunkBytes / (chunkBytes - 1); b.reads > most+1 {
		t.Errorf("%d chunks of one byte are read, and %d should be", b.reads, most)
	}
	for range 10 * firstChunks { // of a known length
		if _, err := (&body{reads: 10 * firstChunks}).next(nil, stream, make([]byte, 1), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChunkExtensions holds the lines in front of chunks to their length: of one that never ends, and of many that are long,
// little is read, whether the body is used or not. Lines that are short enough are read, with what they say.
func TestChunkExtensions(t *testing.T) {
	w := newWorld(t)
	address := w.listen(w.config(w.authority("", false)))
	key := "Authorization: Bearer " + w.createKey("chunks", accounts.NewKey{Scopes: []string{"authorize"}}).APIKey + "\r\n"
	long := func(n int) string { return "1;x=" + strings.Repeat("y", n) + "\r\n \r\n" }
	for _, x := range []struct{ name, head, chunks, want string }{
		{"short, used", key, strings.Repeat(long(chunkLine-8), firstChunks-1), "400"},
		{"short, unused", "", strings.Repeat(long(chunkLine-8), firstChunks-1), "401"},
		{"endless, used", key, "1;" + strings.Repeat("y", 200<<10), "413"},
		{"endless, unused", "", "1;" + strings.Repeat("y", 200<<10), "401"},
		{"many, used", key, strings.Repeat(long(4*chunkLine), firstChunks-1), "413"},
		{"many, unused", "", strings.Repeat(long(4*chunkLine), firstChunks-1), "401"},
	} {
		c := dial(t, address)
		c.say("POST /v1/authorize HTTP/1.1\r\nHost: h\r\n" + x.head + "Transfer-Encoding: chunked\r\n\r\n")
		short := strings.HasPrefix(x.name, "short")
		if short {
			x.chunks += "0\r\n\r\n"
		}
		go func() { _, _ = io.WriteString(c, x.chunks) }() // it may be cut off
		response, body := c.hear()
		if fmt.Sprint(response.StatusCode) != x.want || response.Close == short {
			t.Errorf("%s: %d, %q, closes %v", x.name, response.StatusCode, body, response.Close)
		}
		if x.want == "413" && !strings.Contains(body, "extensions") {
			t.Errorf("%s: %s", x.name, body)
		}
	}
}
