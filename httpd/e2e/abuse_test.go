package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/rawhttp"
)

// address is host and port of a service.
func (r *running) address() string { return strings.TrimPrefix(r.base, "http://") }

// raw is rawhttp.Statuses with the pause that suits here.
func raw(t *testing.T, address, request string) string {
	t.Helper()
	return rawhttp.Statuses(t, address, request, 400*time.Millisecond)
}

// smuggled is a request that another reader might see as two, with a second one that must not be read behind it.
var smuggled = []struct{ name, head, rest string }{
	{"two lengths", "Content-Length: 2\r\nContent-Length: 50\r\n", "{}"},
	{"two equal lengths", "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"},
	{"a list of lengths", "Content-Length: 2, 2\r\n", "{}"},
	{"length with chunking", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"},
	{"chunking with length", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"},
	{"chunking twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"},
	{"another encoding", "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"},
	{"bare LF", "X: y\nContent-Length: 2\r\n", "{}"},
	{"bare CR", "X: y\rContent-Length: 2\r\n", "{}"},
	{"obs-fold", "X: y\r\n z\r\nContent-Length: 2\r\n", "{}"},
	{"folded length", "Content-Length:\r\n 2\r\n", "{}"},
	{"a space before the colon", "Content-Length : 2\r\n", "{}"},
	{"a signed length", "Content-Length: +2\r\n", "{}"},
	{"a hexadecimal length", "Content-Length: 0x2\r\n", "{}"},
	{"a NUL", "X: \x00\r\nContent-Length: 2\r\n", "{}"},
	{"a chunk with bare LF", "Transfer-Encoding: chunked\r\n", "2\n{}\n0\n\n"},
	{"a chunk longer than it says", "Transfer-Encoding: chunked\r\n", "2\r\n{}x\r\n0\r\n\r\n"},
}

const (
	authorizeLine = "POST /v1/authorize HTTP/1.1\r\nHost: h\r\n"
	healthy       = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
)

// TestSmuggling sends shapes over which readers disagree: each is refused, and nothing behind it is read.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	service := newSite(t, mailPolicy).start()
	var wait sync.WaitGroup
	for _, shape := range smuggled {
		wait.Go(func() {
			if got := raw(t, service.address(), authorizeLine+shape.head+"\r\n"+shape.rest+healthy); got != "400 closed" {
				t.Errorf("%s: %s", shape.name, got)
			}
		})
	}
	wait.Wait()
	if got := raw(t, service.address(), authorizeLine+"Content-Length: 2\r\n\r\n{}"+healthy); got != "401 200" {
		t.Errorf("a good request and another one: %s", got)
	}
	lenient := httptest.NewServer(http.NotFoundHandler()) // which takes a bare LF
	defer lenient.Close()
	if got := raw(t, lenient.Listener.Addr().String(), authorizeLine+"X: y\nContent-Length: 2\r\n\r\n{}"+healthy); got != "404 404" {
		t.Errorf("a lenient server is not told from a strict one: %s", got)
	}
}

// slow is a request that never comes to its end, byte by byte.
var slow = map[string]string{
	"headers": "GET /healthz HTTP/1.1\r\nHost: h\r\nX: ",
	"a body":  authorizeLine + "Content-Length: 1000\r\n\r\n",
	"chunks":  authorizeLine + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n",
}

// drip sends the beginning of a request and then a byte at a time, and reports whether the connection is open after a time.
func drip(address, head string, bound time.Duration) (open bool, err error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return false, err
	}
	defer connection.Close()
	begun := time.Now()
	for _, err = io.WriteString(connection, head); err == nil && time.Since(begun) < bound; {
		time.Sleep(250 * time.Millisecond)
		_, err = io.WriteString(connection, "x")
	}
	return err == nil, nil
}

