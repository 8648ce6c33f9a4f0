package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/bench/player"
)

// serve serves a handler until the test ends and returns its address.
func serve(t *testing.T, handler fasthttp.RequestHandler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newFloorServer(handler)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// self is this process as a server.
func self(t *testing.T, address string) *player.Process {
	t.Helper()
	this, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &player.Process{Address: address, Command: &exec.Cmd{Process: this}}
}

// drive measures a handler for an instant.
func drive(t *testing.T, handler fasthttp.RequestHandler, body string, expect player.Expectation) (player.Sample, error) {
	t.Helper()
	address := serve(t, handler)
	one, err := player.NewTarget(t.Name(), self(t, address), load.Render("/v1/authorize", address, "sk_svc_test", body), expect, 2)
	if err != nil {
		return player.Sample{}, err
	}
	defer one.Close()
	return one.Measure(2, 5*time.Millisecond, 50*time.Millisecond)
}

func TestFloors(t *testing.T) {
	for _, row := range []struct {
		kind   string
		expect player.Expectation
	}{
		{floorDecode, player.ExpectTestRun}, {floorKeep, player.ExpectTestRun}, {floorSign, player.ExpectSigned}, {floorEcho, expectEcho},
	} {
		t.Run(row.kind, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			handler, err := floorHandler(row.kind)
			if err != nil {
				t.Fatal(err)
			}
			s, err := drive(t, handler, bench.AllowedIntent, row.expect)
			if err != nil {
				t.Fatal(err)
			}
			if s.Rate <= 0 || s.P50 <= 0 || s.P99 < s.P50 {
				t.Errorf("the sample is %+v", s)
			}
		})
	}
}

// TestFaultsEndARun is the canary of the client: whatever is not the expected answer must fail the run.
func TestFaultsEndARun(t *testing.T) {
	answerWith := func(status int, body string) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(status)
			ctx.SetBodyString(body)
		}
	}
	for _, row := range []struct {
		name    string
		handler fasthttp.RequestHandler
		body    string
		expect  player.Expectation
		says    string
	}{
		{"another status", answerWith(503, simulated), bench.AllowedIntent, player.ExpectTestRun, "expected status 200"},
		{"a body that floor 1 can't read", decodeOnly, "{}", player.ExpectTestRun, "expected status 200"},
		{"another decision", answerWith(200, `{"status":"DENIED"}`), bench.AllowedIntent, player.ExpectTestRun, "not the expected one"},
		{"no attestation", answerWith(200, simulated), bench.AllowedIntent, player.ExpectSigned, "not the expected one"},
		{"another code", answerWith(403, `{"status":"DENIED","error_code":"SVC_POLICY_VIOLATION"}`), bench.DeniedIntent, player.ExpectDenied, "not the expected one"},
		{"no JSON", answerWith(200, "ALLOWED"), bench.AllowedIntent, player.ExpectTestRun, "no JSON"},
		{"a large body", answerWith(200, strings.Repeat(" ", load.BufferBytes)), bench.AllowedIntent, player.ExpectTestRun, "short buffer"},
		{"no length", func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader(simulated), -1) }, bench.AllowedIntent, player.ExpectTestRun, "no Content-Length"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := drive(t, row.handler, row.body, row.expect)
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("the run ended with %v, not with %q", err, row.says)
			}
		})
	}
}

// TestOpenLoop drives a server that stops once: all that were due meanwhile have waited, not only those that were sent.
func TestOpenLoop(t *testing.T) {
	var asked atomic.Int64
	const pause = 100 * time.Millisecond
	address := serve(t, func(ctx *fasthttp.RequestCtx) {
		if n := asked.Add(1); n > 22 && n <= 24 { // both connections, after some requests
			time.Sleep(pause)
		}
		ctx.SetBodyString(simulated)
	})
	target, err := player.NewTarget("paced", self(t, address), load.Render("/", address, "sk_svc_x", bench.AllowedIntent), player.ExpectTestRun, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s, err := target.OpenLoop(2, 500, 400*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 2+2+200 { // one on each connection that was opened, and the 200
		t.Errorf("%d requests were made, want 204", n)
	}
	waited := 0
	for _, one := range target.Clients {
		for _, bar := range one.Latency.Distribution() {
			if bar.From >= (pause / 4).Microseconds() {
				waited += int(bar.Count)
			}
		}
	}
	if waited < 10 { // of the 50 that were due in that time
		t.Errorf("%d requests have waited; %+v", waited, s)
	}
}

// TestBusyMachine drives a server whose first answers come too late for the phase: it is measured again, for longer.
func TestBusyMachine(t *testing.T) {
	var asked atomic.Int64
	s, err := drive(t, func(ctx *fasthttp.RequestCtx) {
		if n := asked.Add(1); n > 2 && n <= 4 { // 2 connections: the first exchanges, then one each that outlasts the phase
			time.Sleep(100 * time.Millisecond)
		}
		ctx.SetBodyString(simulated)
	}, bench.AllowedIntent, player.ExpectTestRun)
	if err != nil || s.Rate <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSummaryEndsWithTheRatios(t *testing.T) {
	rounds := []ratios{{0.9, 0.5, 1, 0.5, 0.8, halves{7, 2, 5, 8, 1}}, {0.7, 0.7, 0.8, 0.6, 0.7, halves{3, 2, 4, 8, 3}}, {0.805, 0.6, 0.954, 2, 0.9, halves{3, 9, 3, 8, 2}}}
	turns := []single{{echo: 20 * time.Microsecond, allowed: 300 * time.Microsecond, sync: 100 * time.Microsecond, sign: 120 * time.Microsecond}}
	var out bytes.Buffer
	printSummary(&out, rounds, turns)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; last != "ratios: test-run 0.81 denied 0.60 allowed 0.95" {
		t.Errorf("the last line is %q", last)
	}
	if !strings.Contains(out.String(), "denied at half rate, p99 of p50  4.00   target below 4.00     MISSED, the floor's: 3.00\n") {
		t.Errorf("a missed tail is not told:\n%s", &out)
	}
	if !strings.Contains(out.String(), "single client, of the least     1.25   target 1.00 or less   MISSED") {
		t.Errorf("a missed target is not told:\n%s", &out)
	}
}
