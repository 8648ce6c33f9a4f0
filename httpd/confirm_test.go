package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"

	"bailiff/runtime/accounts"
)

// A confirmer answers for the database: another instance has the ledger, or not. The mark 0 is no mark.
type confirmer struct {
	taken atomic.Bool
	marks atomic.Uint64
}

func (c *confirmer) Mark() uint64 { return c.marks.Add(1) }

func (c *confirmer) Confirm(mark uint64) error {
	if mark == 0 || c.taken.Load() {
		return errors.New("another instance decides")
	}
	return nil
}

// TestConfirm: where another instance has the ledger, nothing is told that rests on it, and all else is.
func TestConfirm(t *testing.T) {
	w := newWorld(t)
	w.createKey("agent", accounts.NewKey{Plan: "growth"})
	by := &confirmer{}
	config := w.config(w.authority("", false))
	w.serve(config)
	intent := `{"framework":"custom","agentId":"agent-1","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"bash","command":"ls"}}`
	asked := []struct {
		head, key, body string
		stays           bool // it does not rest on the ledger
	}{
		{"POST /v1/authorize/test-run", w.said["agent"], intent, false},
		{"POST /v1/authorize", w.said["agent"], intent, false},
		{"GET /v1/events", w.said["agent"], "", false},
		{"GET /v1/events", "sk_svc_unknown", "", false},
		{"POST /v1/keys/register", "", `{"email":"a@example.com"}`, false},
		{"GET /healthz", "", "", true},
		{"GET /.well-known/jwks.json", "", "", true},
	}
	ask := func(i int) (int, http.Header, string) {
		a := asked[i]
		authorization := ""
		if a.key != "" {
			authorization = "Authorization: Bearer " + a.key + "\r\n"
		}
		got, body := w.send(fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine-%d\r\n%sContent-Length: %d\r\n\r\n%s", a.head, i, authorization, len(a.body), a.body))
		return got.StatusCode, got.Header, body
	}
	var before []int
	for i := range asked {
		status, _, _ := ask(i)
		before = append(before, status)
	}
	config.Confirm = by
	w.serve(config)
	for i := range asked {
		if status, _, body := ask(i); status != before[i] {
			t.Errorf("%s, confirmed: %d, and %d without: %s", asked[i].head, status, before[i], body)
		}
	}
	by.taken.Store(true)
	for i, a := range asked {
		status, header, body := ask(i)
		refused := status == 503 && strings.Contains(body, "SVC_STORE_UNAVAILABLE") && header.Get("X-Request-Id") == fmt.Sprintf("mine-%d", i)
		if refused == a.stays || a.stays && status != before[i] {
			t.Errorf("%s, where another instance has the ledger: %d %s", a.head, status, body)
		}
	}
}

// TestConfirmAdmin is the same for the admin socket.
func TestConfirmAdmin(t *testing.T) {
	w := newWorld(t)
	by := &confirmer{}
	listener := fasthttputil.NewInmemoryListener()
	server := NewAdmin(w.admin, by, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	for _, want := range []int{200, 503} {
		if status, body := ask(t, listener, "GET /keys HTTP/1.1\r\nHost: h\r\n\r\n"); status != want {
			t.Errorf("%d, want %d: %s", status, want, body)
		}
		by.taken.Store(true)
	}
}

// TestConfirmConsole is the same for the operator's console and that of keys' holders.
func TestConfirmConsole(t *testing.T) {
	w := newWorld(t)
	by := &confirmer{}
	w.confirm = by
	operator, holder, _ := w.visitOperator()
	for _, taken := range []bool{false, true} {
		by.taken.Store(taken)
		for name, b := range map[string]*browser{"operator": operator, "holder": holder} {
			response, err := b.agent.Get(b.base + "/console")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if refused := strings.Contains(string(body), "did not confirm"); refused != taken {
				t.Errorf("%s: taken %v: %d %s", name, taken, response.StatusCode, body)
			}
		}
	}
}
