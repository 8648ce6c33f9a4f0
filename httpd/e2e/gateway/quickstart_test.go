package gateway

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestQuickstart runs the example of the documentation, and more programs like it, against what `make run RPC_URL=…` starts:
// its policy, its key, and a real node.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node, which -short leaves out")
	}
	s := newWorkshop(t)
	s.nodes[8453] = s.node(8453)
	r := s.quickstart()
	text, err := os.ReadFile(r.path("data/api-key"))
	if err != nil {
		t.Fatal(err)
	}
	apiKey := strings.TrimSpace(string(text))
	t.Run("example", func(t *testing.T) { r.sends(t, apiKey) })
	t.Run("lost answer", func(t *testing.T) { r.asksAgain(t, apiKey) })
	t.Run("holds", func(t *testing.T) { r.waits(t, apiKey) })
	t.Run("recipes", func(t *testing.T) {
		r.recipes(t, apiKey, map[string]string{"stranger": "success"})
	})

	own, err := os.ReadFile(r.path("config/warranty.md"))
	if err != nil {
		t.Fatal(err)
	}
	const desks = "allow_only[action=wallet.transfer].metadata.desk: desk-1, desk-2\n"
	listed := strings.Replace(string(own), desks, desks+"allow_only[action=wallet.transfer].to: "+payee+"\n", 1)
	if listed == string(own) {
		t.Fatal("the example policy has no line about desks any more")
	}
	r.write("listed.md", listed)
	r.bailiff("sign", "--key", r.path("config/operator.key"), r.path("listed.md"))
	lister := r.apiKey("--scope", "authorize", "--scope", "warranty:deploy")
	r.bailiff("deploy", "--url", r.url, "--api-key", lister, "--key", r.path("config/operator.key"), r.path("listed.md"))
	t.Run("recipients", func(t *testing.T) {
		r.sends(t, lister)
		if got, code := r.runExample(t, lister, "VALUE=0.001", "TO="+stranger); code != 3 || !strings.Contains(got, "NOT_ON_ALLOWLIST") || !strings.Contains(got, "(custom.allow_only.to, line ") {
			t.Errorf("another recipient: exit code %d, %q", code, got)
		}
		r.recipes(t, lister, map[string]string{"stranger": "caught SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST custom.allow_only.to"})
	})
}

// quickstart starts what `make run RPC_URL=…` does, in a folder of its own.
func (s *stage) quickstart() *service {
	s.t.Helper()
	r := &service{stage: s, folder: s.t.TempDir(), arguments: []string{"quickstart", "--rpc-url", s.nodes[8453]}}
	r.env = append(withoutSettings(), "SVC_LISTEN=127.0.0.1:0", "SVC_ADMIN_LISTEN=off")
	r.run()
	s.t.Cleanup(func() { r.command.Process.Kill(); r.command.Wait() })
	return r
}

// sends runs the example where it sends, and where the policy denies.
func (r *service) sends(t *testing.T, apiKey string) {
	for _, c := range []struct {
		setting string
		code    int
		printed string
	}{
		{"VALUE=0.001", 0, " success"},
		{"VALUE=0.6", 3, "not sent: DENIED SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED: "},
		{"DESK=desk-3", 3, "not sent: DENIED SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST: "},
	} {
		if got, code := r.runExample(t, apiKey, "VALUE=0.001", c.setting); code != c.code || !strings.Contains(got, c.printed) {
			t.Errorf("%s: exit code %d, %q", c.setting, code, got)
		}
	}
}

