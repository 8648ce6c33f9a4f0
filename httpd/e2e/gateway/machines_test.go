// Package gateway proves the gateways with real parts: nodes, a bundler, a client library, and the built command.
package gateway

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
	"bailiff/fuzz/kit/testbin"
)

//go:embed package.json package-lock.json setup.mjs drive.mjs recipes.mjs
var files embed.FS

// The private keys are those that the node makes from its well-known phrase; they hold nothing anywhere else.
const (
	walletKey   = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
	executorKey = "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"
	utilityKey  = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
)

// A stage is everything that runs: two nodes, a bundler, and what is deployed there.
type stage struct {
	t            *testing.T
	dir          string // of the installed packages
	work         string // beside them, for this run
	binary       string
	nodes        map[int]string // URLs by chain id
	bundler      string
	EntryPoint   string `json:"entryPoint"`
	Factory      string `json:"factory"`
	Token        string `json:"token"`
	SmartAccount string `json:"smart"`
	Wallet       string `json:"account"`
}

// newWorkshop is a stage on which nothing runs yet.
func newWorkshop(t *testing.T) *stage {
	s := &stage{t: t, dir: npm.Install(t, "gateway-e2e", files), nodes: map[int]string{}}
	s.work = s.workFolder()
	s.binary = filepath.Join(t.TempDir(), "bailiff")
	testbin.Track(t)
	if err := testbin.Command(s.binary); err != nil {
		t.Fatal(err)
	}
	return s
}

func newStage(t *testing.T) *stage {
	s := newWorkshop(t)
	for _, chain := range []int{1, 8453} {
		s.nodes[chain] = s.node(chain)
	}
	output := s.must(s.script("setup.mjs", s.nodes[8453], walletKey))
	if err := json.Unmarshal(output, s); err != nil {
		t.Fatalf("setup.mjs: %v: %s", err, output)
	}
	s.bundler = s.startBundler()
	return s
}

// workFolder makes a folder from which scripts find the installed packages, with the example compiled in it.
func (s *stage) workFolder() string {
	s.t.Helper()
	work, err := os.MkdirTemp(s.dir, "work-")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.RemoveAll(work) })
	root := filepath.Join("..", "..", "..")
	example, client := filepath.Join(root, "cmd", "bailiff", "examples", "viem"), filepath.Join(root, "httpd", "client", "typescript")
	sources := []struct{ dir, name, to string }{
		{example, "example.ts", ""}, {example, "tsconfig.json", ""},
		{s.dir, "setup.mjs", ""}, {s.dir, "drive.mjs", ""}, {s.dir, "recipes.mjs", ""},
		{client, "package.json", "client"}, {client, "tsconfig.json", "client"},
	}
	for _, name := range []string{"client.ts", "viem.ts", "types.ts", "unix.ts", "node.d.ts"} { // what needs no package but viem
		sources = append(sources, struct{ dir, name, to string }{filepath.Join(client, "src"), name, filepath.Join("client", "src")})
	}
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(source.dir, source.name))
		if err == nil {
			err = os.MkdirAll(filepath.Join(work, source.to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(work, source.to, source.name), text, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(work, "node_modules"), 0o700), os.Symlink(filepath.Join("..", "client"), filepath.Join(work, "node_modules", "bailiff-client"))); err != nil {
		s.t.Fatal(err)
	}
	compiler := filepath.Join(s.dir, "node_modules", "typescript", "bin", "tsc")
	s.must(s.in(filepath.Join(work, "client"), exec.Command("node", compiler)))
	s.must(s.in(work, exec.Command("node", compiler)))
	return work
}

func (s *stage) in(dir string, command *exec.Cmd) *exec.Cmd {
	command.Dir = dir
	return command
}

func (s *stage) script(name string, arguments ...string) *exec.Cmd {
	return s.in(s.work, exec.Command("node", append([]string{name}, arguments...)...))
}

// must runs a command and returns what it prints.
func (s *stage) must(command *exec.Cmd) []byte {
	s.t.Helper()
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s%s", command, err, output, problems.String())
	}
	return output
}

