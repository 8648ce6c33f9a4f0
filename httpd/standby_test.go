package httpd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
	"bailiff/httpd/peers"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/metrics"
)

// A passing is a standby whose requests go to an instance at an address.
type passing struct {
	*Standby
	listener net.Listener
	peer     atomic.Pointer[peers.Instance] // nil: none is known
	dialled  atomic.Int64
	signed   atomic.Int64
}

// newPassing passes to an address, and signs the attestations from there where it has a signer.
func newPassing(t *testing.T, address string, signer *attest.Signer) *passing {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &passing{listener: listener}
	p.peer.Store(&peers.Instance{Name: "a", Peer: address, Gone: make(chan struct{})})
	pass := &peers.Passing{
		Owner: func(int) peers.Instance {
			if to := p.peer.Load(); to != nil {
				return *to
			}
			return peers.Instance{}
		},
		Dial: func(ctx context.Context, to peers.Instance) (net.Conn, error) {
			p.dialled.Add(1)
			return new(net.Dialer).DialContext(ctx, "tcp", to.Peer)
		},
		Patience: 20 * time.Second, Connections: 64,
	}
	if signer != nil {
		pass.Pair = signer.Pair()
		pass.Sign = func(dst, claims []byte) ([]byte, error) {
			p.signed.Add(1)
			return signer.IssueText(dst, claims)
		}
	}
	p.Standby, err = NewStandby(anywhere{listener}, StandbyConfig{
		Pass: pass,
		Log:  slog.New(slog.DiscardHandler), Clock: time.Now, Random: rand.NewChaCha8([32]byte{3}), Metrics: metrics.New(),
		Checks: func() []Check { return []Check{{"ledger", true, "it takes decisions"}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p
}

// say sends a request over a connection of its own, and returns the answer.
func (p *passing) say(t *testing.T, raw string) (*http.Response, string) {
	t.Helper()
	connection, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return exchange(t, connection, []byte(raw))
}

// counted reports how many requests were passed on with a result, by the metrics.
func (p *passing) counted(t *testing.T, result string) (n int) {
	t.Helper()
	w := httptest.NewRecorder()
	p.server.config.Metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		_, _ = fmt.Sscanf(line, `bailiff_passed_requests_total{result="`+result+`"} %d`, &n)
	}
	return n
}

// TestStandbyIsNotReady: an instance that passes nothing on is not ready before its server answers, whatever its checks say.
func TestStandbyIsNotReady(t *testing.T) {
	for passes, want := range map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable} {
		p := newPassing(t, "", nil)
		if !passes {
			p.server.config.Pass = nil
		}
		if got, body := p.say(t, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"); got.StatusCode != want || strings.Contains(body, "it is starting") == passes {
			t.Errorf("it passes on, %t: %d %s", passes, got.StatusCode, body)
		}
	}
}

// TestGoldenPassed: an instance that decides answers what another one passes on as what comes to it directly.
func TestGoldenPassed(t *testing.T) { golden(t, true) }

// A mute peer answers the first request of a connection, reads the next one, and closes.
type mute struct {
	net.Listener
	mu   sync.Mutex
	came map[string]int // requests by what their first line says
}

func newMute(t *testing.T) *mute {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{Listener: listener, came: map[string]int{}}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

func (m *mute) serve(c net.Conn) {
	defer c.Close()
	from := bufio.NewReader(c)
	for n := 0; ; n++ {
		request, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		m.mu.Lock()
		m.came[request.RequestURI]++
		m.mu.Unlock()
		if n > 0 {
			return
		}
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// TestPassedOnce: a request that may have arrived at an instance that does not answer is not sent again, whatever its method and headers.
// The canary is the library left to itself: it sends a GET again.
func TestPassedOnce(t *testing.T) {
	peer := newMute(t)
	p := newPassing(t, peer.Addr().String(), nil)
	if response, body := p.say(t, "GET /warm HTTP/1.1\r\nHost: x\r\n\r\n"); response.StatusCode != 200 || body != "ok" {
		t.Fatalf("the first answer of a connection: %d %s", response.StatusCode, body)
	}
	for i, raw := range []string{
		"POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"POST /v1/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nIdempotency-Key: 1\r\n\r\n",
		"POST /v1/b HTTP/1.1\r\nHost: x\r\nX-Idempotency-Key: 1\r\nContent-Length: 2\r\n\r\n{}",
		"DELETE /v1/c HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /envoy/e HTTP/1.1\r\nHost: x\r\n\r\n",
		"HEAD /v1/f HTTP/1.1\r\nHost: x\r\n\r\n",
		"OPTIONS /v1/g HTTP/1.1\r\nHost: x\r\n\r\n",
		"TRACE /v1/h HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"PUT /v1/d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		target := strings.Fields(raw)[1]
		response, body := p.say(t, raw)
		peer.mu.Lock()
		came := peer.came[target]
		peer.mu.Unlock()
		unknown := response.StatusCode == 503 && strings.Contains(body, "may or may not") ||
			response.StatusCode == 503 && strings.HasPrefix(raw, "HEAD") || response.StatusCode == 403 && target == "/envoy/e"
		if !unknown || came != 1 {
			t.Errorf("%d: %s came %d times, and was answered %d %s", i, target, came, response.StatusCode, body)
		}
		if response, _ := p.say(t, fmt.Sprintf("GET /warm-%d HTTP/1.1\r\nHost: x\r\n\r\n", i)); response.StatusCode != 200 {
			t.Fatalf("the next connection: %d", response.StatusCode)
		}
	}
	if lost, answered := p.counted(t, "lost"), p.counted(t, "answered"); lost != 9 || answered != 10 {
		t.Errorf("counted as lost %d and as answered %d; want 9 and 10", lost, answered)
	}
	alone := http.Client{Transport: &http.Transport{}}
	defer alone.CloseIdleConnections()
	for range 2 {
		response, err := alone.Get("http://" + peer.Addr().String() + "/again")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	if came := peer.came["/again"]; came != 3 {
		t.Errorf("two requests of the library came %d times: it repeats none, and the test shows nothing", came)
	}
}

// TestPassedUnchanged: an instance gets the request that the client has sent.
func TestPassedUnchanged(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(seed.Value(t)), 3))
	seen := make(chan string, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	plain := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lines := []string{r.Method, r.RequestURI, r.Host, fmt.Sprintf("%d %.20s", len(body), body)}
		for name, values := range r.Header {
			if name == peers.From && values[0] == peers.Unnamed || name == "Content-Length" && values[0] == "0" || name == "User-Agent" && values[0] == "" {
				continue
			}
			if name == "User-Agent" { // the library sends one of them, and the service reads none
				values = values[:1]
			}
			lines = append(lines, fmt.Sprintf("%s: %q", name, values))
		}
		slices.Sort(lines[4:])
		seen <- strings.Join(lines, "\n")
	})}
	go func() { _ = plain.Serve(listener) }()
	defer plain.Close()
	p := newPassing(t, listener.Addr().String(), nil)
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range 300 {
		body := strings.Repeat("x", random.IntN(3)*random.IntN(40_000))
		method := pick("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND")
		if method == "GET" {
			body = ""
		}
		var raw strings.Builder
		fmt.Fprintf(&raw, "%s /%s%s%s HTTP/1.1\r\nHost: %s\r\n", method,
			pick("", "v1/", "a%2Fb/", "../", "%2e%2e/", "a//b/"), pick("x", "%7a%5C", "a;b", "é", "a:b@c", "http://u:p@h/"), pick("", "?", "?a=b&a=%26", "??", "?x=http://e/#f"), pick("localhost:1", "SVC.example", "a_b-c.d", "[::1]:80"))
		for range random.IntN(6) {
			fmt.Fprintf(&raw, "%s: %s\r\n", pick("Authorization", "X-Request-Id", "Accept-Encoding", "Cookie", "X-Forwarded-For", "x-BAILIFF-agent", "Content-Type", "User-Agent", "Accept"), pick("a", "b=c; d=e", "", "Bearer  sk", "1.2.3.4, 5.6.7.8", "\"q\""))
		}
		if body != "" {
			fmt.Fprintf(&raw, "Content-Length: %d\r\n", len(body))
		}
		raw.WriteString("\r\n" + body)
		direct, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if response, _ := exchange(t, direct, []byte(raw.String())); response.StatusCode == 400 {
			direct.Close()
			continue // the test's own reader refuses it
		}
		direct.Close()
		want := <-seen
		p.say(t, raw.String())
		if got := <-seen; got != want {
			t.Fatalf("it was sent:\n%.500s\nand came as:\n%s\nin place of:\n%s", raw.String(), got, want)
		}
	}
}

// TestPassedFrom: limits count by the client's address, and not by what a client says of it.
func TestPassedFrom(t *testing.T) {
	seen := make(chan []string, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	plain := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- append(r.Header.Values(peers.From), r.Header.Values(peers.TLS)...)
	})}
	go func() { _ = plain.Serve(listener) }()
	defer plain.Close()
	p := newPassing(t, listener.Addr().String(), nil)
	p.say(t, "GET /x HTTP/1.1\r\nHost: x\r\nBailiff-Passed-From: 9.9.9.9:9\r\nbailiff-passed-tls: 1\r\n\r\n")
	if got := <-seen; !slices.Equal(got, []string{peers.Unnamed}) {
		t.Errorf("a client says who it is: %q", got)
	}
}

