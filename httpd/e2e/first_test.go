package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bailiff/runtime/attest/peer"
)

const examplePolicy = "../../cmd/bailiff/policy/example/warranty.md"

const transfer = `{"framework":"custom","agentId":"trader-1","chainId":8453,
"txCommit":"b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c",
"intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.1","maxFee":"0.001","metadata":{"desk":"desk-1"}}}`

func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(examplePolicy)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNodeVerifiesTheService takes an attestation from the running service and has independent libraries
// verify it with nothing but the service's public documents; then the command itself does.
func TestNodeVerifiesTheService(t *testing.T) {
	s := newSite(t, example(t))
	key := s.apiKey()
	service := s.start()
	got := service.ask("/v1/authorize", key, transfer)
	if got.HTTP != 200 || got.Attestation == "" {
		t.Fatalf("%d %s", got.HTTP, got.Raw)
	}
	_, _, jwks := service.get("/.well-known/jwks.json")
	_, _, pqcKeys := service.get("/v1/pqc-keys")
	if _, _, same := service.get("/.well-known/svc-pqc-keys.json"); same != pqcKeys {
		t.Error("the two routes of the post-quantum keys differ")
	}
	s.write("jwks.json", jwks)
	s.write("pqc.json", pqcKeys)
	verify := []string{"attest", "verify", "--jwks", s.path("jwks.json"), "--pqc-keys", s.path("pqc.json")}
	claims := s.must(append(verify, got.Attestation)...)
	if !strings.Contains(claims, got.PolicyHash) {
		t.Errorf("the claims lack the policyHash: %s", claims)
	}
	tampered := got.Attestation[:len(got.Attestation)-8] + "AAAAAAAA"
	if _, _, code := s.run(append(verify, tampered)...); code != 1 {
		t.Errorf("a tampered attestation: exit %d", code)
	}
	late := time.Now().Add(61 * time.Second).Format(time.RFC3339)
	if _, problem, code := s.run(append(verify, "--at", late, got.Attestation)...); code != 1 || !strings.Contains(problem, "expired") {
		t.Errorf("61 seconds later: exit %d, %s", code, problem)
	}
	results := peer.Install(t).Ask(t, peer.Question{
		JWKS: json.RawMessage(jwks), PQCKeys: json.RawMessage(pqcKeys), Issuer: "svc-core", Audience: "svc",
		Context: "svc-pqc-attestation-v1", Now: time.Now().Unix(), Tokens: []string{got.Attestation, tampered},
	})
	if results[0].Jose != "ok" || results[0].Noble != "ok" || results[1].Jose == "ok" {
		t.Errorf("independent libraries say %+v", results)
	}
}

// TestRestart finishes what is in flight on SIGTERM, and goes on with keys, counters and signing keys.
func TestRestart(t *testing.T) {
	s := newSite(t, example(t))
	key := s.apiKey()
	service := s.start()
	first := service.ask("/v1/authorize", key, transfer)
	_, _, jwks := service.get("/.well-known/jwks.json")
	if err := service.stop(); err != nil {
		t.Fatalf("SIGTERM: %v", err)
	}
	service = s.start()
	if second := service.ask("/v1/authorize", key, transfer); first.Status != "ALLOWED" || second.Status != "ALLOWED" {
		t.Errorf("before %s, after %s", first.Raw, second.Raw)
	}
	if _, _, after := service.get("/.well-known/jwks.json"); after != jwks {
		t.Error("the signing keys changed over a restart")
	}
}

// TestStopUnderLoad stops the service while 32 clients keep it busy, over connections that stay open, and over one for
// each request: every client that connected gets an answer, and after that none can connect. Without the right to filter,
// clients may see connections of the last moment reset.
func TestStopUnderLoad(t *testing.T) {
	for name, anew := range map[string]bool{"connections that stay": false, "a connection each": true} {
		t.Run(name, func(t *testing.T) { stopUnderLoad(t, anew) })
	}
}

