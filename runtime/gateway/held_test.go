package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bailiff/runtime/budget"
	"bailiff/runtime/system"
)

// large is a node's answer with a result of so many bytes, with its length or in chunks.
func large(bytes int, chunked bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", bytes) + `"}`
		if !chunked {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		}
		fmt.Fprint(w, text)
	}
}

// reader and other are sources of reads.
var reader, other = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

const readBlock = `{"jsonrpc":"2.0","id":"a longer id than the gateway's own","method":"eth_getBlockByNumber"}`

// readFor sends a read for a source.
func (b *bench) readFor(source netip.Addr) *Response {
	b.t.Helper()
	request, refused := b.gateway.Parse(RPC, "8453", []byte(readBlock))
	if refused != nil {
		b.t.Fatal(refused.Message)
	}
	request.Source = source
	return b.gateway.Serve(b.t.Context(), request, Credential{})
}

// tight returns a budget of answers.
func tight(most, share int64) *budget.Budget {
	return budget.New(budget.Options{Name: "test", Most: most, Share: share, Clock: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// An answer is held until it is released, whichever way it came; then nothing is. Those that fail hold nothing.
func TestAnswersAreHeld(t *testing.T) {
	for _, with := range benches {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(with.name, " chunked ", chunked), func(t *testing.T) {
				answers := tight(1<<20, 0)
				b := with.make(t, func(c *Config) { c.Answers, c.MaxResponse = answers, 512<<10 })
				handler := large(100_000, chunked)
				b.node.answer.Store(&handler)
				response := b.readFor(reader)
				want := `{"jsonrpc":"2.0","id":"a longer id than the gateway's own","result":"` + strings.Repeat("x", 100_000) + `"}`
				if string(response.Body) != want {
					t.Errorf("answered %.200s", response.Body)
				}
				if n := answers.Held(); !response.Held() || n < int64(len(want)) || n > 4*int64(len(want)) {
					t.Errorf("%d bytes are held for %d", n, len(want))
				}
				response.Release()
				response.Release()
				for _, bad := range []http.HandlerFunc{large(600_000, chunked), handle(200, `{"jsonrpc":"2.0","id":2,"result":1}`), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }} {
					b.node.answer.Store(&bad)
					if got := reason(t, b.readFor(reader)); !strings.HasPrefix(got, "-32000 SVC_UPSTREAM_UNAVAILABLE: ") {
						t.Errorf("answered %q", got)
					}
				}
				if n := answers.Held(); n != 0 {
					t.Errorf("%d bytes are held in the end", n)
				}
			})
		}
	}
}

// The largest answers fit, and there is one copy of them: what the client gets is a part of what was read.
func TestLargestAnswer(t *testing.T) {
	b := newBench(t)
	handler := large(defaultMaxResponse-64, false)
	b.node.answer.Store(&handler)
	response := b.readFor(reader)
	if len(response.Body) < defaultMaxResponse-64 {
		t.Fatalf("answered %.200s", response.Body)
	}
	if held := b.gateway.Answers.Held(); held > defaultMaxResponse+1024 {
		t.Errorf("%d bytes are held", held)
	}
	buffer := append(make([]byte, 100), `{"jsonrpc":"2.0","id":1,"result":[1,2]}`...)
	_, value, err := readAnswer(buffer[100:])
	if err != nil {
		t.Fatal(err)
	}
	whole := enclose(buffer, []byte("9"), "result", value)
	if string(whole) != `{"jsonrpc":"2.0","id":9,"result":[1,2]}` || !bytes.Contains(buffer, whole) {
		t.Errorf("enclosed as %s", whole)
	}
	whole[0] = '!'
	if !bytes.Contains(buffer, []byte(`!"jsonrpc"`)) {
		t.Error("the answer is a copy")
	}
}

// A read for which there is no room waits, and is answered when others were read. Where it waits in vain it is not sent, and
// is told so with -32000; other sources still have room. A write waits for nothing.
func TestNoRoomForAnswers(t *testing.T) {
	answers := tight(300_000, 200_000)
	b := newBench(t, func(c *Config) { c.Answers, c.holdPatience = answers, 100*time.Millisecond })
	handler := large(150_000, false)
	b.node.answer.Store(&handler)
	first := b.readFor(reader)
	if !first.Held() {
		t.Fatal(reason(t, first))
	}
	if got := reason(t, b.readFor(reader)); !strings.HasPrefix(got, "-32000 SVC_GATEWAY_BUSY: ") || !strings.Contains(got, "at your address") {
		t.Errorf("beyond the share of a source: %q", got)
	}
	if got := reason(t, b.readFor(other)); !strings.HasPrefix(got, "-32000 SVC_GATEWAY_BUSY: ") || !strings.Contains(got, "ask again in a few seconds") {
		t.Errorf("beyond all: %q", got)
	}
	if n := answers.Held(); n > 151_000 {
		t.Errorf("%d bytes are held", n)
	}
	small := large(10, false)
	b.node.answer.Store(&small)
	if got := b.readFor(other); !got.Held() {
		t.Errorf("another source: %s", got.Body)
	}
	answers.Force(netip.Addr{}, 140_000)
	sent := len(b.node.sent())
	if got := reason(t, b.readFor(other)); !strings.HasPrefix(got, "-32000 SVC_GATEWAY_BUSY: ") || len(b.node.sent()) != sent {
		t.Errorf("%q; sent upstream: %v", got, len(b.node.sent()) != sent)
	}
	raw := sign(t, dynamic(payee, 5, nil), chain)
	if got := reason(t, b.send(raw, b.token(b.claims(raw)))); got != "" {
		t.Errorf("a write: %s", got)
	}
	b.gateway.upstreams[place{RPC, chain}].patience = time.Minute
	time.AfterFunc(20*time.Millisecond, first.Release)
	if got := b.readFor(other); !got.Held() {
		t.Errorf("after one was read: %s", got.Body)
	}
}

// TestNoRoomInWords: the error names how much memory answers may take, and whose answers take it.
func TestNoRoomInWords(t *testing.T) {
	for reason, want := range map[error]string{
		budget.ErrShare:         "the answers that clients at your address have not read yet take 96 MiB,",
		errors.New("any other"): "the answers that clients have not read yet take 96 MiB,",
	} {
		if got := (&noRoomError{reason, 96 << 20}).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", reason, got)
		}
	}
}

// TestGrow: grow takes exactly the bytes that are missing, and gives none back.
func TestGrow(t *testing.T) {
	answers := tight(100, 0)
	calls := system.Real(time.Now)
	h := &held{budget: answers, source: reader, patience: time.Millisecond, timeout: calls.Timeout}
	for _, c := range []struct{ to, held int64 }{{0, 0}, {1, 1}, {5, 5}, {6, 6}, {3, 6}, {6, 6}} {
		if err := h.grow(t.Context(), c.to); err != nil || answers.Held() != c.held || h.taken != c.held {
			t.Errorf("up to %d: %v; %d bytes are held", c.to, err, answers.Held())
		}
	}
	answers.Force(other, 1000)
	if err := h.grow(t.Context(), 6); err != nil {
		t.Errorf("for nothing: %v", err)
	}
	if err := h.grow(t.Context(), 7); err == nil || answers.Held() != 1006 {
		t.Errorf("for a byte: %v; %d bytes are held", err, answers.Held())
	}
	h.shrink(6)
	h.shrink(7)
	if answers.Held() != 1006 {
		t.Errorf("%d bytes are held after nothing was given back", answers.Held())
	}
	h.shrink(5)
	if answers.Held() != 1005 || h.taken != 5 {
		t.Errorf("%d bytes are held after one was given back", answers.Held())
	}
}

// TestNoRoomTells: the error names the bound that was met, that of all answers or that of a source.
func TestNoRoomTells(t *testing.T) {
	answers := tight(100<<20, 50<<20)
	calls := system.Real(time.Now)
	for to, want := range map[int64]string{51 << 20: "clients at your address have not read yet take 50 MiB", 101 << 20: "have not read yet take"} {
		h := &held{budget: answers, source: reader, patience: time.Millisecond, timeout: calls.Timeout}
		if err := h.grow(t.Context(), to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", to, err, want)
		}
	}
	answers.Force(other, 100<<20)
	h := &held{budget: answers, source: reader, patience: time.Millisecond, timeout: calls.Timeout}
	if err := h.grow(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "clients have not read yet take 100 MiB") {
		t.Errorf("beyond all: %v", err)
	}
}

// TestBegunAnswersGoFirst: an answer that has memory already gets more before those that have none, though it asked later. Memory that
// is taken comes back only when such an answer ends.
func TestBegunAnswersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := tight(100, 0)
		calls := system.Real(time.Now)
		begun := &held{budget: answers, source: other, patience: time.Minute, timeout: calls.Timeout}
		if err := begun.grow(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		answers.Force(netip.Addr{}, 99)
		var order []string
		wait := func(name string, h *held, to int64) {
			go func() {
				if err := h.grow(t.Context(), to); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				order = append(order, name)
			}()
			synctest.Wait()
		}
		for _, name := range []string{"first", "second"} {
			wait(name, &held{budget: answers, source: reader, patience: time.Minute, timeout: calls.Timeout}, 10)
		}
		wait("begun", begun, 11)
		for range 3 {
			answers.Give(netip.Addr{}, 10)
			synctest.Wait()
		}
		if got := strings.Join(order, ", "); got != "begun, first, second" {
			t.Errorf("the order is %s", got)
		}
	})
}

// What does not tell its length waits in the middle, keeping what it has, and is given up when it waits in vain.
func TestGrowingAnswers(t *testing.T) {
	answers := tight(500_000, 0)
	b := newBench(t, func(c *Config) { c.Answers, c.holdPatience = answers, 50*time.Millisecond })
	handler := large(250_000, true)
	b.node.answer.Store(&handler)
	answers.Force(netip.Addr{}, 300_000)
	if got := reason(t, b.readFor(reader)); !strings.HasPrefix(got, "-32000 SVC_GATEWAY_BUSY: ") {
		t.Errorf("answered %q", got)
	}
	if n := answers.Held(); n != 300_000 {
		t.Errorf("%d bytes are held after a read that was given up", n)
	}
	b.gateway.upstreams[place{RPC, chain}].patience = time.Minute
	time.AfterFunc(20*time.Millisecond, func() { answers.Give(netip.Addr{}, 300_000) })
	if got := b.readFor(reader); len(got.Body) < 250_000 {
		t.Errorf("answered %.200s", got.Body)
	}
}