// node starts a node of a chain on the loopback address.
func (s *stage) node(chain int) string {
	binary := filepath.Join(s.dir, "node_modules", "@foundry-rs", "anvil-"+runtime.GOOS+"-"+runtime.GOARCH, "bin", "anvil")
	return s.server("eth_chainId", func(port string) *exec.Cmd {
		return exec.Command(binary, "--host", "127.0.0.1", "--port", port, "--chain-id", fmt.Sprint(chain), "--silent")
	})
}

func (s *stage) startBundler() string {
	return s.server("eth_supportedEntryPoints", func(port string) *exec.Cmd {
		return s.in(s.dir, exec.Command("node", filepath.Join(s.dir, "node_modules", "@pimlico", "alto", "esm", "cli", "alto.js"),
			"--entrypoints", s.EntryPoint, "--executor-private-keys", executorKey, "--utility-private-key", utilityKey,
			"--min-executor-balance", "1000000000000000000", "--safe-mode", "false", "--rpc-url", s.nodes[8453], "--port", port,
			"--min-bundle-interval", "50", "--max-bundle-interval", "200"))
	})
}

// A service is the built command with a signed policy, in front of the stage.
type service struct {
	*stage
	folder string
	env    []string

	arguments []string // of the command

	url     string
	command *exec.Cmd
}

var serving = regexp.MustCompile(`msg=serving .*address=(\S+)`)

// serve starts the service under a policy.
func (s *stage) serve(policy string) *service {
	s.t.Helper()
	r := &service{stage: s, folder: s.t.TempDir(), arguments: []string{"serve"}}
	r.write("warranty.md", policy)
	r.env = append(withoutSettings(),
		"WARRANTY_PATH="+r.path("warranty.md"), "SVC_DATA_DIR="+r.path("data"), "SVC_LISTEN=127.0.0.1:0", "SVC_ADMIN_LISTEN=off",
		"SVC_RPC_URL_1="+s.nodes[1], "SVC_RPC_URL_8453="+s.nodes[8453], "SVC_BUNDLER_URL_8453="+s.bundler, "SVC_BUNDLER_URL_1="+s.bundler)
	public := strings.TrimSpace(string(r.bailiff("keygen", "-o", r.path("operator.key"))))
	r.bailiff("sign", "--key", r.path("operator.key"), r.path("warranty.md"))
	r.env = append(r.env, "SVC_OPERATOR_PUBLIC_KEY="+public)
	r.run()
	s.t.Cleanup(func() { r.command.Process.Kill(); r.command.Wait() })
	return r
}

// withoutSettings is this process's environment without settings of a service.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "SVC_") || strings.HasPrefix(e, "WARRANTY_") })
}

// run starts the service on the data that it has.
func (r *service) run() {
	r.t.Helper()
	r.command = exec.Command(r.binary, r.arguments...)
	r.command.Env, r.command.Dir = r.env, r.folder
	log, err := r.command.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.url = r.await(log)
}

// await reads the log until it tells the address, and goes on reading.
func (r *service) await(log io.Reader) string {
	r.t.Helper()
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if found := serving.FindStringSubmatch(lines.Text()); found != nil {
				address <- "http://" + found[1]
			}
		}
	}()
	select {
	case url := <-address:
		return url
	case <-time.After(30 * time.Second):
		r.t.Fatal("the service did not start within 30 s")
		return ""
	}
}

func (r *service) path(name string) string { return filepath.Join(r.folder, name) }

func (r *service) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// bailiff runs a subcommand, which must succeed, and returns what it prints.
func (r *service) bailiff(arguments ...string) []byte {
	r.t.Helper()
	command := exec.Command(r.binary, arguments...)
	command.Env = r.env
	return r.must(r.in(r.folder, command))
}

// apiKey makes an API key.
func (r *service) apiKey(arguments ...string) string {
	r.t.Helper()
	return strings.TrimSpace(string(r.bailiff(append([]string{"keys", "create", "--email", "agent@example.com"}, arguments...)...)))
}

// post sends JSON with a bearer token and returns the answer with its status.
func (r *service) post(path, token string, body any) (int, map[string]any) {
	r.t.Helper()
	text, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		text = string(encoded)
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url+path, strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	answer := map[string]any{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		r.t.Fatalf("%s: HTTP %d: %v", path, response.StatusCode, err)
	}
	return response.StatusCode, answer
}