// TestPassedLeaves: a client that leaves a request that waits ends it at the other instance.
func TestPassedLeaves(t *testing.T) {
	came, left := make(chan struct{}), make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	plain := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(left)
	})}
	go func() { _ = plain.Serve(listener) }()
	defer plain.Close()
	p := newPassing(t, listener.Addr().String(), nil)
	connection, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(connection, "GET /v1/holds/x?wait=30 HTTP/1.1\r\nHost: x\r\n\r\n")
	<-came
	connection.Close()
	<-left
}

// TestPassable: a host and a target that would arrive as others are refused, as a source is that has its share of the connections.
func TestPassable(t *testing.T) {
	p := newPassing(t, "127.0.0.1:1", nil) // nothing of it is to arrive
	for _, row := range []struct {
		head string
		want int
	}{
		{"GET /envoy/x HTTP/1.1\r\nHost: \uff45xample.com\r\n", 403}, {"GET /x HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n", 400},
		{"GET /x HTTP/1.0\r\n", 400}, {"GET /x HTTP/1.1\r\nHost: a/b\r\n", 400}, {"GET //x HTTP/1.1\r\nHost: x\r\n", 404},
	} {
		if response, body := p.say(t, row.head+"\r\n"); response.StatusCode != row.want {
			t.Errorf("%q: %d %s", row.head, response.StatusCode, body)
		}
	}
	if n := p.dialled.Load(); n != 0 {
		t.Errorf("%d were passed on", n)
	}
	full := &peers.Passing{Connections: peers.Share}
	leave, ok := full.Enter(netip.MustParseAddr("10.0.0.1"), "a")
	if _, twice := full.Enter(netip.MustParseAddr("10.0.0.1"), "a"); !ok || twice {
		t.Errorf("of one source the first is taken: %t, the second: %t", ok, twice)
	}
	if _, other := full.Enter(netip.MustParseAddr("10.0.0.2"), "a"); !other {
		t.Error("another source is shut out")
	}
	leave()
	if _, again := full.Enter(netip.MustParseAddr("10.0.0.1"), "a"); !again {
		t.Error("a source that has left is shut out")
	}
}

