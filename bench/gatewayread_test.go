package bench

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd"
	"bailiff/runtime/clock"
)

// How reads are measured: every connection asks once in readPause, so that neither side waits for the processor more
// than the machine makes it.
const (
	readConnections = 64
	readPause       = 32 * time.Millisecond
)

// BenchmarkGatewayRead is the latency of a read over 64 connections at 2,000 requests a second: the upstream asked
// directly, through a bare hop, and through the gateway, by turns of 256 requests. All connections are open before the
// first request that counts, and each asks in its turn. In one process with the client, the servers take what there is
// to do from each other without waiting for the system, so that it is their own work that is measured; where each is a
// process of its own, as with a user, most of the time goes into the system waking them up. Run it with -benchtime 10000x.
func BenchmarkGatewayRead(b *testing.B) {
	for name, start := range starts {
		b.Run(name, func(b *testing.B) { compare(b, startSubjects(b, start)) })
	}
}

// starts are the ways to start a server of servers by its name, for the node at upstream. They return its address.
var starts = map[string]func(tb testing.TB, name, upstream string) string{"one-process": startHere, "processes": startProcess}

// startSubjects starts what is compared.
func startSubjects(tb testing.TB, start func(tb testing.TB, name, upstream string) string) []*subject {
	node := start(tb, "node", "")
	return []*subject{
		{name: "direct", address: node, path: "/"},
		{name: "hop", address: start(tb, "hop", node), path: "/"},
		{name: "gateway", address: start(tb, "gateway", node), path: "/rpc/8453"},
	}
}

// Variables of the environment that make the test binary a server of the benchmark.
const (
	serveVariable    = "BAILIFF_BENCH_SERVE"    // a name of servers
	upstreamVariable = "BAILIFF_BENCH_UPSTREAM" // the node's address
)

// servers prepares what is asked.
var servers = map[string]func(tb testing.TB, upstream string) (serve func(net.Listener) error){
	"node": func(testing.TB, string) func(net.Listener) error {
		return (&fasthttp.Server{Handler: answerRead}).Serve
	},
	"hop": func(_ testing.TB, upstream string) func(net.Listener) error {
		return (&fasthttp.Server{Handler: hop("http://" + upstream)}).Serve
	},
	"gateway": prepareGateway,
}

func answerRead(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json")
	ctx.SetBodyString(readAnswer)
}

// prepareGateway is the service as it is when somebody hosts it for himself: without limits of requests.
func prepareGateway(tb testing.TB, upstream string) func(net.Listener) error {
	s := newWrites(tb)
	a, _ := newAuthority(tb)
	server, err := httpd.New(httpd.Config{
		Authority: a, Log: slog.New(slog.DiscardHandler), Clock: clock.System(), Random: rand.Reader,
		Gateway: s.gateway(tb, s.verifier, upstream),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return server.Serve
}

// hop is the least that a relay can be made of with the same two HTTP libraries: it reads nothing of what it passes.
func hop(upstream string) fasthttp.RequestHandler {
	transport := &http.Transport{MaxIdleConnsPerHost: readConnections}
	return func(ctx *fasthttp.RequestCtx) {
		request, _ := http.NewRequest(http.MethodPost, upstream, bytes.NewReader(ctx.PostBody()))
		response, err := transport.RoundTrip(request)
		if err != nil {
			ctx.Error(err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		answer, _ := io.ReadAll(response.Body)
		ctx.SetBody(answer)
	}
}

// startHere starts a server in this process and returns its address.
func startHere(tb testing.TB, name, upstream string) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { listener.Close() })
	go servers[name](tb, upstream)(listener) // what it returns is that the listener is closed
	return listener.Addr().String()
}

// TestServe asks every server for a read. Told which by the environment, it is a process of the benchmark's instead: it
// prints where it listens, and serves until its input ends.
func TestServe(t *testing.T) {
	if name := os.Getenv(serveVariable); name != "" {
		fmt.Println(startHere(t, name, os.Getenv(upstreamVariable)))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	for name, start := range starts {
		for _, s := range startSubjects(t, start) {
			if body, err := s.ask(); err != nil || string(body) != readAnswer {
				t.Errorf("%s, %s: %s, %v", name, s.name, body, err)
			}
		}
	}
}

// ask sends one read.
func (s *subject) ask() ([]byte, error) {
	response, err := http.Post("http://"+s.address+s.path, "application/json", strings.NewReader(readBody))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// startProcess starts a server as a process of its own and returns its address.
func startProcess(tb testing.TB, name, upstream string) string {
	tb.Helper()
	server := exec.Command(os.Args[0], "-test.run=^TestServe$")
	server.Env = append(os.Environ(), serveVariable+"="+name, upstreamVariable+"="+upstream)
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		input.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// A subject is a server whose latency is measured.
type subject struct {
	name, address, path string
	connections         [readConnections]*fasthttp.HostClient // of one connection each
	took                []time.Duration
}

// compare asks all subjects by turns, and reports the first one's latency and what the others take beyond it.
func compare(b *testing.B, subjects []*subject) {
	for _, s := range subjects {
		for i := range s.connections {
			s.connections[i] = &fasthttp.HostClient{Addr: s.address, MaxConns: 1, MaxIdleConnDuration: time.Hour}
		}
		s.measure(b, 4*readConnections) // opens the connections
	}
	b.ResetTimer()
	turn := 4 * readConnections
	for rest := b.N; rest > 0; rest -= turn {
		for _, s := range subjects {
			s.took = append(s.took, s.measure(b, turn)...)
		}
	}
	for i, s := range subjects {
		slices.Sort(s.took)
		half := s.took[len(s.took)/2]
		b.ReportMetric(micros(half), s.name+"-p50-µs")
		b.ReportMetric(micros(s.took[len(s.took)*99/100]), s.name+"-p99-µs")
		if i > 0 {
			b.ReportMetric(micros(half-subjects[0].took[len(s.took)/2]), s.name+"-over-"+subjects[0].name+"-µs")
		}
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// measure sends n reads over the connections, evenly spread in time, and returns how long each took.
func (s *subject) measure(b *testing.B, n int) []time.Duration {
	took := make([]time.Duration, n)
	var group sync.WaitGroup
	started := time.Now()
	for connection, client := range s.connections {
		group.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://" + s.address + s.path)
			request.Header.SetMethod("POST")
			request.SetBodyString(readBody)
			for i := connection; i < n; i += readConnections {
				turn := time.Duration(i)*readPause/readConnections + time.Millisecond
				time.Sleep(turn - time.Since(started))
				sent := time.Now()
				err := client.Do(request, response)
				took[i] = time.Since(sent)
				if err != nil || string(response.Body()) != readAnswer {
					b.Errorf("%v: HTTP %d %s", err, response.StatusCode(), response.Body())
					return
				}
			}
		})
	}
	group.Wait()
	return took
}
