//go:build linux

package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const stall = 400 * time.Millisecond

// stalling serves an answer to each request, at once, but for those after some: until the stall is over all of them wait for it.
func stalling(t *testing.T, after int64) (address string) {
	t.Helper()
	var asked atomic.Int64
	var over atomic.Pointer[time.Time]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == after {
			end := time.Now().Add(stall)
			over.Store(&end)
		}
		if end := over.Load(); end != nil {
			time.Sleep(time.Until(*end))
		}
		_, _ = w.Write([]byte("ok"))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// connect returns clients with histograms of their own.
func connect(t *testing.T, address string, n int) (clients []*Client) {
	t.Helper()
	for range n {
		one, err := Dial(address, nil, &Shot{Request: Render("/", address, "key", "{}"), Status: "200", Latency: NewHistogram()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = one.Close() })
		clients = append(clients, one)
	}
	return clients
}

// p99 is that of all clients.
func p99(clients []*Client) time.Duration {
	together := NewHistogram()
	for _, one := range clients {
		together.Merge(one.Latency)
	}
	return time.Duration(together.ValueAtQuantile(99)) * time.Microsecond
}

// showsStall is what a measure of latency has to show of a server that stalls for a fifth of the time.
func showsStall(p99 time.Duration) bool { return p99 > stall/2 }

// TestStall: a server that stalls shows it in the p99 of the open loop, because every request that was due in that time has waited.
// The closed loop is the planted fault: its clients ask nothing while they wait, two answers of many hundreds are slow, and the
// check tells so.
func TestStall(t *testing.T) {
	const length = 2 * time.Second
	clients := connect(t, stalling(t, 40), 2)
	if err := NewPace(200, length).Drive(clients, length+20*time.Second); err != nil {
		t.Fatal(err)
	}
	if n := clients[0].Latency.TotalCount() + clients[1].Latency.TotalCount(); n != 400 {
		t.Errorf("%d latencies, want 400", n)
	}
	if !showsStall(p99(clients)) {
		t.Errorf("the open loop's p99 is %s", p99(clients))
	}
	for try := 1; ; try++ { // on a busy machine there may be other stalls
		clients := connect(t, stalling(t, 40), 2)
		fault := make(chan error)
		start := time.Now()
		for _, one := range clients {
			go func() { fault <- one.Loop(start, start.Add(length), 20*time.Second) }()
		}
		for range clients {
			if err := <-fault; err != nil {
				t.Fatal(err)
			}
		}
		if !showsStall(p99(clients)) {
			return
		}
		if try == 10 {
			t.Fatalf("a closed loop is not found out: p99 %s", p99(clients))
		}
	}
}

// TestShots: each request is the one that the pace names, and an answer with another status goes to who asked for it.
func TestShots(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte("ok"))
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	others := 0
	yes := &Shot{Request: Render("/yes", address, "key", "{}"), Status: "200", Latency: NewHistogram()}
	no := &Shot{Request: Render("/no", address, "key", "{}"), Status: "200", Latency: NewHistogram(), Other: func(status string, body []byte) {
		if others++; status != "418" || string(body) != "ok" {
			t.Errorf("%s %s", status, body)
		}
	}}
	clients := connect(t, address, 3)
	pace, answered := NewPace(1000, 100*time.Millisecond), 0
	pace.Shot = func(n int) *Shot {
		if n%4 == 0 {
			return no
		}
		return yes
	}
	pace.Answered = func(n int) { answered = n }
	if err := pace.Drive(clients, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if yes.Latency.TotalCount() != 75 || no.Latency.TotalCount() != 0 || others != 25 || answered != 100 {
		t.Errorf("%d, %d, %d, %d", yes.Latency.TotalCount(), no.Latency.TotalCount(), others, answered)
	}
	no.Other = nil
	if err := NewPace(10, time.Second).Drive(connect(t, address, 1), time.Nanosecond); err == nil || !strings.Contains(err.Error(), "have no answer") {
		t.Errorf("a run without patience ended with %v", err)
	}
	pace = NewPace(100, 100*time.Millisecond)
	pace.Shot = func(int) *Shot { return no }
	if err := pace.Drive(connect(t, address, 1), 20*time.Second); err == nil || !strings.Contains(err.Error(), "expected status 200") {
		t.Errorf("another status: %v", err)
	}
}

// TestEnds: a server that goes away ends the run.
func TestEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
	if err := NewPace(10, time.Second).Drive(connect(t, listener.Addr().String(), 1), 20*time.Second); err == nil {
		t.Error("the run did not end")
	}
}
