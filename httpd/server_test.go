package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/valyala/fasthttp/fasthttputil"

	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/authority"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
)

// testCommit is the commit that the tests' server is bound to.
const testCommit = "0123456789abcdef0123456789abcdef01234567"

// world is a service in memory, with a clock that stands still and randomness that repeats.
type world struct {
	t        *testing.T
	now      time.Time
	random   io.Reader
	ledger   ledger.Ledger
	admin    *authority.Admin
	signer   *attest.Signer
	keys     map[string]string // secrets by name
	listener *fasthttputil.InmemoryListener
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), keys: map[string]string{}}
	w.random = rand.NewChaCha8([32]byte{1})
	w.ledger = memory.New()
	t.Cleanup(func() { w.ledger.Close() })
	w.admin = &authority.Admin{Ledger: w.ledger, Environment: authority.Production, Clock: w.clock, Random: w.random}
	signer, err := attest.LoadOrCreate(t.TempDir(), w.random)
	if err != nil {
		t.Fatal(err)
	}
	w.signer = signer
	return w
}

func (w *world) clock() time.Time { return w.now }

// serve puts a policy in force, in a server of its own on the same ledger.
func (w *world) serve(policy string, observe bool) {
	w.t.Helper()
	loaded, err := authority.CompilePolicy(grammar.NewSource("warranty.md", []byte(policy)))
	if err != nil {
		w.t.Fatal(err)
	}
	decider, err := authority.New(authority.Config{
		Ledger: w.ledger, Signer: w.signer, Policy: loaded, Environment: authority.Production, Issuer: "svc-core",
		Observe: observe, Clock: w.clock, Random: w.random, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.listener = fasthttputil.NewInmemoryListener()
	server, listener := New(decider, slog.New(slog.DiscardHandler), testCommit), w.listener
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
}

// send writes a request as it is and reads the answer.
func (w *world) send(raw []byte) (*http.Response, string) {
	w.t.Helper()
	connection, err := w.listener.Dial()
	if err != nil {
		w.t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	go func(c net.Conn) { _, _ = c.Write(raw) }(connection)
	method, _, _ := strings.Cut(string(raw), " ")
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("no answer to %.200q: %v", raw, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response, string(body)
}

// request builds a request from a golden file: the first line is method and path, lines up to an empty one are
// headers, the rest is the body. $NAME in a header stands for an API key. A body length is added, and the body is sent
// as one chunk where a header says that it comes in chunks.
func (w *world) request(input string) []byte {
	head, body, _ := strings.Cut(input, "\n\n")
	lines := strings.Split(head, "\n")
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "%s HTTP/1.1\r\nHost: localhost\r\n", lines[0])
	for _, line := range lines[1:] {
		for name, secret := range w.keys {
			line = strings.ReplaceAll(line, "$"+name, secret)
		}
		fmt.Fprintf(&raw, "%s\r\n", line)
	}
	body = strings.TrimSuffix(body, "\n")
	if strings.Contains(head, "Transfer-Encoding: chunked") {
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	if body != "" && !strings.Contains(head, "no-length") {
		fmt.Fprintf(&raw, "Content-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&raw, "\r\n%s", body)
	return raw.Bytes()
}

var token = regexp.MustCompile(`"intent_attestation":"([^"]+)"`)

// describe is an answer as golden files show it. An attestation is verified and shown by its claims.
func (w *world) describe(response *http.Response, body string) string {
	w.t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, response.StatusCode)
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "WWW-Authenticate"} {
		if value := response.Header.Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	claimed := ""
	body = token.ReplaceAllStringFunc(body, func(member string) string {
		verifier, err := w.signer.Verifier("svc-core")
		if err != nil {
			w.t.Fatal(err)
		}
		claims, err := verifier.Verify(token.FindStringSubmatch(member)[1], w.now)
		if err != nil {
			w.t.Errorf("the attestation does not verify: %v", err)
			return member
		}
		claimed = fmt.Sprintf("attested: kind %s, action %s, amountBase %q, txCommit %.8s…, mode %q\n",
			claims.Kind, claims.Intent.Action, claims.Intent.AmountBase, claims.TxCommit, claims.Mode)
		return `"intent_attestation":"…"`
	})
	fmt.Fprintf(&out, "%s\n%s", strings.TrimSuffix(body, "\n"), claimed)
	return out.String()
}

// stored lists what the ledger has of decisions, counters and holds since the start.
func (w *world) stored() string {
	w.t.Helper()
	page, err := w.ledger.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		w.t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range page.Events {
		if e.Kind != ledger.Decided {
			fmt.Fprintln(&out, e.Kind)
			continue
		}
		fmt.Fprintf(&out, "%s %s %s %s %s", e.Ending.Decision, e.Event.Endpoint, e.Event.Action, e.Ending.Code, e.Ending.Rule)
		if e.Event.Value != "" {
			fmt.Fprintf(&out, " value %q", e.Event.Value)
		}
		for _, c := range e.Counters {
			fmt.Fprintf(&out, " %s[%s]=%s", c.Counter.Limit, c.Counter.Group, c.Value.String())
		}
		if e.HoldState != 0 {
			fmt.Fprintf(&out, " hold %s", e.HoldState)
		}
		fmt.Fprintln(&out)
	}
	return regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n")
}

// TestGolden runs the sessions in testdata: requests, what they are answered, and what is stored.
//
//	policy [observe]        the policy that is in force from here on
//	key name=N [scopes=…]   makes an API key; $N in a header stands for it
//	revoke name=N           revokes it
//	request                 sends a request
//	stored                  lists the ledger's events
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t)
		ids := map[string]string{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				w.serve(d.Input+"\n", d.HasArg("observe"))
				return ""
			case "key":
				var name, scopes string
				d.ScanArgs(t, "name", &name)
				var list []string
				if d.HasArg("scopes") {
					d.ScanArgs(t, "scopes", &scopes)
					list = strings.Split(scopes, "+")
				}
				key, err := w.admin.CreateKey(context.Background(), authority.NewKey{Email: name + "@example.com", Scopes: list})
				if err != nil {
					return err.Error()
				}
				w.keys[name], ids[name] = key.APIKey, key.ID
				return strings.Join(key.Scopes, " ")
			case "revoke":
				var name string
				d.ScanArgs(t, "name", &name)
				if _, err := w.admin.RevokeKey(context.Background(), ids[name]); err != nil {
					return err.Error()
				}
				return ""
			case "request":
				response, body := w.send(w.request(d.Input))
				return w.describe(response, body)
			case "stored":
				return w.stored()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}
