// Command mcp measures what `bailiff mcp-proxy` adds to a call of a tool. In one run, in turns, it calls the same server
// over its standard streams without the proxy, through the proxy in front of the built service, and through the proxy in
// front of a stand-in that allows everything at once; and it asks the service alone. The time of the second, less those of
// the first and the last, is the proxy's own.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/kit/testbin/service"
	"bailiff/httpd/client"
)

func main() {
	program := flag.String("service", "bin/bailiff", "the built command")
	calls := flag.Int("calls", 2000, "calls of each kind in a round")
	rounds := flag.Int("rounds", 5, "rounds")
	most := flag.Duration("most", 300*time.Microsecond, "the most that the proxy may add at p50")
	flag.Parse()
	if os.Getenv(serverRole) != "" {
		serve(os.Stdin, os.Stdout)
		return
	}
	added, err := run(*program, *calls, *rounds, os.Stdout)
	if err == nil && added > *most {
		err = fmt.Errorf("the proxy adds %v at p50; at most %v are allowed", added, *most)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// serverRole is the variable by which the program is its own server.
const serverRole = "BENCH_MCP_SERVER"

// serve is a server that lists one tool and answers every call at once.
func serve(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{"content":[{"type":"text","text":"ok"}]}`
		if m.Method == "tools/list" {
			result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// A caller makes one call and waits for its answer.
type caller struct {
	name  string
	once  func(i int) error
	p50s  []time.Duration
	p99s  []time.Duration
	close func()
}

// run measures, prints a table, and returns what the proxy itself adds at p50.
func run(binary string, calls, rounds int, out io.Writer) (time.Duration, error) {
	w, err := newWorkshop(binary)
	if err != nil {
		return 0, err
	}
	defer w.close()
	callers, err := w.callers()
	for _, c := range callers {
		defer c.close()
	}
	if err != nil {
		return 0, err
	}
	for range rounds {
		for _, c := range callers {
			if err := c.round(calls); err != nil {
				return 0, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	median := func(list []time.Duration) time.Duration { slices.Sort(list); return list[len(list)/2] }
	p50 := map[string]time.Duration{}
	fmt.Fprintf(out, "%-34s %10s %10s\n", "a call of a tool", "p50", "p99")
	for _, c := range callers {
		p50[c.name] = median(c.p50s)
		fmt.Fprintf(out, "%-34s %10v %10v\n", c.name, p50[c.name].Round(time.Microsecond), median(c.p99s).Round(time.Microsecond))
	}
	added := p50[viaStandIn] - p50[direct]
	fmt.Fprintf(out, "through the proxy, the decision with it: %v more than without\n", (p50[viaService] - p50[direct]).Round(time.Microsecond))
	fmt.Fprintf(out, "the proxy itself, with its question to a service that answers at once: %v more than without\n", added.Round(time.Microsecond))
	return added, nil
}

func (c *caller) round(calls int) error {
	times := make([]time.Duration, calls)
	for i := range times {
		start := time.Now()
		if err := c.once(i); err != nil {
			return err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	c.p50s, c.p99s = append(c.p50s, times[calls/2]), append(c.p99s, times[calls*99/100])
	return nil
}

// The names of what is measured.
const (
	direct     = "the server alone"
	viaService = "through mcp-proxy and the service"
	viaStandIn = "through mcp-proxy and a stand-in"
	decision   = "the service alone"
)

// A workshop is a folder with a service that runs, and a stand-in for it.
type workshop struct {
	binary, folder string
	env            []string
	address, key   string
	standIn        string
	closers        []func()
}

func (w *workshop) close() {
	for _, c := range slices.Backward(w.closers) {
		c()
	}
}

const policy = "version: 2.3.0\n\n## mcp\n\nallowed_tools: bench.echo\nresponse.http_tools: bench.echo\nresponse.deterministic_ruleset: sof-response-rules-v1\n" +
	"response.block_classes: secret, pii, malicious_url, prompt_injection\n"

func newWorkshop(binary string) (w *workshop, err error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "bench-mcp-")
	if err != nil {
		return nil, err
	}
	w = &workshop{binary: path, folder: folder}
	w.closers = append(w.closers, func() { _ = os.RemoveAll(folder) })
	served, err := service.Start(path, folder, policy)
	if err != nil {
		w.close()
		return nil, err
	}
	w.closers = append(w.closers, func() { _ = served.Close() })
	w.address, w.key, w.env = served.Address, served.Key, append(service.Environment(), "XDG_STATE_HOME="+folder)
	if err := w.startStandIn(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// startStandIn starts a server that allows everything at once.
func (w *workshop) startStandIn() error {
	signs, err := newSigner(w.folder)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.standIn = "http://" + listener.Addr().String()
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if signs.document(rw, r) {
			return
		}
		var body struct {
			Nonce  string              `json:"request_nonce"`
			Commit string              `json:"txCommit"`
			Tools  []client.ListedTool `json:"tools"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if strings.HasPrefix(r.URL.Path, "/v1/mcp/pins") {
			pins := []client.Pin{}
			for _, tool := range body.Tools {
				pins = append(pins, client.Pin{Name: tool.Name, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(tool.Definition)))})
			}
			_ = json.NewEncoder(rw).Encode(map[string]any{"server": "bench", "tools": pins})
			return
		}
		fmt.Fprintf(rw, `{"status":"ALLOWED","intent_attestation":%q,"policyHash":%q,"message":"","request_nonce":%q}`, signs.attestation(body.Commit), standInPolicy, body.Nonce)
	})}
	go func() { _ = server.Serve(listener) }()
	w.closers = append(w.closers, func() { _ = server.Close() })
	return nil
}

// callers starts what is measured.
func (w *workshop) callers() (all []*caller, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	add := func(name, address string, arguments ...string) {
		if err != nil {
			return
		}
		command := exec.Command(arguments[0], arguments[1:]...)
		command.Dir, command.Stderr = w.folder, os.Stderr
		command.Env = append(w.env, serverRole+"=1", "SVC_API_KEY="+w.key, "SVC_API_URL="+address)
		var c *caller
		if c, err = newCaller(name, command); err == nil {
			all = append(all, c)
		}
	}
	add(direct, "", self)
	add(viaService, w.address, w.binary, "mcp-proxy", "--server", "bench", "--", self)
	add(viaStandIn, w.standIn, w.binary, "mcp-proxy", "--server", "bench", "--", self)
	if err != nil {
		return all, err
	}
	ask, err := client.New(client.Config{URL: w.address, Key: w.key})
	if err != nil {
		return all, err
	}
	request := &client.Request{Framework: "mcp-proxy", AgentID: "agent", TxCommit: strings.Repeat("a", 64), Intent: client.Intent{Action: "mcp.bench.echo"}}
	return append(all, &caller{name: decision, close: func() {}, once: func(int) error {
		_, err := ask.Authorize(context.Background(), request)
		return err
	}}), nil
}

// newCaller starts a command that speaks as a server does.
func newCaller(name string, command *exec.Cmd) (*caller, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	answers := bufio.NewReader(out)
	return &caller{
		name: name,
		once: func(i int) error {
			if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/work/file.txt","n":%d}}}`+"\n", i, i); err != nil {
				return err
			}
			answer, err := answers.ReadString('\n')
			if err == nil && !strings.Contains(answer, `"ok"`) {
				err = errors.New("it was answered " + answer)
			}
			return err
		},
		close: func() { _ = in.Close(); _ = command.Wait() },
	}, nil
}
