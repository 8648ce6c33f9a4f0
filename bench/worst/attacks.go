package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An attack is a row: what many clients do at once, again and again.
type attack struct {
	name    string
	clients int
	files   int // that the service may open; 0: many
	prepare func(*attacker) error
	once    func(ctx context.Context, a *attacker, client int) // what one client does once
}

// attacks are all rows. Each has killed a service, or locked its customers out.
var attacks = []attack{
	// Reads of 30 MiB whose clients do not read the answers.
	{name: "answers", clients: 120, once: deafRead},
	// Bodies of 1 MiB without a key, whose last byte never comes.
	{name: "bodies", clients: 1500, once: endlessBody},
	// Bodies in chunks of one byte, with no key.
	{name: "chunks", clients: 64, once: smallChunks},
	// Connections that are kept and not used, where the service may open 256 files.
	{name: "idle", clients: 192, files: 256, once: idleConnection},
	// Deployments of 255 KiB of patterns that take much memory.
	{name: "policies", clients: 2, prepare: freeKey, once: heavyPolicy},
	// Test-runs that take long to evaluate.
	{name: "patterns", clients: 2 * manyKeys, prepare: slowPatterns, once: slowTestRun},
	// 31 MB of policies a minute.
	{name: "texts", clients: 2, prepare: freeKey, once: largeText},
	// Deployments that are refused, after a long time.
	{name: "refused", clients: 2, prepare: freeKey, once: refusedPolicy},
	// Pages of events of many keys, in whose groups of records all of their policies are.
	{name: "events", clients: 20 * manyKeys, prepare: bulkyCrowd, once: largestPage},
	// Deployments of large programs by many keys, while test-runs wait that were sent by the programs before.
	{name: "programs", clients: manyKeys, prepare: crowd, once: manyPrograms},
	// Requests that wait for holds, by many keys, where the service may open 512 files.
	{name: "waiters", clients: 10 * manyKeys, files: 512, prepare: holdingCrowd, once: waitForHold},
	// Groups of caps and nonces, each new.
	{name: "groups", clients: 2 * manyKeys, prepare: groupedCrowd, once: newGroups},
	// Explanations of requests with long lists, which many rules look through.
	{name: "explain", clients: 2 * manyKeys, prepare: crowdOfRules, once: explained},
	// Pages of events whose clients do not read them.
	{name: "pages", clients: 10 * manyKeys, prepare: eventfulCrowd, once: deafPage},
	// Deliveries whose receivers do not answer.
	{name: "webhooks", clients: manyHooked, prepare: hookedCrowd, once: deniedIntent},
}

// An attacker is who attacks.
type attacker struct {
	service  *service
	account  *account     // where the row prepares one
	crowd    []*account   // where the row prepares many
	holds    []string     // of the crowd, where the row prepares some
	receiver net.Listener // of webhooks, where the row has one
	begun    atomic.Int64
	pace     float64 // how often a second the attack is begun at most; 0 for as often as it can be
	since    time.Time
	all      sync.WaitGroup
}

// launch has the clients of a row attack until ctx ends.
func (a *attacker) launch(ctx context.Context, row attack) {
	a.since = time.Now()
	for client := range row.clients {
		a.all.Go(func() {
			for ctx.Err() == nil && !a.service.over() {
				if a.ahead() {
					pause(ctx, 5*time.Millisecond)
					continue
				}
				row.once(ctx, a, client)
			}
		})
	}
}

// ahead reports whether the attack was begun as often by now as it may be.
func (a *attacker) ahead() bool {
	return a.pace > 0 && float64(a.begun.Load()) > a.pace*time.Since(a.since).Seconds()
}

// wait waits for the clients to end.
func (a *attacker) wait() {
	a.all.Wait()
	if a.receiver != nil {
		a.receiver.Close()
	}
}

// sources is how many addresses the attacks without a key come from.
const sources = 16

// dial opens a connection of a client, at one of the sources. It waits where it can't.
func (a *attacker) dial(ctx context.Context, client int) net.Conn {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: loopback(3, 1+client%sources)}}
	c, err := dialer.DialContext(ctx, "tcp", a.service.address)
	if err != nil {
		pause(ctx, 50*time.Millisecond)
		return nil
	}
	a.begun.Add(1)
	return c
}

// againAfter is how long a client waits before it opens a connection in place of one that was closed.
const againAfter = time.Second

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// hold keeps a connection until the other end closes it, or ctx ends, without reading anything but what comes at last.
func hold(ctx context.Context, c net.Conn) {
	end := context.AfterFunc(ctx, func() { c.Close() })
	defer end()
	defer c.Close()
	for ctx.Err() == nil {
		pause(ctx, 200*time.Millisecond)
		if _, err := c.Write([]byte(" ")); err != nil { // a byte of the next request
			return
		}
	}
}

