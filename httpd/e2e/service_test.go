// Package e2e tests the built command over real HTTP, as its users see it.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/testbin"
)

var (
	binary     string
	buildFlags []string // -race where the tests are built so
	// slowness is by how much the service may be slower than it is in use.
	slowness time.Duration = 1
	tracked  sync.Once
)

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

// binarySetting is the variable that names the command, where it is built already.
const binarySetting = "BAILIFF_BINARY"

// build builds the command once, bound to the commit as a release is, and runs the tests.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bailiff-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv(binarySetting); binary != "" {
		return m.Run()
	}
	binary = filepath.Join(dir, "bailiff")
	if err := testbin.Command(binary, append(buildFlags, "-buildvcs=auto")...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// program is that of the site.
func (s *site) program() string {
	if s.release != "" {
		return s.release
	}
	return program(s.t)
}

// program returns the path of the command. What it is built from the results of tests depend on.
func program(t *testing.T) string {
	t.Helper()
	tracked.Do(func() { testbin.Track(t) })
	return binary
}

// site is a folder with an operator key, a signed policy and the data of a service.
type site struct {
	t     *testing.T
	dir   string
	env   []string
	files int // that the service may open; 0: as many as the test

	second  []string // settings of a second instance
	partner *running // it, once it was started
	release string   // path of another release's command; "" for this one
}

// newSite makes a site with a policy, and settings of NAME=value.
func newSite(t *testing.T, policy string, settings ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.env = append(plainEnviron(), "WARRANTY_PATH="+s.path("warranty.md"), "SVC_DATA_DIR="+s.path("data"), "SVC_LISTEN=127.0.0.1:0")
	s.write("warranty.md", policy)
	public := strings.TrimSpace(s.must("keygen", "-o", s.path("operator.key")))
	s.must("sign", "--key", s.path("operator.key"), s.path("warranty.md"))
	s.env = append(s.env, "SVC_OPERATOR_PUBLIC_KEY="+public)
	s.env = append(s.env, settings...)
	s.mayHaveSlots()
	return s
}

// plainEnviron is the environment without settings of a service that the developer may have.
func plainEnviron() []string {
	plain := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "SVC_") || strings.HasPrefix(entry, "WARRANTY_PATH=")
	})
	return append(plain, "SVC_ADMIN_LISTEN=off")
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// must runs a subcommand and returns its output; it must exit with 0.
func (s *site) must(arguments ...string) string {
	s.t.Helper()
	output, errors, code := s.run(arguments...)
	if code != 0 {
		s.t.Fatalf("bailiff %s: exit %d\n%s%s", strings.Join(arguments, " "), code, output, errors)
	}
	return output
}

// newKey makes an API key.
func (s *site) newKey() (secret, id string) {
	s.t.Helper()
	var made struct {
		APIKey string `json:"api_key"`
		KeyID  string `json:"key_id"`
	}
	if err := json.Unmarshal([]byte(s.must("keys", "create", "--email", "agent@example.com", "--full-grant", "--json")), &made); err != nil {
		s.t.Fatal(err)
	}
	return made.APIKey, made.KeyID
}

// run runs a subcommand, which is killed where it does not end.
func (s *site) run(arguments ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, s.program(), arguments...)
	command.Env = s.env
	command.Dir = s.dir
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	err := command.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		s.t.Fatal(err)
	}
	return out.String(), errors.String(), command.ProcessState.ExitCode()
}

// apiKey makes an API key.
func (s *site) apiKey(arguments ...string) string {
	s.t.Helper()
	var view struct {
		APIKey string `json:"api_key"`
	}
	output := s.must(append([]string{"keys", "create", "--email", "agent@example.com", "--json"}, arguments...)...)
	if err := json.Unmarshal([]byte(output), &view); err != nil || view.APIKey == "" {
		s.t.Fatalf("no api_key in %q: %v", output, err)
	}
	return view.APIKey
}

// running is a service that runs.
type running struct {
	*site
	command *exec.Cmd
	base    string
	output  string // of quickstart, up to where it serves
	log     *lockedBuffer
	exited  chan error
}

