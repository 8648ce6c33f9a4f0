// Package e2e runs the built proxy between the official SDK's client and other people's servers, in front of the built
// service.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bailiff/fuzz/kit/npm"
	"bailiff/fuzz/kit/testbin"
)

//go:embed package.json package-lock.json server.mjs
var packages embed.FS

// A stage is the built command, a service under a policy, and the npm packages.
type stage struct {
	t       *testing.T
	binary  string
	folder  string
	node    string // the folder of the packages
	env     []string
	address string
	service *exec.Cmd
}

// buildOnce builds the command once for all tests.
var buildOnce = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "mcp-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "bailiff")
	return path, testbin.Command(path)
})

func TestMain(m *testing.M) {
	if os.Getenv(betweenClient) != "" {
		if err := between(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if path, err := buildOnce(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

var serving = regexp.MustCompile(`msg=serving .*address=(\S+)`)

// newStage starts a service under a policy.
func newStage(t *testing.T, policy string, files fs.FS, name string) *stage {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers")
	}
	testbin.Track(t)
	s := &stage{t: t, folder: t.TempDir(), node: npm.Install(t, name, files)}
	binary, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	s.binary = binary
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "SVC_") && !strings.HasPrefix(entry, "WARRANTY_") {
			s.env = append(s.env, entry)
		}
	}
	if err := os.WriteFile(s.path("warranty.md"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	public := strings.TrimSpace(s.bailiff("keygen", "-o", s.path("operator.key")))
	s.bailiff("sign", "--key", s.path("operator.key"), s.path("warranty.md"))
	s.env = append(s.env, "SVC_OPERATOR_PUBLIC_KEY="+public, "WARRANTY_PATH="+s.path("warranty.md"), "SVC_DATA_DIR="+s.path("data"), "SVC_ADMIN_LISTEN=off")
	s.serve()
	key := regexp.MustCompile(`sk_svc_[0-9a-f]+`).FindString(s.bailiff("keys", "create", "--email", "agent@example.com", "--scope", "authorize", "--scope", "warranty:deploy", "--json"))
	s.env = append(s.env, "SVC_API_KEY="+key, "SVC_API_URL=http://"+s.address)
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.folder, name) }

// serve starts the service and waits until it listens.
func (s *stage) serve() {
	s.t.Helper()
	s.service = exec.Command(s.binary, "serve")
	s.service.Env = append(s.env, "SVC_LISTEN=127.0.0.1:0")
	log, err := s.service.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.service.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.service.Process.Kill(); _ = s.service.Wait() })
	lines := bufio.NewScanner(log)
	var said bytes.Buffer
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			s.address = found[1]
			go func() { // so that the service does not wait for a reader
				for lines.Scan() {
				}
			}()
			return
		}
	}
	s.t.Fatalf("the service does not start:\n%s", said.String())
}

// bailiff runs the command to its end.
func (s *stage) bailiff(arguments ...string) string {
	s.t.Helper()
	output, err := s.try(arguments...)
	if err != nil {
		s.t.Fatalf("bailiff %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return output
}

func (s *stage) try(arguments ...string) (string, error) {
	command := exec.Command(s.binary, arguments...)
	command.Env = s.env
	output, err := command.CombinedOutput()
	return string(output), err
}

// connect starts the proxy in front of a server on Node, as a client does, and connects to it.
func (s *stage) connect(options *mcp.ClientOptions, flags []string, script ...string) *mcp.ClientSession {
	s.t.Helper()
	arguments := append(append([]string{"mcp-proxy"}, flags...), "--", "node")
	command := exec.Command(s.binary, append(arguments, script...)...)
	command.Env = s.env
	var said lockedBuffer
	command.Stderr = &said
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, options)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, said.String())
	}
	s.t.Cleanup(func() {
		_ = session.Close()
		if s.t.Failed() {
			s.t.Log(said.String())
		}
	})
	return session
}

// call calls a tool and returns what it said, and whether that is an error.
func (s *stage) call(session *mcp.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	for _, content := range result.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, result.IsError
}

// lockedBuffer takes what a command says while a test may read it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
