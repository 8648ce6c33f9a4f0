package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/port"
	"bailiff/fuzz/kit/testbin"
	"bailiff/fuzz/kit/testbin/service"
)

// policy allows, denies and holds transfers, commands, mails, downloads and MCP tools.
const policy = `version: 2.4.0

# The policy of a trading agent.
## evm
allowed_chains: 1, 8453
allowed_actions: wallet.transfer
max_transaction_eth: 0.5
consensus_threshold_eth: 0.25
consensus_require_hold: true

## tool_calls
allowed: bash, email.send, file_write, web_fetch
bash.blocked_commands: rm -rf, sudo
bash.require_approval: git push
web_fetch.blocked_domains: pastebin.com
file_write.blocked_paths: /etc, ~/.ssh

## mcp
allowed_servers: files
blocked_tools: files.delete_*
require_approval: files.write_*

## soft_limits
daily_evm_limit_eth: 2

## execution_limits
max_tool_calls_per_hour: 1000
`

// A stage is the built service, the browser, and the accessibility checker.
type stage struct {
	t              *testing.T
	service        *service.Service
	origin         string // of the holder's console
	operatorOrigin string
	browser        context.Context
	axe            string
}

// A key is an API key of the service.
type key struct {
	ID     string `json:"key_id"`
	Secret string `json:"api_key"`
}

// newStage starts the service and the browser.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, axe: axe(t), browser: startBrowser(t)}
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	testbin.Track(t)
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	port, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	s.service, err = service.Start(binary, folder, policy, "SVC_LISTEN=127.0.0.1:"+port, "SVC_PUBLIC_URL=http://localhost:"+port, "SVC_APPROVALS_REQUIRED=2",
		"SVC_CONSOLE_LISTEN=127.0.0.1:0", "SVC_WEBHOOK_ALLOW_PRIVATE=true", "SVC_RATE_LIMIT_KEY=0", "SVC_RATE_LIMIT_IP=0", "SVC_RATE_LIMIT_MANAGE=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.service.Close(); err != nil {
			t.Error(err)
		}
	})
	s.origin = "http://localhost:" + port
	s.operatorOrigin, _ = s.newCode()
	return s
}

// newKey makes an API key with all scopes.
func (s *stage) newKey() (k key) {
	s.t.Helper()
	output, err := s.service.Run("keys", "create", "--email", "agent@example.com", "--full-grant", "--plan", "growth", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(output), &k)
	}
	if err != nil || k.ID == "" || k.Secret == "" {
		s.t.Fatalf("no key was made: %v: %s", err, output)
	}
	return k
}

// answer is what the API answers to an intent.
type answer struct {
	Status      string
	Attestation string `json:"intent_attestation"`
	HoldID      string `json:"hold_id"`
	Raw         string
}

// post sends a body to the API.
func (s *stage) post(k key, path string, body any) (a answer) {
	s.t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.service.Address+path, &text)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+k.Secret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = json.Unmarshal(raw, &a) // what is no answer has no status
	a.Raw = fmt.Sprintf("%d %s", response.StatusCode, raw)
	return a
}

// object is a JSON object.
type object map[string]any

// ask asks the service about an intent.
func (s *stage) ask(k key, agent string, intent object) answer {
	s.t.Helper()
	body := object{"framework": "custom", "agentId": agent, "txCommit": strings.Repeat("ab", 32), "intent": intent}
	if intent["action"] == "wallet.transfer" {
		body["chainId"] = 8453
	}
	return s.post(k, "/v1/authorize", body)
}

// decides asks, and fails where the decision is another.
func (s *stage) decides(k key, agent, want string, intent object) answer {
	s.t.Helper()
	a := s.ask(k, agent, intent)
	if a.Status != want {
		s.t.Fatalf("%v is answered %s; want %s", intent, a.Raw, want)
	}
	return a
}

// address is where transfers go to.
const address = "0x00000000000000000000000000000000000000aa"

// events is how many events work makes at least: more than a page.
const events = 120

// work has the agents of a key do a day's work.
func (s *stage) work(k key) {
	s.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	s.t.Cleanup(receiver.Close)
	s.post(k, "/v1/webhooks", object{"url": receiver.URL + "/bailiff", "events": []string{"intent.denied", "intent.pending"}})
	transfer := func(amount string) object {
		return object{"action": "wallet.transfer", "targetAddress": address, "amount": amount, "task_id": "rebalance-7"}
	}
	for i := range events {
		s.decides(k, "trader-1", "ALLOWED", object{"action": "bash", "command": fmt.Sprintf("make test-%d", i), "task_id": "nightly"})
	}
	s.decides(k, "trader-1", "ALLOWED", transfer("0.1"))
	s.decides(k, "trader-1", "DENIED", transfer("0.6"))
	s.decides(k, "trader-1", "PENDING", transfer("0.3"))
	s.decides(k, "coder-2", "ALLOWED", object{"action": "web_fetch", "url": "https://docs.example.com/guide?page=2"})
	s.decides(k, "coder-2", "DENIED", object{"action": "web_fetch", "url": "https://pastebin.com/raw/x"})
	s.decides(k, "coder-2", "DENIED", object{"action": "bash", "command": "sudo reboot"})
	s.decides(k, "coder-2", "PENDING", object{"action": "bash", "command": "git push origin main"})
	s.decides(k, "coder-2", "ALLOWED", object{"action": "file_write", "path": "/srv/app/main.go"})
	s.decides(k, "coder-2", "DENIED", object{"action": "file_write", "path": "/etc/passwd"})
	s.decides(k, "clerk-3", "ALLOWED", object{"action": "email.send", "to": []string{"ann@example.com", "ben@example.com"}})
	s.decides(k, "clerk-3", "ALLOWED", object{"action": "mcp.files.read_text", "metadata": object{"arguments": object{"path": "/srv/notes.txt"}}})
	s.decides(k, "clerk-3", "DENIED", object{"action": "mcp.files.delete_all"})
}