// listens says where a service takes requests, of which one that waits for another instance answers none.
var listens = regexp.MustCompile(`(?:msg=serving|msg="waiting: another instance decides") .*address=(\S+)`)

// start starts the service and waits until it serves. It is killed when the test ends.
func (s *site) start() *running { return s.launch("serve") }

// quickstart is start for a first run, with what it prints.
func (s *site) quickstart() *running { return s.launch("quickstart") }

func (s *site) launch(subcommand string, flags ...string) *running {
	s.t.Helper()
	if fresh := s.second != nil && subcommand == "serve" && s.startSecond(); fresh {
		defer s.awaitShares()
	}
	command := exec.Command(s.program(), append([]string{subcommand}, flags...)...)
	if s.files > 0 {
		command = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$1"`, s.files), s.program(), subcommand)
	}
	command.Env, command.Dir = s.env, s.dir
	var printed lockedBuffer
	command.Stdout = &printed
	log, err := command.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	r := &running{site: s, command: command, log: &lockedBuffer{}, exited: make(chan error, 1)}
	address := make(chan string, 1)
	go r.watch(log, address)
	s.t.Cleanup(r.end)
	select {
	case found := <-address:
		r.base = "http://" + found
		for range 100 { // what was printed before comes by another pipe
			if r.output = printed.String(); subcommand != "quickstart" || strings.Contains(r.output, "/v1/pqc-keys") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	case err := <-r.exited:
		r.exited <- err
		s.t.Fatalf("the service did not start: %v\n%s", err, r.log)
	case <-time.After(30 * time.Second):
		s.t.Fatal("the service did not start within 30 s")
	}
	return r
}

// lockedBuffer is a buffer that a process writes and a test reads meanwhile.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// watch reads the log, tells the address, and waits for the end.
func (r *running) watch(log io.Reader, address chan<- string) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Fprintln(r.log, lines.Text())
		if found := listens.FindStringSubmatch(lines.Text()); found != nil {
			address <- found[1]
		}
	}
	r.exited <- r.command.Wait()
}

// kill ends the service as a power cut would; what it has written stays.
func (r *running) kill() {
	_ = r.command.Process.Kill()
	r.exited <- <-r.exited
}

// end kills the service when its test is over, and fails the test where the race detector has found something.
func (r *running) end() {
	r.kill()
	if _, report, found := strings.Cut(r.log.String(), "WARNING: DATA RACE"); found {
		r.t.Errorf("a data race in the service:\n%s", report)
	}
}

// stop asks the service to finish and returns how it ended.
func (r *running) stop() error {
	r.t.Helper()
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	err := <-r.exited
	r.exited <- err
	return err
}

// answer is what the service answers to authorize and test-run.
type answer struct {
	HTTP        int             `json:"-"`
	Status      string          `json:"status"`
	Code        string          `json:"error_code"`
	Rule        string          `json:"matched_rule"`
	Message     string          `json:"message"`
	Attestation string          `json:"intent_attestation"`
	PolicyHash  string          `json:"policyHash"`
	HoldID      string          `json:"holdId"`
	TestRun     bool            `json:"test_run"`
	Raw         json.RawMessage `json:"-"`
}

var client = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 128, MaxConnsPerHost: 128},
}

// post sends a body and returns the answer, or an error where none came.
func (r *running) post(path, key, body string) (answer, error) {
	return r.postBy(client, path, key, body)
}

// postBy is post by a client of its own.
func (r *running) postBy(client *http.Client, path, key, body string) (answer, error) {
	request, err := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{HTTP: response.StatusCode, Raw: text}
	return a, json.Unmarshal(text, &a)
}

// ask is post for a request that must be answered.
func (r *running) ask(path, key, body string) answer {
	r.t.Helper()
	a, err := r.post(path, key, body)
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	return a
}

// get fetches a document.
func (r *running) get(path string) (int, http.Header, string) {
	r.t.Helper()
	response, err := client.Get(r.base + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}
