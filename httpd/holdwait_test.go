package httpd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
)

const holdingPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: deploy.app\nrequire_approval: deploy.*\n\n"

const heldIntent = "POST /v1/authorize\nAuthorization: Bearer $agent\n\n" +
	`{"framework":"custom","agentId":"a-1","txCommit":"b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c","intent":{"action":"deploy.app"}}`

// holdReads counts how often holds are read.
type holdReads struct {
	ledger.Ledger
	n atomic.Int64
}

func (h *holdReads) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	h.n.Add(1)
	return h.Ledger.Hold(ctx, key, id, at)
}

// holdWorld is a world with a hold, $hold, of the key $agent.
func holdWorld(t *testing.T, timeouts Timeouts) (*world, *Server, *holdReads) {
	t.Helper()
	w := newWorld(t)
	reads := &holdReads{Ledger: w.ledger}
	w.ledger = reads
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	decider := w.authority(holdingPolicy, false)
	config := w.config(decider)
	config.Timeouts = timeouts
	server := w.serve(config)
	response, body := w.send(w.request(heldIntent))
	_, id, found := strings.Cut(body, `"holdId":"`)
	if response.StatusCode != http.StatusAccepted || !found {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	w.said["hold"] = id[:36]
	return w, server, reads
}

// waits opens a connection on which a request waits for the hold.
func (w *world) waits(query string) net.Conn {
	w.t.Helper()
	connection, err := net.Dial("tcp", w.listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	if _, err := connection.Write(w.request("GET /v1/holds/$hold" + query + "\nAuthorization: Bearer $agent\n\n")); err != nil {
		w.t.Fatal(err)
	}
	return connection
}

// answered reads the answer on a connection.
func answered(t *testing.T, connection net.Conn) (status int, body string, closing bool) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Close
}

// TestThousandWaiters holds that waiting costs nearly nothing (no lookups, no processor time, little memory), and that the
// resolution answers all who wait.
func TestThousandWaiters(t *testing.T) {
	const waiters = 1000
	w, _, reads := holdWorld(t, Timeouts{})
	w.resolve("approval", "hold", "ALLOWED")
	before, began := memoryNow(), reads.n.Load()
	connections := make([]net.Conn, waiters)
	for i := range connections {
		connections[i] = w.waits("?wait=30")
	}
	for reads.n.Load() < began+waiters {
		time.Sleep(10 * time.Millisecond)
	}
	each := (memoryNow() - before) / waiters
	used := processorTime(t)
	time.Sleep(2 * time.Second)
	used = processorTime(t) - used
	t.Logf("%d waiters: %d KiB each with both ends of the connection, %v of processor time in 2 s", waiters, each>>10, used)
	if n := reads.n.Load() - began; n != waiters {
		t.Errorf("%d requests read the hold %d times", waiters, n)
	}
	if used > 400*time.Millisecond {
		t.Errorf("waiting takes %v of processor time in 2 s", used)
	}
	if each > 256<<10 {
		t.Errorf("a waiter takes %d bytes", each)
	}
	if response, body := w.send(w.request("POST /v1/holds/$hold/resolution\nAuthorization: Bearer $agent\n\n$approval")); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	resolved := time.Now()
	for _, connection := range connections {
		if status, body, _ := answered(t, connection); status != 200 || !strings.Contains(body, `"status":"ALLOWED"`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	if took := time.Since(resolved); took > holds.MaxWait/2 {
		t.Errorf("the answers took %v", took)
	}
}

// memoryNow is what the process has in its heap and stacks.
func memoryNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processorTime is what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestWaitOutlivesTransfers holds that a wait may be longer than clients have to send and read.
func TestWaitOutlivesTransfers(t *testing.T) {
	w, _, _ := holdWorld(t, Timeouts{Transfer: time.Second, Idle: time.Second})
	began := time.Now()
	status, body, _ := answered(t, w.waits("?wait=3"))
	if took := time.Since(began); status != 200 || !strings.Contains(body, `"status":"PENDING"`) || took < 3*time.Second {
		t.Errorf("%d %s after %v", status, body, took)
	}
}

// TestShutdownAnswersWaiters holds that a service that ends does not wait for those who wait.
func TestShutdownAnswersWaiters(t *testing.T) {
	w, server, reads := holdWorld(t, Timeouts{})
	began := reads.n.Load()
	connection := w.waits("?wait=30")
	for reads.n.Load() == began {
		time.Sleep(time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(context.Background()) }()
	if status, body, closing := answered(t, connection); status != 200 || !strings.Contains(body, `"status":"PENDING"`) || !closing {
		t.Errorf("%d %s, closing %t", status, body, closing)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(holds.MaxWait / 2):
		t.Error("the shutdown waits for those who wait")
	}
}

// TestWaitQuery holds that a wait has one spelling and is bounded.
func TestWaitQuery(t *testing.T) {
	w, _, _ := holdWorld(t, Timeouts{})
	for _, query := range []string{"?wait=31", "?wait=-1", "?wait=", "?wait=1s", "?wait=0.5", "?wait=00", "?wait=+1", "?wait=1&wait=1", "?wait=99999999999999999999"} {
		if status, body, _ := answered(t, w.waits(query)); status != 400 || !strings.Contains(body, "from 0 to 30") {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	for _, query := range []string{"", "?wait=0", "?other=1", "?wait=1"} {
		if status, body, _ := answered(t, w.waits(query)); status != 200 {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	w.said["hold"] = fmt.Sprintf("%036d", 0)
	if status, body, _ := answered(t, w.waits("?wait=30")); status != 404 {
		t.Errorf("a hold that is missing: %d %s", status, body)
	}
}

// TestGoneWaiterLeaves holds that a wait ends with its client.
func TestGoneWaiterLeaves(t *testing.T) {
	w, server, reads := holdWorld(t, Timeouts{})
	began := reads.n.Load()
	for range 20 {
		w.waits("?wait=30").Close()
	}
	for reads.n.Load() < began+20 {
		time.Sleep(time.Millisecond)
	}
	for end := time.Now().Add(holds.MaxWait / 2); server.http.OpenConnections() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections of clients that have gone are open", server.http.OpenConnections())
		}
	}
}

// TestRequestAfterWait holds that what a client sends while it waits is read afterwards, and that the connection is kept.
func TestRequestAfterWait(t *testing.T) {
	w, _, reads := holdWorld(t, Timeouts{Transfer: 2 * time.Second, Idle: 3 * time.Second})
	began := reads.n.Load()
	connection := w.waits("?wait=3") // longer than a transfer may take
	for reads.n.Load() == began {
		time.Sleep(time.Millisecond)
	}
	next := string(w.request("GET /v1/holds/$hold\nAuthorization: Bearer $agent\n\n"))
	time.Sleep(100 * time.Millisecond)
	for _, part := range []string{next[:1], next[1:10], next[10:]} {
		if _, err := io.WriteString(connection, part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	answers := bufio.NewReader(connection)
	for range 2 {
		expect(t, answers)
	}
	if _, err := io.WriteString(connection, next); err != nil { // and one more, which was not watched for
		t.Fatal(err)
	}
	expect(t, answers)
	idle := time.Now()
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Errorf("the connection was not closed after its idle time, but: %v", err)
	}
	if took := time.Since(idle); took < 2*time.Second {
		t.Errorf("it was closed after %v", took)
	}
}

// expect reads an answer that has the pending hold.
func expect(t *testing.T, answers *bufio.Reader) {
	t.Helper()
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 || !strings.Contains(string(text), `"status":"PENDING"`) {
		t.Errorf("%d %s %v", response.StatusCode, text, err)
	}
}