// TestSlowClients has 150 clients send a byte at a time while others are served as ever. They are cut off in the end.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service, key := s.start(), s.apiKey()
	var wait sync.WaitGroup
	for name, head := range slow {
		for range 50 {
			wait.Go(func() {
				if open, err := drip(service.address(), head, 20*time.Second); open || err != nil { // the service gives 15
					t.Errorf("%s: open: %v, %v", name, open, err)
				}
			})
		}
	}
	slowest := time.Duration(0)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		begun := time.Now()
		service.decides(t, "meanwhile", key, listing, "ALLOWED")
		slowest = max(slowest, time.Since(begun))
	}
	if slowest > 2*time.Second {
		t.Errorf("others waited %v", slowest)
	}
	patient := httptest.NewServer(http.NotFoundHandler()) // which waits for ever
	defer patient.Close()
	if open, err := drip(patient.Listener.Addr().String(), slow["headers"], time.Second); !open || err != nil {
		t.Errorf("a server that waits is not told from one that does not: %v", err)
	}
	wait.Wait()
}

// TestIdleConnections holds 10,000 connections that do nothing, half of them after a request, and is served meanwhile.
func TestIdleConnections(t *testing.T) {
	const many = 10_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Max < many*4/3+1000 { // the service keeps a quarter for itself
		t.Skipf("a process may have %d files, and %d connections are to be opened (%v)", files.Max, many, err)
	}
	files.Cur = files.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Skipf("the number of files can't be raised: %v", err)
	}
	s := newSite(t, mailPolicy)
	service, key := s.start(), s.apiKey()
	connections := make([]net.Conn, many)
	defer func() {
		for _, c := range connections {
			if c != nil {
				c.Close()
			}
		}
	}()
	var wait sync.WaitGroup
	for part := range 8 {
		wait.Go(func() {
			for i := part; i < many; i += 8 {
				// An address has at most 1,024 connections, so there are twenty.
				from := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%20))}}
				c, err := from.Dial("tcp", service.address())
				if err == nil && i%2 == 0 {
					_, err = io.WriteString(c, healthy)
				}
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				connections[i] = c
			}
		})
	}
	wait.Wait()
	slowest := time.Duration(0)
	for range 200 {
		begun := time.Now()
		service.decides(t, "among 10,000", key, listing, "ALLOWED")
		slowest = max(slowest, time.Since(begun))
	}
	if slowest > 2*time.Second {
		t.Errorf("a client waited %v", slowest)
	}
	last := connections[many-2]
	_ = last.SetReadDeadline(time.Now().Add(5 * time.Second))
	if response, err := http.ReadResponse(bufio.NewReader(last), nil); err != nil || response.StatusCode != 200 {
		t.Errorf("an idle connection had its answer: %v", err)
	}
	t.Logf("slowest of 200: %v, memory of the service: %s", slowest, resident(t, service))
}

// TestFewFiles opens more connections than a service may have files: new ones wait, what is open is served, the record and
// the operator have files, and when the others go, waiting clients are answered. The service ends in order in between, too.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	s.files = 128
	service, key := s.start(), s.apiKey()
	crowd := func() (leave func()) {
		var connections []net.Conn
		for range 3 * s.files {
			c, err := net.DialTimeout("tcp", service.address(), time.Second)
			if err != nil {
				break // the queue of those who wait is full
			}
			connections = append(connections, c)
			if _, err := io.WriteString(c, healthy); err != nil {
				t.Errorf("connection %d: %v", len(connections), err)
			}
		}
		if len(connections) == 0 {
			t.Fatalf("nobody is let in:\n%s", service.log)
		}
		// The first ones may have come while those of a crowd before still counted.
		if !slices.ContainsFunc(connections, func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			return err == nil && response.StatusCode == 200
		}) {
			t.Error("none has an answer")
		}
		return func() {
			for _, c := range connections {
				c.Close()
			}
		}
	}
	leave := crowd()
	s.must("keys", "list")
	waited := make(chan error, 1)
	go func() {
		a, err := service.post("/v1/authorize", key, listing)
		if err == nil && a.Status != "ALLOWED" {
			err = fmt.Errorf("the answer is %+v", a)
		}
		waited <- err
	}()
	time.Sleep(200 * time.Millisecond)
	leave()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	leave = crowd()
	defer leave()
	if err := service.stop(); err != nil {
		t.Errorf("it ended with %v\n%s", err, service.log)
	}
}