// asksAgain loses the first answer to an authorize, after the service has decided. The example asks again, sends, and one
// decision has been counted.
func (r *service) asksAgain(t *testing.T, apiKey string) {
	target, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	var answers atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ModifyResponse = func(response *http.Response) error {
		if response.Request.URL.Path == "/v1/authorize" && answers.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	lossy := httptest.NewServer(proxy)
	defer lossy.Close()
	allowed := func() int {
		return strings.Count(string(r.bailiff("events", "--url", r.url, "--api-key", apiKey, "--decision", "allowed", "--json")), "\n")
	}
	before := allowed()
	got, code := r.runExample(t, apiKey, "VALUE=0.002", "BAILIFF_URL="+lossy.URL)
	if code != 0 || !strings.Contains(got, " success") || answers.Load() != 2 || allowed() != before+1 {
		t.Errorf("exit code %d, %q; %d answers, %d decisions", code, got, answers.Load(), allowed()-before)
	}
}

// exampleCommand is the program of the documentation with its settings; later ones win.
func (r *service) exampleCommand(apiKey string, settings ...string) *exec.Cmd {
	command := r.script("dist/example.js")
	command.Env = append(append(os.Environ(), "BAILIFF_URL="+r.url, "BAILIFF_API_KEY="+apiKey, "PRIVATE_KEY="+walletKey, "TO="+payee, "POLL_SECONDS=0.2"), settings...)
	return command
}

func (r *service) runExample(t *testing.T, apiKey string, settings ...string) (printed string, code int) {
	t.Helper()
	command := r.exampleCommand(apiKey, settings...)
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(output), command.ProcessState.ExitCode()
}

var waiting = regexp.MustCompile(`waiting for hold ([0-9a-f-]{36})`)

// waits has the example wait for holds: one that is approved, one that is denied, and one that stays undecided.
func (r *service) waits(t *testing.T, apiKey string) {
	for _, c := range []struct{ value, decision, printed string }{
		{"0.3", "approve", " success"},
		{"0.31", "deny", "not sent: DENIED SVC_POLICY_HOLD_DENIED: "},
	} {
		command := r.exampleCommand(apiKey, "VALUE="+c.value)
		output, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		printed := ""
		for lines := bufio.NewScanner(output); lines.Scan(); {
			printed += lines.Text() + "\n"
			if hold := waiting.FindStringSubmatch(lines.Text()); hold != nil {
				time.Sleep(time.Second) // it looks a few times, and finds nothing
				r.bailiff("holds", c.decision, hold[1], "--yes", "--url", r.url, "--api-key", apiKey,
					"--key", r.path("config/operator.key"), "--policy", r.path("config/warranty.md"))
			}
		}
		_ = command.Wait()
		if strings.Count(printed, "waiting for hold") != 1 || !strings.Contains(printed, c.printed) {
			t.Errorf("%s: %q", c.decision, printed)
		}
	}
	if got, code := r.runExample(t, apiKey, "VALUE=0.32", "WAIT_SECONDS=1"); code != 3 || !strings.Contains(got, "not sent: PENDING SVC_POLICY_HOLD_CONSENSUS_REQUIRED: ") {
		t.Errorf("nobody decided: exit code %d, %q", code, got)
	}
}

// recipes runs the program of the recipes and compares what came of each.
func (r *service) recipes(t *testing.T, apiKey string, more map[string]string) {
	task, err := json.Marshal(map[string]string{"url": r.url, "apiKey": apiKey, "key": walletKey, "node": r.nodes[8453], "payee": payee, "stranger": stranger})
	if err != nil {
		t.Fatal(err)
	}
	var did struct {
		Results map[string]string
		Writes  []intent
	}
	if output := r.must(r.script("recipes.mjs", string(task))); json.Unmarshal(output, &did) != nil {
		t.Fatalf("%s", output)
	}
	const listed = "SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST custom.allow_only.metadata.desk"
	want := map[string]string{
		"usdc": "success", "weth": "success", "fee": "success",
		"tooMuch":   "caught SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction",
		"wrapped":   "inside ContractFunctionExecutionError: SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED evm.token.USDC.max_transaction",
		"held":      "caught SVC_POLICY_HOLD_CONSENSUS_REQUIRED evm.consensus_threshold_eth",
		"otherDesk": "caught " + listed, "noDesk": "caught " + listed,
		"dear": "caught SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED evm.max_fee_eth",
	}
	for name, result := range more {
		want[name] = result
	}
	for name, result := range want {
		if did.Results[name] != result {
			t.Errorf("%s: %q, and not %q", name, did.Results[name], result)
		}
	}
	if got := did.Results["cheap"]; !strings.Contains(got, "more than maxFee") {
		t.Errorf("gas above maxFee: %q", got)
	}
	fees := 0
	for _, declared := range did.Writes {
		if declared["task_id"] != "task-1" || declared["to"] == nil && declared["calldata"] == nil {
			t.Errorf("declared as %v", declared)
		}
		if declared["maxFee"] == "0.005" {
			fees++
		}
	}
	if fees != 1 {
		t.Errorf("%d writes declare the maxFee of the configuration", fees)
	}
}

// TestMakeRun: `make run RPC_URL=…` hands the node on, and without it there is none.
func TestMakeRun(t *testing.T) {
	for _, c := range []struct{ argument, want string }{
		{"RPC_URL=http://node.example/?a=1&b=2", "bin/bailiff quickstart --rpc-url 'http://node.example/?a=1&b=2'"}, {"RPC_URL=", "bin/bailiff quickstart"},
	} {
		command := exec.Command("make", "-n", "--no-print-directory", "run", c.argument)
		command.Dir = filepath.Join("..", "..", "..")
		output, err := command.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); err != nil || last != c.want {
			t.Errorf("%s: %v %q", c.argument, err, last)
		}
	}
}
