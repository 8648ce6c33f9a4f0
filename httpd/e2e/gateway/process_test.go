package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/port"
)

// startPatience is how long a server may take until it answers; a busy machine takes more than a minute for the bundler.
const startPatience = 2 * time.Minute

// A process is a command that runs beside the test and is ended with it.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	mu      sync.Mutex
	printed bytes.Buffer
}

// Write keeps what the command prints.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.printed.Write(text)
}

// tail is the end of what the command printed.
func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.printed.String()
	return fmt.Sprintf("%s printed:\n%s", filepath.Base(p.command.Path), text[max(0, len(text)-4000):])
}

// background starts a command; what it printed is shown where the test failed.
func background(t *testing.T, command *exec.Cmd) (*process, error) {
	p := &process{command: command, ended: make(chan struct{})}
	command.Stdout, command.Stderr = p, p
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Log(p.tail())
		}
	})
	return p, nil
}

// errEnded is the error of a server that ends before it answers.
var errEnded = errors.New("it ended before it answered")

// starts is how often a server that ends before it answers is started.
const starts = 4

// serverAt starts a JSON-RPC server on a free port, again where it ends before it answers, and returns its address when it
// answers a method without parameters.
func serverAt(t *testing.T, method string, command func(port string) *exec.Cmd) (url string, err error) {
	t.Helper()
	for range starts {
		var free string
		if free, err = port.Free(); err != nil {
			return "", err
		}
		url = "http://127.0.0.1:" + free
		var p *process
		if p, err = background(t, command(free)); err != nil {
			return "", err
		}
		if err = p.answers(url, method); !errors.Is(err, errEnded) {
			return url, err
		}
		t.Logf("%v", err)
	}
	return "", err
}

// answers waits until the process answers at an address.
func (p *process) answers(url, method string) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`
	client := &http.Client{Timeout: 10 * time.Second}
	for deadline := time.Now().Add(startPatience); time.Now().Before(deadline); {
		response, err := client.Post(url, "application/json", strings.NewReader(body))
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if bytes.Contains(text, []byte(`"result"`)) {
				return nil
			}
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%w: %v; %s", errEnded, p.command.ProcessState, p.tail())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s did not answer %s within %v", url, method, startPatience)
}

// server is serverAt for a server that the stage needs.
func (s *stage) server(method string, command func(port string) *exec.Cmd) string {
	s.t.Helper()
	url, err := serverAt(s.t, method, command)
	if err != nil {
		s.t.Fatal(err)
	}
	return url
}

// TestServerThatEnds: a server that ends at once is started again, and given up with what it printed.
func TestServerThatEnds(t *testing.T) {
	started := 0
	ends := func(string) *exec.Cmd {
		started++
		return exec.Command("sh", "-c", "echo no port is free; exit 3")
	}
	began := time.Now()
	_, err := serverAt(t, "eth_chainId", ends)
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "no port is free") || !strings.Contains(err.Error(), "exit status 3") || started != starts {
		t.Errorf("%d starts: %v", started, err)
	}
	if took := time.Since(began); took > startPatience/2 {
		t.Errorf("that took %v", took)
	}
	second := func(port string) *exec.Cmd {
		if started == starts {
			return ends(port)
		}
		listenFor(t, port)
		return exec.Command("sleep", "600")
	}
	if url, err := serverAt(t, "eth_chainId", second); err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("%s %v after %d starts", url, err, started)
	}
}

// listenFor answers every request on a port as a node does.
func listenFor(t *testing.T, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
	})}
	t.Cleanup(func() { server.Close() })
	go server.Serve(listener)
}