// resident is the resident memory of a service as the kernel counts it.
func resident(t *testing.T, service *running) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", service.command.Process.Pid))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(regexp.MustCompile(`VmRSS:(.*)`).FindString(string(status)))
}

// TestBodies sends bodies that are too large or too deep, or that say a thing twice.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service, key := s.start(), s.apiKey("--full-grant")
	deep := func(n int) string {
		return tool("bash", `"command":"ls","metadata":{"x":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`)
	}
	const schema, large = "400 SVC_VALIDATION_ERROR_SCHEMA", "413 SVC_BODY_TOO_LARGE"
	for _, row := range []struct{ name, path, body, want string }{
		{"deep", "/v1/authorize", deep(28), "200"},
		{"too deep", "/v1/authorize", deep(40), schema},
		{"much too deep", "/v1/authorize", deep(45_000), schema},
		{"brackets", "/v1/authorize", strings.Repeat("[", 99_000), schema},
		{"braces", "/v1/authorize", strings.Repeat(`{"a":`, 19_000), schema},
		{"a long number", "/v1/authorize", tool("bash", `"command":"ls","metadata":{"n":`+strings.Repeat("9", 90_000)+`}`), schema},
		{"many names", "/v1/authorize", tool("bash", `"command":"ls","metadata":{`+strings.TrimSuffix(strings.Repeat(`"a":1,`, 10_000), ",")+`}`), schema},
		{"an unknown name", "/v1/authorize", strings.Replace(listing, `"agentId"`, `"agentid"`, 1), schema},
		{"trailing data", "/v1/authorize", listing + "{}", schema},
		{"bad UTF-8", "/v1/authorize", strings.Replace(listing, `"ls"`, "\"\xff\"", 1), schema},
		{"a byte too large", "/v1/authorize", listing + strings.Repeat(" ", 100_001-len(listing)), large},
		{"a policy too large", "/v1/warranty/deploy", strings.Repeat(" ", 400_001), large},
		{"a deployment of brackets", "/v1/warranty/deploy", `{"warranty_md":` + strings.Repeat("[", 390_000), schema},
		{"a large registration", "/v1/keys/register", strings.Repeat(" ", 16_001), large},
	} {
		begun := time.Now()
		service.send("POST", row.path, key, row.body).wants(t, row.name, row.want)
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("%s took %v", row.name, took)
		}
	}
	service.send("POST", "/v1/authorize", key, listing, "Content-Encoding: gzip").wants(t, "a content encoding", schema)
}

// logLine is a line of the log: it begins with a time and ends where slog ended it.
var logLine = regexp.MustCompile(`^time=\S+ level=(INFO|WARN|ERROR) msg=("([^"\\]|\\.)*"|\S+)( [A-Za-z_.]+=("([^"\\]|\\.)*"|\S*))*$`)

// forged are the lines of a log that are none.
func forged(log string) (lines []string) {
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(log, "\n"), "\n"), func(line string) bool {
		return logLine.MatchString(line) && !strings.HasPrefix(line, "time=forged")
	})
}