func stopUnderLoad(t *testing.T, anew bool) {
	s := newSite(t, example(t))
	key := s.apiKey()
	service := s.start()
	busy := &http.Client{
		Timeout:   client.Timeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableKeepAlives: anew},
	}
	lost := func(err error) bool { return !errors.Is(err, syscall.ECONNREFUSED) }
	if anew && os.Geteuid() != 0 {
		lost = func(err error) bool {
			return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET)
		}
	}
	var wait sync.WaitGroup
	var answered atomic.Int64
	for range 32 {
		wait.Go(func() {
			for {
				got, err := service.postBy(busy, "/v1/authorize", key, transfer)
				if err != nil {
					if lost(err) {
						t.Errorf("a request was lost: %v", err)
					}
					return
				}
				if got.Status != "ALLOWED" {
					t.Errorf("%d %s", got.HTTP, got.Raw)
				}
				answered.Add(1)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	if err := service.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	wait.Wait()
	if answered.Load() < 32 {
		t.Errorf("only %d answers: the test shows too little", answered.Load())
	}
}

// TestTooLarge sends a byte more than a body may have: the refusal comes at once, not when the connection times out.
func TestTooLarge(t *testing.T) {
	s := newSite(t, example(t))
	key := s.apiKey()
	service := s.start()
	for name, body := range map[string]io.Reader{
		"with its length": strings.NewReader(strings.Repeat(" ", 100_001)),
		"in chunks":       io.MultiReader(strings.NewReader(strings.Repeat(" ", 100_001))),
		"much too large":  strings.NewReader(strings.Repeat(" ", 5_000_000)),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // connections time out after 15
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.base+"/v1/authorize", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 413 || !strings.Contains(string(text), "SVC_BODY_TOO_LARGE") {
			t.Errorf("%s: %d %s %v", name, response.StatusCode, text, err)
		}
		cancel()
	}
}

// TestAdminSocket runs the operator's commands against the service that holds the data.
func TestAdminSocket(t *testing.T) {
	s := newSite(t, example(t))
	service := s.start()
	socket := s.path("data/admin.sock")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("admin socket: %v, %v", info, err)
	}
	key := s.apiKey()
	if got := service.ask("/v1/authorize", key, transfer); got.Status != "ALLOWED" {
		t.Fatalf("%s", got.Raw)
	}
	held := strings.Replace(transfer, `"amount":"0.1"`, `"amount":"0.3"`, 1)
	got := service.ask("/v1/authorize", key, held)
	if got.HTTP != 202 || got.HoldID == "" {
		t.Fatalf("%d %s", got.HTTP, got.Raw)
	}
	if list := s.must("holds", "list"); !strings.Contains(list, got.HoldID) || !strings.Contains(list, "evm.consensus_threshold_eth") {
		t.Errorf("holds list: %s", list)
	}
	id := strings.Fields(strings.Split(s.must("keys", "list"), "\n")[1])[0]
	s.must("keys", "revoke", id)
	if got := service.ask("/v1/authorize", key, transfer); got.HTTP != 401 || got.Code != "SVC_API_KEY_INVALID" {
		t.Errorf("with a revoked key: %d %s", got.HTTP, got.Raw)
	}
	if _, problem, code := s.run("serve"); code != 1 || !strings.Contains(problem, "[Svc]") {
		t.Errorf("a second service on the same data: exit %d, %s", code, problem)
	}
}

// TestQuickstart is `make run`: the first makes what is missing, the second finds it.
func TestQuickstart(t *testing.T) {
	s := &site{t: t, dir: t.TempDir()}
	s.env = append(plainEnviron(), "SVC_LISTEN=127.0.0.1:0")
	first := s.quickstart()
	for _, want := range []string{"curl", "/v1/authorize", "/.well-known/jwks.json", "made an operator key", "made and signed"} {
		if !strings.Contains(first.output, want) {
			t.Errorf("the first run does not print %q:\n%s", want, first.output)
		}
	}
	key := s.secret("data/api-key")
	s.secret("config/operator.key")
	allowed, denied := pasted(t, first.output)
	if got := first.ask("/v1/authorize", key, allowed); got.HTTP != 200 || got.Status != "ALLOWED" || got.Attestation == "" {
		t.Errorf("the first curl: %d %s", got.HTTP, got.Raw)
	}
	if got := first.ask("/v1/authorize", key, denied); got.HTTP != 403 || got.Status != "DENIED" || !strings.Contains(first.output, got.Rule) {
		t.Errorf("the second curl: %d %s", got.HTTP, got.Raw)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	policy := s.secret("config/warranty.md")
	second := s.quickstart()
	if strings.Contains(second.output, "made") || s.secret("config/warranty.md") != policy || s.secret("data/api-key") != key {
		t.Error("the second run made something again")
	}
	if got := second.ask("/v1/authorize", key, allowed); got.Status != "ALLOWED" {
		t.Errorf("after a restart: %s", got.Raw)
	}
}

// pasted returns the bodies of the two curl commands.
func pasted(t *testing.T, output string) (allowed, denied string) {
	t.Helper()
	parts := strings.Split(output, "-d '")
	if len(parts) != 3 {
		t.Fatalf("%d bodies to paste in:\n%s", len(parts)-1, output)
	}
	allowed, _, _ = strings.Cut(parts[1], "'")
	denied, _, _ = strings.Cut(parts[2], "'")
	return allowed, denied
}

// secret reads a file, which may be private to its owner or a public text; keys must be private.
func (s *site) secret(name string) string {
	s.t.Helper()
	info, err := os.Stat(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	if filepath.Ext(name) != ".md" && info.Mode().Perm() != 0o600 {
		s.t.Errorf("%s has mode %o", name, info.Mode().Perm())
	}
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestStartupLeavesNothing starts on a taken port: the service says so, and its data can be opened again.
func TestStartupLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := newSite(t, example(t), "SVC_LISTEN="+taken.Addr().String())
	if _, problem, code := s.run("serve"); code != 1 || !strings.Contains(problem, "SVC_LISTEN") {
		t.Errorf("on a taken port: exit %d, %s", code, problem)
	}
	if _, err := os.Stat(s.path("data/admin.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the admin socket stayed: %v", err)
	}
	s.apiKey()
}
