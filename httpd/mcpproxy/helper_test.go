package mcpproxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/httpd/client"
)

// world is a guard in front of a server that exists on paper only.
type world struct {
	t *testing.T
	g *Guard
	s *session

	mu      sync.Mutex
	asked   []*Intent
	decides func(*Intent) Decision
	tools   string // what the server lists
	now     time.Time
	store   *pinStore
}

func allowed(*Intent) Decision { return Decision{Status: statusAllowed, PolicyHash: "p"} }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, decides: allowed, tools: `{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"Write","inputSchema":{"type":"object"}}]}`}
	w.now = time.Unix(1_800_000_000, 0)
	w.store = &pinStore{pins: map[string]client.Pin{}}
	w.g = &Guard{
		Server: "files", Principal: "key",
		Now: func() time.Time { return w.now },
		Log: func(format string, arguments ...any) { t.Logf(format, arguments...) },
		Decide: func(_ context.Context, intent *Intent, _ bool) Decision {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, intent)
			return w.decides(intent)
		},
	}
	w.g.Pins = NewPins(w.store, func() time.Time { return w.g.Now() })
	w.s = w.g.newSession("client", new(listing))
	return w
}

func (w *world) list(context.Context, jsontext.Value) (jsontext.Value, error) {
	return jsontext.Value(w.tools), nil
}

// client sends a message of the client.
func (w *world) client(text string) verdict {
	w.t.Helper()
	m, err := readMessage([]byte(text), true)
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return w.s.fromClient(w.t.Context(), m, w.list)
}

// server sends a message of the server.
func (w *world) server(text string) (toClient, toServer string) {
	w.t.Helper()
	m, err := readMessage([]byte(text), false)
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	c, s := w.s.fromServer(m)
	return string(c), string(s)
}

// call is a call of a tool in JSON.
func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// modernCall is the same from a client of 2026-07-28 that can show forms.
func modernCall(id int, arguments, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":%s,%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, id, arguments, more)
}

// TestMain is also the servers that tests start as child processes.
func TestMain(m *testing.M) {
	if role := os.Getenv("MCPPROXY_SERVER"); role != "" {
		serveAs(role)
		return
	}
	os.Exit(m.Run())
}

// lastWords is how many lines a server writes after its standard input has ended; they fit into a pipe.
const lastWords = 4000

// serveAs is a server over standard streams: it answers every request with the very bytes that it got, and dies where it
// is told to.
func serveAs(role string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if role == "leaves" {
				fmt.Print(strings.Repeat("a last word\n", lastWords))
			}
			return
		}
		line = strings.TrimSuffix(line, "\n")
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"unreadable"}}`)
			continue
		}
		switch {
		case m.ID == nil:
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{}}]}}`+"\n", m.ID)
		case role == "dies" && m.Method == "tools/call":
			os.Exit(3)
		case role == "floods" && m.Method == "tools/call":
			fmt.Println(strings.Repeat("x", maxMessage+3))
		default:
			got, _ := json.Marshal(line)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", m.ID, got)
		}
	}
}