// TestInjection sends what might become a line of the log or a field of an answer.
func TestInjection(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	service, key := s.start(), s.apiKey()
	const line = "x\ntime=forged level=INFO msg=forged\n"
	for _, body := range []string{
		strings.Replace(listing, `"custom"`, fmt.Sprintf("%q", line), 1),
		strings.Replace(listing, `"custom"`, `"unknown-one"`, 1),
		strings.Replace(listing, `"agent-1"`, fmt.Sprintf("%q", line), 1),
		tool("bash", fmt.Sprintf(`"command":%q`, "rm -rf / "+line)),
		tool("email.send", fmt.Sprintf(`"to":%q`, line)),
		tool(line, ""),
	} {
		got := service.send("POST", "/v1/authorize", key, body, "User-Agent: \"\t time=forged", "X-Request-Id: a\tb; msg=forged")
		if id := got.header.Get("X-Request-Id"); !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(id) || got.header.Get("Forged") != "" {
			t.Errorf("the answer's fields: %v", got.header)
		}
	}
	for _, request := range []string{
		"GET /%0atime=forged HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\ntime=forged HTTP/1.1\r\nHost: h\r\n\r\n", "\x00\xff\ntime=forged\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: a\r\nForged: yes\r\n\r\n", "POST /v1/authorize HTTP/9.9\r\n\r\ntime=forged\n",
		"GET / HTTP/1.1\r\nHost: h\ntime=forged level=INFO\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03time=forged\n\n",
	} {
		raw(t, service.address(), request)
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if lines := forged(service.log.String()); len(lines) > 0 {
		t.Errorf("lines of the log that are none:\n%s", strings.Join(lines, "\n"))
	}
	if len(forged("time=now level=INFO msg=x\n"+line)) != 2 || !strings.Contains(service.log.String(), "unknown-one") {
		t.Error("the check finds nothing")
	}
	if said := s.must("events"); strings.Contains(said, "\ntime=forged") {
		t.Errorf("bailiff events prints lines that others wrote:\n%s", said)
	}
}

// toldApart are the answers that differ from the first, but for the date and the request's id.
func toldApart(replies ...reply) (list []reply) {
	for _, p := range replies {
		p.header.Del("Date")
		p.header.Del("X-Request-Id")
	}
	return slices.DeleteFunc(slices.Clone(replies), func(p reply) bool { return fmt.Sprint(p) == fmt.Sprint(replies[0]) })
}

// TestEnumeration asks for keys and holds that are not there in every way: all answers are the same, byte by byte.
func TestEnumeration(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	mine := newOperator(t)
	me, other, gone := service.register(), service.register(), service.register()
	for _, key := range []string{me.APIKey, other.APIKey} {
		service.deploy(key, mine, mailPolicy)
	}
	s.must("keys", "revoke", gone.KeyID)
	hold := service.decides(t, "a hold", me.APIKey, mailing, pendingMail).HoldID
	foreign := service.decides(t, "a stranger's", other.APIKey, mailing, pendingMail).HoldID
	for _, request := range []struct{ method, path, body string }{
		{"POST", "/v1/authorize", listing}, {"POST", "/v1/authorize", "{"}, {"GET", "/v1/holds/" + hold, ""}, {"GET", "/v1/events", ""},
		{"POST", "/v1/warranty/deploy", mine.deployment(mailPolicy)}, {"POST", "/v1/webhooks", "{}"},
	} {
		var replies []reply
		for _, key := range []string{gone.APIKey, "sk_svc_" + strings.Repeat("0", 64), "sk_svc_", "nonsense", "sk_svc_" + strings.Repeat("x", 5000), gone.APIKey[:70], strings.ToUpper(me.APIKey)} {
			replies = append(replies, service.send(request.method, request.path, key, request.body))
		}
		if list := toldApart(replies...); len(list) > 0 {
			t.Errorf("keys at %s can be told apart:\n%v\n%v", request.path, replies[0], list)
		}
	}
	resolution := mine.resolution(service.hold(me.APIKey, hold), "ALLOWED", time.Now())
	for _, request := range []struct{ method, suffix, body string }{{"GET", "", ""}, {"POST", "/resolution", resolution}} {
		var replies []reply
		for _, id := range []string{foreign, "00000000-0000-4000-8000-000000000000", strings.ToUpper(foreign), "x", "%2e%2e", strings.Repeat("a", 2000)} {
			replies = append(replies, service.send(request.method, "/v1/holds/"+id+request.suffix, me.APIKey, request.body))
		}
		if list := toldApart(replies...); len(list) > 0 {
			t.Errorf("holds can be told apart:\n%v\n%v", replies[0], list)
		}
		replies[0].wants(t, "a foreign hold", "404 SVC_NOT_FOUND")
	}
	missing, there := service.send("GET", "/v1/holds/x", me.APIKey, ""), service.send("GET", "/v1/holds/"+hold, me.APIKey, "")
	if there.wants(t, "the hold itself", "200"); len(toldApart(missing, missing, there)) != 1 {
		t.Error("the comparison finds nothing")
	}
}