const largeRead = `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["latest"]}`

// deafRead asks for a large answer and does not read it.
func deafRead(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "POST /rpc/1 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(largeRead), largeRead)
	hold(ctx, c)
}

// endlessBody sends all of a body but its last byte.
func endlessBody(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	defer c.Close()
	end := context.AfterFunc(ctx, func() { c.Close() })
	defer end()
	path, size := "/rpc/1", 1<<20
	if client%8 == 0 {
		path, size = "/v1/warranty/deploy", 400_000
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", path, size)
	_, _ = c.Write(spaces[:size-1])
	_, _ = io.Copy(io.Discard, c) // until it is closed
	pause(ctx, againAfter)
}

// smallChunks sends a body in chunks of one byte.
func smallChunks(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	defer c.Close()
	end := context.AfterFunc(ctx, func() { c.Close() })
	defer end()
	path := "/rpc/1"
	if client%2 == 0 {
		path = "/v1/authorize"
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", path)
	for err := error(nil); err == nil; {
		_, err = c.Write(chunksOfOne)
	}
}

var chunksOfOne = bytes.Repeat([]byte("1\r\n \r\n"), 10_000)

var spaces = bytes.Repeat([]byte(" "), 1<<20)

// idleConnection asks once and keeps the connection.
func idleConnection(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
	end := context.AfterFunc(ctx, func() { c.Close() })
	defer end()
	_, _ = io.Copy(io.Discard, c)
	c.Close()
	pause(ctx, againAfter)
}

// freeKey registers as anyone can.
func freeKey(a *attacker) (err error) {
	a.account, err = register(a.service, loopback(3, 1))
	return err
}

const policyHead = "version: 2.0.0\n\n## tool_calls\nallowed: bash\n\n## custom\n"

// policyBytes is about as large as a policy may be.
const policyBytes = 255 << 10

// heavyText is a policy of patterns that take much memory. Each is another's.
func heavyText(n int64) string {
	text := strings.Builder{}
	text.WriteString(policyHead)
	for i := 0; text.Len() < policyBytes-100; i++ {
		fmt.Fprintf(&text, "deny_if.metadata.x matches \\pL{0,240}\\pN{0,240}x%dy%d\n", i, n)
	}
	return text.String()
}

// heavyPolicy deploys, and uses what is in force, so that it is kept.
func heavyPolicy(_ context.Context, a *attacker, _ int) {
	_ = a.account.deploy(heavyText(a.begun.Add(1)))
	_, _ = a.account.testRun(`{"x":"y"}`)
}

// refusedPolicy deploys what has an error at its end.
func refusedPolicy(_ context.Context, a *attacker, _ int) {
	_ = a.account.deploy(heavyText(a.begun.Add(1)) + "no_such_key: 1\n")
}

// largeText deploys a policy that is nearly all comment, and can't be compressed, as fast as it is taken.
func largeText(ctx context.Context, a *attacker, _ int) {
	a.begun.Add(1)
	if a.account.deploy(bulkyText()) != nil {
		pause(ctx, 500*time.Millisecond)
	}
}

// slowPolicy is as slow a policy as is not refused: two such patterns may take 46 of 50 ms.
const slowPolicy = policyHead + "deny_if.context matches .{0,200}xN$\ndeny_if.context matches .{0,200}yN$\n"

// slowPatterns prepares a crowd whose policies may judge a request as long as a policy may.
func slowPatterns(a *attacker) error { return a.deployAll(func() string { return slowPolicy }) }

// slowContext is a field of a request that takes such patterns long.
var slowContext = `"context":"` + strings.Repeat("xy", 2000) + `",`

// slowTestRun asks for a test-run that takes long.
func slowTestRun(ctx context.Context, a *attacker, client int) {
	a.begun.Add(1)
	if _, err := a.crowd[client%manyKeys].send("/v1/authorize/test-run", slowContext, "{}"); err != nil {
		pause(ctx, 300*time.Millisecond)
	}
}

// A node is a chain's node with large answers.
type node struct {
	*httptest.Server
	url string
}

// startNode starts a node whose answers have 30 MiB: by turns of a known length, and in chunks.
func startNode() *node {
	answer := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":"`), bytes.Repeat([]byte("x"), 30<<20)...), `"}`...)
	var turn atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if turn.Add(1)%2 == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		}
		_, _ = w.Write(answer) // the service may go away
	}))
	return &node{server, server.URL}
}