// TestPassedBack: an instance that does not decide yet has done nothing, so that the request is sent again.
func TestPassedBack(t *testing.T) {
	var came atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	plain := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if came.Add(1) < 3 {
			w.Header().Set(peers.Back, "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = plain.Serve(listener) }()
	defer plain.Close()
	p := newPassing(t, listener.Addr().String(), nil)
	if response, _ := p.say(t, "POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); response.StatusCode != 200 || came.Load() != 3 {
		t.Errorf("it came %d times, and was answered %d", came.Load(), response.StatusCode)
	}
	if returned, answered := p.counted(t, "returned"), p.counted(t, "answered"); returned != 2 || answered != 1 {
		t.Errorf("counted as returned %d and as answered %d; want 2 and 1", returned, answered)
	}
}

// TestFollowed: a request waits for an instance that takes it, which may be the one that it came to.
func TestFollowed(t *testing.T) {
	w := newWorld(t)
	p := newPassing(t, "127.0.0.1:1", nil) // nothing listens there
	connection, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	key := w.createKey("a", accounts.NewKey{})
	ask := "POST /v1/authorize/test-run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key.APIKey + "\r\nContent-Length: 2\r\n\r\n{}"
	answered := make(chan string, 1)
	go func() {
		response, body := exchange(t, connection, []byte(ask))
		answered <- fmt.Sprint(response.StatusCode, body)
	}()
	for p.dialled.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	if n := p.counted(t, "unreachable"); n < 2 {
		t.Errorf("after three attempts %d are counted as unreachable", n)
	}
	select {
	case got := <-answered:
		t.Fatalf("answered while no instance decides: %s", got)
	default:
	}
	config := w.config(w.authority("", false))
	if _, err := p.NewServer(config); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Serve(nil) }()
	if got := <-answered; !strings.HasPrefix(got, "400") || !strings.Contains(got, "SVC_VALIDATION") {
		t.Errorf("the server that took over answers %s", got)
	}
	if response, _ := exchange(t, connection, []byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); response.StatusCode != 200 {
		t.Errorf("the connection afterwards: %d", response.StatusCode)
	}
}
